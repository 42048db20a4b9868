// One row a type; everything else in dtype.h reads the table.
#include "engine/tensor/dtype.h"

#include <array>

#include "engine/base/saturated.h"

namespace nabla::engine {

namespace {

enum class Family : std::uint8_t { None, Float, Integer, Complex, Other };

struct Row {
    std::string_view name, shortName;
    int bits;
    Family family;
};

constexpr std::array<Row, kLastDType + 1> kRows = {{
    {"undefined", "?", 0, Family::None},
    {"float32", "f32", 32, Family::Float},
    {"uint8", "u8", 8, Family::Integer},
    {"int8", "i8", 8, Family::Integer},
    {"uint16", "u16", 16, Family::Integer},
    {"int16", "i16", 16, Family::Integer},
    {"int32", "i32", 32, Family::Integer},
    {"int64", "i64", 64, Family::Integer},
    {"string", "str", 0, Family::Other},
    {"bool", "bool", 8, Family::Other},
    {"float16", "f16", 16, Family::Float},
    {"float64", "f64", 64, Family::Float},
    {"uint32", "u32", 32, Family::Integer},
    {"uint64", "u64", 64, Family::Integer},
    {"complex64", "c64", 64, Family::Complex},
    {"complex128", "c128", 128, Family::Complex},
    {"bfloat16", "bf16", 16, Family::Float},
    {"float8e4m3fn", "f8e4m3fn", 8, Family::Float},
    {"float8e4m3fnuz", "f8e4m3fnuz", 8, Family::Float},
    {"float8e5m2", "f8e5m2", 8, Family::Float},
    {"float8e5m2fnuz", "f8e5m2fnuz", 8, Family::Float},
    {"uint4", "u4", 4, Family::Integer},
    {"int4", "i4", 4, Family::Integer},
    {"float4e2m1", "f4e2m1", 4, Family::Float},
    {"float8e8m0", "f8e8m0", 8, Family::Float},
    {"uint2", "u2", 2, Family::Integer},
    {"int2", "i2", 2, Family::Integer},
    {"float6e2m3", "f6e2m3", 6, Family::Float},
    {"float6e3m2", "f6e3m2", 6, Family::Float},
}};

const Row& row(DType type) {
    return kRows[static_cast<std::size_t>(type) < kRows.size() ? static_cast<std::size_t>(type) : 0];
}

} // namespace

int bitWidth(DType type) { return row(type).bits; }
std::int64_t storageBytes(DType type, std::int64_t count) {
    const std::int64_t bits = bitWidth(type);
    if (bits >= 8)
        return saturatedProduct({count, bits / 8});
    return count / 8 * bits + (count % 8 * bits + 7) / 8; // count * bits might overflow
}
std::string_view name(DType type) { return row(type).name; }
std::string_view shortName(DType type) { return row(type).shortName; }

DType dtypeFromName(std::string_view text) {
    for (std::size_t i = 1; i < kRows.size(); ++i) {
        if (kRows[i].name == text)
            return static_cast<DType>(i);
    }
    return DType::Undefined;
}

bool isFloat(DType type) { return row(type).family == Family::Float; }
bool isInteger(DType type) { return row(type).family == Family::Integer; }
bool isComplex(DType type) { return row(type).family == Family::Complex; }
bool isDifferentiable(DType type) {
    return type == DType::Float32 || type == DType::Float64 || type == DType::Float16 || type == DType::BFloat16;
}

} // namespace nabla::engine

// One switch for reading and one for writing; everything else in the engine goes through these or through typed spans.
#include "engine/tensor/element.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "engine/tensor/minifloat.h"

namespace nabla::engine {

namespace {

template <typename T> T load(const std::byte* data, std::int64_t index) { return reinterpret_cast<const T*>(data)[index]; }
template <typename T> void store(std::byte* data, std::int64_t index, T value) { reinterpret_cast<T*>(data)[index] = value; }

const MinifloatFormat* minifloat(DType type) {
    switch (type) {
    case DType::Float8E4M3FN: return &kFloat8E4M3FNFormat;
    case DType::Float8E4M3FNUZ: return &kFloat8E4M3FNUZFormat;
    case DType::Float8E5M2: return &kFloat8E5M2Format;
    case DType::Float8E5M2FNUZ: return &kFloat8E5M2FNUZFormat;
    case DType::Float6E2M3: return &kFloat6E2M3Format;
    case DType::Float6E3M2: return &kFloat6E3M2Format;
    case DType::Float4E2M1: return &kFloat4E2M1Format;
    default: return nullptr;
    }
}

std::int64_t signExtend(std::uint8_t value, int bits) {
    const int sign = 1 << (bits - 1);
    return (value ^ sign) - sign;
}

std::int64_t truncate(double value) {
    if (std::isnan(value))
        return 0;
    if (value >= 9223372036854775808.0)
        return std::numeric_limits<std::int64_t>::max();
    if (value <= -9223372036854775808.0)
        return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(value);
}

} // namespace

std::uint8_t readPacked(int bits, const std::byte* data, std::int64_t index) {
    const std::byte* const at = data + (index >> 3) * bits; // eight elements fill `bits` whole bytes; index * bits might overflow
    const int bit = static_cast<int>(index & 7) * bits, shift = bit & 7;
    unsigned word = static_cast<unsigned>(at[bit >> 3]) >> shift;
    if (shift + bits > 8) // a 6-bit element may lie across two bytes
        word |= static_cast<unsigned>(at[(bit >> 3) + 1]) << (8 - shift);
    return static_cast<std::uint8_t>(word & ((1U << bits) - 1));
}

void writePacked(int bits, std::byte* data, std::int64_t index, std::uint8_t value) {
    std::byte* const at = data + (index >> 3) * bits;
    const int bit = static_cast<int>(index & 7) * bits, shift = bit & 7;
    const unsigned mask = ((1U << bits) - 1) << shift, placed = (static_cast<unsigned>(value) << shift) & mask;
    std::byte& first = at[bit >> 3];
    first = static_cast<std::byte>((static_cast<unsigned>(first) & ~mask) | (placed & 0xffU));
    if (shift + bits > 8) {
        std::byte& second = at[(bit >> 3) + 1];
        second = static_cast<std::byte>((static_cast<unsigned>(second) & ~(mask >> 8)) | (placed >> 8));
    }
}

double readDouble(DType type, const std::byte* data, std::int64_t index) {
    switch (type) {
    case DType::Float32: return static_cast<double>(load<float>(data, index));
    case DType::Float64: return load<double>(data, index);
    case DType::Float16: return static_cast<double>(load<Half>(data, index));
    case DType::BFloat16: return static_cast<double>(load<BFloat16>(data, index));
    case DType::Complex64: return static_cast<double>(load<std::complex<float>>(data, index).real());
    case DType::Complex128: return load<std::complex<double>>(data, index).real();
    case DType::UInt64: return static_cast<double>(load<std::uint64_t>(data, index));
    case DType::Float8E8M0: return decodeE8M0(load<std::uint8_t>(data, index));
    case DType::Float6E2M3:
    case DType::Float6E3M2:
    case DType::Float4E2M1: return decodeMinifloat(*minifloat(type), readPacked(bitWidth(type), data, index));
    default:
        if (const auto* format = minifloat(type))
            return decodeMinifloat(*format, load<std::uint8_t>(data, index));
        return static_cast<double>(readInt64(type, data, index));
    }
}

std::complex<double> readComplex(DType type, const std::byte* data, std::int64_t index) {
    if (type == DType::Complex64)
        return std::complex<double>(load<std::complex<float>>(data, index));
    if (type == DType::Complex128)
        return load<std::complex<double>>(data, index);
    return readDouble(type, data, index);
}

std::int64_t readInt64(DType type, const std::byte* data, std::int64_t index) {
    switch (type) {
    case DType::Int8: return load<std::int8_t>(data, index);
    case DType::Int16: return load<std::int16_t>(data, index);
    case DType::Int32: return load<std::int32_t>(data, index);
    case DType::Int64: return load<std::int64_t>(data, index);
    case DType::UInt8: return load<std::uint8_t>(data, index);
    case DType::UInt16: return load<std::uint16_t>(data, index);
    case DType::UInt32: return load<std::uint32_t>(data, index);
    case DType::UInt64: return static_cast<std::int64_t>(load<std::uint64_t>(data, index));
    case DType::Bool: return load<std::uint8_t>(data, index) != 0; // a file may hold any byte
    case DType::UInt4: return readPacked(4, data, index);
    case DType::Int4: return signExtend(readPacked(4, data, index), 4);
    case DType::UInt2: return readPacked(2, data, index);
    case DType::Int2: return signExtend(readPacked(2, data, index), 2);
    case DType::String:
    case DType::Undefined: return 0;
    default: return truncate(readDouble(type, data, index));
    }
}

std::string readText(DType type, const std::byte* data, std::int64_t index) {
    if (isFloat(type) && std::isnan(readDouble(type, data, index)))
        return "nan"; // its sign says nothing, and depends on the processor
    switch (type) {
    case DType::String: return reinterpret_cast<const std::string*>(data)[index];
    case DType::Bool: return readInt64(type, data, index) ? "true" : "false";
    case DType::UInt64: return fmt::format("{}", load<std::uint64_t>(data, index));
    case DType::Float32: return fmt::format("{}", load<float>(data, index));
    case DType::Float64: return fmt::format("{}", load<double>(data, index));
    case DType::Complex64:
    case DType::Complex128: {
        const auto z = readComplex(type, data, index);
        return fmt::format("{}{:+}i", z.real(), z.imag());
    }
    default: break;
    }
    if (isFloat(type))
        return fmt::format("{}", static_cast<float>(readDouble(type, data, index)));
    return fmt::format("{}", readInt64(type, data, index));
}

void writeDouble(DType type, std::byte* data, std::int64_t index, double value, bool saturate) {
    const Saturate mode = saturate ? Saturate::Yes : Saturate::No;
    switch (type) {
    case DType::Float32: store(data, index, static_cast<float>(value)); return;
    case DType::Float64: store(data, index, value); return;
    case DType::Float16: store(data, index, Half(value)); return;
    case DType::BFloat16: store(data, index, BFloat16(value)); return;
    case DType::Complex64: store(data, index, std::complex<float>(static_cast<float>(value), 0)); return;
    case DType::Complex128: store(data, index, std::complex<double>(value, 0)); return;
    case DType::Bool: store(data, index, static_cast<std::uint8_t>(value != 0)); return;
    case DType::UInt64:
        if (value >= 9223372036854775808.0) {
            store(data, index, value >= 18446744073709551616.0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(value));
            return;
        }
        writeInt64(type, data, index, truncate(value));
        return;
    case DType::Float8E8M0: store(data, index, encodeE8M0(value, mode, E8M0Rounding::Up)); return;
    case DType::Float6E2M3:
    case DType::Float6E3M2:
    case DType::Float4E2M1: writePacked(bitWidth(type), data, index, static_cast<std::uint8_t>(encodeMinifloat(*minifloat(type), value, Saturate::Yes))); return;
    case DType::UInt4:
    case DType::Int4:
    case DType::UInt2:
    case DType::Int2: {
        // Out-of-range floats become 0: the backend tests of onnx 1.23.2 (Cast to 4- and 2-bit integers) expect it.
        const bool isSigned = type == DType::Int4 || type == DType::Int2;
        const int bits = bitWidth(type);
        const std::int64_t low = isSigned ? -(1 << (bits - 1)) : 0;
        const std::int64_t high = isSigned ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
        const std::int64_t whole = truncate(value);
        writeInt64(type, data, index, whole < low || whole > high ? 0 : whole);
        return;
    }
    default:
        if (const auto* format = minifloat(type)) {
            store(data, index, static_cast<std::uint8_t>(encodeMinifloat(*format, value, mode)));
            return;
        }
        writeInt64(type, data, index, truncate(value));
    }
}

void writeInt64(DType type, std::byte* data, std::int64_t index, std::int64_t value) {
    switch (type) {
    case DType::Int8: store(data, index, static_cast<std::int8_t>(value)); return;
    case DType::Int16: store(data, index, static_cast<std::int16_t>(value)); return;
    case DType::Int32: store(data, index, static_cast<std::int32_t>(value)); return;
    case DType::Int64: store(data, index, value); return;
    case DType::UInt8: store(data, index, static_cast<std::uint8_t>(value)); return;
    case DType::UInt16: store(data, index, static_cast<std::uint16_t>(value)); return;
    case DType::UInt32: store(data, index, static_cast<std::uint32_t>(value)); return;
    case DType::UInt64: store(data, index, static_cast<std::uint64_t>(value)); return;
    case DType::Bool: store(data, index, static_cast<std::uint8_t>(value != 0)); return;
    case DType::UInt4:
    case DType::Int4: writePacked(4, data, index, static_cast<std::uint8_t>(value & 0xf)); return;
    case DType::UInt2:
    case DType::Int2: writePacked(2, data, index, static_cast<std::uint8_t>(value & 0x3)); return;
    case DType::String:
    case DType::Undefined: return;
    default: writeDouble(type, data, index, static_cast<double>(value)); return;
    }
}

} // namespace nabla::engine

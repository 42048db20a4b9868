// DType: every element type of the ONNX standard, with its size, name and C++ type.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/tensor/small_floats.h"

namespace nabla::engine {

/// Element types, numbered as TensorProto.DataType of ONNX 1.23 (onnx.proto), so that a file's number casts to it.
enum class DType : std::uint8_t {
    Undefined = 0,
    Float32 = 1,
    UInt8 = 2,
    Int8 = 3,
    UInt16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Float64 = 11,
    UInt32 = 12,
    UInt64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    BFloat16 = 16,
    Float8E4M3FN = 17,
    Float8E4M3FNUZ = 18,
    Float8E5M2 = 19,
    Float8E5M2FNUZ = 20,
    UInt4 = 21,
    Int4 = 22,
    Float4E2M1 = 23,
    Float8E8M0 = 24,
    UInt2 = 25,
    Int2 = 26,
    Float6E2M3 = 27,
    Float6E3M2 = 28,
};
inline constexpr int kLastDType = 28;

/// Bits of one element; sub-byte types are packed low bits first, as in a file. 0 for String and Undefined.
int bitWidth(DType type);
/// Bytes that `count` elements take (sub-byte types rounded up to a whole byte).
std::int64_t storageBytes(DType type, std::int64_t count);
/// Short name as shown and as in NumPy where it has one: `float32`, `bfloat16`, `int4`, `string`.
std::string_view name(DType type);
/// Two- to four-letter name for cards and edges: `f32`, `bf16`, `i64`, `u8`, `bool`, `str`.
std::string_view shortName(DType type);
/// The inverse of name(); Undefined when nobody is called so.
DType dtypeFromName(std::string_view text);

bool isFloat(DType type);       ///< f64, f32, f16, bf16, the 8-bit floats, float6, float4
bool isInteger(DType type);     ///< signed or unsigned, any width; not bool
bool isComplex(DType type);
/// f64, f32, f16 or bf16: a gradient can flow through it.
bool isDifferentiable(DType type);

/// DType of a C++ type: dtypeOf<float>() == DType::Float32.
template <typename T> constexpr DType dtypeOf();
template <> constexpr DType dtypeOf<float>() { return DType::Float32; }
template <> constexpr DType dtypeOf<double>() { return DType::Float64; }
template <> constexpr DType dtypeOf<Half>() { return DType::Float16; }
template <> constexpr DType dtypeOf<BFloat16>() { return DType::BFloat16; }
template <> constexpr DType dtypeOf<std::int8_t>() { return DType::Int8; }
template <> constexpr DType dtypeOf<std::int16_t>() { return DType::Int16; }
template <> constexpr DType dtypeOf<std::int32_t>() { return DType::Int32; }
template <> constexpr DType dtypeOf<std::int64_t>() { return DType::Int64; }
template <> constexpr DType dtypeOf<std::uint8_t>() { return DType::UInt8; }
template <> constexpr DType dtypeOf<std::uint16_t>() { return DType::UInt16; }
template <> constexpr DType dtypeOf<std::uint32_t>() { return DType::UInt32; }
template <> constexpr DType dtypeOf<std::uint64_t>() { return DType::UInt64; }
template <> constexpr DType dtypeOf<bool>() { return DType::Bool; }
template <> constexpr DType dtypeOf<std::string>() { return DType::String; }
template <> constexpr DType dtypeOf<std::complex<float>>() { return DType::Complex64; }
template <> constexpr DType dtypeOf<std::complex<double>>() { return DType::Complex128; }

} // namespace nabla::engine

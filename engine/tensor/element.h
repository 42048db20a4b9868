// Reading and writing one element of any type in a raw block.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/tensor/dtype.h"

namespace nabla::engine {

/// Element `index` of a block of `type`, as double. 0 for strings; the real part of complex numbers.
double readDouble(DType type, const std::byte* data, std::int64_t index);
std::complex<double> readComplex(DType type, const std::byte* data, std::int64_t index);
/// The same as int64; floats truncate toward zero and saturate, NaN is 0.
std::int64_t readInt64(DType type, const std::byte* data, std::int64_t index);
/// Exact text; floats in the fewest digits that read back equal.
std::string readText(DType type, const std::byte* data, std::int64_t index);

/// Stores a double, rounding as ONNX Cast does; integers truncate. Not for strings.
void writeDouble(DType type, std::byte* data, std::int64_t index, double value, bool saturate = true);
void writeInt64(DType type, std::byte* data, std::int64_t index, std::int64_t value);

/// The bits of a sub-byte element (6-, 4- and 2-bit types), zero-extended: element `index` of one stream of bits, lowest bits first.
std::uint8_t readPacked(int bits, const std::byte* data, std::int64_t index);
void writePacked(int bits, std::byte* data, std::int64_t index, std::uint8_t value);

/// Calls f with a value-initialised C++ element type for dtype: `withElementType(t.dtype(), [&]<typename T>(T) { … })`.
/// Covers the types that have one (not the 8-bit floats, packed types and strings); returns false for the others.
template <typename F> bool withElementType(DType type, F&& f) {
    switch (type) {
    case DType::Float32: f(float{}); return true;
    case DType::Float64: f(double{}); return true;
    case DType::Float16: f(Half{}); return true;
    case DType::BFloat16: f(BFloat16{}); return true;
    case DType::Int8: f(std::int8_t{}); return true;
    case DType::Int16: f(std::int16_t{}); return true;
    case DType::Int32: f(std::int32_t{}); return true;
    case DType::Int64: f(std::int64_t{}); return true;
    case DType::UInt8: f(std::uint8_t{}); return true;
    case DType::UInt16: f(std::uint16_t{}); return true;
    case DType::UInt32: f(std::uint32_t{}); return true;
    case DType::UInt64: f(std::uint64_t{}); return true;
    case DType::Bool: f(bool{}); return true;
    case DType::Complex64: f(std::complex<float>{}); return true;
    case DType::Complex128: f(std::complex<double>{}); return true;
    default: return false;
    }
}

} // namespace nabla::engine

// Rows of float32 through the widest vectors that this processor has; chosen once at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nabla::engine {

enum class UnaryRow : std::uint8_t { Abs, Exp, Log, Neg, Reciprocal, Relu, Sigmoid, Sqrt, Tanh };
enum class BinaryRow : std::uint8_t { Add, Div, Mul, Sub };

/// y[i] = f(x[i]); y may be x. Largest errors, measured by Highway 1.0.3's own tests: Exp 1 ulp, Log 2 ulp, Tanh 4 ulp;
/// the rest follow IEEE 754 (Sigmoid is 1 / (1 + Exp(-x))).
void unaryRow(UnaryRow f, const float* x, float* y, std::size_t count);
/// y[i] = f(a[i * aStep], b[i * bStep]) for steps of 0 or 1; y may be an operand whose step is 1.
void binaryRow(
    BinaryRow f, const float* a, std::size_t aStep, const float* b, std::size_t bStep, float* y, std::size_t count);

} // namespace nabla::engine

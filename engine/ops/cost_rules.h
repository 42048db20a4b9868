// Rules of FLOPs and bytes that many operators share. The convention stands in docs/operators.md.
#pragma once

#include "engine/base/saturated.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

/// Shape of an input or output; null when there is none or it is not known.
const Shape* inputShape(const CostInputs& c, std::size_t i);
const Shape* outputShape(const CostInputs& c, std::size_t i);
/// Its number of elements; 0 when there is none.
std::int64_t inputElements(const CostInputs& c, std::size_t i);
std::int64_t outputElements(const CostInputs& c, std::size_t i = 0);
inline bool hasInput(const CostInputs& c, std::size_t i) { return i < c.node.inputs.size() && c.node.inputs[i]; }
/// A float or complex number goes in or comes out.
bool touchesFloats(const CostInputs& c);

/// Elements are moved, chosen, looked up or described.
std::int64_t noFlops(const CostInputs&);
/// As many FLOPs for every element of output 0 (of input 0), whatever its type.
template <int each> std::int64_t perOutput(const CostInputs& c) { return saturatedProduct({each, outputElements(c)}); }
template <int each> std::int64_t perInput(const CostInputs& c) { return saturatedProduct({each, inputElements(c, 0)}); }
/// As perOutput; arithmetic among whole numbers and truth values (shapes, indices, masks) counts nothing.
template <int each> std::int64_t elementwise(const CostInputs& c) { return touchesFloats(c) ? perOutput<each>(c) : 0; }
/// The same for every element of input 0.
template <int each> std::int64_t elementwiseIn(const CostInputs& c) { return touchesFloats(c) ? perInput<each>(c) : 0; }
/// A Fourier transform of that length: 5 n log2 n (Cooley and Tukey 1965), half of it for real numbers.
enum class Numbers : bool { Real, Complex };
std::int64_t fourierFlops(std::int64_t length, Numbers numbers);

/// The output is the input, or a handle on it.
void nothingMoves(const CostInputs&, NodeCost& cost);
/// Only the shape of the input matters.
void readsNothing(const CostInputs&, NodeCost& cost);
/// Of input 0 as much as comes out; the other inputs wholly.
void readsChosen(const CostInputs& c, NodeCost& cost);
/// The other inputs matter by their type only.
void readsFirst(const CostInputs& c, NodeCost& cost);
/// A sequence of copies is read into a tensor, or written from one.
void readsParts(const CostInputs&, NodeCost& cost);
void writesParts(const CostInputs& c, NodeCost& cost);

} // namespace nabla::engine

// The shared rules of FLOPs and bytes.
#include "engine/ops/cost_rules.h"

#include <algorithm>
#include <cmath>

namespace nabla::engine {

namespace {

std::int64_t bytesOf(DType type, const Shape* shape) { return shape ? storageBytes(type, elementCount(*shape)) : 0; }

} // namespace

const Shape* inputShape(const CostInputs& c, std::size_t i) { return i < c.inputs.size() && c.inputs[i] ? &*c.inputs[i] : nullptr; }
const Shape* outputShape(const CostInputs& c, std::size_t i) { return i < c.outputs.size() && c.outputs[i] ? &*c.outputs[i] : nullptr; }

std::int64_t inputElements(const CostInputs& c, std::size_t i) {
    const Shape* shape = inputShape(c, i);
    return shape ? elementCount(*shape) : 0;
}
std::int64_t outputElements(const CostInputs& c, std::size_t i) {
    const Shape* shape = outputShape(c, i);
    return shape ? elementCount(*shape) : 0;
}

bool touchesFloats(const CostInputs& c) {
    const auto counts = [](DType type) { return isFloat(type) || isComplex(type); };
    return std::any_of(c.inputTypes.begin(), c.inputTypes.end(), counts) || std::any_of(c.outputTypes.begin(), c.outputTypes.end(), counts);
}

std::int64_t noFlops(const CostInputs&) { return 0; }

std::int64_t fourierFlops(std::int64_t length, Numbers numbers) {
    if (length < 2)
        return 0;
    const double n = static_cast<double>(length), flops = (numbers == Numbers::Complex ? 5.0 : 2.5) * n * std::log2(n);
    return flops < 0x1p62 ? std::llround(flops) : kSaturated;
}

void nothingMoves(const CostInputs&, NodeCost& cost) { cost.bytesRead = cost.bytesWritten = 0; }
void readsNothing(const CostInputs&, NodeCost& cost) { cost.bytesRead = 0; }

void readsChosen(const CostInputs& c, NodeCost& cost) {
    if (c.inputTypes.empty() || c.outputTypes.empty())
        return;
    const std::int64_t whole = bytesOf(c.inputTypes[0], inputShape(c, 0)), chosen = bytesOf(c.outputTypes[0], outputShape(c, 0));
    cost.bytesRead -= whole - std::min(whole, chosen);
}

void readsFirst(const CostInputs& c, NodeCost& cost) { cost.bytesRead = c.inputTypes.empty() ? 0 : bytesOf(c.inputTypes[0], inputShape(c, 0)); }
void readsParts(const CostInputs&, NodeCost& cost) { cost.bytesRead = cost.bytesWritten; }
void writesParts(const CostInputs& c, NodeCost& cost) { cost.bytesWritten = c.inputTypes.empty() ? 0 : bytesOf(c.inputTypes[0], inputShape(c, 0)); }

} // namespace nabla::engine

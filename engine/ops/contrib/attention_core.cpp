// Scores, masks, softmax and the sum of values as operators of the standard.
#include "engine/ops/contrib/attention_core.h"

#include <cmath>
#include <limits>

namespace nabla::engine {

double lowestOf(DType type) {
    switch (type) {
    case DType::Float16: return -65504.0;
    case DType::BFloat16: return -3.3895313892515355e38;
    default: return static_cast<double>(std::numeric_limits<float>::lowest());
    }
}

ValueId splitHeads(ContribBody& b, ValueId x, std::int64_t heads) { return b.transpose(b.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3}); }

ValueId queryPositions(ContribBody& b, ValueId first, ValueId count, bool perBatch) {
    const ValueId steps = b.range(count);
    if (!perBatch)
        return b.unsqueeze(b.add(steps, first), {1});
    return b.unsqueeze(b.add(b.unsqueeze(first, {1}), b.unsqueeze(steps, {0})), {2});
}

double scaleOf(ContribBody& b, std::int64_t headSize) {
    const double stated = static_cast<double>(b.real("scale"));
    return stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(headSize));
}

AttentionResult attend(ContribBody& b, const AttentionCall& call) {
    const auto number_ = [&](double value) { return b.scalar(call.type, value); };
    ValueId scores = b.mul(b.op("MatMul", {call.q, b.transpose(call.k, {0, 1, 3, 2})}), number_(call.scale));
    if (call.softCap > 0)
        scores = b.mul(b.op("Tanh", {b.op("Div", {scores, number_(call.softCap)})}), number_(call.softCap));
    if (call.bias)
        scores = b.add(scores, call.bias);
    if (call.allowed)
        scores = b.op("Where", {call.allowed, scores, number_(lowestOf(call.type))});
    if (call.sink) { // one more column, cut off after the softmax
        const ValueId rows = b.op("Shape", {scores}, {number("start", 0), number("end", 3)});
        const ValueId column = b.op("Expand", {call.sink, b.concat({rows, b.ints({1})}, 0)});
        scores = b.op("Softmax", {b.concat({scores, column}, -1)}, {number("axis", -1)});
        scores = b.op("Slice", {scores, b.ints({0}), b.ints({-1}), b.ints({-1})});
    } else {
        scores = b.op("Softmax", {scores}, {number("axis", -1)});
    }
    const ValueId sum = b.op("MatMul", {scores, call.v});
    const ValueId joined = b.transpose(sum, {0, 2, 1, 3});
    const ValueId width = b.mul(b.dim(joined, 2), b.dim(joined, 3));
    const ValueId shape = b.concat({b.dim(joined, 0), b.dim(joined, 1), width}, 0);
    return {b.op("Reshape", {joined, shape}, {number("allowzero", 1)}), scores};
}

} // namespace nabla::engine

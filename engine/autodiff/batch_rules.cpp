// Batching rules of operators that compute: element by element, along axes, matrix products, windows over images.
#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "engine/autodiff/batch_builder.h"

namespace nabla::engine {

namespace {

using Result = std::optional<std::vector<Batched>>;

Attribute intAttribute(std::string name, std::int64_t value) { return {std::move(name), value}; }

/// The node's attributes with one of them set.
std::vector<Attribute> with(const Node& node, Attribute attribute) {
    std::vector<Attribute> out = node.attributes;
    const auto it = std::find_if(out.begin(), out.end(), [&](const Attribute& each) { return each.name == attribute.name; });
    if (it != out.end())
        *it = std::move(attribute);
    else
        out.push_back(std::move(attribute));
    return out;
}

/// Axes count from the front of an example; from the back they stay what they are.
std::int64_t shifted(std::int64_t axis) { return axis < 0 ? axis : axis + 1; }

/// Broadcasting aligns the last axes: an input of fewer axes gets ones behind its batch axis.
Result elementwise(BatchBuilder& b) {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < b.inputCount(); ++i) {
        if (!b.has(i))
            continue;
        if (!b.rank(i))
            return std::nullopt;
        largest = std::max(largest, *b.rank(i));
    }
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < b.inputCount(); ++i)
        inputs.push_back(b.has(i) ? b.withRank(i, largest) : ValueId{});
    return b.again(std::move(inputs));
}

/// Element by element on the first input; the others are single numbers or fit any leading axes.
Result firstAlone(BatchBuilder& b) { return b.areShared(1) ? Result(b.again(b.all())) : std::nullopt; }

/// The second input tells a type only.
Result castLike(BatchBuilder& b) {
    std::vector<Batched> out = b.again(b.all());
    out[0].isBatched = b.isBatched(0);
    return out;
}

/// Dropout passes values on unless it trains.
Result dropout(BatchBuilder& b) {
    const bool trains = b.has(2) && b.ints(2) != std::vector<std::int64_t>{0};
    return trains ? std::nullopt : firstAlone(b);
}

template <std::int64_t otherwise> Result alongAxis(BatchBuilder& b) {
    if (!b.areShared(1))
        return std::nullopt;
    return b.again(b.all(), with(b.node(), intAttribute("axis", shifted(b.node().intAttribute("axis", otherwise)))));
}

/// Axes are the second input.
Result reduce(BatchBuilder& b) {
    if (!b.rank(0) || *b.rank(0) == 0 || !b.areShared(1))
        return std::nullopt;
    std::vector<std::int64_t> axes;
    if (b.has(1)) {
        const auto given = b.ints(1);
        if (!given)
            return std::nullopt;
        std::transform(given->begin(), given->end(), std::back_inserter(axes), shifted);
    }
    if (axes.empty() && b.node().intAttribute("noop_with_empty_axes", 0) != 0)
        return b.again(b.all());
    if (axes.empty()) {
        axes.resize(*b.rank(0));
        std::iota(axes.begin(), axes.end(), 1);
    }
    return b.again({b.in(0), b.vector(std::move(axes))});
}

Result cumulative(BatchBuilder& b) {
    const auto axis = b.ints(1);
    if (!axis || axis->size() != 1 || !b.isBatched(0))
        return std::nullopt;
    const ValueId moved = b.op("Squeeze", {b.vector({shifted(axis->front())}), b.vector({0})});
    return b.again({b.in(0), moved});
}

/// A vector is a row on the left and a column on the right, which are squeezed away again.
ValueId product(BatchBuilder& b, ValueId left, std::size_t leftRank, bool leftBatched, ValueId right, std::size_t rightRank, bool rightBatched) {
    const bool row = leftRank == 1, column = rightRank == 1;
    if (row)
        left = b.op("Unsqueeze", {left, b.vector({-2})});
    if (column)
        right = b.op("Unsqueeze", {right, b.vector({-1})});
    leftRank += row ? 1 : 0;
    rightRank += column ? 1 : 0;
    const std::size_t largest = std::max(leftRank, rightRank);
    const auto lifted = [&](ValueId value, std::size_t rank, bool isBatched) {
        if (!isBatched || rank == largest)
            return value;
        std::vector<std::int64_t> axes(largest - rank);
        std::iota(axes.begin(), axes.end(), 1);
        return b.op("Unsqueeze", {value, b.vector(std::move(axes))});
    };
    ValueId result = b.op("MatMul", {lifted(left, leftRank, leftBatched), lifted(right, rightRank, rightBatched)});
    std::vector<std::int64_t> extra;
    if (row)
        extra.push_back(-2);
    if (column)
        extra.push_back(-1);
    return extra.empty() ? result : b.op("Squeeze", {result, b.vector(std::move(extra))});
}

Result matMul(BatchBuilder& b) {
    if (!b.rank(0) || !b.rank(1))
        return std::nullopt;
    return std::vector{Batched{product(b, b.in(0), *b.rank(0), b.isBatched(0), b.in(1), *b.rank(1), b.isBatched(1))}};
}

/// alpha A' B' + beta C, as MatMul, which has a batch.
Result gemm(BatchBuilder& b) {
    if (b.has(2) && !b.rank(2))
        return std::nullopt;
    const auto side = [&](std::size_t i, const char* flag) {
        if (b.node().intAttribute(flag, 0) == 0)
            return b.in(i);
        return b.op("Transpose", {b.in(i)}, {{"perm", b.isBatched(i) ? std::vector<std::int64_t>{0, 2, 1} : std::vector<std::int64_t>{1, 0}}});
    };
    ValueId y = product(b, side(0, "transA"), 2, b.isBatched(0), side(1, "transB"), 2, b.isBatched(1));
    const auto scaled = [&](ValueId value, float factor) {
        if (factor == 1)
            return value;
        const ValueId number = b.op("Constant", {}, {{"value_float", factor}});
        return b.op("Mul", {value, b.op("CastLike", {number, value})});
    };
    y = scaled(y, b.node().floatAttribute("alpha", 1));
    if (b.has(2)) {
        const ValueId c = scaled(b.withRank(2, std::max<std::size_t>(2, *b.rank(2))), b.node().floatAttribute("beta", 1));
        y = b.op("Add", {y, c});
    }
    return std::vector{Batched{y}};
}

/// Explicit form only: one more letter in front of every batched term and of the result.
Result einsum(BatchBuilder& b) {
    const std::string equation = b.node().stringAttribute("equation", "");
    const std::size_t arrow = equation.find("->");
    if (arrow == std::string::npos)
        return std::nullopt;
    char letter = 'A';
    while (letter <= 'Z' && equation.find(letter) != std::string::npos)
        ++letter;
    if (letter > 'Z')
        return std::nullopt;
    std::string made;
    std::size_t term = 0, from = 0;
    for (std::size_t at = 0; at <= arrow; ++at) {
        if (at != arrow && equation[at] != ',')
            continue;
        made += (term > 0 ? "," : "") + (b.isBatched(term) ? std::string(1, letter) : "") + equation.substr(from, at - from);
        ++term;
        from = at + 1;
    }
    made += "->" + std::string(1, letter) + equation.substr(arrow + 2);
    return b.again(b.all(), with(b.node(), {"equation", made}));
}

/// Operators with a batch axis of their own, [N, C, …]: the examples' batches are laid one after another, [B*N, C, …], and parted afterwards.
Result merged(BatchBuilder& b) {
    const Node& node = b.node();
    const bool onlyFirst = std::none_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId output) { return bool(output); });
    if (!b.areShared(1) || !onlyFirst || node.intAttribute("training_mode", 0) != 0)
        return std::nullopt;
    const ValueId rest = b.op("Shape", {b.in(0)}, {intAttribute("start", 2)});
    std::vector<ValueId> inputs = b.all();
    inputs[0] = b.op("Reshape", {b.in(0), b.concat({b.vector({-1}), rest})});
    const ValueId y = b.again(std::move(inputs))[0].value;
    const ValueId batches = b.op("Shape", {b.in(0)}, {intAttribute("end", 2)});
    const ValueId parted = b.op("Reshape", {y, b.concat({batches, b.op("Shape", {y}, {intAttribute("start", 1)})})});
    std::vector<Batched> out(node.outputs.size());
    out[0] = {parted, true};
    return out;
}

constexpr std::array kRows = std::to_array<BatchRow>({
    {"Abs", elementwise}, {"Acos", elementwise}, {"Acosh", elementwise}, {"Add", elementwise}, {"And", elementwise}, {"Asin", elementwise},
    {"Asinh", elementwise}, {"Atan", elementwise}, {"Atanh", elementwise}, {"BitShift", elementwise}, {"BitwiseAnd", elementwise},
    {"BitwiseNot", elementwise}, {"BitwiseOr", elementwise}, {"BitwiseXor", elementwise}, {"Cast", elementwise}, {"Ceil", elementwise},
    {"Celu", elementwise}, {"Cos", elementwise}, {"Cosh", elementwise}, {"Div", elementwise}, {"Elu", elementwise}, {"Equal", elementwise},
    {"Erf", elementwise}, {"Exp", elementwise}, {"Floor", elementwise}, {"Gelu", elementwise}, {"Greater", elementwise},
    {"GreaterOrEqual", elementwise}, {"HardSigmoid", elementwise}, {"HardSwish", elementwise}, {"Identity", elementwise}, {"IsInf", elementwise},
    {"IsNaN", elementwise}, {"LeakyRelu", elementwise}, {"Less", elementwise}, {"LessOrEqual", elementwise}, {"Log", elementwise},
    {"Max", elementwise}, {"Mean", elementwise}, {"Min", elementwise}, {"Mish", elementwise}, {"Mod", elementwise}, {"Mul", elementwise},
    {"Neg", elementwise}, {"Not", elementwise}, {"Or", elementwise}, {"Pow", elementwise}, {"Reciprocal", elementwise}, {"Relu", elementwise},
    {"Round", elementwise}, {"Selu", elementwise}, {"Shrink", elementwise}, {"Sigmoid", elementwise}, {"Sign", elementwise}, {"Sin", elementwise},
    {"Sinh", elementwise}, {"Softplus", elementwise}, {"Softsign", elementwise}, {"Sqrt", elementwise}, {"Sub", elementwise}, {"Sum", elementwise},
    {"Tan", elementwise}, {"Tanh", elementwise}, {"ThresholdedRelu", elementwise}, {"Where", elementwise}, {"Xor", elementwise},
    {"Clip", firstAlone}, {"PRelu", firstAlone}, {"Trilu", firstAlone}, {"CastLike", castLike}, {"Dropout", dropout},
    {"Softmax", alongAxis<-1>}, {"LogSoftmax", alongAxis<-1>}, {"Hardmax", alongAxis<-1>}, {"LpNormalization", alongAxis<-1>},
    {"LayerNormalization", alongAxis<-1>}, {"ArgMax", alongAxis<0>}, {"ArgMin", alongAxis<0>}, {"TopK", alongAxis<-1>},
    {"ReduceL1", reduce}, {"ReduceL2", reduce}, {"ReduceLogSum", reduce}, {"ReduceLogSumExp", reduce}, {"ReduceMax", reduce},
    {"ReduceMean", reduce}, {"ReduceMin", reduce}, {"ReduceProd", reduce}, {"ReduceSum", reduce}, {"ReduceSumSquare", reduce},
    {"CumSum", cumulative}, {"MatMul", matMul}, {"Gemm", gemm}, {"Einsum", einsum},
    {"Conv", merged}, {"ConvTranspose", merged}, {"MaxPool", merged}, {"AveragePool", merged}, {"LpPool", merged}, {"GlobalAveragePool", merged},
    {"GlobalMaxPool", merged}, {"GlobalLpPool", merged}, {"BatchNormalization", merged}, {"InstanceNormalization", merged},
    {"GroupNormalization", merged}, {"LRN", merged}, {"DepthToSpace", merged}, {"SpaceToDepth", merged},
});

} // namespace

std::span<const BatchRow> arithmeticBatchRows() { return kRows; }

} // namespace nabla::engine

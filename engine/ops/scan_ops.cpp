// ArgMax, ArgMin, TopK, CumSum, CumProd: along one axis.
#include <algorithm>
#include <numeric>

#include "engine/ops/constant_of.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// Whether a comes before b: NaN counts as larger than every number, as in NumPy's sort.
template <typename T> bool comesFirst(T a, T b, bool largest) {
    const bool aIsNan = a != a, bIsNan = b != b;
    if (aIsNan || bIsNan)
        return largest ? aIsNan && !bIsNan : bIsNan && !aIsNan;
    return largest ? a > b : a < b;
}

template <bool isMax> Result<void> runArg(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const bool lastWins = c.intAttribute("select_last_index") != 0;
    const AxisSplit split(x.shape(), axis);
    if (split.size == 0 && split.outer * split.inner > 0)
        return runError("{}: axis {} of {} is empty", c.node().opType, axis, toString(x.shape()));
    Shape shape = x.shape();
    if (c.intAttribute("keepdims") != 0)
        shape[static_cast<std::size_t>(axis)] = 1;
    else
        shape.erase(shape.begin() + axis);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Int64, shape));
    NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const T* in = x.data<T>().data();
        std::int64_t* out = y.mutableData<std::int64_t>().data();
        for (std::int64_t o = 0; o < split.outer; ++o) {
            for (std::int64_t i = 0; i < split.inner; ++i) {
                const T* line = in + o * split.size * split.inner + i;
                std::int64_t best = 0;
                for (std::int64_t k = 1; k < split.size; ++k) {
                    const auto a = widen(line[k * split.inner]), b = widen(line[best * split.inner]);
                    const bool nan = b != b; // the first NaN is the extreme, for both directions
                    if ((!nan && (a != a || (isMax ? a > b : a < b))) || (lastWins && (a == b || (nan && a != a))))
                        best = k;
                }
                out[o * split.inner + i] = best;
            }
        }
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

// ---- TopK ----

Result<std::int64_t> topCount(const KernelContext& c, std::int64_t size) {
    NABLA_TRY(const auto k, needInts(c, 1));
    if (k.size() != 1 || k[0] < 0 || k[0] > size)
        return runError("TopK: k is {}, the axis has {}", toString(k), size);
    return k[0];
}

Result<void> runTopK(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const AxisSplit split(x.shape(), axis);
    NABLA_TRY(const std::int64_t k, topCount(c, split.size));
    const bool largest = c.intAttribute("largest") != 0;
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(axis)] = k;
    NABLA_TRY(Tensor values, c.makeOutput(0, x.dtype(), shape));
    NABLA_TRY(Tensor indices, c.makeOutput(1, DType::Int64, shape));
    NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const T* in = x.data<T>().data();
        std::vector<std::int64_t> order(static_cast<std::size_t>(split.size));
        for (std::int64_t o = 0; o < split.outer; ++o) {
            for (std::int64_t i = 0; i < split.inner; ++i) {
                const T* line = in + o * split.size * split.inner + i;
                std::iota(order.begin(), order.end(), 0);
                // Ties keep the order of the axis; "sorted = 0" allows any order, so this one too.
                std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t p, std::int64_t q) {
                    const auto a = widen(line[p * split.inner]), b = widen(line[q * split.inner]);
                    if (comesFirst(a, b, largest))
                        return true;
                    return !comesFirst(b, a, largest) && p < q;
                });
                for (std::int64_t r = 0; r < k; ++r) {
                    const auto at = static_cast<std::size_t>((o * k + r) * split.inner + i);
                    const std::int64_t from = order[static_cast<std::size_t>(r)];
                    values.mutableData<T>()[at] = line[from * split.inner];
                    indices.mutableData<std::int64_t>()[at] = from;
                }
            }
        }
        return {};
    }));
    c.setOutput(0, std::move(values));
    if (c.wantsOutput(1))
        c.setOutput(1, std::move(indices));
    return {};
}

Gradients gradTopK(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(n.inputs.size());
    if (!dy[0])
        return out;
    if (!n.output(1))
        return runError("TopK: a gradient needs the output of the indices");
    out[0] = b.op("ScatterElements", {b.zerosLike(n.inputs[0]), n.outputs[1], dy[0]}, {intAttr("axis", n.intAttribute("axis", -1))});
    return out;
}

// ---- CumSum, CumProd ----

template <auto join, int start> Result<void> runCumulative(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto asked, needInts(c, 1));
    if (asked.size() != 1)
        return runError("{}: axis has {} values, wants one", c.node().opType, asked.size());
    NABLA_TRY(const std::int64_t axis, normalizeAxis(asked[0], x.rank()));
    const bool exclusive = c.intAttribute("exclusive") != 0, reverse = c.intAttribute("reverse") != 0;
    const AxisSplit split(x.shape(), axis);
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        using S = SumType<T>;
        const T* in = x.data<T>().data();
        T* out = y.mutableData<T>().data();
        for (std::int64_t o = 0; o < split.outer; ++o) {
            for (std::int64_t i = 0; i < split.inner; ++i) {
                S sum = S{start};
                for (std::int64_t k = 0; k < split.size; ++k) {
                    const std::int64_t at = (o * split.size + (reverse ? split.size - 1 - k : k)) * split.inner + i;
                    const S next = join(sum, static_cast<S>(in[at]));
                    out[at] = convert<T>(exclusive ? sum : next);
                    sum = next;
                }
            }
        }
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

/// The sum runs the other way.
Gradients gradCumSum(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t reverse = n.intAttribute("reverse", 0), exclusive = n.intAttribute("exclusive", 0);
    return std::vector{b.op("CumSum", {dy[0], n.inputs[1]}, {intAttr("reverse", reverse ? 0 : 1), intAttr("exclusive", exclusive)}), ValueId{}};
}

/// y_j is the product of the x_i before it, so dx_i is the sum over those j of dy_j times the product without x_i. Right with zeros: the
/// matrix of products [.., j, i] is made by CumProd over copies in which x_i is replaced by 1.
Gradients gradCumProd(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const auto rank = b.rank(x);
    const TensorPtr known = constantOf(b.editor().graph(), n.inputs[1]);
    if (!rank || !known || known->elementCount() != 1)
        return runError("CumProd: its axis and the rank of its input must be known before running");
    NABLA_TRY(const std::int64_t axis, normalizeAxis(known->asInt64(0), *rank));
    const auto last = static_cast<std::int64_t>(*rank) - 1;
    std::vector<std::int64_t> perm(*rank);
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[static_cast<std::size_t>(axis)], perm[static_cast<std::size_t>(last)]); // a swap is its own inverse
    const auto toLast = [&](ValueId v) { return axis == last ? v : b.op("Transpose", {v}, {intsAttr("perm", perm)}); };
    const ValueId line = toLast(x), cotangent = toLast(dy[0]);                              // [.., n]
    const ValueId size = b.op("Gather", {b.shapeOf(line), b.ints({-1})});
    const ValueId square = b.op("Concat", {size, size}, {intAttr("axis", 0)});
    const ValueId eye = b.op("EyeLike", {b.op("ConstantOfShape", {square})}, {intAttr("dtype", static_cast<std::int64_t>(DType::Bool))});
    const ValueId copies = b.where(eye, b.scalar(x, 1), b.op("Unsqueeze", {line, b.ints({-2})})); // [.., i, j]: x_j, 1 on the diagonal
    std::vector<Attribute> attributes;
    const bool reverse = n.intAttribute("reverse", 0) != 0, exclusive = n.intAttribute("exclusive", 0) != 0;
    attributes.push_back(intAttr("reverse", reverse));
    attributes.push_back(intAttr("exclusive", exclusive));
    const ValueId products = b.op("CumProd", {copies, b.intScalar(-1)}, attributes);        // [.., i, j]: y_j without x_i
    // Only those j count whose product holds x_i: j >= i, shifted by one when exclusive, mirrored when reverse.
    const ValueId triangle = b.op("Trilu", {products, b.intScalar(exclusive ? (reverse ? -1 : 1) : 0)}, {intAttr("upper", reverse ? 0 : 1)});
    const ValueId summed = b.reduceSum(b.mul(triangle, b.op("Unsqueeze", {cotangent, b.ints({-2})})), {-1}, false);
    return std::vector{toLast(summed), ValueId{}};
}

// ---- upgrades ----

Result<void> upgradeTopK1(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"k"});
    setInput(changed, 1, upgradeInts(c, "k", {c.node.intAttribute("k", 0)}));
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kTopKUpgrades[] = {{9, upgradeTopK1}};

constexpr GradientRule kIndex = notDifferentiable("its result is an index");

constexpr OpDef kOps[] = {
    {.name = "ArgMax", .since = 13, .source = "ONNX Operators.md, ArgMax-13", .run = runArg<true>, .gradient = kIndex, .flops = elementwiseIn<1>},
    {.name = "ArgMin", .since = 13, .source = "ONNX Operators.md, ArgMin-13", .run = runArg<false>, .gradient = kIndex, .flops = elementwiseIn<1>},
    {.name = "TopK", .since = 24, .source = "ONNX Operators.md, TopK-24", .run = runTopK, .gradient = gradTopK, .flops = elementwiseIn<1>,
        .upgrades = kTopKUpgrades},
    {.name = "CumSum", .since = 14, .source = "ONNX Operators.md, CumSum-14", .run = runCumulative<[](auto a, auto b) { return wrapAdd(a, b); }, 0>,
        .gradient = gradCumSum, .flops = elementwise<1>},
    {.name = "CumProd", .since = 26, .source = "ONNX Operators.md, CumProd-26", .run = runCumulative<[](auto a, auto b) { return wrapMul(a, b); }, 1>,
        .gradient = gradCumProd, .flops = elementwise<1>},
};

} // namespace

std::span<const OpDef> scanOps() { return kOps; }

} // namespace nabla::engine

// ReduceSum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare: folding over axes.
#include <cmath>
#include <limits>

#include "engine/ops/constant_of.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// Which axes go, and what remains.
struct Reduction {
    bool noop = false;            ///< no axes were given and the node says that this means none
    std::vector<bool> reduced;    ///< per axis
    Shape kept, output;           ///< kept: with ones; output: as keepdims says
    std::int64_t count = 1;       ///< elements folded into each result
};

Result<Reduction> reductionOf(const KernelContext& c, const Tensor& x) {
    Reduction r;
    r.reduced.assign(x.rank(), false);
    std::vector<std::int64_t> axes;
    if (c.hasInput(1)) {
        NABLA_TRY(axes, needInts(c, 1));
    }
    if (axes.empty()) {
        r.noop = c.intAttribute("noop_with_empty_axes") != 0;
        r.reduced.assign(x.rank(), !r.noop);
    }
    NABLA_TRY(const auto normal, normalizeAxes(axes, x.rank()));
    for (const std::int64_t axis : normal)
        r.reduced[static_cast<std::size_t>(axis)] = true;
    const bool keep = c.intAttribute("keepdims") != 0;
    for (std::size_t i = 0; i < x.rank(); ++i) {
        r.kept.push_back(r.reduced[i] ? 1 : x.dim(i));
        if (!r.reduced[i] || keep)
            r.output.push_back(r.kept.back());
        if (r.reduced[i])
            r.count *= x.dim(i);
    }
    return r;
}

/// Calls f(output index, input index) for every element of x, in order.
template <typename F> void forEachFolded(const Tensor& x, const Reduction& r, F&& f) {
    std::vector<std::int64_t> strides = rowMajorStrides(r.kept);
    for (std::size_t i = 0; i < strides.size(); ++i)
        strides[i] = r.reduced[i] ? 0 : strides[i];
    if (x.rank() == 0) {
        f(0, 0);
        return;
    }
    const std::int64_t inner = x.shape().back(), step = strides.back();
    std::int64_t at = 0;
    for (IndexWalk walk(Shape(x.shape().begin(), x.shape().end() - 1)); !walk.done(); walk.next()) {
        const std::int64_t base = walk.dot(strides);
        for (std::int64_t i = 0; i < inner; ++i)
            f(base + i * step, at++);
    }
}

// A fold: start value, how an element joins, and what the result is made of. Sums of floats are kept in double.
struct SumFold {
    template <typename S> static S start() { return 0; }
    template <typename S> static S join(S a, S x) { return wrapAdd(a, x); }
    template <typename S> static S finish(S a, std::int64_t) { return a; }
};
struct MeanFold : SumFold {
    template <typename S> static S finish(S a, std::int64_t count) {
        if constexpr (std::is_integral_v<S>)
            return count == 0 ? S{0} : static_cast<S>(a / static_cast<S>(count));
        else
            return a / static_cast<S>(count);
    }
};
struct ProdFold : SumFold {
    template <typename S> static S start() { return 1; }
    template <typename S> static S join(S a, S x) { return wrapMul(a, x); }
};
struct L1Fold : SumFold {
    template <typename S> static S join(S a, S x) { return wrapAdd(a, x < S{0} ? wrapSub(S{0}, x) : x); }
};
struct SumSquareFold : SumFold {
    template <typename S> static S join(S a, S x) { return wrapAdd(a, wrapMul(x, x)); }
};
template <typename S> S viaDouble(double value) {
    if constexpr (std::is_integral_v<S>)
        return std::isfinite(value) && std::fabs(value) < 9.2e18 ? static_cast<S>(static_cast<std::int64_t>(value)) : S{0};
    else
        return value;
}
struct L2Fold : SumSquareFold {
    template <typename S> static S finish(S a, std::int64_t) { return viaDouble<S>(std::sqrt(static_cast<double>(a))); }
};
struct LogSumFold : SumFold {
    template <typename S> static S finish(S a, std::int64_t) { return viaDouble<S>(std::log(static_cast<double>(a))); }
};

template <typename Fold, typename Types = NumberTypes> Result<void> runReduce(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Reduction r, reductionOf(c, x));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), r.output));
    NABLA_CHECK(dispatch(Types{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        using S = SumType<T>;
        const auto in = x.data<T>();
        const auto out = y.mutableData<T>();
        std::vector<S> sums(out.size(), Fold::template start<S>());
        forEachFolded(x, r, [&](std::int64_t o, std::int64_t i) {
            S& sum = sums[static_cast<std::size_t>(o)];
            sum = Fold::join(sum, static_cast<S>(in[static_cast<std::size_t>(i)]));
        });
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = convert<T>(Fold::finish(sums[i], r.count));
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

// ---- Max, Min ----

template <bool isMax, typename T> Result<void> foldExtreme(const Tensor& x, const Reduction& r, const T* in, T* out, std::int64_t results) {
    using L = std::numeric_limits<ComputeType<T>>;
    const auto start = static_cast<T>(isMax ? (L::has_infinity ? -L::infinity() : L::lowest()) : (L::has_infinity ? L::infinity() : L::max()));
    std::fill_n(out, results, start);
    forEachFolded(x, r, [&](std::int64_t o, std::int64_t i) {
        const auto best = widen(out[o]), next = widen(in[i]);
        const bool nextIsNan = next != next, bestIsNan = best != best; // NaN wins, as in NumPy
        if (!bestIsNan && (nextIsNan || (isMax ? next > best : next < best)))
            out[o] = in[i];
    });
    return {};
}

template <bool isMax> Result<void> runExtreme(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Reduction r, reductionOf(c, x));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), r.output));
    if (x.dtype() == DType::Bool) { // bytes of which a file may hold any
        NABLA_TRY(Tensor bits, Tensor::make(DType::UInt8, x.shape()));
        for (std::int64_t i = 0; i < x.elementCount(); ++i)
            bits.mutableData<std::uint8_t>()[static_cast<std::size_t>(i)] = x.asInt64(i) != 0;
        auto* out = reinterpret_cast<std::uint8_t*>(y.mutableRaw());
        NABLA_CHECK((foldExtreme<isMax, std::uint8_t>(x, r, bits.data<std::uint8_t>().data(), out, y.elementCount())));
        for (std::int64_t i = 0; i < y.elementCount(); ++i)
            out[i] = out[i] != 0;
    } else {
        NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
            return foldExtreme<isMax, T>(x, r, x.data<T>().data(), y.mutableData<T>().data(), y.elementCount());
        }));
    }
    c.setOutput(0, std::move(y));
    return {};
}

// ---- LogSumExp: shifted by the maximum, so that nothing overflows ----

Result<void> runLogSumExp(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Reduction r, reductionOf(c, x));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), r.output));
    NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const auto in = x.data<T>();
        const auto out = y.mutableData<T>();
        std::vector<double> largest(out.size(), -std::numeric_limits<double>::infinity()), sums(out.size(), 0);
        const auto at = [&](std::int64_t i) { return static_cast<double>(in[static_cast<std::size_t>(i)]); };
        forEachFolded(x, r, [&](std::int64_t o, std::int64_t i) {
            double& best = largest[static_cast<std::size_t>(o)];
            best = std::isnan(best) || best > at(i) ? best : at(i);
        });
        forEachFolded(x, r, [&](std::int64_t o, std::int64_t i) {
            const double best = largest[static_cast<std::size_t>(o)];
            sums[static_cast<std::size_t>(o)] += std::isinf(best) ? (at(i) == best ? 1 : 0) : std::exp(at(i) - best);
        });
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = convert<T>(viaDouble<SumType<T>>(sums[i] == 0 ? largest[i] : largest[i] + std::log(sums[i])));
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

// ---- gradients ----

/// A result or cotangent of the reduction with the reduced axes back as ones, so that it broadcasts against the input.
ValueId restored(GradientBuilder& b, const Node& n, ValueId value) {
    if (n.intAttribute("keepdims", 1) != 0)
        return value;
    const ValueId x = n.inputs[0];
    const auto rank = b.rank(x);
    if (!n.input(1)) { // every axis (or none, when that is what no axes mean)
        if (n.intAttribute("noop_with_empty_axes", 0) != 0)
            return value;
        if (rank)
            return b.op("Reshape", {value, b.ints(std::vector<std::int64_t>(*rank, 1))});
        const ValueId ones = b.op("ConstantOfShape", {b.shapeOf(b.shapeOf(x))}, {{"value", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({1}, {1}))}});
        return b.op("Reshape", {value, ones});
    }
    // An empty list of axes means every axis: then the result has one element, and the shape of ones fits, whatever the axes are.
    const TensorPtr axes = constantOf(b.editor().graph(), n.inputs[1]);
    if (axes && axes->elementCount() > 0)
        return b.op("Unsqueeze", {value, n.inputs[1]});
    if (axes && rank && n.intAttribute("noop_with_empty_axes", 0) == 0)
        return b.op("Reshape", {value, b.ints(std::vector<std::int64_t>(*rank, 1))});
    return axes ? value : b.op("Unsqueeze", {value, n.inputs[1]});
}

/// Elements folded into each result, as a scalar of the input's type: the ratio of the sizes.
ValueId foldedCount(GradientBuilder& b, const Node& n) {
    const auto in = b.type(n.inputs[0]).concreteShape(), out = b.type(n.outputs[0]).concreteShape();
    if (in && out && elementCount(*out) > 0)
        return b.scalar(n.inputs[0], static_cast<double>(elementCount(*in) / elementCount(*out)));
    return b.div(b.castLike(b.op("Size", {n.inputs[0]}), n.inputs[0]), b.castLike(b.op("Size", {n.outputs[0]}), n.inputs[0]));
}

Gradients withAxes(const Node& n, ValueId dx) {
    std::vector<ValueId> out(n.inputs.size());
    out[0] = dx;
    return out;
}
ValueId spread(GradientBuilder& b, const Node& n, ValueId value) { return b.op("Expand", {restored(b, n, value), b.shapeOf(n.inputs[0])}); }

Gradients gradSum(GradientBuilder& b, const Node& n, OutputGrads dy) { return withAxes(n, spread(b, n, dy[0])); }
Gradients gradMean(GradientBuilder& b, const Node& n, OutputGrads dy) { return withAxes(n, spread(b, n, b.div(dy[0], foldedCount(b, n)))); }

/// Elements that tie for the extreme share the cotangent equally.
Gradients gradExtreme(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const ValueId hits = b.castLike(b.op("Equal", {x, restored(b, n, n.outputs[0])}), x);
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = hits;
    const ValueId count = b.op("ReduceSum", inputs, n.attributes);
    return withAxes(n, b.mul(hits, restored(b, n, b.div(dy[0], count))));
}

Gradients gradL1(GradientBuilder& b, const Node& n, OutputGrads dy) { return withAxes(n, b.mul(restored(b, n, dy[0]), b.op("Sign", {n.inputs[0]}))); }

/// x / |x|, and 0 where the norm is 0: the division sees 1 there.
Gradients gradL2(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], y = n.outputs[0];
    const ValueId isZero = b.op("Equal", {y, b.scalar(y, 0)});
    const ValueId scale = b.where(isZero, b.scalar(y, 0), b.div(dy[0], b.where(isZero, b.scalar(y, 1), y)));
    return withAxes(n, b.mul(x, restored(b, n, scale)));
}

Gradients gradSumSquare(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    return withAxes(n, b.mul(restored(b, n, dy[0]), b.mul(b.scalar(x, 2), x)));
}

/// y = log s: dx = dy / s, the same for every element.
Gradients gradLogSum(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> inputs = n.inputs;
    return withAxes(n, spread(b, n, b.div(dy[0], b.op("ReduceSum", inputs, n.attributes))));
}

/// dx = dy * exp(x - y). Where y is -inf (every x is) the difference is taken from 0, which gives 0.
Gradients gradLogSumExp(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], y = n.outputs[0];
    const ValueId safe = b.where(b.op("IsInf", {y}), b.scalar(y, 0), y);
    return withAxes(n, b.mul(restored(b, n, dy[0]), b.op("Exp", {b.sub(x, restored(b, n, safe))})));
}

/// The product of all others, right with any number of zeros and differentiable again: the reduced axes are brought together as the last
/// one, and every element meets the products of what lies before and after it.
Gradients gradProd(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const auto rank = b.rank(x);
    if (!rank)
        return runError("ReduceProd: the rank of its input is not known");
    std::vector<std::int64_t> axes;
    if (n.input(1)) {
        const TensorPtr known = constantOf(b.editor().graph(), n.inputs[1]);
        if (!known)
            return runError("ReduceProd: its axes are known only while running");
        NABLA_TRY(axes, normalizeAxes(known->toInt64s(), *rank));
    }
    if (axes.empty() && n.intAttribute("noop_with_empty_axes", 0) != 0)
        return withAxes(n, dy[0]);
    std::vector<std::int64_t> perm, inverse(*rank);
    std::vector<std::int64_t> last;
    for (std::size_t i = 0; i < *rank; ++i) {
        const auto axis = static_cast<std::int64_t>(i);
        const bool goes = axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end();
        (goes ? last : perm).push_back(axis);
    }
    const std::size_t kept = perm.size();
    perm.insert(perm.end(), last.begin(), last.end());
    for (std::size_t i = 0; i < *rank; ++i)
        inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    const ValueId moved = b.op("Transpose", {x}, {intsAttr("perm", perm)});
    const ValueId shape = b.shapeOf(moved);
    const ValueId flat = b.op("Flatten", {moved}, {intAttr("axis", static_cast<std::int64_t>(kept))});
    const ValueId axis = b.intScalar(1);
    const ValueId before = b.op("CumProd", {flat, axis}, {intAttr("exclusive", 1)});
    const ValueId after = b.op("CumProd", {flat, axis}, {intAttr("exclusive", 1), intAttr("reverse", 1)});
    const ValueId others = b.op("Reshape", {b.mul(before, after), shape}, {intAttr("allowzero", 1)});
    const ValueId back = b.op("Transpose", {others}, {intsAttr("perm", std::move(inverse))});
    return withAxes(n, b.mul(restored(b, n, dy[0]), back));
}

/// Nothing is summed where no axis is named and that means none.
template <int each> std::int64_t reduced(const CostInputs& c) {
    const bool nothing = c.node.intAttribute("noop_with_empty_axes", 0) != 0 && inputElements(c, 1) == 0;
    return nothing ? elementwiseIn<each - 1>(c) : elementwiseIn<each>(c);
}

Result<void> upgradeAxes(UpgradeContext& c) { return attributeToInput(c, "axes", 1); }
constexpr Upgrade kSumUpgrades[] = {{12, upgradeAxes}};
constexpr Upgrade kAxesUpgrades[] = {{17, upgradeAxes}};

constexpr OpDef kOps[] = {
    {.name = "ReduceSum", .since = 13, .source = "ONNX Operators.md, ReduceSum-13", .run = runReduce<SumFold>, .gradient = gradSum,
        .flops = reduced<1>, .upgrades = kSumUpgrades},
    {.name = "ReduceMean", .since = 18, .source = "ONNX Operators.md, ReduceMean-18", .run = runReduce<MeanFold>, .gradient = gradMean,
        .flops = reduced<1>, .upgrades = kAxesUpgrades},
    {.name = "ReduceMax", .since = 20, .source = "ONNX Operators.md, ReduceMax-20", .run = runExtreme<true>, .gradient = gradExtreme,
        .flops = reduced<1>, .upgrades = kAxesUpgrades},
    {.name = "ReduceMin", .since = 20, .source = "ONNX Operators.md, ReduceMin-20", .run = runExtreme<false>, .gradient = gradExtreme,
        .flops = reduced<1>, .upgrades = kAxesUpgrades},
    {.name = "ReduceProd", .since = 18, .source = "ONNX Operators.md, ReduceProd-18", .run = runReduce<ProdFold>, .gradient = gradProd,
        .flops = reduced<1>, .upgrades = kAxesUpgrades},
    {.name = "ReduceL1", .since = 18, .source = "ONNX Operators.md, ReduceL1-18", .run = runReduce<L1Fold>, .gradient = gradL1,
        .flops = reduced<2>, .upgrades = kAxesUpgrades},
    {.name = "ReduceL2", .since = 18, .source = "ONNX Operators.md, ReduceL2-18", .run = runReduce<L2Fold>, .gradient = gradL2,
        .flops = reduced<2>, .upgrades = kAxesUpgrades},
    {.name = "ReduceSumSquare", .since = 18, .source = "ONNX Operators.md, ReduceSumSquare-18", .run = runReduce<SumSquareFold>,
        .gradient = gradSumSquare, .flops = reduced<2>, .upgrades = kAxesUpgrades},
    {.name = "ReduceLogSum", .since = 28, .source = "ONNX Operators.md, ReduceLogSum-28", .run = runReduce<LogSumFold>, .gradient = gradLogSum,
        .flops = reduced<1>, .upgrades = kAxesUpgrades},
    {.name = "ReduceLogSumExp", .since = 28, .source = "ONNX Operators.md, ReduceLogSumExp-28", .run = runLogSumExp, .gradient = gradLogSumExp,
        .flops = reduced<2>, .upgrades = kAxesUpgrades},
};

} // namespace

std::span<const OpDef> reductionOps() { return kOps; }

} // namespace nabla::engine

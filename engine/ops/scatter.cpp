// ScatterElements, ScatterND, Scatter, TensorScatter: elements put where indices say.
#include <algorithm>
#include <complex>

#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

enum class Combine : std::uint8_t { Replace, Add, Mul, Max, Min };

Result<Combine> combineOf(const KernelContext& c) {
    const std::string text = c.node().opType == "Scatter" ? "none" : c.stringAttribute("reduction");
    static constexpr std::pair<std::string_view, Combine> kNames[]
        = {{"none", Combine::Replace}, {"", Combine::Replace}, {"add", Combine::Add}, {"mul", Combine::Mul}, {"max", Combine::Max}, {"min", Combine::Min}};
    for (const auto& [name, combine] : kNames) {
        if (name == text)
            return combine;
    }
    return runError("{}: reduction is \"{}\", wants none, add, mul, max or min", c.node().opType, text);
}

template <typename T> T combined(T old, T update, Combine how) {
    switch (how) {
    case Combine::Add: return wrapAdd(old, update);
    case Combine::Mul: return wrapMul(old, update);
    case Combine::Max: return old != old || old > update ? old : update; // NaN stays
    case Combine::Min: return old != old || old < update ? old : update;
    case Combine::Replace: break;
    }
    return update;
}

/// y[at + i] = y[at + i] (op) updates[from + i]. Floats of 16 bits round after every step, as the standard's loop over elements does.
Result<void> combineInto(const KernelContext& c, Tensor& y, std::int64_t at, const Tensor& updates, std::int64_t from, std::int64_t count, Combine how) {
    if (how == Combine::Replace) {
        copyElements(y, at, updates, from, count);
        return {};
    }
    if (y.dtype() == DType::Bool) { // or for add and max, and for mul and min
        for (std::int64_t i = 0; i < count; ++i) {
            const bool a = y.asInt64(at + i) != 0, b = updates.asInt64(from + i) != 0;
            y.mutableRaw()[at + i] = static_cast<std::byte>(how == Combine::Add || how == Combine::Max ? a || b : a && b);
        }
        return {};
    }
    if (isComplex(y.dtype()) && (how == Combine::Add || how == Combine::Mul)) { // complex numbers have no order
        return dispatch(TypeList<std::complex<float>, std::complex<double>>{}, c, y.dtype(), [&]<typename T>() -> Result<void> {
            T* out = y.mutableData<T>().data() + at;
            const T* in = updates.data<T>().data() + from;
            for (std::int64_t i = 0; i < count; ++i)
                out[i] = how == Combine::Add ? out[i] + in[i] : out[i] * in[i];
            return {};
        });
    }
    return dispatch(NumberTypes{}, c, y.dtype(), [&]<typename T>() -> Result<void> {
        T* out = y.mutableData<T>().data();
        const T* in = updates.data<T>().data();
        for (std::int64_t i = 0; i < count; ++i)
            out[at + i] = static_cast<T>(combined(widen(out[at + i]), widen(in[from + i]), how));
        return {};
    });
}

/// The data, copied into the output, ready to be written to.
Result<Tensor> copyOfData(const KernelContext& c, const Tensor& x, const Tensor& updates) {
    if (updates.dtype() != x.dtype())
        return runError("{}: updates are {}, data is {}", c.node().opType, name(updates.dtype()), name(x.dtype()));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    if (y.raw() != x.raw())
        copyElements(y, 0, x, 0, x.elementCount());
    return y;
}

Result<void> runScatterElements(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto indices, needInts(c, 1));
    NABLA_TRY(const Tensor updates, needTensor(c, 2));
    NABLA_TRY(const Combine how, combineOf(c));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const auto a = static_cast<std::size_t>(axis);
    const Shape& shape = c.input(1).shape();
    bool fits = updates.shape() == shape && shape.size() == x.rank();
    for (std::size_t d = 0; fits && d < x.rank(); ++d)
        fits = d == a || shape[d] <= x.dim(d);
    if (!fits)
        return runError("{}: indices {} and updates {} do not fit data {}", c.node().opType, toString(shape), toString(updates.shape()), toString(x.shape()));
    NABLA_TRY(Tensor y, copyOfData(c, x, updates));
    const auto strides = rowMajorStrides(x.shape());
    std::size_t at = 0;
    for (IndexWalk walk(shape); !walk.done(); walk.next(), ++at) {
        const std::int64_t size = x.dim(a);
        if (indices[at] < -size || indices[at] >= size)
            return runError("{}: index {} is out of range for an axis of {}", c.node().opType, indices[at], size);
        const std::int64_t i = indices[at] < 0 ? indices[at] + size : indices[at];
        NABLA_CHECK(combineInto(c, y, walk.dot(strides) + (i - walk[a]) * strides[a], updates, static_cast<std::int64_t>(at), 1, how));
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runScatterND(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto indices, needInts(c, 1));
    NABLA_TRY(const Tensor updates, needTensor(c, 2));
    NABLA_TRY(const Combine how, combineOf(c));
    const Shape& shape = c.input(1).shape();
    if (shape.empty() || shape.back() > static_cast<std::int64_t>(x.rank()))
        return runError("ScatterND: indices {} into data {}", toString(shape), toString(x.shape()));
    const auto depth = static_cast<std::size_t>(shape.back());
    Shape wanted(shape.begin(), shape.end() - 1);
    wanted.insert(wanted.end(), x.shape().begin() + shape.back(), x.shape().end());
    if (updates.shape() != wanted)
        return runError("ScatterND: updates {} for indices {} into data {}, wants {}", toString(updates.shape()), toString(shape), toString(x.shape()), toString(wanted));
    NABLA_TRY(Tensor y, copyOfData(c, x, updates));
    const auto strides = rowMajorStrides(x.shape());
    const std::int64_t run = elementCount(std::span(x.shape()).subspan(depth)), rows = elementCount(std::span(shape).first(shape.size() - 1));
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < depth; ++d) {
            const std::int64_t index = indices[static_cast<std::size_t>(row) * depth + d], size = x.dim(d);
            if (index < -size || index >= size)
                return runError("ScatterND: index {} is out of range for axis {} of {}", index, d, toString(x.shape()));
            at += (index < 0 ? index + size : index) * strides[d];
        }
        NABLA_CHECK(combineInto(c, y, at, updates, row * run, run, how));
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runTensorScatter(const KernelContext& c) {
    NABLA_TRY(const Tensor cache, needTensor(c, 0));
    NABLA_TRY(const Tensor update, needTensor(c, 1));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), cache.rank()));
    const auto a = static_cast<std::size_t>(axis);
    const std::string mode = c.stringAttribute("mode");
    Shape wanted = cache.shape();
    if (update.rank() == cache.rank())
        wanted[a] = update.dim(a);
    if (axis == 0 || update.shape() != wanted || update.dim(a) > cache.dim(a) || (mode != "linear" && mode != "circular"))
        return runError("TensorScatter: update {} into cache {} along axis {}, mode \"{}\"", toString(update.shape()), toString(cache.shape()), axis, mode);
    std::vector<std::int64_t> starts(static_cast<std::size_t>(cache.dim(0)), 0);
    if (c.hasInput(2)) {
        NABLA_TRY(starts, needInts(c, 2));
    }
    if (static_cast<std::int64_t>(starts.size()) != cache.dim(0))
        return runError("TensorScatter: {} write indices for a batch of {}", starts.size(), cache.dim(0));
    NABLA_TRY(Tensor y, copyOfData(c, cache, update));
    const AxisSplit to(cache.shape(), axis), from(update.shape(), axis);
    const std::int64_t perSample = cache.dim(0) == 0 ? 0 : to.outer / cache.dim(0);
    for (std::int64_t o = 0; o < to.outer; ++o) {
        const std::int64_t start = starts[static_cast<std::size_t>(o / perSample)];
        if (start < 0 || (mode == "linear" && start > to.size - from.size))
            return runError("TensorScatter: {} entries from {} do not fit into {}", from.size, start, to.size);
        for (std::int64_t s = 0; s < from.size; ++s) {
            const std::int64_t at = mode == "linear" ? start + s : (start % to.size + s) % to.size;
            copyElements(y, (o * to.size + at) * to.inner, update, (o * from.size + s) * to.inner, to.inner);
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

// ---- gradients ----

/// How to pick what was scattered, and to scatter again; the same rule for both operators.
struct Scattering {
    GradientBuilder& b;
    const Node& n;
    std::string_view scatter, gather;
    std::vector<Attribute> place; ///< axis, where there is one

    ValueId pick(ValueId from) const { return b.op(gather, {from, n.inputs[1]}, place); }
    ValueId put(ValueId into, ValueId updates, std::string_view reduction) const {
        std::vector<Attribute> attributes = place;
        attributes.push_back(stringAttr("reduction", std::string(reduction)));
        return b.op(scatter, {into, n.inputs[1], updates}, std::move(attributes));
    }
};

/// Data and updates that tie for the extreme share the cotangent equally.
Gradients gradScatterExtreme(const Scattering& s, ValueId dy) {
    GradientBuilder& b = s.b;
    const ValueId x = s.n.inputs[0], updates = s.n.inputs[2], y = s.n.outputs[0];
    const ValueId ofData = b.castLike(b.op("Equal", {x, y}), y);
    const ValueId ofUpdates = b.castLike(b.op("Equal", {updates, s.pick(y)}), y);
    const ValueId share = b.div(dy, s.put(ofData, ofUpdates, "add"));
    return std::vector{b.mul(share, ofData), ValueId{}, b.mul(s.pick(share), ofUpdates)};
}

Gradients gradScatter(const Scattering& s, ValueId dy) {
    GradientBuilder& b = s.b;
    const std::string reduction = s.n.stringAttribute("reduction", "none");
    const ValueId updates = s.n.inputs[2];
    if (reduction == "max" || reduction == "min")
        return gradScatterExtreme(s, dy);
    if (reduction == "add")
        return std::vector{dy, ValueId{}, s.pick(dy)};
    if (reduction == "mul") { // y = x * product of the updates; the cotangent of an update that is 0 is not a number, as y / 0 says
        const ValueId product = s.put(b.op("Expand", {b.scalar(s.n.inputs[0], 1), b.shapeOf(s.n.inputs[0])}), updates, "mul");
        return std::vector{b.mul(dy, product), ValueId{}, b.div(s.pick(b.mul(dy, s.n.outputs[0])), updates)};
    }
    return std::vector{s.put(dy, b.zerosLike(updates), "none"), ValueId{}, s.pick(dy)};
}

Gradients gradScatterElements(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return gradScatter({b, n, "ScatterElements", "GatherElements", {intAttr("axis", n.intAttribute("axis", 0))}}, dy[0]);
}
Gradients gradScatterND(GradientBuilder& b, const Node& n, OutputGrads dy) { return gradScatter({b, n, "ScatterND", "GatherND", {}}, dy[0]); }

/// The cache keeps its cotangent where nothing was written; the update gets the rest, picked by the positions it was written to.
Gradients gradTensorScatter(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId cache = n.inputs[0], update = n.inputs[1];
    const auto rank = b.rank(cache);
    if (!rank)
        return runError("TensorScatter: the rank of its cache is not known");
    NABLA_TRY(const std::int64_t axis, normalizeAxis(n.intAttribute("axis", -2), *rank));
    std::vector<std::int64_t> alongAxis(*rank, 1), alongBatch(*rank, 1);
    alongAxis[static_cast<std::size_t>(axis)] = -1;
    alongBatch[0] = -1;
    const ValueId length = b.op("Gather", {b.shapeOf(update), b.intScalar(axis)});
    ValueId positions = b.op("Reshape", {b.op("Range", {b.intScalar(0), length, b.intScalar(1)}), b.ints(std::move(alongAxis))});
    if (n.input(2))
        positions = b.add(positions, b.op("Reshape", {n.inputs[2], b.ints(std::move(alongBatch))}));
    if (n.stringAttribute("mode", "linear") == "circular")
        positions = b.op("Mod", {positions, b.op("Gather", {b.shapeOf(cache), b.intScalar(axis)})});
    const ValueId indices = b.op("Expand", {positions, b.shapeOf(update)});
    const ValueId dUpdate = b.op("GatherElements", {dy[0], indices}, {intAttr("axis", axis)});
    const ValueId dCache = b.op("ScatterElements", {dy[0], indices, b.zerosLike(update)}, {intAttr("axis", axis)});
    return std::vector{dCache, dUpdate, ValueId{}};
}

/// Scatter is ScatterElements under its old name.
Result<void> upgradeScatter(UpgradeContext& c) {
    Node changed = c.node;
    changed.opType = "ScatterElements";
    return replaceWith(c, std::move(changed));
}
/// With a reduction, one for every update.
std::int64_t scatterFlops(const CostInputs& c) {
    return c.node.stringAttribute("reduction", "none") != "none" && touchesFloats(c) ? inputElements(c, 2) : 0;
}
constexpr Upgrade kScatterUpgrades[] = {{11, upgradeScatter}};

constexpr OpDef kOps[] = {
    {.name = "ScatterElements", .since = 18, .source = "ONNX Operators.md, ScatterElements-18", .run = runScatterElements,
        .gradient = gradScatterElements, .flops = scatterFlops},
    {.name = "ScatterND", .since = 18, .source = "ONNX Operators.md, ScatterND-18", .run = runScatterND, .gradient = gradScatterND, .flops = scatterFlops},
    {.name = "Scatter", .since = 11, .source = "ONNX Operators.md, Scatter-11", .run = runScatterElements, .gradient = gradScatterElements,
        .flops = noFlops, .upgrades = kScatterUpgrades},
    {.name = "TensorScatter", .since = 24, .source = "ONNX Operators.md, TensorScatter-24", .run = runTensorScatter, .gradient = gradTensorScatter,
        .flops = noFlops},
};

} // namespace

std::span<const OpDef> scatterOps() { return kOps; }

} // namespace nabla::engine

// Constant, ConstantOfShape, Range, EyeLike, OneHot, NonZero: tensors made from few numbers, or from truth values.
#include <cmath>

#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

Result<Tensor> constantTensor(const Node& n) {
    if (const TensorPtr t = n.tensorAttribute("value"))
        return *t;
    if (const Attribute* a = n.attribute("value_float"))
        return Tensor::scalar(std::get<float>(a->value));
    if (const Attribute* a = n.attribute("value_int"))
        return Tensor::scalar(std::get<std::int64_t>(a->value));
    if (const Attribute* a = n.attribute("value_string"))
        return Tensor::scalar(std::get<std::string>(a->value));
    const auto length = [](const auto& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
    if (n.attribute("value_floats"))
        return Tensor::of<float>(length(n.floatsAttribute("value_floats")), n.floatsAttribute("value_floats"));
    if (n.attribute("value_ints"))
        return Tensor::of<std::int64_t>(length(n.intsAttribute("value_ints")), n.intsAttribute("value_ints"));
    if (n.attribute("value_strings"))
        return Tensor::of<std::string>(length(n.stringsAttribute("value_strings")), n.stringsAttribute("value_strings"));
    return runError("Constant has no value");
}

/// Values where the indices say, zeros elsewhere; indices are flat, or one row of coordinates per value.
Result<Tensor> densified(const SparseTensor& sparse) {
    NABLA_TRY(Tensor dense, Tensor::make(sparse.values->dtype(), sparse.shape));
    const Tensor& at = *sparse.indices;
    const auto strides = rowMajorStrides(sparse.shape);
    const std::int64_t count = sparse.values->elementCount();
    const bool flat = at.rank() == 1;
    if (at.elementCount() != (flat ? count : count * static_cast<std::int64_t>(sparse.shape.size())))
        return runError("Constant: a sparse tensor has {} values and indices {}", count, toString(at.shape()));
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t position = flat ? at.asInt64(i) : 0;
        for (std::size_t d = 0; !flat && d < strides.size(); ++d) {
            const std::int64_t index = at.asInt64(i * static_cast<std::int64_t>(strides.size()) + static_cast<std::int64_t>(d));
            if (index < 0 || index >= sparse.shape[d])
                return runError("Constant: index {} of a sparse tensor is not in [0, {})", index, sparse.shape[d]);
            position += index * strides[d];
        }
        if (position < 0 || position >= dense.elementCount())
            return runError("Constant: index {} of a sparse tensor is not in [0, {})", position, dense.elementCount());
        copyElements(dense, position, *sparse.values, i, 1);
    }
    return dense;
}

Result<void> runConstant(const KernelContext& c) {
    Tensor value;
    const Attribute* sparse = c.node().attribute("sparse_value");
    if (const auto* p = sparse ? std::get_if<SparseTensorPtr>(&sparse->value) : nullptr; p && *p && (*p)->values && (*p)->indices) {
        NABLA_TRY(value, densified(**p));
    } else {
        NABLA_TRY(value, constantTensor(c.node()));
    }
    return setReshaped(c, value, value.shape());
}

Result<void> runConstantOfShape(const KernelContext& c) {
    NABLA_TRY(const auto shape, needInts(c, 0));
    if (auto ok = checkShape(shape); !ok)
        return Error{ErrorKind::Run, ok.error().message()};
    Tensor value = Tensor::scalar(0.0F);
    if (const TensorPtr own = c.node().tensorAttribute("value"))
        value = *own;
    if (value.elementCount() != 1)
        return runError("ConstantOfShape: value has {} elements, wants one", value.elementCount());
    NABLA_TRY(Tensor y, c.makeOutput(0, value.dtype(), shape));
    fillElements(y, 0, y.elementCount(), value);
    c.setOutput(0, std::move(y));
    return {};
}

// ---- Range ----

template <typename T> Result<std::int64_t> rangeCount(T start, T limit, T delta) {
    if (delta == 0)
        return runError("Range: delta is 0");
    if constexpr (std::is_integral_v<T>) {
        if (delta > 0 ? limit <= start : limit >= start)
            return 0;
        const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit), step = static_cast<std::uint64_t>(delta);
        const std::uint64_t span = delta > 0 ? to - from : from - to;
        const std::uint64_t count = (span - 1) / (delta > 0 ? step : std::uint64_t{0} - step) + 1;
        if (count > (std::uint64_t{1} << 62))
            return runError("Range from {} to {} by {} is too large", start, limit, delta);
        return static_cast<std::int64_t>(count);
    } else {
        const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
        if (std::isnan(count) || count > 4.6e18)
            return runError("Range from {} to {} by {} has no length", start, limit, delta);
        return count < 0 ? 0 : static_cast<std::int64_t>(count);
    }
}

Result<void> runRange(const KernelContext& c) {
    NABLA_TRY(const Tensor start, needTensor(c, 0));
    for (std::size_t i = 0; i < 3; ++i) {
        NABLA_TRY(const Tensor t, needTensor(c, i));
        if (t.elementCount() != 1 || t.dtype() != start.dtype())
            return runError("Range: input {} is {} {}, wants one {}", i, name(t.dtype()), toString(t.shape()), name(start.dtype()));
    }
    using Types = TypeList<float, double, Half, BFloat16, std::int16_t, std::int32_t, std::int64_t>;
    return dispatch(Types{}, c, start.dtype(), [&]<typename T>() -> Result<void> {
        using S = SumType<T>;
        const auto first = widen(start.data<T>()[0]), limit = widen(c.input(1).data<T>()[0]), delta = widen(c.input(2).data<T>()[0]);
        NABLA_TRY(const std::int64_t count, rangeCount(first, limit, delta));
        NABLA_TRY(Tensor y, c.makeOutput(0, start.dtype(), {count}));
        const auto out = y.mutableData<T>();
        for (std::int64_t i = 0; i < count; ++i)
            out[static_cast<std::size_t>(i)] = convert<T>(wrapAdd(static_cast<S>(first), wrapMul(static_cast<S>(i), static_cast<S>(delta))));
        c.setOutput(0, std::move(y));
        return {};
    });
}

// ---- EyeLike ----

Result<void> runEyeLike(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (x.rank() != 2)
        return runError("EyeLike wants rank 2, got {}", toString(x.shape()));
    const DType type = c.hasAttribute("dtype") ? static_cast<DType>(c.intAttribute("dtype")) : x.dtype();
    if (bitWidth(type) == 0)
        return runError("EyeLike: dtype {} is no element type for numbers", c.intAttribute("dtype"));
    NABLA_TRY(Tensor y, c.makeOutput(0, type, x.shape()));
    fillElements(y, 0, y.elementCount());
    NABLA_TRY(Tensor one, Tensor::make(type, {}));
    writeDouble(type, one.mutableRaw(), 0, 1);
    const std::int64_t k = std::clamp(c.intAttribute("k"), -x.dim(0), x.dim(1));
    for (std::int64_t row = std::max<std::int64_t>(0, -k); row < x.dim(0) && row + k < x.dim(1); ++row)
        copyElements(y, row * x.dim(1) + row + k, one, 0, 1);
    c.setOutput(0, std::move(y));
    return {};
}

// ---- OneHot ----

Result<void> runOneHot(const KernelContext& c) {
    NABLA_TRY(const Tensor indices, needTensor(c, 0));
    NABLA_TRY(const Tensor depthTensor, needTensor(c, 1));
    NABLA_TRY(const Tensor values, needTensor(c, 2));
    if (depthTensor.elementCount() != 1 || values.elementCount() != 2 || indices.dtype() == DType::String || depthTensor.dtype() == DType::String)
        return runError("OneHot wants one depth and two values, got {} and {}", depthTensor.elementCount(), values.elementCount());
    const std::int64_t depth = depthTensor.asInt64(0);
    if (depth <= 0)
        return runError("OneHot: depth is {}", depth);
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), indices.rank() + 1));
    Shape shape = indices.shape();
    shape.insert(shape.begin() + axis, depth);
    NABLA_TRY(Tensor y, c.makeOutput(0, values.dtype(), shape));
    fillElements(y, 0, y.elementCount(), values, 0);
    const AxisSplit split(shape, axis);
    for (std::int64_t i = 0; i < indices.elementCount(); ++i) {
        std::int64_t at = indices.asInt64(i);
        at += at < 0 ? depth : 0;
        if (at >= 0 && at < depth) // an index out of range gives a row of "off"
            copyElements(y, (i / split.inner * depth + at) * split.inner + i % split.inner, values, 1, 1);
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// The cotangents of "off" and "on" are sums over the elements that are off and on.
Gradients gradOneHot(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId values = n.inputs[2];
    NABLA_TRY(Tensor truth, Tensor::make(DType::Bool, {2}));
    truth.mutableRaw()[1] = std::byte{1};
    const ValueId isOn = b.op("OneHot", {n.inputs[0], n.inputs[1], b.constant(std::move(truth))}, n.attributes);
    const ValueId zero = b.scalar(values, 0);
    const auto total = [&](ValueId v) { return b.op("Reshape", {b.op("ReduceSum", {v}, {intAttr("keepdims", 0)}), b.ints({1})}); };
    const ValueId both = b.op("Concat", {total(b.where(isOn, zero, dy[0])), total(b.where(isOn, dy[0], zero))}, {intAttr("axis", 0)});
    return std::vector{ValueId{}, ValueId{}, both};
}

// ---- NonZero ----

Result<void> runNonZero(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    std::vector<std::int64_t> hits;
    for (std::int64_t i = 0; i < x.elementCount(); ++i) {
        const bool isSet = x.dtype() == DType::String ? !x.data<std::string>()[static_cast<std::size_t>(i)].empty()
            : isComplex(x.dtype())                    ? readComplex(x.dtype(), x.raw(), i) != std::complex<double>{}
            : isFloat(x.dtype())                      ? x.asDouble(i) != 0
                                                      : x.asInt64(i) != 0;
        if (isSet)
            hits.push_back(i);
    }
    const std::size_t rows = x.rank(); // [0, N] for a scalar, as the standard says and NumPy does not
    const auto strides = rowMajorStrides(x.shape());
    const Shape& sizes = x.shape();
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Int64, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(hits.size())}));
    const auto out = y.mutableData<std::int64_t>();
    for (std::size_t d = 0; d < rows; ++d) {
        for (std::size_t i = 0; i < hits.size(); ++i)
            out[d * hits.size() + i] = hits[i] / strides[d] % sizes[d];
    }
    c.setOutput(0, std::move(y));
    return {};
}

constexpr GradientRule kIndices = notDifferentiable("its result is indices");

constexpr OpDef kOps[] = {
    {.name = "Constant", .since = 25, .source = "ONNX Operators.md, Constant-25", .run = runConstant,
        .gradient = notDifferentiable("it has no inputs"), .flops = noFlops, .bytes = nothingMoves},
    {.name = "ConstantOfShape", .since = 25, .source = "ONNX Operators.md, ConstantOfShape-25", .run = runConstantOfShape,
        .gradient = notDifferentiable("its input is a shape"), .flops = noFlops},
    {.name = "Range", .since = 27, .source = "ONNX Operators.md, Range-27", .run = runRange,
        .gradient = notDifferentiable("its length depends on its inputs"), .flops = elementwise<1>},
    {.name = "EyeLike", .since = 22, .source = "ONNX Operators.md, EyeLike-22", .run = runEyeLike,
        .gradient = notDifferentiable("it reads only the shape of its input"), .flops = noFlops, .bytes = readsNothing},
    {.name = "OneHot", .since = 28, .source = "ONNX Operators.md, OneHot-28", .run = runOneHot, .gradient = gradOneHot, .flops = noFlops},
    {.name = "NonZero", .since = 13, .source = "ONNX Operators.md, NonZero-13", .run = runNonZero, .gradient = kIndices, .flops = noFlops},
};

} // namespace

std::span<const OpDef> generateOps() { return kOps; }

} // namespace nabla::engine

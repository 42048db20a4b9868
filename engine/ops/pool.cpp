// MaxPool, AveragePool, LpPool, their global forms and MaxUnpool: reference kernels.
#include <cmath>
#include <limits>

#include "engine/ops/cost_rules.h"
#include "engine/ops/iterate.h"
#include "engine/ops/pool_core.h"
#include "engine/ops/pool_grad.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

Result<PoolShape> poolShape(const KernelContext& c, ShapeView x) {
    if (x.size() < 2)
        return runError("input X {} has rank {}, at least 2 is wanted (batch, channels)", toString(x), x.size());
    NABLA_TRY(const WindowAttributes attributes, windowAttributes(c.node(), x.size() - 2));
    PoolShape s;
    NABLA_TRY(s.window, slideOver(attributes, x.subspan(2), c.intAttribute("ceil_mode") != 0 ? Rounding::Ceil : Rounding::Floor));
    s.planes = x[0] * x[1];
    s.inputCells = elementCount(s.window.input);
    s.outputCells = elementCount(s.window.output);
    s.output = {x[0], x[1]};
    s.output.insert(s.output.end(), s.window.output.begin(), s.window.output.end());
    return s;
}

namespace {

template <typename T> constexpr T lowest() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

/// Position of a cell in column-major order, for storage_order = 1.
std::int64_t columnMajor(std::int64_t cell, const Window& w) {
    std::int64_t out = 0;
    const auto strides = rowMajorStrides(w.input);
    for (std::size_t i = w.rank(); i-- > 0;)
        out = out * w.input[i] + cell / strides[i] % w.input[i];
    return out;
}

/// Largest cell of every window; the first of equal ones. NaN is larger than everything, as in NumPy and PyTorch.
template <typename T> void maxPool(const KernelContext& c, const PoolShape& s, const T* x, T* y, std::int64_t* indices) {
    const bool byColumns = c.intAttribute("storage_order") != 0;
    forEachWindow(s, [&](std::int64_t o, const WindowCells& cells) {
        for (std::int64_t plane = 0; plane < s.planes; ++plane) {
            const T* const from = x + plane * s.inputCells;
            T best = lowest<T>();
            std::int64_t at = -1;
            for (const std::int64_t cell : cells.inside) {
                const T value = from[cell];
                if (at < 0 || value > best || (value != value && best == best)) {
                    best = value;
                    at = cell;
                }
            }
            y[plane * s.outputCells + o] = best;
            if (indices && at >= 0)
                indices[plane * s.outputCells + o] = plane * s.inputCells + (byColumns ? columnMajor(at, s.window) : at);
            else if (indices)
                indices[plane * s.outputCells + o] = -1;
        }
    });
}

Result<void> runMaxPool(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_TRY(const PoolShape s, poolShape(c, c.input(0).shape()));
    Tensor indices;
    if (c.wantsOutput(1)) {
        NABLA_TRY(indices, c.makeOutput(1, DType::Int64, s.output));
    }
    std::int64_t* const at = indices.defined() ? indices.mutableData<std::int64_t>().data() : nullptr;
    const DType stored = c.input(0).dtype();
    if (stored == DType::Int8 || stored == DType::UInt8) {
        NABLA_TRY(Tensor y, c.makeOutput(0, stored, s.output));
        if (stored == DType::Int8)
            maxPool(c, s, c.input(0).data<std::int8_t>().data(), y.mutableData<std::int8_t>().data(), at);
        else
            maxPool(c, s, c.input(0).data<std::uint8_t>().data(), y.mutableData<std::uint8_t>().data(), at);
        c.setOutput(0, std::move(y));
    } else {
        const DType type = computeType(c, {0});
        if (type == DType::Int64 || !isFloat(stored))
            return typeError(c, stored);
        NABLA_TRY(const Tensor x, inputAs(c, 0, type));
        NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, stored, type, s.output));
        withFloatType(type, [&]<typename T>(T) { maxPool(c, s, elements<T>(x), y.data<T>(), at); });
        NABLA_CHECK(y.finish());
    }
    if (indices.defined())
        c.setOutput(1, std::move(indices));
    return {};
}

/// Runs reduce(plane, cells) -> T for every window and plane of a float input.
template <typename F> Result<void> reduceWindows(const KernelContext& c, F&& reduce) {
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_TRY(const PoolShape s, poolShape(c, c.input(0).shape()));
    if (!isFloat(c.input(0).dtype()))
        return typeError(c, c.input(0).dtype());
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, s.output));
    withFloatType(type, [&]<typename T>(T) {
        forEachWindow(s, [&](std::int64_t o, const WindowCells& cells) {
            for (std::int64_t plane = 0; plane < s.planes; ++plane)
                y.data<T>()[plane * s.outputCells + o] = reduce(elements<T>(x) + plane * s.inputCells, cells);
        });
    });
    return y.finish();
}

Result<void> runAveragePool(const KernelContext& c) {
    const bool withPads = c.intAttribute("count_include_pad") != 0;
    return reduceWindows(c, [withPads]<typename T>(const T* x, const WindowCells& cells) {
        T sum{};
        for (const std::int64_t cell : cells.inside)
            sum += x[cell];
        return sum / static_cast<T>(withPads ? cells.padded : static_cast<std::int64_t>(cells.inside.size()));
    });
}

/// (sum of |x|^p)^(1/p) over a list of cells.
template <typename T, typename Cells> T norm(const T* x, const Cells& cells, std::int64_t p) {
    T sum{};
    for (const std::int64_t cell : cells)
        sum += p == 1 ? std::abs(x[cell]) : p == 2 ? x[cell] * x[cell] : std::pow(std::abs(x[cell]), static_cast<T>(p));
    return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, T{1} / static_cast<T>(p));
}

Result<std::int64_t> normOrder(const KernelContext& c) {
    const std::int64_t p = c.intAttribute("p");
    if (p < 1)
        return runError("p is {}, at least 1 is wanted", p);
    return p;
}

Result<void> runLpPool(const KernelContext& c) {
    NABLA_TRY(const std::int64_t p, normOrder(c));
    return reduceWindows(c, [p]<typename T>(const T* x, const WindowCells& cells) { return norm(x, cells.inside, p); });
}

/// Reduces all cells of each plane to one: reduce(x, cell count).
template <typename F> Result<void> reducePlanes(const KernelContext& c, F&& reduce) {
    NABLA_CHECK(requireRank(c, 0, 2, "X"));
    if (!isFloat(c.input(0).dtype()))
        return typeError(c, c.input(0).dtype());
    const Shape& shape = c.input(0).shape();
    Shape out(shape.size(), 1);
    std::copy_n(shape.begin(), 2, out.begin());
    const std::int64_t cells = elementCount(ShapeView(shape).subspan(2));
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, out));
    withFloatType(type, [&]<typename T>(T) {
        for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
            y.data<T>()[plane] = reduce(elements<T>(x) + plane * cells, cells);
    });
    return y.finish();
}

Result<void> runGlobalAveragePool(const KernelContext& c) {
    return reducePlanes(c, []<typename T>(const T* x, std::int64_t cells) {
        double sum = 0; // planes are long: the sum keeps more digits than the elements
        for (std::int64_t i = 0; i < cells; ++i)
            sum += static_cast<double>(x[i]);
        return static_cast<T>(sum / static_cast<double>(cells));
    });
}

Result<void> runGlobalMaxPool(const KernelContext& c) {
    return reducePlanes(c, []<typename T>(const T* x, std::int64_t cells) {
        T best = lowest<T>();
        for (std::int64_t i = 0; i < cells; ++i)
            best = x[i] > best || x[i] != x[i] ? x[i] : best;
        return best;
    });
}

struct FirstCells {
    std::int64_t count;
    struct Iterator {
        std::int64_t at;
        std::int64_t operator*() const { return at; }
        Iterator& operator++() { ++at; return *this; }
        bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    Iterator begin() const { return {0}; }
    Iterator end() const { return {count}; }
};

Result<void> runGlobalLpPool(const KernelContext& c) {
    NABLA_TRY(const std::int64_t p, normOrder(c));
    return reducePlanes(c, [p]<typename T>(const T* x, std::int64_t cells) { return norm(x, FirstCells{cells}, p); });
}

/// Without output_size: the size a pool with these attributes would have come from.
Result<Shape> unpooledShape(const KernelContext& c) {
    const Shape& x = c.input(0).shape();
    NABLA_TRY(const WindowAttributes a, windowAttributes(c.node(), x.size() - 2));
    Shape out(x.begin(), x.begin() + 2);
    for (std::size_t i = 0; i + 2 < x.size(); ++i)
        out.push_back(a.strides[i] * (x[i + 2] - 1) + (a.kernel[i] - 1) * a.dilations[i] + 1 - a.pads[i] - a.pads[x.size() - 2 + i]);
    return out;
}

// The indices count in the tensor that the attributes imply; output_size may be larger, then they are carried over cell by cell (ONNX MaxUnpool-22).
Result<void> runMaxUnpool(const KernelContext& c) {
    NABLA_CHECK(requireRank(c, 0, 2, "X"));
    NABLA_CHECK(requireTensor(c, 1, "I"));
    const Tensor &x = c.input(0), &at = c.input(1);
    if (x.shape() != at.shape())
        return runError("indices {} want the shape of X {}", toString(at.shape()), toString(x.shape()));
    NABLA_TRY(const Shape implied, unpooledShape(c));
    Shape shape = implied;
    if (c.hasInput(2))
        shape = c.input(2).toInt64s();
    if (shape.size() != x.rank())
        return runError("output_size {} wants {} numbers", toString(shape), x.rank());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    const std::int64_t count = elementCount(implied);
    const auto impliedStrides = rowMajorStrides(implied), strides = rowMajorStrides(shape);
    return dispatch(FloatTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const auto from = x.data<T>();
        auto to = y.mutableData<T>();
        std::fill(to.begin(), to.end(), T{});
        for (std::size_t i = 0; i < from.size(); ++i) {
            const std::int64_t index = at.asInt64(static_cast<std::int64_t>(i));
            if (index < 0 || index >= count)
                return runError("index {} is outside the {} cells of {}", index, count, toString(implied));
            std::int64_t cell = 0;
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                const std::int64_t position = index / impliedStrides[axis] % implied[axis];
                if (position >= shape[axis])
                    return runError("index {} is outside output_size {}", index, toString(shape));
                cell += position * strides[axis];
            }
            to[static_cast<std::size_t>(cell)] = from[i];
        }
        c.setOutput(0, y);
        return {};
    });
}

template <int each> std::int64_t poolFlops(const CostInputs& c) {
    const auto kernel = c.node.intsAttribute("kernel_shape");
    return checkShape(kernel) ? saturatedProduct({each, outputElements(c), elementCount(kernel)}) : 0;
}

/// LpPool-1 and GlobalLpPool-1 have p as a float.
Result<void> upgradeNormOrder(UpgradeContext& c) {
    const float p = c.node.floatAttribute("p", 2.0F);
    if (p < 1.0F || p != std::floor(p) || p > 1e6F)
        return runError("p = {} has no counterpart: newer versions take whole numbers", p);
    return withAttributes(c, {}, {{"p", static_cast<std::int64_t>(p)}});
}
constexpr Upgrade kNormOrderUpgrades[] = {{1, upgradeNormOrder}};

constexpr OpDef kPoolOps[] = {
    {.name = "MaxPool", .since = 22, .source = "ONNX Operators.md, MaxPool-22", .run = runMaxPool, .gradient = gradMaxPool, .flops = poolFlops<1>},
    {.name = "AveragePool", .since = 22, .source = "ONNX Operators.md, AveragePool-22", .run = runAveragePool, .gradient = gradAveragePool, .flops = poolFlops<1>},
    {.name = "LpPool", .since = 22, .source = "ONNX Operators.md, LpPool-22", .run = runLpPool, .gradient = gradLpPool, .flops = poolFlops<2>,
        .upgrades = kNormOrderUpgrades},
    {.name = "GlobalAveragePool", .since = 22, .source = "ONNX Operators.md, GlobalAveragePool-22", .run = runGlobalAveragePool,
        .gradient = gradGlobalAveragePool, .flops = perInput<1>},
    {.name = "GlobalMaxPool", .since = 22, .source = "ONNX Operators.md, GlobalMaxPool-22", .run = runGlobalMaxPool, .gradient = gradGlobalMaxPool,
        .flops = perInput<1>},
    {.name = "GlobalLpPool", .since = 22, .source = "ONNX Operators.md, GlobalLpPool-22", .run = runGlobalLpPool, .gradient = gradGlobalLpPool,
        .flops = perInput<2>, .upgrades = kNormOrderUpgrades},
    {.name = "MaxUnpool", .since = 22, .source = "ONNX Operators.md, MaxUnpool-22", .run = runMaxUnpool, .gradient = gradMaxUnpool, .flops = noFlops},
};

} // namespace

std::span<const OpDef> poolOps() { return kPoolOps; }

} // namespace nabla::engine

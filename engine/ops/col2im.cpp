// Col2Im: columns of blocks laid back over the image they were cut from; where blocks overlap they add up.
#include <complex>

#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/mover.h"
#include "engine/ops/window.h"

namespace nabla::engine {

namespace {

struct Columns {
    Window window; ///< input: the image; output: the blocks
    std::int64_t batch = 0, channels = 0, taps = 1, blocks = 1;
};

Result<Columns> columnsOf(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const std::vector<std::int64_t> image, needInts(c, 1));
    NABLA_TRY(const std::vector<std::int64_t> block, needInts(c, 2));
    if (x.rank() != 3)
        return runError("input {} has rank {}, 3 is wanted (batch, channels and taps, blocks)", toString(x.shape()), x.rank());
    if (image.empty() || image.size() != block.size() || image.size() > kMaxRank - 2)
        return runError("image_shape {} and block_shape {} want one number for each spatial axis", toString(image), toString(block));
    for (const std::int64_t size : image) {
        if (size < 0 || size > (std::int64_t{1} << 31))
            return runError("image_shape {} is out of range", toString(image));
    }
    NABLA_TRY(const WindowAttributes attributes, windowAttributes(c.node(), image.size(), block));
    Columns out;
    NABLA_TRY(out.window, slideOver(attributes, image));
    out.taps = elementCount(out.window.kernel);
    out.blocks = elementCount(out.window.output);
    if (x.dim(1) % out.taps != 0 || x.dim(2) != out.blocks) {
        return runError("input {} wants a multiple of {} rows (block_shape {}) and {} columns (image_shape {})", toString(x.shape()), out.taps,
            toString(block), out.blocks, toString(image));
    }
    out.batch = x.dim(0);
    out.channels = x.dim(1) / out.taps;
    return out;
}

/// place(image cell, tap, block) for every cell of every block that lies inside the image.
template <typename F> Result<void> forEachTap(const Columns& s, F&& place) {
    const auto strides = rowMajorStrides(s.window.input);
    std::int64_t tap = 0;
    for (IndexWalk t(s.window.kernel); !t.done(); t.next(), ++tap) {
        std::int64_t block = 0;
        for (IndexWalk o(s.window.output); !o.done(); o.next(), ++block) {
            std::int64_t cell = 0;
            bool inside = true;
            for (std::size_t axis = 0; axis < s.window.rank() && inside; ++axis) {
                const std::int64_t at = o[axis] * s.window.strides[axis] - s.window.padBegin[axis] + t[axis] * s.window.dilations[axis];
                inside = at >= 0 && at < s.window.input[axis];
                cell += at * strides[axis];
            }
            if (inside)
                NABLA_CHECK(place(cell, tap, block));
        }
    }
    return {};
}

/// Sums of T kept as U, and written once.
template <typename T, typename U, typename Add> Result<void> sumColumns(const Columns& s, const Tensor& x, Tensor& y, Add add) {
    const auto from = x.data<T>();
    auto to = y.mutableData<T>();
    const std::int64_t cells = elementCount(s.window.input);
    std::vector<U> plane(static_cast<std::size_t>(cells));
    for (std::int64_t n = 0; n < s.batch * s.channels; ++n) {
        std::fill(plane.begin(), plane.end(), U{});
        NABLA_CHECK(forEachTap(s, [&](std::int64_t cell, std::int64_t tap, std::int64_t block) -> Result<void> {
            const auto at = static_cast<std::size_t>(cell);
            plane[at] = add(plane[at], static_cast<U>(from[static_cast<std::size_t>((n * s.taps + tap) * s.blocks + block)]));
            return {};
        }));
        for (std::size_t i = 0; i < plane.size(); ++i)
            to[static_cast<std::size_t>(n * cells) + i] = static_cast<T>(plane[i]);
    }
    return {};
}

/// Strings have no sum: blocks that do not overlap are moved, others refused.
Result<void> moveStrings(const Columns& s, const Tensor& x, Tensor& y) {
    const std::int64_t cells = elementCount(s.window.input);
    std::vector<bool> taken(static_cast<std::size_t>(cells), false);
    fillElements(y, 0, y.elementCount());
    return forEachTap(s, [&](std::int64_t cell, std::int64_t tap, std::int64_t block) -> Result<void> {
        if (taken[static_cast<std::size_t>(cell)])
            return runError("strings cannot be added, and blocks overlap at cell {} of the image", cell);
        taken[static_cast<std::size_t>(cell)] = true;
        for (std::int64_t n = 0; n < s.batch * s.channels; ++n)
            copyElements(y, n * cells + cell, x, (n * s.taps + tap) * s.blocks + block, 1);
        return {};
    });
}

Result<void> runCol2Im(const KernelContext& c) {
    NABLA_TRY(const Columns s, columnsOf(c));
    const Tensor& x = c.input(0);
    Shape shape{s.batch, s.channels};
    shape.insert(shape.end(), s.window.input.begin(), s.window.input.end());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    if (y.elementCount() == 0) { // the other sizes may then be anything
        c.setOutput(0, std::move(y));
        return {};
    }
    const auto plus = [](auto a, auto b) { return a + b; };
    switch (x.dtype()) {
    case DType::String: NABLA_CHECK(moveStrings(s, x, y)); break;
    case DType::Bool: NABLA_CHECK((sumColumns<bool, unsigned char>(s, x, y, [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a | b); }))); break;
    case DType::Complex64: NABLA_CHECK((sumColumns<std::complex<float>, std::complex<double>>(s, x, y, plus))); break;
    case DType::Complex128: NABLA_CHECK((sumColumns<std::complex<double>, std::complex<double>>(s, x, y, plus))); break;
    default:
        NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() {
            using U = std::conditional_t<kIsFloat<T>, double, T>;
            return sumColumns<T, U>(s, x, y, [](U a, U b) { return wrapAdd(a, b); });
        }));
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// The blocks are cut out again: along every axis a Gather whose indices are [taps, blocks] of that axis.
Gradients gradCol2Im(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::optional<std::size_t> axes = b.rank(n.outputs[0]) ? b.rank(n.outputs[0]) : b.rank(dy[0]);
    if (axes)
        *axes -= 2;
    if (const ValueType type = b.type(n.inputs[1]); !axes && type.shape && type.shape->size() == 1 && (*type.shape)[0].constant())
        axes = static_cast<std::size_t>(*(*type.shape)[0].constant());
    if (!axes || *axes == 0)
        return runError("the gradient of Col2Im wants to know the number of spatial axes");
    const std::size_t r = *axes;
    const auto listed = [&](std::string_view name, std::int64_t otherwise, std::size_t length) {
        auto values = n.intsAttribute(name);
        values.resize(length, otherwise);
        return values;
    };
    const auto strides = listed("strides", 1, r), dilations = listed("dilations", 1, r), pads = listed("pads", 0, 2 * r);
    std::vector<std::int64_t> spatial;
    for (std::size_t d = 0; d < r; ++d)
        spatial.push_back(static_cast<std::int64_t>(d) + 2);
    ValueId blocks = b.op("Pad", {dy[0], b.ints(pads), ValueId{}, b.ints(spatial)});
    const ValueId zero = b.intScalar(0), one = b.intScalar(1), sizes = b.op("Shape", {blocks}, {intAttr("start", 2)});
    std::vector<std::int64_t> perm{0, 1};
    for (std::size_t d = 0; d < r; ++d) {
        const ValueId at = b.intScalar(static_cast<std::int64_t>(d));
        const ValueId taps = b.op("Gather", {n.inputs[2], at}), size = b.op("Gather", {sizes, at});
        const ValueId tap = b.mul(b.op("Range", {zero, taps, one}), b.intScalar(dilations[d]));
        const ValueId room = b.sub(b.sub(size, one), b.mul(b.sub(taps, one), b.intScalar(dilations[d])));
        const ValueId count = b.add(b.div(room, b.intScalar(strides[d])), one);
        const ValueId start = b.mul(b.op("Range", {zero, count, one}), b.intScalar(strides[d]));
        const ValueId index = b.add(b.op("Unsqueeze", {tap, b.ints({1})}), start);
        const auto axis = static_cast<std::int64_t>(2 + 2 * d); // each Gather makes two axes of one
        blocks = b.op("Gather", {blocks, index}, {intAttr("axis", axis)});
        perm.insert(perm.begin() + 2 + static_cast<std::ptrdiff_t>(d), axis);
        perm.push_back(axis + 1);
    }
    std::vector<ValueId> grads(n.inputs.size());
    grads[0] = b.reshapeLike(b.op("Transpose", {blocks}, {intsAttr("perm", perm)}), n.inputs[0]);
    return grads;
}


constexpr OpDef kOps[] = {
    {.name = "Col2Im", .since = 18, .source = "ONNX Operators.md, Col2Im-18", .run = runCol2Im, .gradient = gradCol2Im, .flops = perInput<1>},
};

} // namespace

std::span<const OpDef> col2ImOps() { return kOps; }

} // namespace nabla::engine

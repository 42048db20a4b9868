// Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze: shapes as values, and the same elements under another shape.
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

Result<void> setInts(const KernelContext& c, const Shape& shape, std::span<const std::int64_t> values) {
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Int64, shape));
    std::copy(values.begin(), values.end(), y.mutableData<std::int64_t>().begin());
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runShape(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    const auto rank = static_cast<std::int64_t>(x.rank());
    const auto clamp = [rank](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
    const std::int64_t start = clamp(c.intAttribute("start"));
    const std::int64_t end = c.hasAttribute("end") ? clamp(c.intAttribute("end")) : rank;
    const std::int64_t count = std::max<std::int64_t>(0, end - start);
    return setInts(c, {count}, std::span(x.shape()).subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(count)));
}

Result<void> runSize(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    return setInts(c, {}, std::array{x.elementCount()});
}

/// The shape that Reshape means: 0 copies the input's dimension (unless allowzero), one -1 is inferred.
Result<Shape> resolveShape(const Tensor& x, std::vector<std::int64_t> wanted, bool allowZero) {
    std::optional<std::size_t> inferred;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] < -1)
            return runError("Reshape: dimension {} in {}", wanted[i], toString(wanted));
        if (wanted[i] == 0 && !allowZero) {
            if (i >= x.rank())
                return runError("Reshape: dimension {} of {} is to be copied from {}, which has rank {}", i, toString(wanted), toString(x.shape()), x.rank());
            wanted[i] = x.dim(i);
        }
        if (wanted[i] == -1) {
            if (inferred)
                return runError("Reshape: {} has two dimensions of -1", toString(wanted));
            inferred = i;
        }
    }
    if (inferred) {
        Shape rest = wanted;
        rest[*inferred] = 1;
        if (auto ok = checkShape(rest); !ok)
            return Error{ErrorKind::Run, ok.error().message()};
        const std::int64_t others = elementCount(rest);
        if (others == 0 || x.elementCount() % others != 0)
            return runError("Reshape: {} elements of {} do not divide into {}", x.elementCount(), toString(x.shape()), toString(wanted));
        wanted[*inferred] = x.elementCount() / others;
    }
    if (auto ok = checkShape(wanted); !ok)
        return Error{ErrorKind::Run, ok.error().message()};
    if (elementCount(wanted) != x.elementCount())
        return runError("Reshape: {} has {} elements, {} has {}", toString(x.shape()), x.elementCount(), toString(wanted), elementCount(wanted));
    return wanted;
}

Result<void> runReshape(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(auto wanted, needInts(c, 1));
    NABLA_TRY(const Shape shape, resolveShape(x, std::move(wanted), c.intAttribute("allowzero") != 0));
    return setReshaped(c, x, shape);
}

Result<void> runFlatten(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    const auto rank = static_cast<std::int64_t>(x.rank());
    const std::int64_t asked = c.intAttribute("axis");
    if (asked < -rank || asked > rank)
        return runError("Flatten: axis {} is out of range for rank {}", asked, rank);
    const std::int64_t axis = asked < 0 ? asked + rank : asked;
    Shape shape{1, 1};
    for (std::int64_t i = 0; i < rank; ++i)
        shape[i < axis ? 0 : 1] *= x.dim(static_cast<std::size_t>(i));
    return setReshaped(c, x, shape);
}

Result<void> runSqueeze(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    std::vector<bool> drop(x.rank());
    if (c.hasInput(1)) {
        NABLA_TRY(const auto asked, needInts(c, 1));
        for (const std::int64_t each : asked) {
            NABLA_TRY(const std::int64_t axis, normalizeAxis(each, x.rank()));
            if (x.dim(static_cast<std::size_t>(axis)) != 1)
                return runError("Squeeze: axis {} of {} has size {}, not 1", each, toString(x.shape()), x.dim(static_cast<std::size_t>(axis)));
            drop[static_cast<std::size_t>(axis)] = true;
        }
    } else {
        for (std::size_t i = 0; i < x.rank(); ++i)
            drop[i] = x.dim(i) == 1;
    }
    Shape shape;
    for (std::size_t i = 0; i < x.rank(); ++i) {
        if (!drop[i])
            shape.push_back(x.dim(i));
    }
    return setReshaped(c, x, shape);
}

Result<void> runUnsqueeze(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto asked, needInts(c, 1));
    const std::size_t rank = x.rank() + asked.size();
    if (rank > kMaxRank)
        return runError("Unsqueeze: rank {} is more than the limit {}", rank, kMaxRank);
    NABLA_TRY(const auto axes, normalizeAxes(asked, rank));
    Shape shape(rank, -1);
    for (const std::int64_t axis : axes)
        shape[static_cast<std::size_t>(axis)] = 1;
    auto next = x.shape().begin();
    for (std::int64_t& dim : shape) {
        if (dim < 0)
            dim = *next++;
    }
    return setReshaped(c, x, shape);
}

Gradients gradReshape(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(n.inputs.size());
    out[0] = b.reshapeLike(dy[0], n.inputs[0]);
    return out;
}

Result<void> upgradeReshape1(UpgradeContext& c) { return attributeToInput(c, "shape", 1); }
Result<void> upgradeAxes(UpgradeContext& c) { return attributeToInput(c, "axes", 1); }
constexpr Upgrade kReshapeUpgrades[] = {{4, upgradeReshape1}};
constexpr Upgrade kAxesUpgrades[] = {{12, upgradeAxes}};

constexpr GradientRule kShapeOnly = notDifferentiable("its result is a shape");

constexpr OpDef kOps[] = {
    {.name = "Shape", .since = 25, .source = "ONNX Operators.md, Shape-25", .run = runShape, .gradient = kShapeOnly, .flops = noFlops, .bytes = readsNothing},
    {.name = "Size", .since = 25, .source = "ONNX Operators.md, Size-25", .run = runSize, .gradient = kShapeOnly, .flops = noFlops, .bytes = readsNothing},
    {.name = "Reshape", .since = 25, .source = "ONNX Operators.md, Reshape-25", .run = runReshape, .gradient = gradReshape, .flops = noFlops, .bytes = nothingMoves,
        .upgrades = kReshapeUpgrades},
    {.name = "Flatten", .since = 25, .source = "ONNX Operators.md, Flatten-25", .run = runFlatten, .gradient = gradReshape, .flops = noFlops, .bytes = nothingMoves},
    {.name = "Squeeze", .since = 25, .source = "ONNX Operators.md, Squeeze-25", .run = runSqueeze, .gradient = gradReshape, .flops = noFlops, .bytes = nothingMoves,
        .upgrades = kAxesUpgrades},
    {.name = "Unsqueeze", .since = 25, .source = "ONNX Operators.md, Unsqueeze-25", .run = runUnsqueeze, .gradient = gradReshape, .flops = noFlops, .bytes = nothingMoves,
        .upgrades = kAxesUpgrades},
};

} // namespace

std::span<const OpDef> shapeOps() { return kOps; }

} // namespace nabla::engine

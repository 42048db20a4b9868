// Element-wise float32 kernels over rows: one operand, and two operands with broadcasting.
#include <algorithm>
#include <array>
#include <optional>

#include "engine/kernels/families.h"
#include "engine/kernels/simd.h"

namespace nabla::engine {

namespace {

constexpr std::size_t kGrain = 16'384; // elements a task: about 10 us

std::optional<Shape> floatShape(const ValueType& type) {
    return type.isTensor() && type.elementType == DType::Float32 ? type.concreteShape() : std::nullopt;
}

bool acceptsUnary(const KernelQuery& q) {
    const auto x = q.inputs.empty() ? std::nullopt : floatShape(q.inputs[0]);
    return x.has_value();
}

template <UnaryRow F> Result<void> runUnary(const KernelContext& c, KernelState*) {
    const Tensor& x = c.input(0);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, x.shape()));
    const float* const from = x.data<float>().data();
    float* const to = y.mutableData<float>().data();
    const auto count = static_cast<std::size_t>(x.elementCount());
    if (c.pool && count > 2 * kGrain)
        c.pool->parallelFor(count, kGrain,
            [&](std::size_t begin, std::size_t end) { unaryRow(F, from + begin, to + begin, end - begin); });
    else
        unaryRow(F, from, to, count);
    c.setOutput(0, std::move(y));
    return {};
}

/// The output as a nest of loops with adjacent axes joined where both operands allow it; the last axis is the row.
struct BroadcastState : KernelState {
    Shape output;
    struct Axis {
        std::int64_t size, a, b; ///< steps of the operands in elements: 0 where they are repeated
    };
    std::vector<Axis> outer;
    Axis row{1, 1, 1};
};

std::vector<std::int64_t> stepsOver(const Shape& output, const Shape& operand) {
    const auto own = rowMajorStrides(operand);
    std::vector<std::int64_t> steps(output.size(), 0);
    const std::size_t shift = output.size() - operand.size();
    for (std::size_t i = 0; i < operand.size(); ++i)
        steps[shift + i] = operand[i] == 1 ? 0 : own[i];
    return steps;
}

bool acceptsBinary(const KernelQuery& q) {
    if (q.inputs.size() != 2)
        return false;
    const auto a = floatShape(q.inputs[0]), b = floatShape(q.inputs[1]);
    return a && b && broadcastShapes(*a, *b).has_value();
}

Result<std::unique_ptr<KernelState>> prepareBinary(const KernelQuery& q) {
    const Shape a = *floatShape(q.inputs[0]), b = *floatShape(q.inputs[1]);
    auto state = std::make_unique<BroadcastState>();
    NABLA_TRY(state->output, broadcastShapes(a, b));
    const auto stepsA = stepsOver(state->output, a), stepsB = stepsOver(state->output, b);
    std::vector<BroadcastState::Axis> axes;
    for (std::size_t i = 0; i < state->output.size(); ++i) {
        const BroadcastState::Axis axis{state->output[i], stepsA[i], stepsB[i]};
        if (axis.size == 1)
            continue;
        if (!axes.empty() && axes.back().a == axis.a * axis.size && axes.back().b == axis.b * axis.size)
            axes.back() = {axes.back().size * axis.size, axis.a, axis.b};
        else
            axes.push_back(axis);
    }
    if (!axes.empty()) {
        state->row = axes.back(); // row-major operands: its steps are 0 or 1
        axes.pop_back();
    }
    state->outer = std::move(axes);
    return std::unique_ptr<KernelState>(std::move(state));
}

template <BinaryRow F>
void rows(const BroadcastState& s, const float* a, const float* b, float* y, std::int64_t begin, std::int64_t end) {
    std::int64_t atA = 0, atB = 0;
    std::vector<std::int64_t> index(s.outer.size(), 0);
    for (std::size_t i = s.outer.size(), rest = static_cast<std::size_t>(begin); i-- > 0;) {
        const auto size = static_cast<std::size_t>(s.outer[i].size);
        index[i] = static_cast<std::int64_t>(rest % size);
        rest /= size;
        atA += index[i] * s.outer[i].a;
        atB += index[i] * s.outer[i].b;
    }
    for (std::int64_t row = begin; row < end; ++row) {
        binaryRow(F, a + atA, static_cast<std::size_t>(s.row.a), b + atB, static_cast<std::size_t>(s.row.b),
            y + row * s.row.size, static_cast<std::size_t>(s.row.size));
        for (std::size_t i = s.outer.size(); i-- > 0;) {
            atA += s.outer[i].a;
            atB += s.outer[i].b;
            if (++index[i] < s.outer[i].size)
                break;
            atA -= s.outer[i].a * s.outer[i].size;
            atB -= s.outer[i].b * s.outer[i].size;
            index[i] = 0;
        }
    }
}

template <BinaryRow F> Result<void> runBinary(const KernelContext& c, KernelState* given) {
    const auto& s = static_cast<const BroadcastState&>(*given);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, s.output));
    const float* const a = c.input(0).data<float>().data();
    const float* const b = c.input(1).data<float>().data();
    float* const to = y.mutableData<float>().data();
    const std::int64_t count = y.elementCount();
    const auto grain = static_cast<std::int64_t>(kGrain);
    const bool large = c.pool && count > 2 * grain;
    if (count == 0) {
        // nothing to do, and no element to read
    } else if (large && s.outer.empty()) {
        c.pool->parallelFor(static_cast<std::size_t>(count), kGrain, [&](std::size_t begin, std::size_t end) {
            binaryRow(F, a + begin * static_cast<std::size_t>(s.row.a), static_cast<std::size_t>(s.row.a),
                b + begin * static_cast<std::size_t>(s.row.b), static_cast<std::size_t>(s.row.b), to + begin,
                end - begin);
        });
    } else if (large) {
        const std::int64_t rowCount = count / s.row.size;
        c.pool->parallelFor(static_cast<std::size_t>(rowCount),
            static_cast<std::size_t>(std::max<std::int64_t>(1, grain / s.row.size)),
            [&](std::size_t begin, std::size_t end) {
                rows<F>(s, a, b, to, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
            });
    } else {
        rows<F>(s, a, b, to, 0, count / s.row.size);
    }
    c.setOutput(0, std::move(y));
    return {};
}

template <UnaryRow F> constexpr Kernel unary(std::string_view opType) {
    return {.name = "simd.elementwise",
        .opType = opType,
        .domain = "",
        .accepts = acceptsUnary,
        .prepare = nullptr,
        .run = runUnary<F>};
}
template <BinaryRow F> constexpr Kernel binary(std::string_view opType) {
    return {.name = "simd.elementwise",
        .opType = opType,
        .domain = "",
        .accepts = acceptsBinary,
        .prepare = prepareBinary,
        .run = runBinary<F>};
}

constexpr std::array kKernels = {unary<UnaryRow::Abs>("Abs"), unary<UnaryRow::Exp>("Exp"), unary<UnaryRow::Log>("Log"),
    unary<UnaryRow::Neg>("Neg"), unary<UnaryRow::Reciprocal>("Reciprocal"), unary<UnaryRow::Relu>("Relu"),
    unary<UnaryRow::Sigmoid>("Sigmoid"), unary<UnaryRow::Sqrt>("Sqrt"), unary<UnaryRow::Tanh>("Tanh"),
    binary<BinaryRow::Add>("Add"), binary<BinaryRow::Div>("Div"), binary<BinaryRow::Mul>("Mul"),
    binary<BinaryRow::Sub>("Sub")};

} // namespace

std::span<const Kernel> elementwiseKernels() {
    return kKernels;
}

} // namespace nabla::engine

// Quantized operators of onnxruntime's domain: out of integers, the float operator, back into integers.
#include "engine/ops/contrib/contrib_body.h"

namespace nabla::engine {

namespace {

constexpr auto kDomain = "com.microsoft";
constexpr auto kSource = "onnxruntime docs/ContribOperators.md";

/// Input `x` in float; the scale and zero point (may be omitted) are the inputs after it, one number each.
ValueId dequantized(ContribBody& b, std::size_t x, std::size_t scale, std::size_t zeroPoint) {
    std::vector<ValueId> inputs{b.in(x), b.asScalar(b.in(scale))};
    if (b.in(zeroPoint))
        inputs.push_back(b.asScalar(b.in(zeroPoint)));
    return b.op("DequantizeLinear", std::move(inputs));
}

ValueId quantized(ContribBody& b, ValueId y, std::size_t scale, std::size_t zeroPoint, DType type) {
    const ValueId zero = b.in(zeroPoint) ? b.asScalar(b.in(zeroPoint)) : b.scalar(type, 0);
    return b.op("QuantizeLinear", {y, b.asScalar(b.in(scale)), zero});
}

ContribOutputs writePair(ContribBody& b, const char* operation) {
    const ValueId y = b.op(operation, {dequantized(b, 0, 1, 2), dequantized(b, 3, 4, 5)});
    return std::vector{quantized(b, y, 6, 7, b.type(0))};
}
ContribOutputs writeAdd(ContribBody& b) { return writePair(b, "Add"); }
ContribOutputs writeMul(ContribBody& b) { return writePair(b, "Mul"); }

ContribOutputs writeSigmoid(ContribBody& b) { return std::vector{quantized(b, b.op("Sigmoid", {dequantized(b, 0, 1, 2)}), 3, 4, b.type(0))}; }

ContribOutputs writeLeakyRelu(ContribBody& b) {
    const ValueId y = b.op("LeakyRelu", {dequantized(b, 0, 1, 2)}, {{"alpha", b.real("alpha")}});
    return std::vector{quantized(b, y, 3, 4, b.type(0))};
}

/// The pool of a tensor whose channels may be last.
template <typename Pool> ContribOutputs writePool(ContribBody& b, Pool&& pool) {
    const std::size_t rank = b.rank(0);
    if (rank < 3)
        return runError("X has rank {}, it wants a batch, channels and at least one more axis", rank);
    std::vector<std::int64_t> channelsFirst{0, static_cast<std::int64_t>(rank) - 1}, channelsLast{0};
    for (std::int64_t i = 1; i + 1 < static_cast<std::int64_t>(rank); ++i) {
        channelsFirst.push_back(i);
        channelsLast.push_back(i + 1);
    }
    channelsLast.push_back(1);
    const bool last = b.integer("channels_last") != 0;
    const ValueId x = dequantized(b, 0, 1, 2);
    const ValueId y = pool(last ? b.transpose(x, channelsFirst) : x);
    return std::vector{quantized(b, last ? b.transpose(y, channelsLast) : y, 3, 4, b.type(0))};
}
ContribOutputs writeAveragePool(ContribBody& b) {
    return writePool(b, [&](ValueId x) {
        return b.op("AveragePool", {x}, b.copied({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
    });
}
ContribOutputs writeGlobalAveragePool(ContribBody& b) {
    return writePool(b, [&](ValueId x) { return b.op("GlobalAveragePool", {x}); });
}

ContribOutputs writeConcat(ContribBody& b) {
    if (b.inputCount() < 5 || (b.inputCount() - 2) % 3 != 0)
        return runError("it has {} inputs, it wants a scale and a zero point, then three for each tensor", b.inputCount());
    std::vector<ValueId> parts;
    for (std::size_t i = 2; i + 2 < b.inputCount(); i += 3) {
        if (!b.in(i) || !b.in(i + 1))
            return runError("its input {} is missing", b.in(i) ? i + 1 : i);
        parts.push_back(dequantized(b, i, i + 1, i + 2));
    }
    return std::vector{quantized(b, b.op("Concat", std::move(parts), {number("axis", b.integer("axis"))}), 0, 1, b.type(1))};
}

/// Before opset 13 the axes from `axis` on are one.
ContribOutputs writeSoftmax(ContribBody& b) {
    const auto rank = static_cast<std::int64_t>(b.rank(0));
    const std::int64_t stated = b.integer("axis"), axis = stated < 0 ? stated + rank : stated;
    if (axis < 0 || axis >= rank)
        return runError("axis {} is out of range for a tensor of rank {}", stated, rank);
    const ValueId x = dequantized(b, 0, 1, 2);
    ValueId y;
    if (b.integer("opset") >= 13 || axis == rank - 1) {
        y = b.op("Softmax", {x}, {number("axis", axis)});
    } else {
        const ValueId rows = b.op("Softmax", {b.op("Flatten", {x}, {number("axis", axis)})}, {number("axis", -1)});
        y = b.op("Reshape", {rows, b.op("Shape", {x})}, {number("allowzero", 1)});
    }
    return std::vector{quantized(b, y, 3, 4, b.type(0))};
}

ContribOutputs writeWhere(ContribBody& b) {
    const ValueId y = b.op("Where", {b.in(0), dequantized(b, 1, 2, 3), dequantized(b, 4, 5, 6)});
    return std::vector{quantized(b, y, 7, 8, b.type(1))};
}

/// Per tensor unless `axis` is stated.
ContribOutputs writeLinear(ContribBody& b, const char* operation) {
    const bool along = b.has("axis");
    std::vector<ValueId> inputs{b.in(0), along ? b.in(1) : b.asScalar(b.in(1))};
    if (b.in(2))
        inputs.push_back(along ? b.in(2) : b.asScalar(b.in(2)));
    std::vector<Attribute> attributes;
    if (along && b.rank(1) > 0)
        attributes.push_back(number("axis", b.integer("axis")));
    return std::vector{b.op(operation, std::move(inputs), std::move(attributes))};
}
ContribOutputs writeQuantizeLinear(ContribBody& b) { return writeLinear(b, "QuantizeLinear"); }
ContribOutputs writeDequantizeLinear(ContribBody& b) { return writeLinear(b, "DequantizeLinear"); }

/// A zero point of one number, whatever its rank: a vector of one element would name a row.
ValueId zeroPoint(ContribBody& b, std::size_t i) {
    return b.in(i) && b.rank(i) == 1 && b.size(i, 0) == 1 ? b.asScalar(b.in(i)) : b.in(i);
}

ValueId integerProduct(ContribBody& b, ValueId left, ValueId right, ValueId leftZero, ValueId rightZero, DType leftType) {
    std::vector<ValueId> inputs{left, right};
    if (leftZero || rightZero)
        inputs.push_back(leftZero ? leftZero : b.scalar(leftType, 0));
    if (rightZero)
        inputs.push_back(rightZero);
    return b.op("MatMulInteger", std::move(inputs));
}

ContribOutputs writeDynamicMatMul(ContribBody& b) {
    const auto a = b.ops("DynamicQuantizeLinear", {b.in(0)}, 3);
    const ValueId product = integerProduct(b, a[0], b.in(1), a[2], zeroPoint(b, 3), DType::UInt8);
    const ValueId y = b.mul(b.cast(product, DType::Float32), b.mul(a[1], b.in(2)));
    return std::vector{b.in(4) ? b.add(y, b.in(4)) : y};
}

ContribOutputs writeIntegerToFloat(ContribBody& b) {
    const ValueId product = integerProduct(b, b.in(0), b.in(1), zeroPoint(b, 4), zeroPoint(b, 5), b.type(0));
    const ValueId wide = b.cast(product, DType::Float32);
    ValueId scale = b.mul(b.in(2), b.in(3));
    if (b.type(2) != DType::Float32)
        scale = b.cast(scale, DType::Float32);
    ValueId y = b.mul(wide, scale);
    if (b.type(2) != DType::Float32)
        y = b.cast(y, b.type(2));
    return std::vector{b.in(6) ? b.add(y, b.in(6)) : y};
}

ContribOutputs writeQGemm(ContribBody& b) {
    if (b.rank(0) != 2 || b.rank(3) != 2)
        return runError("A and B have ranks {} and {}, both must be matrices", b.rank(0), b.rank(3));
    const ValueId left = b.integer("transA") != 0 ? b.transpose(b.in(0), {1, 0}) : b.in(0);
    const ValueId right = b.integer("transB") != 0 ? b.transpose(b.in(3), {1, 0}) : b.in(3);
    ValueId sum = integerProduct(b, left, right, b.asScalar(b.in(2)), zeroPoint(b, 5), b.type(0));
    if (b.in(6))
        sum = b.add(sum, b.in(6));
    ValueId scale = b.mul(b.in(1), b.in(4));
    if (const double alpha = static_cast<double>(b.real("alpha")); alpha != 1)
        scale = b.mul(scale, b.scalar(DType::Float32, alpha));
    const ValueId y = b.mul(b.cast(sum, DType::Float32), scale);
    if (!b.in(7))
        return std::vector{y};
    return std::vector{quantized(b, y, 7, 8, b.in(8) ? b.type(8) : b.type(0))};
}

constexpr auto kIntegers = "its inputs and outputs are integers";

template <ContribOutputs (*write)(ContribBody&)> constexpr OpDef row(std::string_view name, GradientRule gradient = notDifferentiable(kIntegers)) {
    return {.name = name, .domain = kDomain, .since = 1, .source = kSource, .run = expandBody(), .gradient = gradient, .flops = flopsOfBody(), .body = contribBody<write>};
}

constexpr OpDef kOps[] = {
    row<writeAdd>("QLinearAdd"),
    row<writeMul>("QLinearMul"),
    row<writeSigmoid>("QLinearSigmoid"),
    row<writeLeakyRelu>("QLinearLeakyRelu"),
    row<writeAveragePool>("QLinearAveragePool"),
    row<writeGlobalAveragePool>("QLinearGlobalAveragePool"),
    row<writeConcat>("QLinearConcat"),
    row<writeSoftmax>("QLinearSoftmax"),
    row<writeWhere>("QLinearWhere"),
    row<writeQuantizeLinear>("QuantizeLinear"),
    row<writeDequantizeLinear>("DequantizeLinear", throughBody()),
    row<writeDynamicMatMul>("DynamicQuantizeMatMul", throughBody()),
    row<writeIntegerToFloat>("MatMulIntegerToFloat", throughBody()),
    row<writeQGemm>("QGemm", throughBody()),
};

} // namespace

std::span<const OpDef> contribQuantizedOps() { return kOps; }

} // namespace nabla::engine

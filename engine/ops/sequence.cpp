// Sequences and optionals.
#include <algorithm>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/value_output.h"

namespace nabla::engine {

namespace {

Result<const RuntimeSequence*> sequenceInput(const KernelContext& c, std::size_t i) {
    const RuntimeSequence* sequence = c.inputValue(i).sequence();
    if (!sequence)
        return runError("input {} of {} is no sequence", i, c.node().opType);
    return sequence;
}

/// A position in [0, count), counted from the end when negative. `count` one larger than the sequence lets Insert append.
Result<std::size_t> position(const KernelContext& c, std::size_t i, std::size_t length, std::size_t count) {
    if (c.input(i).elementCount() != 1 || !isInteger(c.input(i).dtype()))
        return runError("position {} wants one integer", toString(c.input(i).shape()));
    const std::int64_t stated = c.input(i).asInt64(0), at = stated < 0 ? stated + static_cast<std::int64_t>(length) : stated;
    if (at < 0 || at >= static_cast<std::int64_t>(count))
        return runError("position {} is outside a sequence of {}", stated, length);
    return static_cast<std::size_t>(at);
}

void setSequence(const KernelContext& c, RuntimeSequence sequence) {
    if (sequence.elementType == DType::Undefined && !sequence.elements.empty())
        sequence.elementType = sequence.elements.front().tensor().dtype();
    c.setOutput(0, RuntimeValue(std::make_shared<const RuntimeSequence>(std::move(sequence))));
}

Result<void> runSequenceEmpty(const KernelContext& c) {
    const std::int64_t type = c.hasAttribute("dtype") ? c.intAttribute("dtype") : static_cast<std::int64_t>(DType::Float32);
    if (type < 0 || type > kLastDType)
        return runError("dtype {} is no element type", type);
    setSequence(c, {{}, static_cast<DType>(type)});
    return {};
}

Result<void> runSequenceConstruct(const KernelContext& c) {
    RuntimeSequence out;
    for (std::size_t i = 0; i < c.inputCount(); ++i) {
        NABLA_CHECK(requireTensor(c, i, "inputs"));
        if (c.input(i).dtype() != c.input(0).dtype())
            return runError("a sequence holds one type, input {} is {} and the first {}", i, name(c.input(i).dtype()), name(c.input(0).dtype()));
        NABLA_TRY(RuntimeValue element, owned(c, c.inputValue(i)));
        out.elements.push_back(std::move(element));
    }
    setSequence(c, std::move(out));
    return {};
}

Result<void> runSequenceAt(const KernelContext& c) {
    NABLA_TRY(const RuntimeSequence* const sequence, sequenceInput(c, 0));
    NABLA_TRY(const std::size_t at, position(c, 1, sequence->elements.size(), sequence->elements.size()));
    return emitValue(c, 0, sequence->elements[at]);
}

Result<void> runSequenceInsert(const KernelContext& c) {
    NABLA_TRY(const RuntimeSequence* const sequence, sequenceInput(c, 0));
    NABLA_CHECK(requireTensor(c, 1, "tensor"));
    std::size_t at = sequence->elements.size();
    if (c.hasInput(2)) {
        NABLA_TRY(at, position(c, 2, at, at + 1));
    }
    if (!sequence->elements.empty() && sequence->elementType != DType::Undefined && sequence->elementType != c.input(1).dtype())
        return runError("a sequence of {} does not take {}", name(sequence->elementType), name(c.input(1).dtype()));
    NABLA_TRY(RuntimeValue element, owned(c, c.inputValue(1)));
    RuntimeSequence out = *sequence;
    out.elementType = c.input(1).dtype();
    out.elements.insert(out.elements.begin() + static_cast<std::ptrdiff_t>(at), std::move(element));
    setSequence(c, std::move(out));
    return {};
}

Result<void> runSequenceErase(const KernelContext& c) {
    NABLA_TRY(const RuntimeSequence* const sequence, sequenceInput(c, 0));
    const std::size_t count = sequence->elements.size();
    if (count == 0)
        return runError("nothing can be erased from an empty sequence");
    std::size_t at = count - 1;
    if (c.hasInput(1)) {
        NABLA_TRY(at, position(c, 1, count, count));
    }
    RuntimeSequence out = *sequence;
    out.elements.erase(out.elements.begin() + static_cast<std::ptrdiff_t>(at));
    setSequence(c, std::move(out));
    return {};
}

Result<void> runSequenceLength(const KernelContext& c) {
    NABLA_TRY(const RuntimeSequence* const sequence, sequenceInput(c, 0));
    return copyToOutput(c, 0, Tensor::scalar(static_cast<std::int64_t>(sequence->elements.size())));
}

/// Lengths of the parts: stated one by one, or chunks of one size with a shorter last, or single entries.
Result<std::vector<std::int64_t>> partLengths(const KernelContext& c, std::int64_t length) {
    if (!c.hasInput(1))
        return std::vector<std::int64_t>(static_cast<std::size_t>(length), 1);
    std::vector<std::int64_t> lengths = c.input(1).toInt64s();
    if (c.input(1).rank() == 0) {
        const std::int64_t chunk = lengths[0];
        if (chunk < 1)
            return runError("split {} must be positive", chunk);
        lengths.assign(static_cast<std::size_t>(length / chunk), chunk);
        if (length % chunk != 0)
            lengths.push_back(length % chunk);
        return lengths;
    }
    std::int64_t rest = length;
    for (const std::int64_t part : lengths) {
        if (part < 0 || part > rest)
            return runError("split {} does not sum to {}", toString(lengths), length);
        rest -= part;
    }
    if (rest != 0)
        return runError("split {} sums to {}, the axis has {}", toString(lengths), length - rest, length);
    return lengths;
}

Result<void> runSplitToSequence(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "input"));
    const Tensor& x = c.input(0);
    NABLA_TRY(const std::int64_t axisAttribute, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const auto axis = static_cast<std::size_t>(axisAttribute);
    NABLA_TRY(const auto lengths, partLengths(c, x.dim(axis)));
    const bool keep = c.hasInput(1) || c.intAttribute("keepdims") != 0;
    RuntimeSequence out{{}, x.dtype()};
    std::int64_t at = 0;
    for (const std::int64_t length : lengths) {
        NABLA_TRY(Tensor part, keep ? sliceRange(x, axis, at, at + length) : sliceAt(x, axis, at));
        out.elements.emplace_back(std::move(part));
        at += length;
    }
    setSequence(c, std::move(out));
    return {};
}

Result<void> runConcatFromSequence(const KernelContext& c) {
    NABLA_TRY(const RuntimeSequence* const sequence, sequenceInput(c, 0));
    if (sequence->elements.empty())
        return runError("an empty sequence cannot be joined: nothing tells the shape");
    std::vector<Tensor> parts;
    for (const RuntimeValue& element : sequence->elements)
        parts.push_back(element.tensor());
    const bool newAxis = c.intAttribute("new_axis") != 0;
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), parts.front().rank() + (newAxis ? 1 : 0)));
    NABLA_TRY(const Tensor joined, newAxis ? stackTensors(parts, static_cast<std::size_t>(axis)) : joinTensors(parts, static_cast<std::size_t>(axis)));
    return copyToOutput(c, 0, joined);
}

Result<void> runOptional(const KernelContext& c) {
    RuntimeOptional out;
    out.hasValue = c.hasInput(0);
    if (out.hasValue) {
        NABLA_TRY(out.value, owned(c, c.inputValue(0)));
    }
    c.setOutput(0, RuntimeValue(std::make_shared<const RuntimeOptional>(std::move(out))));
    return {};
}

Result<void> runOptionalHasElement(const KernelContext& c) {
    const RuntimeOptional* optional = c.inputValue(0).optional();
    return copyToOutput(c, 0, Tensor::scalar(optional ? optional->hasValue : c.hasInput(0)));
}

Result<void> runOptionalGetElement(const KernelContext& c) {
    const RuntimeOptional* optional = c.inputValue(0).optional();
    if (optional && !optional->hasValue)
        return runError("the optional is empty");
    if (!c.hasInput(0))
        return runError("input 0 is missing");
    return emitValue(c, 0, optional ? optional->value : c.inputValue(0));
}

// Gradients. The cotangent of a sequence is a sequence of its elements' cotangents; that of an optional is that of its value.

/// A position as a value of the type of `length`, counted from the front.
ValueId fromFront(GradientBuilder& b, ValueId at, ValueId length) {
    const ValueId wide = b.op("Cast", {at}, {intAttr("to", static_cast<std::int64_t>(DType::Int64))});
    return b.where(b.op("Less", {wide, b.intScalar(0)}), b.add(wide, length), wide);
}

Gradients gradSequenceConstruct(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> grads(n.inputs.size());
    for (std::size_t i = 0; i < grads.size(); ++i) {
        if (b.wants(i))
            grads[i] = b.op("SequenceAt", {dy[0], b.intScalar(static_cast<std::int64_t>(i))});
    }
    return grads;
}

/// op(x) for every element of a sequence, by SequenceMap with a body of one node more.
template <typename F> ValueId mapSequence(GradientBuilder& b, ValueId sequence, F&& build) {
    const Graph& outer = b.editor().graph();
    GraphEditor body = GraphEditor::empty("each", outer.infoPtr(), outer.ids());
    const ValueType type = b.type(sequence);
    const ValueId element = body.addInput(b.editor().freshName("element"), type.element ? *type.element : ValueType{});
    body.setOutputs({build(body, element)});
    return b.op("SequenceMap", {sequence}, {{"body", std::make_shared<const Graph>(body.finish())}});
}

/// The sequence with every element replaced by zeros.
ValueId zeroSequence(GradientBuilder& b, ValueId sequence) {
    return mapSequence(b, sequence, [](GraphEditor& body, ValueId element) {
        const ValueId shape = body.addValue({.opType = "Shape", .inputs = {element}});
        const ValueId zeros = body.addValue({.opType = "ConstantOfShape", .inputs = {shape}});
        return body.addValue({.opType = "CastLike", .inputs = {zeros, element}});
    });
}

Gradients gradSequenceAt(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId zeros = zeroSequence(b, n.inputs[0]);
    const ValueId at = fromFront(b, n.inputs[1], b.op("SequenceLength", {n.inputs[0]}));
    return std::vector<ValueId>{b.op("SequenceInsert", {b.op("SequenceErase", {zeros, at}), dy[0], at}), ValueId{}};
}

Gradients gradSequenceInsert(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId length = b.op("SequenceLength", {n.inputs[0]});
    const ValueId at = n.input(2) ? fromFront(b, n.inputs[2], length) : length;
    std::vector<ValueId> grads(n.inputs.size());
    grads[0] = b.op("SequenceErase", {dy[0], at});
    grads[1] = b.op("SequenceAt", {dy[0], at});
    return grads;
}

Gradients gradSequenceErase(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId length = b.op("SequenceLength", {n.inputs[0]});
    const ValueId at = n.input(1) ? fromFront(b, n.inputs[1], length) : b.sub(length, b.intScalar(1));
    const ValueId zeros = b.zerosLike(b.op("SequenceAt", {n.inputs[0], at}));
    std::vector<ValueId> grads(n.inputs.size());
    grads[0] = b.op("SequenceInsert", {dy[0], zeros, at});
    return grads;
}

Gradients gradSplitToSequence(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const bool keep = n.input(1) || n.intAttribute("keepdims", 1) != 0;
    std::vector<ValueId> grads(n.inputs.size());
    grads[0] = b.op("ConcatFromSequence", {dy[0]}, {intAttr("axis", n.intAttribute("axis", 0)), intAttr("new_axis", keep ? 0 : 1)});
    return grads;
}

Gradients gradConcatFromSequence(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t axis = n.intAttribute("axis", 0);
    if (n.intAttribute("new_axis", 0) != 0)
        return std::vector<ValueId>{b.op("SplitToSequence", {dy[0]}, {intAttr("axis", axis), intAttr("keepdims", 0)})};
    std::vector<Attribute> range{intAttr("start", axis)};
    if (axis != -1)
        range.push_back(intAttr("end", axis + 1));
    const ValueId lengths = mapSequence(b, n.inputs[0], [&](GraphEditor& body, ValueId element) {
        return body.addValue({.opType = "Shape", .inputs = {element}, .attributes = range});
    });
    const ValueId split = b.op("ConcatFromSequence", {lengths}, {intAttr("axis", 0)});
    return std::vector<ValueId>{b.op("SplitToSequence", {dy[0], split}, {intAttr("axis", axis)})};
}

Gradients gradPassOn(GradientBuilder&, const Node& n, OutputGrads dy) {
    std::vector<ValueId> grads(n.inputs.size());
    if (!grads.empty())
        grads[0] = dy[0];
    return grads;
}

constexpr auto kCount = "its result is a count or a truth value";

constexpr OpDef kSequenceOps[] = {
    {.name = "SequenceEmpty", .since = 11, .source = "ONNX Operators.md, SequenceEmpty-11", .run = runSequenceEmpty,
        .gradient = notDifferentiable("it has no inputs"), .flops = noFlops, .bytes = nothingMoves},
    {.name = "SequenceConstruct", .since = 11, .source = "ONNX Operators.md, SequenceConstruct-11", .run = runSequenceConstruct,
        .gradient = gradSequenceConstruct, .flops = noFlops, .bytes = nothingMoves},
    {.name = "SequenceAt", .since = 11, .source = "ONNX Operators.md, SequenceAt-11", .run = runSequenceAt, .gradient = gradSequenceAt, .flops = noFlops, .bytes = nothingMoves},
    {.name = "SequenceInsert", .since = 11, .source = "ONNX Operators.md, SequenceInsert-11", .run = runSequenceInsert, .gradient = gradSequenceInsert,
        .flops = noFlops, .bytes = nothingMoves},
    {.name = "SequenceErase", .since = 11, .source = "ONNX Operators.md, SequenceErase-11", .run = runSequenceErase, .gradient = gradSequenceErase,
        .flops = noFlops, .bytes = nothingMoves},
    {.name = "SequenceLength", .since = 11, .source = "ONNX Operators.md, SequenceLength-11", .run = runSequenceLength,
        .gradient = notDifferentiable(kCount), .flops = noFlops, .bytes = nothingMoves},
    {.name = "SplitToSequence", .since = 24, .source = "ONNX Operators.md, SplitToSequence-24", .run = runSplitToSequence,
        .gradient = gradSplitToSequence, .flops = noFlops, .bytes = writesParts},
    {.name = "ConcatFromSequence", .since = 11, .source = "ONNX Operators.md, ConcatFromSequence-11", .run = runConcatFromSequence,
        .gradient = gradConcatFromSequence, .flops = noFlops, .bytes = readsParts},
    {.name = "SequenceMap", .since = 17, .source = "ONNX Operators.md, SequenceMap-17", .run = expandBody(),
        .gradient = notDifferentiable("a backward Loop carries tensors only"), .flops = flopsOfBody()},
    {.name = "Optional", .since = 28, .source = "ONNX Operators.md, Optional-28", .run = runOptional, .gradient = gradPassOn, .flops = noFlops, .bytes = nothingMoves},
    {.name = "OptionalGetElement", .since = 28, .source = "ONNX Operators.md, OptionalGetElement-28", .run = runOptionalGetElement,
        .gradient = gradPassOn, .flops = noFlops, .bytes = nothingMoves},
    {.name = "OptionalHasElement", .since = 28, .source = "ONNX Operators.md, OptionalHasElement-28", .run = runOptionalHasElement,
        .gradient = notDifferentiable(kCount), .flops = noFlops, .bytes = nothingMoves},
};

} // namespace

std::span<const OpDef> sequenceOps() { return kSequenceOps; }

} // namespace nabla::engine

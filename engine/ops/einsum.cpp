// Einsum: the equation, its evaluation by one loop nest, and its gradient, which is an Einsum again.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"

namespace nabla::engine {

namespace {

/// One term: its letters, with '.' standing for the whole ellipsis.
using Term = std::string;

struct Equation {
    std::vector<Term> inputs;
    Term output;
};

Result<Term> parseTerm(std::string_view text, std::string_view equation) {
    Term term;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char ch = text[i];
        if (ch == '.') {
            if (text.substr(i, 3) != "..." || term.find('.') != Term::npos)
                return runError("Einsum equation \"{}\": a term has one ellipsis of three dots at most", equation);
            term += '.';
            i += 2;
        } else if (std::isalpha(static_cast<unsigned char>(ch))) {
            term += ch;
        } else {
            return runError("Einsum equation \"{}\": '{}' is no letter", equation, ch);
        }
    }
    return term;
}

/// Without "->" the output is the ellipsis, then the letters that appear once, in alphabetical order.
Term implicitOutput(const std::vector<Term>& inputs) {
    std::map<char, int> counts;
    for (const Term& term : inputs) {
        for (const char ch : term)
            ++counts[ch];
    }
    Term output = counts.contains('.') ? "." : "";
    for (const auto& [ch, count] : counts) {
        if (ch != '.' && count == 1)
            output += ch;
    }
    return output;
}

Result<Equation> parseEquation(const std::string& text) {
    std::string compact;
    std::copy_if(text.begin(), text.end(), std::back_inserter(compact), [](char ch) { return ch != ' '; });
    const std::size_t arrow = compact.find("->");
    const std::string left = compact.substr(0, arrow);
    Equation equation;
    for (std::size_t begin = 0; begin <= left.size();) {
        const std::size_t end = std::min(left.find(',', begin), left.size());
        NABLA_TRY(Term term, parseTerm(std::string_view(left).substr(begin, end - begin), text));
        equation.inputs.push_back(std::move(term));
        begin = end + 1;
    }
    if (arrow == std::string::npos) {
        equation.output = implicitOutput(equation.inputs);
        return equation;
    }
    NABLA_TRY(equation.output, parseTerm(std::string_view(compact).substr(arrow + 2), text));
    for (const char ch : equation.output) {
        if (std::count(equation.output.begin(), equation.output.end(), ch) > 1)
            return runError("Einsum equation \"{}\": '{}' stands twice in the output", text, ch);
        const bool known = ch == '.' || std::any_of(equation.inputs.begin(), equation.inputs.end(), [&](const Term& t) { return t.find(ch) != Term::npos; });
        if (!known)
            return runError("Einsum equation \"{}\": '{}' stands in the output only", text, ch);
    }
    return equation;
}

/// One loop of the nest: its length and how each operand and the output step along it.
struct Loop {
    std::int64_t size = 1;
    std::vector<std::int64_t> steps;
    std::int64_t outputStep = 0;
};

struct LoopNest {
    std::vector<Loop> loops; ///< output axes first, then the summed ones
    Shape output;
};

/// Labels: letters, and for the ellipsis the numbers 0, 1, … counted from its last axis (as broadcasting aligns them).
std::vector<int> labelsOf(const Term& term, std::size_t ellipsisRank) {
    std::vector<int> labels;
    for (const char ch : term) {
        if (ch != '.') {
            labels.push_back(static_cast<unsigned char>(ch) + 1000);
            continue;
        }
        for (std::size_t i = ellipsisRank; i-- > 0;)
            labels.push_back(static_cast<int>(i));
    }
    return labels;
}

Result<LoopNest> loopNest(const Equation& equation, const std::vector<Shape>& shapes) {
    std::map<int, std::int64_t> sizes;
    std::map<int, std::vector<std::int64_t>> steps;
    std::size_t widest = 0;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        const Term& term = equation.inputs[k];
        const bool ellipsis = term.find('.') != Term::npos;
        const std::size_t letters = term.size() - (ellipsis ? 1 : 0);
        if (shapes[k].size() < letters || (!ellipsis && shapes[k].size() != letters))
            return runError("Einsum: operand {} has rank {}, its term names {} axes", k, shapes[k].size(), letters);
        const std::size_t ellipsisRank = shapes[k].size() - letters;
        widest = std::max(widest, ellipsis ? ellipsisRank : 0);
        const auto labels = labelsOf(term, ellipsisRank);
        const auto strides = rowMajorStrides(shapes[k]);
        for (std::size_t axis = 0; axis < labels.size(); ++axis) {
            auto [at, isNew] = sizes.emplace(labels[axis], shapes[k][axis]);
            if (!isNew && at->second != shapes[k][axis] && at->second != 1 && shapes[k][axis] != 1)
                return runError("Einsum: operand {} {} has {} where another has {} for the same label", k, toString(shapes[k]), shapes[k][axis], at->second);
            if (at->second == 1)
                at->second = shapes[k][axis];
            auto& step = steps[labels[axis]];
            step.resize(shapes.size());
            step[k] += shapes[k][axis] == 1 ? 0 : strides[axis];
        }
    }
    LoopNest nest;
    const auto outputLabels = labelsOf(equation.output, widest);
    for (const int label : outputLabels)
        nest.output.push_back(sizes[label]);
    const auto outputStrides = rowMajorStrides(nest.output);
    for (std::size_t i = 0; i < outputLabels.size(); ++i)
        nest.loops.push_back({nest.output[i], steps[outputLabels[i]], outputStrides[i]});
    for (const auto& [label, size] : sizes) {
        if (std::find(outputLabels.begin(), outputLabels.end(), label) == outputLabels.end())
            nest.loops.push_back({size, steps[label], 0});
    }
    if (nest.loops.empty())
        nest.loops.push_back({1, std::vector<std::int64_t>(shapes.size()), 0});
    return nest;
}

/// One run along the innermost loop.
template <typename T> void innermost(const Loop& loop, const std::vector<const T*>& at, T* out) {
    for (std::int64_t i = 0; i < loop.size; ++i) {
        T product = at[0][i * loop.steps[0]];
        for (std::size_t k = 1; k < at.size(); ++k)
            product *= at[k][i * loop.steps[k]];
        out[i * loop.outputStep] += product;
    }
}
template <typename T> void innermostOfTwo(const Loop& loop, const T* a, const T* b, T* out) {
    const std::int64_t stepA = loop.steps[0], stepB = loop.steps[1];
    if (loop.outputStep == 0) {
        T sum{};
        for (std::int64_t i = 0; i < loop.size; ++i)
            sum += a[i * stepA] * b[i * stepB];
        *out += sum;
        return;
    }
    for (std::int64_t i = 0; i < loop.size; ++i)
        out[i * loop.outputStep] += a[i * stepA] * b[i * stepB];
}

template <typename T> void runNest(const std::vector<Loop>& loops, std::size_t depth, const std::vector<const T*>& at, T* out) {
    const Loop& loop = loops[depth];
    if (depth + 1 == loops.size()) {
        if (at.size() == 2)
            innermostOfTwo(loop, at[0], at[1], out);
        else
            innermost(loop, at, out);
        return;
    }
    std::vector<const T*> here = at;
    for (std::int64_t i = 0; i < loop.size; ++i) {
        for (std::size_t k = 0; k < at.size(); ++k)
            here[k] = at[k] + i * loop.steps[k];
        runNest(loops, depth + 1, here, out + i * loop.outputStep);
    }
}

Result<void> runEinsum(const KernelContext& c) {
    NABLA_TRY(const Equation equation, parseEquation(c.stringAttribute("equation")));
    if (equation.inputs.size() != c.inputCount() || c.inputCount() == 0)
        return runError("Einsum equation \"{}\" has {} terms for {} inputs", c.stringAttribute("equation"), equation.inputs.size(), c.inputCount());
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < c.inputCount(); ++i) {
        NABLA_CHECK(requireTensor(c, i, "Inputs"));
        shapes.push_back(c.input(i).shape());
    }
    NABLA_TRY(const LoopNest nest, loopNest(equation, shapes));
    const DType type = computeType(c, {0, 1 < c.inputCount() ? std::size_t{1} : 0});
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < c.inputCount(); ++i) {
        NABLA_TRY(Tensor operand, inputAs(c, i, type));
        operands.push_back(std::move(operand));
    }
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, nest.output));
    withComputeType(type, [&]<typename T>(T) {
        std::fill_n(y.data<T>(), elementCount(nest.output), T{});
        std::vector<const T*> at;
        for (const Tensor& operand : operands)
            at.push_back(elements<T>(operand));
        if (std::none_of(nest.loops.begin(), nest.loops.end(), [](const Loop& l) { return l.size == 0; }))
            runNest(nest.loops, 0, at, y.data<T>());
    });
    return y.finish();
}

std::string spelled(const Term& term) {
    std::string out;
    for (const char ch : term)
        out += ch == '.' ? std::string("...") : std::string(1, ch);
    return out;
}

char freshLetter(const Equation& equation, const std::string& taken) {
    for (const std::string_view range : {"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}) {
        for (const char ch : range) {
            const bool used = taken.find(ch) != Term::npos
                || std::any_of(equation.inputs.begin(), equation.inputs.end(), [&](const Term& t) { return t.find(ch) != Term::npos; });
            if (!used)
                return ch;
        }
    }
    return '\0';
}

/// The cotangent of operand k: Einsum of dY, the other operands, and ones of the operand's own shape, which spread what the forward
/// equation summed. A letter twice in the term (a diagonal) becomes two letters joined by an identity matrix.
Result<ValueId> gradOperand(GradientBuilder& b, const Node& n, const Equation& equation, ValueId dy, std::size_t k) {
    std::vector<ValueId> operands{dy};
    std::string left = spelled(equation.output);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        if (i != k) {
            operands.push_back(n.inputs[i]);
            left += "," + spelled(equation.inputs[i]);
        }
    }
    const Term& term = equation.inputs[k];
    const ValueId shape = b.shapeOf(n.inputs[k]);
    Term unique;
    for (std::size_t at = 0; at < term.size(); ++at) {
        const char ch = term[at];
        if (unique.find(ch) == Term::npos) {
            unique += ch;
            continue;
        }
        const char fresh = freshLetter(equation, unique + equation.output);
        const std::size_t dots = term.find('.');
        if (fresh == '\0')
            return runError("the gradient of Einsum \"{}\" needs more letters than there are", n.stringAttribute("equation", ""));
        const auto axis = dots != Term::npos && at > dots ? static_cast<std::int64_t>(at) - static_cast<std::int64_t>(term.size()) : static_cast<std::int64_t>(at);
        const ValueId size = b.op("Gather", {shape, b.ints({axis})}, {intAttr("axis", 0)});
        const ValueId square = b.op("ConstantOfShape", {b.op("Concat", {size, size}, {intAttr("axis", 0)})});
        operands.push_back(b.castLike(b.op("EyeLike", {square}), n.inputs[k]));
        left += std::string(",") + ch + fresh;
        unique += fresh;
    }
    Tensor one = *Tensor::make(DType::Float64, {1});
    one.mutableData<double>()[0] = 1;
    NABLA_TRY(Tensor typed, castTensor(one, b.dtype(n.inputs[k]) == DType::Undefined ? DType::Float32 : b.dtype(n.inputs[k])));
    operands.push_back(b.op("ConstantOfShape", {shape}, {{"value", std::make_shared<const Tensor>(std::move(typed))}}));
    left += "," + spelled(unique);
    // An ellipsis may be wider elsewhere: it goes to the front, where unbroadcast sums what this operand does not have.
    const bool anyEllipsis = equation.output.find('.') != Term::npos
        || std::any_of(equation.inputs.begin(), equation.inputs.end(), [](const Term& t) { return t.find('.') != Term::npos; });
    Term result;
    std::copy_if(unique.begin(), unique.end(), std::back_inserter(result), [](char ch) { return ch != '.'; });
    const bool moved = unique.find('.') != Term::npos && unique.front() != '.';
    if (moved)
        return runError("the gradient of Einsum \"{}\" is known only where an ellipsis leads its term", n.stringAttribute("equation", ""));
    if (anyEllipsis)
        result.insert(result.begin(), '.');
    const ValueId full = b.op("Einsum", std::move(operands), {stringAttr("equation", left + "->" + spelled(result))});
    return b.unbroadcast(full, n.inputs[k]);
}

Gradients gradEinsum(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const Equation equation, parseEquation(n.stringAttribute("equation", "")));
    std::vector<ValueId> grads(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size() && k < equation.inputs.size(); ++k) {
        if (b.wants(k)) {
            NABLA_TRY(grads[k], gradOperand(b, n, equation, dy[0], k));
        }
    }
    return grads;
}

std::int64_t einsumFlops(const CostInputs& c) {
    const auto equation = parseEquation(c.node.stringAttribute("equation", ""));
    std::vector<Shape> shapes;
    for (const auto& shape : c.inputs) {
        if (!shape)
            return 0;
        shapes.push_back(*shape);
    }
    if (!equation || shapes.empty() || equation->inputs.size() != shapes.size())
        return 0;
    const auto nest = loopNest(*equation, shapes);
    if (!nest)
        return 0;
    std::int64_t steps = 1;
    for (const Loop& loop : nest->loops)
        steps = saturatedProduct({steps, loop.size});
    const auto products = static_cast<std::int64_t>(shapes.size()) - 1, sums = steps > elementCount(nest->output) ? std::int64_t{1} : std::int64_t{0};
    return touchesFloats(c) ? saturatedProduct({steps, products + sums}) : 0;
}

constexpr OpDef kEinsumOps[] = {
    {.name = "Einsum", .since = 28, .source = "ONNX Operators.md, Einsum-28; numpy.einsum", .run = runEinsum, .gradient = gradEinsum, .flops = einsumFlops},
};

} // namespace

std::span<const OpDef> einsumOps() { return kEinsumOps; }

} // namespace nabla::engine

// The table of nodes that change nothing.
#include "engine/passes/eliminate_identity.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/passes/rewrite.h"

namespace nabla::engine {

namespace {

std::optional<std::string> nameKept(RewriteSite& s) {
    return redirectGuard(s, s.node().input(0));
}
Applied handOn(RewriteSite& s, std::string why) {
    return redirect(s, s.node().input(0), std::move(why));
}

bool hasInput(RewriteSite& s) {
    return s.node().input(0) && s.node().output(0);
}

Applied removeIdentity(RewriteSite& s) {
    return handOn(s, "its output is its input");
}

bool isDropout(RewriteSite& s) {
    return hasInput(s);
}
std::optional<std::string> dropoutInference(RewriteSite& s) {
    const Node& n = s.node();
    if (n.input(2)) {
        const TensorPtr mode = s.constant(n.input(2));
        if (!mode)
            return "training_mode is not constant";
        if (mode->elementCount() != 1 || mode->asDouble(0) != 0)
            return "training_mode is true";
    }
    if (n.output(1) && (!s.editor.consumers(n.output(1)).empty() || s.editor.isOutput(n.output(1))))
        return "its mask is read";
    return nameKept(s);
}
Applied removeDropout(RewriteSite& s) {
    return handOn(s, "at inference it hands its input on");
}

bool isCastToSame(RewriteSite& s) {
    return hasInput(s) && s.type(s.node().input(0)).isTensor()
        && static_cast<std::int64_t>(s.type(s.node().input(0)).elementType) == s.node().intAttribute("to", 0)
        && s.node().intAttribute("to", 0) != 0;
}
Applied removeCast(RewriteSite& s) {
    return handOn(s, fmt::format("its input is {} already", name(s.type(s.node().input(0)).elementType)));
}

bool isSameShape(RewriteSite& s) {
    return hasInput(s) && s.sameShape(s.node().input(0), s.node().output(0));
}
Applied removeSameShape(RewriteSite& s) {
    return handOn(s, fmt::format("its input has the shape {} already", toString(*s.type(s.node().input(0)).shape)));
}

bool isWholeSlice(RewriteSite& s) {
    return isSameShape(s);
}
std::optional<std::string> stepsAreOne(RewriteSite& s) {
    if (s.node().input(4)) {
        const auto steps = s.ints(s.node().input(4));
        if (!steps || std::any_of(steps->begin(), steps->end(), [](std::int64_t step) { return step != 1; }))
            return "a step is not 1";
    }
    return nameKept(s);
}

bool isPlainTranspose(RewriteSite& s) {
    const std::vector<std::int64_t> perm = s.node().intsAttribute("perm");
    if (!hasInput(s))
        return false;
    if (perm.empty()) { // reverses the axes
        const ValueType& type = s.type(s.node().input(0));
        return type.shape && type.shape->size() <= 1;
    }
    for (std::size_t i = 0; i < perm.size(); ++i) {
        if (perm[i] != static_cast<std::int64_t>(i))
            return false;
    }
    return true;
}
Applied removeTranspose(RewriteSite& s) {
    return handOn(s, "its permutation leaves every axis where it is");
}

bool isZeroPad(RewriteSite& s) {
    const auto pads = hasInput(s) ? s.ints(s.node().input(1)) : std::nullopt;
    return pads && std::all_of(pads->begin(), pads->end(), [](std::int64_t p) { return p == 0; });
}
Applied removePad(RewriteSite& s) {
    return handOn(s, "it pads by nothing");
}

bool isTileOnce(RewriteSite& s) {
    const auto repeats = hasInput(s) ? s.ints(s.node().input(1)) : std::nullopt;
    return repeats && std::all_of(repeats->begin(), repeats->end(), [](std::int64_t r) { return r == 1; });
}
Applied removeTile(RewriteSite& s) {
    return handOn(s, "it repeats every axis once");
}

bool isOfOne(RewriteSite& s) {
    return hasInput(s) && s.node().inputs.size() == 1;
}
Applied removeOfOne(RewriteSite& s) {
    return handOn(s, "it has one input");
}

bool hasNoAxes(RewriteSite& s) {
    const auto axes = hasInput(s) ? s.ints(s.node().input(1)) : std::nullopt;
    return axes && axes->empty();
}
Applied removeNoAxes(RewriteSite& s) {
    return handOn(s, "it names no axis");
}

constexpr RewriteRule kRules[] = {
    {"identity", "Identity", hasInput, nameKept, removeIdentity},
    {"dropout-inference", "Dropout", isDropout, dropoutInference, removeDropout},
    {"cast-to-same-type", "Cast", isCastToSame, nameKept, removeCast},
    {"reshape-to-same-shape", "Reshape", isSameShape, nameKept, removeSameShape},
    {"flatten-of-matrix", "Flatten", isSameShape, nameKept, removeSameShape},
    {"expand-to-same-shape", "Expand", isSameShape, nameKept, removeSameShape},
    {"slice-of-everything", "Slice", isWholeSlice, stepsAreOne, removeSameShape},
    {"transpose-of-nothing", "Transpose", isPlainTranspose, nameKept, removeTranspose},
    {"pad-by-zero", "Pad", isZeroPad, nameKept, removePad},
    {"tile-once", "Tile", isTileOnce, nameKept, removeTile},
    {"squeeze-no-axes", "Squeeze", hasNoAxes, nameKept, removeNoAxes},
    {"unsqueeze-no-axes", "Unsqueeze", hasNoAxes, nameKept, removeNoAxes},
    {"concat-of-one", "Concat", isOfOne, nameKept, removeOfOne},
    {"sum-of-one", "Sum", isOfOne, nameKept, removeOfOne},
    {"max-of-one", "Max", isOfOne, nameKept, removeOfOne},
    {"min-of-one", "Min", isOfOne, nameKept, removeOfOne},
    {"mean-of-one", "Mean", isOfOne, nameKept, removeOfOne},
};

} // namespace

Result<Graph> eliminateIdentity(const Graph& graph, PassContext& context) {
    return applyRules(graph, context, kRules);
}

} // namespace nabla::engine

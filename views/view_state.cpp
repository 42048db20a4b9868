// What is asked of the state in more than one view.
#include "views/view_state.h"

namespace nabla::views {

std::optional<ShownSteps> shownSteps(const ViewState& state) {
    if (!state.step)
        return std::nullopt;
    const StepState& step = *state.step;
    const std::size_t depth = state.bodies.size();
    if (depth > step.levels.size())
        return std::nullopt;
    for (std::size_t d = 0; d < depth; ++d) {
        if (state.bodies[d].node != step.levels[d].node || state.bodies[d].body != step.levels[d].body)
            return std::nullopt;
    }
    ShownSteps out;
    out.innermost = depth == step.levels.size();
    if (depth > 0)
        out.level = &step.levels[depth - 1];
    out.position = out.level ? out.level->position : step.position;
    out.order = out.level ? out.level->order : step.order;
    return out;
}

const ValueStats* gradientStats(const ViewState& state, engine::ValueId value) {
    const auto it = state.stats.find(value);
    const bool there = it != state.stats.end() && it->second.count > 0 && state.types;
    return there && engine::isDifferentiable(state.types->of(value).elementType) ? &it->second : nullptr;
}

} // namespace nabla::views

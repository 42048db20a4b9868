// Values that are not finite, as the window shows them: found after each action of the stepper, walked back when asked.
#pragma once

#include <memory>
#include <unordered_set>

#include "engine/runtime/stepper.h"
#include "views/view_state.h"

namespace nabla::app {

using FiniteValues = std::unordered_set<engine::ValueId>;

/// Looks at the values of the main graph up to the stepper's position; null: all finite. `stats` says what is known of produced values;
/// `finite` what is known of others, and learns. `shown`: the graph whose nodes and values the result names. Errors: Cancelled.
engine::Result<std::shared_ptr<const views::NumericTrouble>> troubleOf(engine::Stepper& stepper, const engine::Graph& shown,
    const std::unordered_map<engine::ValueId, views::ValueStats>& stats, FiniteValues& finite, const engine::JobControl& job);

/// The same trouble with the way back: from the selected element (or the selected value's first) where that is not finite, else from the first.
/// Errors: Cancelled; a value that is not there any more.
engine::Result<views::NumericTrouble> walked(views::NumericTrouble trouble, engine::Stepper& stepper, const engine::Graph& shown,
    const views::Selection& selection, const engine::JobControl& job);

} // namespace nabla::app

// GradientModel: the chain rule at one element as words and numbers; no Qt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "views/view_state.h"

namespace nabla::views {

/// A value whose gradient can be explained, and what it is called in the list.
struct GradientChoice {
    engine::ValueId value;
    std::string name;
};

/// Values that belong to the selection and have a gradient, the one that is meant first.
std::vector<GradientChoice> gradientChoices(const ViewState& state);
/// Row-major place of the largest entry of a value's gradient; 0 while it is not there.
std::int64_t largestGradient(const ViewState& state, engine::ValueId value);
/// Whether the backward pass has made the gradient of the value.
bool gradientIsThere(const ViewState& state, engine::ValueId value);

/// A number with a caption under it.
struct GradientBox {
    std::string title, number, caption;
};
struct GradientRow {
    std::vector<std::string> cells;
    engine::NodeId node;                      ///< where a click leads
    std::optional<engine::ChainTerm> term;    ///< an element to follow
};

/// Why there is nothing to show, and the action that changes it; both empty when there is something.
struct GradientLack {
    std::string sentence, verb, action;
};
GradientLack gradientLack(const ViewState& state);

struct GradientModel {
    std::string subtitle;               ///< "read by conv1, Conv"
    std::string rule;
    GradientBox upstream, local, result; ///< of the largest term of the path shown
    std::string sumText;                ///< "largest of 3,600 products"; empty for one
    std::vector<GradientRow> terms;     ///< "[0, 3]", "a × b", "product"; the last may stand for the rest
    std::vector<GradientRow> paths;     ///< reader, share; the last is the sum. Empty with one path only
    std::vector<GradientRow> checks;    ///< by which means, number, relative difference
    std::vector<GradientRow> chain;     ///< from what is differentiated down to here: node, gain, rms
};
/// `path`: which of the readers to show.
GradientModel gradientModel(const ViewState& state, std::size_t path);

} // namespace nabla::views

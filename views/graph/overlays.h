// Overlays: numbers of the whole graph made into colours and card texts. No Qt.
#pragma once

#include <optional>
#include <string_view>

#include "views/graph/graph_view_model.h"
#include "views/view_state.h"

namespace nabla::views {

enum class OverlayKind : std::uint8_t { None, Time, Memory, Gradient };
std::optional<OverlayKind> overlayFromName(std::string_view name);

/// Time: medians of the recording; Memory: bytes of the first output. Gradient, in a backward pass: norm of each gradient node's first output,
/// on the forward node the norm that arrives at its output, on edges that of their value; else of the last training step: the norm of the
/// gradients of a node's weights. Scopes show sums, and the norm of all their weights' gradients. Empty positions when there is nothing to
/// show (`title` says why).
Overlay makeOverlay(OverlayKind kind, const ViewState& state);

} // namespace nabla::views

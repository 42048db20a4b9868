// Overlays: numbers of the whole graph made into colours and card texts. No Qt.
#pragma once

#include <optional>
#include <string_view>

#include "views/graph/graph_view_model.h"
#include "views/view_state.h"

namespace nabla::views {

enum class OverlayKind : std::uint8_t { None, Time, Memory, Gradient };
std::optional<OverlayKind> overlayFromName(std::string_view name);

/// Time: medians of the recording; Memory: bytes of the first output; Gradient: rms of each gradient node's first output, on the forward
/// node too. Empty positions when there is nothing to show (`title` says why).
Overlay makeOverlay(OverlayKind kind, const ViewState& state);

} // namespace nabla::views

// What the passes view says of the passes in the history: rows of numbers and names, not yet in words. No Qt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "views/view_state.h"

namespace nabla::views {

/// One pass of the history. Absent = not measured.
struct PassRow {
    std::uint32_t id = 0, before = 0; ///< history states
    std::string title;
    std::size_t rewrites = 0, nearMisses = 0;
    std::int64_t nodesChange = 0;
    std::optional<std::int64_t> flopsChange, bytesChange, peakChange;
    double milliseconds = 0;
    std::optional<double> largestDifference; ///< over all outputs; NaN wins
    std::string error;                       ///< empty unless the pass failed
};
std::vector<PassRow> passRows(const ViewState& state);

struct RewriteRow {
    std::string rule, removed, added, reason; ///< names of nodes, joined by ", "
    std::vector<engine::NodeId> nodes;        ///< added, then removed
};
std::vector<RewriteRow> rewriteRows(const engine::PassRecord& record);

struct NearMissRow {
    std::string rule, nodeName, predicate;
    engine::NodeId node;
};
std::vector<NearMissRow> nearMissRows(const engine::PassRecord& record);

/// The pass that made a state; null when none did.
const HistoryEntry* passEntry(const ViewState& state, std::uint32_t id);
/// The first of `nodes` that the graph holds, with its first output; empty when it holds none.
Selection firstPresent(const engine::Graph& graph, const std::vector<engine::NodeId>& nodes);

} // namespace nabla::views

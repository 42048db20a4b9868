// Rows out of pass records.
#include "views/passes/passes_view_model.h"

#include <algorithm>
#include <cmath>

namespace nabla::views {

using namespace engine;

namespace {

std::optional<std::int64_t> difference(
    const std::optional<GraphPrice>& before, const std::optional<GraphPrice>& after, std::optional<std::int64_t> GraphPrice::*field) {
    if (!before || !after || !((*before).*field) || !((*after).*field))
        return std::nullopt;
    return *((*after).*field) - *((*before).*field);
}

std::optional<double> largest(const PassRecord& record) {
    if (!record.differences)
        return std::nullopt;
    double most = 0;
    for (const OutputDifference& d : *record.differences) {
        if (std::isnan(d.largest))
            return d.largest;
        most = std::max(most, d.largest);
    }
    return most;
}

std::string nodeName(const PassRecord& record, NodeId id) {
    const Node* node = record.after.node(id);
    if (!node)
        node = record.before.node(id);
    if (!node) // made and taken away within one pass
        return "#" + std::to_string(id.value);
    return node->name.empty() ? node->opType + " #" + std::to_string(id.value) : node->name;
}

std::string names(const PassRecord& record, const std::vector<NodeId>& nodes) {
    std::string text;
    for (const NodeId id : nodes)
        text += (text.empty() ? "" : ", ") + nodeName(record, id);
    return text;
}

} // namespace

std::vector<PassRow> passRows(const ViewState& state) {
    std::vector<PassRow> rows;
    for (const HistoryEntry& entry : state.history) {
        if (!entry.pass)
            continue;
        const PassRecord& record = *entry.pass;
        PassRow row;
        row.id = entry.id;
        row.before = entry.parent;
        row.title = entry.title;
        row.rewrites = record.rewrites.size();
        row.nearMisses = record.nearMisses.size();
        row.nodesChange = static_cast<std::int64_t>(record.after.nodeCount()) - static_cast<std::int64_t>(record.before.nodeCount());
        row.flopsChange = difference(record.priceBefore, record.priceAfter, &GraphPrice::flops);
        row.bytesChange = difference(record.priceBefore, record.priceAfter, &GraphPrice::bytesMoved);
        row.peakChange = difference(record.priceBefore, record.priceAfter, &GraphPrice::peakBytes);
        row.milliseconds = record.milliseconds;
        row.largestDifference = largest(record);
        row.error = record.error.value_or("");
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<RewriteRow> rewriteRows(const PassRecord& record) {
    std::vector<RewriteRow> rows;
    for (const Rewrite& rewrite : record.rewrites) {
        RewriteRow row{rewrite.rule, names(record, rewrite.removed), names(record, rewrite.added), rewrite.reason, rewrite.added};
        row.nodes.insert(row.nodes.end(), rewrite.removed.begin(), rewrite.removed.end());
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<NearMissRow> nearMissRows(const PassRecord& record) {
    std::vector<NearMissRow> rows;
    for (const NearMiss& miss : record.nearMisses)
        rows.push_back({miss.rule, nodeName(record, miss.node), miss.predicate, miss.node});
    return rows;
}

const HistoryEntry* passEntry(const ViewState& state, std::uint32_t id) {
    const auto it = std::find_if(
        state.history.begin(), state.history.end(), [&](const HistoryEntry& e) { return e.id == id && e.pass; });
    return it == state.history.end() ? nullptr : &*it;
}

Selection firstPresent(const Graph& graph, const std::vector<NodeId>& nodes) {
    for (const NodeId id : nodes) {
        if (const Node* node = graph.node(id))
            return {id, node->output(0)};
    }
    return {};
}

} // namespace nabla::views

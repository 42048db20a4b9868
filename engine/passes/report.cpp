// One set of figures, written three ways.
#include "engine/passes/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace nabla::engine {

namespace {

using nlohmann::json;

/// The figures of one row, from which every form is written.
struct Row {
    std::int64_t nodesBefore = 0, nodesAfter = 0;
    std::optional<std::int64_t> flops, bytesMoved, peakBytes; ///< after minus before
    std::optional<double> milliseconds; ///< of a run, after minus before
    std::optional<double> difference; ///< largest, relative to the output's largest entry
};

template <typename T> std::optional<T> minus(const std::optional<T>& after, const std::optional<T>& before) {
    return after && before ? std::optional<T>(*after - *before) : std::nullopt;
}

std::int64_t nodesWithBodies(const Graph& graph) {
    std::int64_t count = 0;
    graph.forEachNode([&](const Node& node) {
        ++count;
        for (const auto& [name, body] : node.bodies())
            count += nodesWithBodies(*body);
    });
    return count;
}

Row row(const PassRecord& record) {
    Row r;
    r.nodesBefore = nodesWithBodies(record.before);
    r.nodesAfter = record.changed() ? nodesWithBodies(record.after) : r.nodesBefore;
    if (record.priceBefore && record.priceAfter) {
        r.flops = minus(record.priceAfter->flops, record.priceBefore->flops);
        r.bytesMoved = minus(record.priceAfter->bytesMoved, record.priceBefore->bytesMoved);
        r.peakBytes = minus(record.priceAfter->peakBytes, record.priceBefore->peakBytes);
        r.milliseconds = minus(record.priceAfter->medianMs, record.priceBefore->medianMs);
    }
    if (record.differences) {
        r.difference = 0;
        for (const OutputDifference& d : *record.differences)
            r.difference = std::isnan(d.relativeToLargestEntry) ? d.relativeToLargestEntry
                                                                : std::max(*r.difference, d.relativeToLargestEntry);
    }
    return r;
}

template <typename T> json orNull(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json price(const std::optional<GraphPrice>& p, std::int64_t nodes) {
    const GraphPrice none;
    const GraphPrice& from = p ? *p : none;
    return {{"nodes", nodes}, {"flops", orNull(from.flops)}, {"bytes_moved", orNull(from.bytesMoved)},
        {"peak_bytes", orNull(from.peakBytes)}, {"lower_bound_bytes", orNull(from.lowerBoundBytes)},
        {"median_ms", orNull(from.medianMs)}};
}

/// The node's name for people, from the state where it still is.
std::string nameOf(const PassRecord& record, NodeId id) {
    for (const Graph* graph : {&record.before, &record.after}) {
        if (const Node* node = graph->node(id))
            return describe(*node);
    }
    return fmt::format("node #{}", id.value); // inside a body
}

json ids(const PassRecord& record, const std::vector<NodeId>& nodes) {
    json list = json::array();
    for (const NodeId id : nodes)
        list.push_back({{"id", id.value}, {"name", nameOf(record, id)}});
    return list;
}

json recordJson(const PassRecord& record) {
    const Row r = row(record);
    const PassDef* pass = findPass(record.pass);
    json rewrites = json::array(), misses = json::array();
    for (const Rewrite& rewrite : record.rewrites)
        rewrites.push_back({{"rule", rewrite.rule}, {"removed", ids(record, rewrite.removed)},
            {"added", ids(record, rewrite.added)}, {"reason", rewrite.reason}});
    for (const NearMiss& miss : record.nearMisses)
        misses.push_back({{"rule", miss.rule}, {"node", {{"id", miss.node.value}, {"name", nameOf(record, miss.node)}}},
            {"predicate", miss.predicate}});
    json differences = nullptr;
    if (record.differences) {
        differences = json::array();
        for (const OutputDifference& d : *record.differences)
            differences.push_back(
                {{"output", d.output}, {"largest", d.largest}, {"relative", d.relativeToLargestEntry}});
    }
    return {{"pass", record.pass}, {"title", pass ? std::string(pass->title) : record.pass},
        {"changes_values", pass && pass->changesValues}, {"changed", record.changed()},
        {"milliseconds", record.milliseconds}, {"error", orNull(record.error)}, {"rewrites", std::move(rewrites)},
        {"near_misses", std::move(misses)}, {"before", price(record.priceBefore, r.nodesBefore)},
        {"after", price(record.priceAfter, r.nodesAfter)},
        {"delta",
            {{"nodes", r.nodesAfter - r.nodesBefore}, {"flops", orNull(r.flops)}, {"bytes_moved", orNull(r.bytesMoved)},
                {"peak_bytes", orNull(r.peakBytes)}, {"median_ms", orNull(r.milliseconds)}}},
        {"differences", std::move(differences)}};
}

/// The whole run as if it were one pass.
PassRecord wholeRun(const std::vector<PassRecord>& records) {
    PassRecord total;
    total.pass = "total";
    total.before = records.front().before;
    total.after = records.back().after;
    total.priceBefore = records.front().priceBefore;
    total.priceAfter = records.back().priceAfter;
    for (const PassRecord& record : records)
        total.milliseconds += record.milliseconds;
    return total;
}

std::string signedCount(const std::optional<std::int64_t>& value) {
    return value ? fmt::format("{:+}", *value) : "-";
}
std::string signedMs(const std::optional<double>& value) {
    return value ? fmt::format("{:+.3f}", *value) : "-";
}
std::string small(const std::optional<double>& value) {
    return value ? fmt::format("{:.1e}", *value) : "-";
}

std::vector<std::string> cells(const PassRecord& record) {
    const Row r = row(record);
    return {record.pass, fmt::format("{} -> {}", r.nodesBefore, r.nodesAfter),
        signedCount(r.nodesAfter - r.nodesBefore), signedCount(r.flops), signedCount(r.bytesMoved),
        signedCount(r.peakBytes), signedMs(r.milliseconds), small(r.difference),
        fmt::format("{:.2f}", record.milliseconds), std::to_string(record.rewrites.size())};
}

const std::vector<std::string>& headings() {
    static const std::vector<std::string> kHeadings = {"pass", "nodes", "Δ nodes", "Δ FLOPs", "Δ bytes moved",
        "Δ peak bytes", "Δ run ms", "difference", "pass ms", "rewrites"};
    return kHeadings;
}

/// Columns that a terminal shows: the Greek letter is two bytes of one column.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

constexpr std::string_view kStyle
    = "body{font:14px system-ui,sans-serif;margin:2em;color:#1c1f24;background:#fff}table{border-collapse:collapse}"
      "th,td{padding:.3em .8em;text-align:right;border-bottom:1px solid "
      "#d5d9e0}th:first-child,td:first-child{text-align:left}"
      "details{margin:.6em 0}summary{cursor:pointer;font-weight:600}li{margin:.2em "
      "0}.rule{font-family:monospace}.miss{color:#5b6472}"
      "@media(prefers-color-scheme:dark){body{color:#e4e7ec;background:#16181d}th,td{border-color:#343a44}.miss{color:#"
      "9aa3b2}}";

std::string detailsHtml(const PassRecord& record) {
    std::string html = fmt::format("<details><summary>{}: {} rewrites, {} near misses</summary>", escaped(record.pass),
        record.rewrites.size(), record.nearMisses.size());
    if (record.error)
        html += fmt::format("<p>failed: {}</p>", escaped(*record.error));
    html += "<ul>";
    for (const Rewrite& rewrite : record.rewrites)
        html += fmt::format("<li><span class=rule>{}</span> {}</li>", escaped(rewrite.rule), escaped(rewrite.reason));
    for (const NearMiss& miss : record.nearMisses)
        html += fmt::format("<li class=miss><span class=rule>{}</span> not at {}: {}</li>", escaped(miss.rule),
            escaped(nameOf(record, miss.node)), escaped(miss.predicate));
    return html + "</ul></details>\n";
}

} // namespace

json reportJson(const std::vector<PassRecord>& records, const std::string& model) {
    json passes = json::array();
    for (const PassRecord& record : records)
        passes.push_back(recordJson(record));
    json total = nullptr;
    if (!records.empty()) {
        total = recordJson(wholeRun(records));
        for (const char* key : {"pass", "title", "changes_values", "error", "rewrites", "near_misses", "differences"})
            total.erase(key);
    }
    return {{"schema", 1}, {"model", model}, {"passes", std::move(passes)}, {"total", std::move(total)}};
}

std::string reportText(const std::vector<PassRecord>& records) {
    std::vector<std::vector<std::string>> table{headings()};
    for (const PassRecord& record : records)
        table.push_back(cells(record));
    if (!records.empty()) {
        table.push_back(cells(wholeRun(records)));
        std::size_t rewrites = 0;
        for (const PassRecord& record : records)
            rewrites += record.rewrites.size();
        table.back().back() = std::to_string(rewrites);
    }
    std::vector<std::size_t> widths(headings().size());
    for (const auto& line : table) {
        for (std::size_t c = 0; c < line.size(); ++c)
            widths[c] = std::max(widths[c], width(line[c]));
    }
    std::string text;
    for (const auto& line : table) {
        for (std::size_t c = 0; c < line.size(); ++c) {
            const std::string padding(widths[c] - width(line[c]), ' ');
            text += c == 0 ? line[c] + padding : "  " + padding + line[c];
        }
        text += '\n';
    }
    for (const PassRecord& record : records) {
        if (record.error)
            text += fmt::format("{} failed: {}\n", record.pass, *record.error);
    }
    return text;
}

std::string reportHtml(const std::vector<PassRecord>& records, const std::string& model) {
    std::string html = fmt::format("<!doctype html><html lang=en><meta charset=utf-8><title>Passes: "
                                   "{0}</title><style>{1}</style><h1>Passes: {0}</h1>\n<table><tr>",
        escaped(model), kStyle);
    for (const std::string& heading : headings())
        html += fmt::format("<th>{}</th>", heading);
    html += "</tr>\n";
    for (const PassRecord& record : records) {
        html += "<tr>";
        for (const std::string& cell : cells(record))
            html += fmt::format("<td>{}</td>", escaped(cell));
        html += "</tr>\n";
    }
    html += "</table>\n<p>A dash: not measured. Differences are relative to the largest entry of the output.</p>\n";
    for (const PassRecord& record : records)
        html += detailsHtml(record);
    return html + "</html>\n";
}

} // namespace nabla::engine

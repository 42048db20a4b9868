// Numeric trouble in words: one sentence for the window, rows for the list of problems. No Qt.
#pragma once

#include <string>
#include <vector>

#include "views/view_state.h"

namespace nabla::views {

/// `p[1, 0] = NaN`.
std::string placeText(const engine::Graph& graph, const ElementPlace& place);
/// `attn_softmax (Softmax)`, `a graph input`, `a weight`.
std::string makerText(const engine::Graph& graph, const ElementPlace& place);

/// `First NaN: p[1, 0], made by attn_softmax (Softmax)`.
std::string troubleTitle(const engine::Graph& graph, const NumericTrouble& trouble);
/// `3 elements of p; 4 values are not finite`.
std::string troubleDetail(const engine::Graph& graph, const NumericTrouble& trouble);
/// NaN, or an infinity that a node made; infinities that only come in and are carried on (masks) are meant more often than not.
bool isSerious(const NumericTrouble& trouble);

struct TroubleRow {
    enum class Kind : std::uint8_t { First, Stop, Birth, Cause } kind = Kind::Stop;
    std::string title, detail;
    ElementPlace at;
};
/// The first value that is not finite, then the walk, where there is one: each stop, followed by the elements that caused it unless the
/// next stop is the only one.
std::vector<TroubleRow> troubleRows(const engine::Graph& graph, const NumericTrouble& trouble);

} // namespace nabla::views

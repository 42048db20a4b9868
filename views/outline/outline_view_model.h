// The outline as rows of a tree: scopes and nodes, the graph's twin for the keyboard and the screen reader. No Qt.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "views/theme/operator_kind.h"
#include "views/view_state.h"

namespace nabla::views {

struct OutlineItem {
    int parent = -1;
    std::vector<int> children;   ///< scopes and nodes in the order of their first node
    engine::NodeId node;         ///< none for scopes, inputs and outputs
    engine::ValueId value;       ///< inputs and outputs
    std::string scope;           ///< path of a scope
    std::string title;
    OperatorKind kind = OperatorKind::Unknown;
    int row = 0;                 ///< among the parent's children
};

struct OutlineModel {
    std::vector<OutlineItem> items; ///< item 0 is the document
    std::unordered_map<engine::NodeId, int> itemOf;
};

OutlineModel outlineModel(const ViewState& state);
/// Right-hand text of an item: gradient rms while stepping backward, time of a recording, else bytes of the first output.
std::string outlineRightText(const ViewState& state, const OutlineItem& item);

} // namespace nabla::views

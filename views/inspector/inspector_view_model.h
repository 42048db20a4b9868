// What the inspector shows of a selection: plain sections of rows, values and documentation. No Qt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "views/theme/operator_kind.h"
#include "views/view_state.h"

namespace nabla::views {

struct InspectorPort {
    std::string port, name, shape, type, bytes; ///< port: the schema's formal name
    engine::ValueId value;
    bool isInput = true;
    bool isWeight = false;
};

struct InspectorModel {
    std::string title, subtitle;
    OperatorKind kind = OperatorKind::Unknown;
    std::vector<std::pair<std::string, std::string>> attributes; ///< name, value; defaults end with " (default)"
    std::vector<InspectorPort> ports;
    std::vector<std::pair<std::string, std::string>> cost;       ///< Time, Parameters, Work, Read, Written
    std::vector<std::pair<std::string, std::string>> origin;     ///< made by, from nodes, gradient of
    std::vector<std::pair<std::string, std::string>> facts;      ///< of the operator: versions, types, gradient with the reason, kernel
    std::string documentation;                                   ///< Markdown of the schema

    // The value shown: the selected one, else the first output.
    engine::ValueId shown;
    std::string valueTitle;   ///< `conv1 [1,8,8,8] f32`
    std::string valueNote;    ///< why there are no numbers: "not computed yet: run or step"
    std::optional<ValueStats> stats;
    engine::RuntimeValue value;
    std::int64_t element = -1; ///< selected one of the value; -1: none
    engine::ValueId gradient; ///< cotangent of the shown value, in a gradient state
};

/// Empty title: nothing selected.
InspectorModel inspectorModel(const ViewState& state);

/// Where an element stands: plane, and row and column in it.
struct ElementAt {
    std::int64_t plane = 0, row = 0, column = 0;
};
ElementAt elementAt(const engine::Tensor& tensor, std::int64_t element);

/// Elements of the innermost two dimensions from a given leading index on, as text; rows × columns at most, from `first` on.
std::vector<std::vector<std::string>> valueRows(
    const engine::Tensor& tensor, std::int64_t plane, std::size_t rows, std::size_t columns, const ElementAt& first = {});

} // namespace nabla::views

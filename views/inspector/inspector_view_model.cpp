// Gathers from graph, schema, types, cost and values.
#include "views/inspector/inspector_view_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/plan/operator_facts.h"
#include "engine/schema/schema.h"
#include "views/graph/node_text.h"
#include "views/theme/units.h"

namespace nabla::views {

using namespace nabla::engine;

namespace {

std::string valueName(const ViewState& state, ValueId id) {
    const Value* value = state.graph.value(id);
    return value ? value->name.substr(0, 300) : std::string();
}

/// `[batch,64]`. `open` stands for what is not known before running.
std::string sizesText(const ValueType& type, std::string_view open) {
    if (!type.shape)
        return std::string(open);
    std::string out = "[";
    for (std::size_t i = 0; i < type.shape->size(); ++i)
        out += (i ? "," : "") + ((*type.shape)[i].isUnknown() ? std::string(open) : (*type.shape)[i].text());
    return out + "]";
}

void addPorts(const ViewState& state, const Node& node, const OperatorSchema* schema, InspectorModel& model) {
    const auto add = [&](const std::vector<ValueId>& ids, bool isInput) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (!ids[i])
                continue;
            InspectorPort port;
            const FormalParameter* formal = schema ? (isInput ? schema->input(i) : schema->output(i)) : nullptr;
            port.port = formal ? formal->name : fmt::format("{} {}", isInput ? "input" : "output", i);
            port.name = valueName(state, ids[i]);
            port.value = ids[i];
            port.isInput = isInput;
            port.isWeight = state.graph.constant(ids[i]) != nullptr;
            const ValueType& type = state.types ? state.types->of(ids[i]) : state.graph.value(ids[i])->declared;
            port.type = type.isTensor() ? std::string(shortName(type.elementType)) : type.text();
            port.shape = type.isTensor() ? sizesText(type, state.types && (schema || isInput) ? "depends on data" : "?") : "";
            if (const auto bytes = bytesOf(type))
                port.bytes = formatBytes(*bytes);
            model.ports.push_back(std::move(port));
        }
    };
    add(node.inputs, true);
    add(node.captures, true);
    add(node.outputs, false);
}

void addAttributes(const Node& node, const OperatorSchema* schema, InspectorModel& model) {
    for (const Attribute& a : node.attributes)
        model.attributes.emplace_back(a.name.substr(0, 200), attributeText(a.value));
    if (!schema)
        return;
    for (const FormalAttribute& formal : schema->attributes) {
        if (!node.attribute(formal.name) && formal.otherwise)
            model.attributes.emplace_back(formal.name, attributeText(*formal.otherwise) + " (default)");
    }
}

void addCost(const ViewState& state, const Node& node, InspectorModel& model) {
    if (const auto it = state.medianNs.find(node.id); it != state.medianNs.end())
        model.cost.emplace_back("Time", formatDurationNs(it->second) + " median");
    if (!state.cost)
        return;
    const auto it = state.cost->nodes.find(node.id);
    if (it != state.cost->nodes.end() && it->second.parameters > 0)
        model.cost.emplace_back("Parameters", formatCount(it->second.parameters));
    if (it == state.cost->nodes.end() || !it->second.known) {
        model.cost.emplace_back("Work", "not known before running");
        return;
    }
    model.cost.emplace_back("Work", formatFlops(static_cast<double>(it->second.flops)));
    model.cost.emplace_back("Read", formatBytes(it->second.bytesRead));
    model.cost.emplace_back("Written", formatBytes(it->second.bytesWritten));
}

void addOrigin(const ViewState& state, const Node& node, InspectorModel& model) {
    model.origin.emplace_back("Made by", node.createdBy ? *node.createdBy : "the imported file");
    if (const Node* forward = state.graph.node(node.gradientOf))
        model.origin.emplace_back("Gradient of", describe(*forward));
    std::string from;
    for (const NodeId origin : node.origins) {
        if (origin == node.id)
            continue;
        const Node* original = state.graph.node(origin);
        from += (from.empty() ? "" : ", ") + (original ? describe(*original) : fmt::format("node #{}", origin.value));
    }
    if (!from.empty())
        model.origin.emplace_back("From", from);
    for (const auto& [key, value] : node.metadata)
        model.origin.emplace_back(key.substr(0, 100), value.substr(0, 400));
    if (!node.doc.empty())
        model.origin.emplace_back("Note", node.doc.substr(0, 1000));
}

void addFacts(const Node& node, const OperatorSchema* schema, InspectorModel& model) {
    const auto facts = operatorFacts(node.opType, node.domain);
    if (!facts) {
        if (schema)
            model.facts.emplace_back("Runs", "no: it opens, shows, compares and exports");
        return;
    }
    std::string versions = versionsText(*facts);
    if (schema && !facts->versions.empty() && schema->sinceVersion != facts->versions.back())
        versions += fmt::format("; this node has {}, lifted to {} to run", schema->sinceVersion, facts->versions.back());
    model.facts.emplace_back("Versions", versions);
    if (!facts->types.empty())
        model.facts.emplace_back("Types", facts->types);
    model.facts.emplace_back("Gradient", facts->gradient);
    model.facts.emplace_back("Kernel", kernelsText(*facts));
}

void addValue(const ViewState& state, InspectorModel& model) {
    const Value* value = state.graph.value(model.shown);
    if (!value)
        return;
    const ValueType& type = state.types ? state.types->of(model.shown) : value->declared;
    model.valueTitle = fmt::format("{} {}", value->name.substr(0, 200), shapeText(type));
    if (value->constant)
        model.value = RuntimeValue(*value->constant);
    if (state.values) {
        if (const auto it = state.values->find(model.shown); it != state.values->end())
            model.value = it->second;
    }
    if (model.value.isTensor()) {
        const Tensor& tensor = model.value.tensor();
        model.valueTitle = fmt::format("{} {} {}", value->name.substr(0, 200), toString(tensor.shape()), shortName(tensor.dtype()));
        const auto it = state.stats.find(model.shown);
        constexpr std::int64_t kWholeStats = 4'000'000; // beyond this the application computes them on a job
        if (it != state.stats.end())
            model.stats = it->second;
        else if (tensor.elementCount() <= kWholeStats)
            model.stats = valueStats(tensor);
        if (model.shown == state.selection.value && state.selection.element < tensor.elementCount())
            model.element = state.selection.element;
    } else if (!model.value.absent()) {
        model.valueNote = previewText(model.value);
    } else {
        model.valueNote = !state.bodies.empty() && !shownSteps(state) ? "values of a body are there while stepping is inside it: step to its node, then into it"
            : state.step ? "not computed yet at this step" : "no value yet: run the model or step to this node";
    }
    if (const auto it = state.gradientOf.find(model.shown); it != state.gradientOf.end())
        model.gradient = it->second;
}

} // namespace

InspectorModel inspectorModel(const ViewState& state) {
    InspectorModel model;
    const Node* node = state.graph.node(state.selection.node);
    const Value* value = state.graph.value(state.selection.value);
    if (!node && !value)
        return model;
    if (node) {
        const std::int64_t opset = state.graph.opset(node->domain);
        const OperatorSchema* schema = findSchema(node->opType, node->domain, opset);
        model.title = state.scopes ? state.scopes->title(node->id) : node->name;
        model.kind = operatorKind(node->opType, node->domain);
        model.subtitle = fmt::format("{}{}{}", node->domain.empty() ? "" : node->domain + ".", node->opType.substr(0, 100),
            schema ? fmt::format(" \u00b7 since opset {}", schema->sinceVersion) : " \u00b7 nobody knows this operator");
        if (!node->name.empty() && node->name != model.title)
            model.subtitle += fmt::format(" \u00b7 {}", node->name.substr(0, 200));
        addAttributes(*node, schema, model);
        addPorts(state, *node, schema, model);
        addCost(state, *node, model);
        addOrigin(state, *node, model);
        if (!state.graph.function(*node))
            addFacts(*node, schema, model);
        if (schema)
            model.documentation = schema->doc;
    } else {
        model.title = value->name.substr(0, 200);
        model.kind = OperatorKind::Constant;
        model.subtitle = state.types ? state.types->of(value->id).text() : value->declared.text();
    }
    model.shown = value ? value->id : node->output(0);
    addValue(state, model);
    return model;
}

ElementAt elementAt(const Tensor& tensor, std::int64_t element) {
    const std::size_t rank = tensor.rank();
    const std::int64_t width = std::max<std::int64_t>(1, rank >= 1 ? tensor.dim(rank - 1) : 1);
    const std::int64_t height = std::max<std::int64_t>(1, rank >= 2 ? tensor.dim(rank - 2) : 1);
    return {element / (width * height), element / width % height, element % width};
}

std::vector<std::vector<std::string>> valueRows(const Tensor& tensor, std::int64_t plane, std::size_t rows, std::size_t columns, const ElementAt& first) {
    std::vector<std::vector<std::string>> out;
    const std::size_t rank = tensor.rank();
    const std::int64_t width = rank >= 1 ? tensor.dim(rank - 1) : 1;
    const std::int64_t height = rank >= 2 ? tensor.dim(rank - 2) : 1;
    for (std::int64_t r = first.row; r < std::min<std::int64_t>(height, first.row + static_cast<std::int64_t>(rows)); ++r) {
        std::vector<std::string> row;
        for (std::int64_t c = first.column; c < std::min<std::int64_t>(width, first.column + static_cast<std::int64_t>(columns)); ++c) {
            const std::int64_t index = (plane * height + r) * width + c;
            if (index >= tensor.elementCount())
                break;
            row.push_back(tensor.asText(index).substr(0, 60));
        }
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace nabla::views

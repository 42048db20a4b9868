// One walk over the nodes: rule, else Scan.
#include "engine/autodiff/batching.h"

#include <algorithm>

namespace nabla::engine {

ValueType batchedType(const ValueType& type, const Dim& batch) {
    ValueType result = type;
    if (result.shape)
        result.shape->insert(result.shape->begin(), batch);
    return result;
}

Batching::Batching(GraphEditor& editor, std::shared_ptr<const TypeMap> types, Dim batch)
    : m_editor(editor)
    , m_types(std::move(types))
    , m_batch(std::move(batch)) { }

ValueId Batching::batched(ValueId value) const {
    const auto it = m_batched.find(value);
    return it == m_batched.end() ? ValueId{} : it->second;
}

Batched Batching::forAll(ValueId value) const {
    if (const ValueId all = batched(value))
        return {all, true};
    const auto it = m_shared.find(value);
    return {it == m_shared.end() ? value : it->second, false};
}

Result<void> Batching::run(const std::vector<NodeId>& order, const JobControl& job) {
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % 1024 == 0)
            NABLA_CHECK(job.check());
        if (const NodePtr node = m_editor.graph().nodePtr(order[i])) // kept: the table may move
            NABLA_CHECK(visit(*node));
    }
    return {};
}

Result<void> Batching::visit(const Node& node) {
    const auto changes = [&](ValueId value) { return value && (batched(value) || m_shared.contains(value)); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), changes) && std::none_of(node.captures.begin(), node.captures.end(), changes))
        return {};
    for (const ValueId output : node.outputs) {
        const ValueType& type = m_types->of(output);
        if (output && type.kind != ValueType::Kind::Unknown && !type.isTensor())
            return runError("{}: \"{}\" is {}, and only tensors can have a batch axis", describe(node), m_editor.graph().value(output)->name, type.text());
    }
    const auto isBatched = [&](ValueId value) { return value && batched(value); };
    const bool isAnyBatched = std::any_of(node.inputs.begin(), node.inputs.end(), isBatched) || std::any_of(node.captures.begin(), node.captures.end(), isBatched);
    std::optional<std::vector<Batched>> made;
    if (!isAnyBatched) {
        made = shared(node);
    } else if (const BatchRule rule = findBatchRule(node)) {
        std::vector<Batched> inputs;
        for (const ValueId input : node.inputs)
            inputs.push_back(input ? forAll(input) : Batched{{}, false});
        BatchBuilder builder(m_editor, node, std::move(inputs), *m_types);
        made = rule(builder);
        m_atOnce += made ? 1 : 0;
    }
    if (!made) {
        made = scan(node);
        m_oneByOne.push_back(node.id);
    }
    for (std::size_t i = 0; i < node.outputs.size() && i < made->size(); ++i) {
        const auto& [value, isForEach] = (*made)[i];
        if (!node.outputs[i] || !value)
            continue;
        (isForEach ? m_batched : m_shared)[node.outputs[i]] = value;
        if (const ValueType& type = m_types->of(node.outputs[i]); type.kind != ValueType::Kind::Unknown)
            m_editor.setDeclaredType(value, isForEach ? batchedType(type, m_batch) : type);
    }
    return {};
}

/// The node once more over values that turned out to be the same for all examples (the shape of one).
std::vector<Batched> Batching::shared(const Node& node) {
    const auto forEach = [&](const std::vector<ValueId>& values) {
        std::vector<ValueId> out;
        for (const ValueId value : values)
            out.push_back(value ? forAll(value).value : ValueId{});
        return out;
    };
    NodeSpec spec{.opType = node.opType, .inputs = forEach(node.inputs), .attributes = node.attributes, .domain = node.domain, .name = node.name};
    spec.outputCount = node.outputs.size();
    for (const ValueId output : node.outputs)
        spec.outputNames.push_back(output ? "all:" + m_editor.graph().value(output)->name : "");
    spec.captures = forEach(node.captures);
    spec.overload = node.overload;
    spec.origins = node.origins;
    spec.gradientOf = node.gradientOf;
    spec.createdBy = std::make_shared<const std::string>("vmap/shared");
    std::vector<Batched> out;
    for (const ValueId output : m_editor.outputs(m_editor.add(std::move(spec))))
        out.push_back({output, false});
    return out;
}

/// Names in the body differ from those outside, since ONNX forbids a body to shadow them. Weights go into the body, where rules about constants
/// (axes, shapes) still see them.
std::vector<Batched> Batching::scan(const Node& node) {
    const Graph& graph = m_editor.graph();
    GraphEditor body = GraphEditor::empty("each", graph.infoPtr(), graph.ids());
    NodeSpec scan;
    std::vector<ValueId> mapped;
    std::unordered_map<ValueId, ValueId> inside;
    const auto enter = [&](ValueId value) {
        if (!value || inside.contains(value))
            return;
        const Value& outer = *graph.value(value);
        const ValueType& known = m_types->of(value);
        const ValueType type = known.kind == ValueType::Kind::Unknown ? outer.declared : known;
        const auto& [all, isBatched] = forAll(value);
        if (isBatched) {
            mapped.push_back(all);
            inside[value] = body.addInput(m_editor.freshName("each:" + outer.name), type);
        } else if (const TensorPtr constant = graph.constant(value); constant && constant->elementCount() <= 64) {
            inside[value] = body.addInitializer(m_editor.freshName("each:" + outer.name), constant);
        } else {
            scan.captures.push_back(all);
            inside[value] = body.addCapture(m_editor.freshName("shared:" + outer.name), type);
        }
    };
    std::for_each(node.inputs.begin(), node.inputs.end(), enter);
    std::for_each(node.captures.begin(), node.captures.end(), enter);
    const auto within = [&](const std::vector<ValueId>& values) {
        std::vector<ValueId> out;
        for (const ValueId value : values)
            out.push_back(value ? inside.at(value) : ValueId{});
        return out;
    };
    NodeSpec one{.opType = node.opType, .inputs = within(node.inputs), .attributes = node.attributes, .domain = node.domain, .name = node.name};
    one.captures = within(node.captures);
    one.outputCount = node.outputs.size();
    one.overload = node.overload;
    one.origins = node.origins;
    one.gradientOf = node.gradientOf;
    one.createdBy = std::make_shared<const std::string>("vmap/scan");
    for (const ValueId output : node.outputs)
        one.outputNames.push_back(output ? m_editor.freshName("each:" + graph.value(output)->name) : "");
    const std::vector<ValueId> each = body.outputs(body.add(std::move(one)));
    std::vector<ValueId> wanted;
    for (std::size_t i = 0; i < each.size(); ++i) {
        if (!node.outputs[i])
            continue;
        wanted.push_back(each[i]);
        if (const ValueType& type = m_types->of(node.outputs[i]); type.kind != ValueType::Kind::Unknown)
            body.setDeclaredType(each[i], type);
    }
    body.setOutputs(wanted);
    scan.opType = "Scan";
    scan.name = node.name;
    scan.inputs = mapped;
    scan.outputCount = wanted.size();
    scan.attributes = {{"body", std::make_shared<const Graph>(body.finish())}, {"num_scan_inputs", static_cast<std::int64_t>(mapped.size())}};
    scan.origins = node.origins;
    scan.gradientOf = node.gradientOf;
    scan.createdBy = std::make_shared<const std::string>("vmap/scan");
    const std::vector<ValueId> stacked = m_editor.outputs(m_editor.add(std::move(scan)));
    std::vector<Batched> out;
    std::size_t next = 0;
    for (const ValueId output : node.outputs)
        out.push_back(output ? Batched{stacked[next++], true} : Batched{{}, false});
    return out;
}

} // namespace nabla::engine

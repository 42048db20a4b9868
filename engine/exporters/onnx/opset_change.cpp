// By the schemas and by the upgrade rules of the operators: where those know no change of meaning, a node is of both versions alike.
#include "engine/exporters/onnx/opset_change.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/ops/op_def.h"
#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

using TypeOf = std::function<ValueType(ValueId)>;

/// Before it, versions also changed in what no schema tells: negative axes and indices, shapes that broadcast.
constexpr std::int64_t kOldestTold = 13;

/// Words that an attribute took on later: its operator's older version has the attribute, but not the word.
struct LaterWord {
    std::string_view opType, attribute, word;
    std::int64_t since;
};
constexpr std::array kLaterWords = std::to_array<LaterWord>({
    {"Pad", "mode", "wrap", 19},
    {"ScatterElements", "reduction", "max", 18},
    {"ScatterElements", "reduction", "min", 18},
    {"ScatterND", "reduction", "max", 18},
    {"ScatterND", "reduction", "min", 18},
    {"Resize", "coordinate_transformation_mode", "half_pixel_symmetric", 19},
});

/// As the schemas write types: `seq(tensor(float))`.
std::string schemaText(const ValueType& type) {
    using Kind = ValueType::Kind;
    const std::string_view own = name(type.elementType);
    const std::string_view element = own == "float32" ? "float" : own == "float64" ? "double" : own;
    const std::string inner = type.element ? schemaText(*type.element) : "";
    switch (type.kind) {
    case Kind::Tensor: return fmt::format("tensor({})", element);
    case Kind::SparseTensor: return fmt::format("sparse_tensor({})", element);
    case Kind::Sequence: return fmt::format("seq({})", inner);
    case Kind::Optional: return fmt::format("optional({})", inner);
    case Kind::Map: return fmt::format("map({},{})", element, inner);
    case Kind::Opaque:
    case Kind::Unknown: return "";
    }
    return "";
}

std::string typeFault(const std::vector<ValueId>& values, bool areInputs, const OperatorSchema& then, const TypeOf& typeOf) {
    const std::string_view side = areInputs ? "input" : "output";
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i])
            continue;
        const FormalParameter* formal = areInputs ? then.input(i) : then.output(i);
        if (!formal)
            return fmt::format("it has no {} {}", side, i);
        const ValueType type = typeOf(values[i]);
        const std::string text = schemaText(type);
        if (text.empty())
            return fmt::format("the type of {} {} is not known", side, i);
        if (std::find(formal->types.begin(), formal->types.end(), text) == formal->types.end())
            return fmt::format("{} {} is {}, which it does not take", side, i, text);
    }
    for (std::size_t i = values.size(); areInputs && i < then.inputs.size(); ++i) {
        if (then.inputs[i].kind == FormalParameter::Kind::Single)
            return fmt::format("it needs input {}", i);
    }
    return "";
}

bool sameDefault(const FormalAttribute& a, const FormalAttribute& b) {
    if (a.otherwise.has_value() != b.otherwise.has_value())
        return false;
    return !a.otherwise || *a.otherwise == *b.otherwise;
}

std::string attributeFault(const Node& node, const OperatorSchema& now, const OperatorSchema& then) {
    for (const Attribute& attribute : node.attributes) {
        if (now.attribute(attribute.name) && !then.attribute(attribute.name))
            return fmt::format("it has no attribute \"{}\"", attribute.name);
    }
    for (const FormalAttribute& formal : then.attributes) {
        if (node.attribute(formal.name))
            continue;
        const FormalAttribute* other = now.attribute(formal.name);
        if (formal.required || (other && !sameDefault(formal, *other)))
            return fmt::format("the default of its attribute \"{}\" is another", formal.name);
    }
    for (const LaterWord& later : kLaterWords) {
        if (node.opType == later.opType && then.sinceVersion < later.since && node.stringAttribute(later.attribute, "") == later.word)
            return fmt::format("its {} cannot be \"{}\"", later.attribute, later.word);
    }
    return "";
}

/// Why the node is not of the version `then` as it stands; empty when it is.
std::string fault(const Node& node, const OperatorSchema& now, const OperatorSchema& then, const TypeOf& typeOf) {
    const std::int64_t older = std::min(now.sinceVersion, then.sinceVersion), newer = std::max(now.sinceVersion, then.sinceVersion);
    if (then.deprecated)
        return "it is withdrawn";
    if (const OpDef* op = findOp(node.opType, node.domain)) {
        for (const Upgrade& upgrade : op->upgrades) {
            if (upgrade.through >= older && upgrade.through < newer)
                return "it means something else or is written otherwise";
        }
    } else {
        return "it may mean something else";
    }
    if (std::string text = attributeFault(node, now, then); !text.empty())
        return text;
    if (std::string text = typeFault(node.inputs, true, then, typeOf); !text.empty())
        return text;
    return typeFault(node.outputs, false, then, typeOf);
}

struct Change {
    const Graph& root;
    std::int64_t from, to;
    TypeOf typeOf;

    Result<void> check(const Node& node) const {
        const OperatorSchema *now = findSchema(node.opType, "", from), *then = findSchema(node.opType, "", to);
        if (now && !then)
            return runError("{}: opset {} has no operator {}", describe(node), to, node.opType);
        if (!now || now->sinceVersion == then->sinceVersion)
            return {};
        std::string why = "versions so old differ in more than their schemas tell";
        if (std::min(now->sinceVersion, then->sinceVersion) >= kOldestTold || std::min(from, to) >= kOldestTold)
            why = fault(node, *now, *then, typeOf);
        if (why.empty())
            return {};
        return runError("{}: is {}-{} here, and opset {} has {}-{}: {}", describe(node), node.opType, now->sinceVersion, to, node.opType, then->sinceVersion, why);
    }

    Result<void> check(const Graph& graph) const {
        Result<void> result;
        graph.forEachNode([&](const Node& node) {
            if (result && node.domain.empty() && !root.function(node))
                result = check(node);
            for (const auto& [name, body] : node.bodies()) {
                if (result)
                    result = check(*body);
            }
        });
        return result;
    }
};

void collectDeclared(const Graph& graph, std::unordered_map<ValueId, ValueType>& types) {
    graph.forEachValue([&](const Value& value) {
        types[value.id] = value.constant ? ValueType::tensor(value.constant->dtype(), ShapeView(value.constant->shape())) : value.declared;
    });
    graph.forEachNode([&](const Node& node) {
        for (const auto& [name, body] : node.bodies())
            collectDeclared(*body, types);
    });
}

/// What the file declares, else what the caller knows.
TypeOf typesOf(const Graph& graph, const TypeOf& further) {
    auto declared = std::make_shared<std::unordered_map<ValueId, ValueType>>();
    collectDeclared(graph, *declared);
    return [declared, further](ValueId id) {
        const auto it = declared->find(id);
        if (it != declared->end() && it->second.kind != ValueType::Kind::Unknown && (!it->second.isTensor() || it->second.elementType != DType::Undefined))
            return it->second;
        return further ? further(id) : ValueType{};
    };
}

} // namespace

Result<void> checkOpsetChange(const Graph& graph, std::int64_t opset, const TypeOf& typeOf) {
    if (opset < 1 || opset > newestOpset(""))
        return usageError("opset {} does not exist; the newest known is {}", opset, newestOpset(""));
    NABLA_CHECK((Change{graph, graph.opset(""), opset, typesOf(graph, typeOf)}.check(graph)));
    for (const auto& [key, function] : graph.functions()) {
        const std::int64_t own = function->body->opset("");
        NABLA_CHECK((Change{graph, own > 0 ? own : graph.opset(""), opset, typesOf(*function->body, typeOf)}.check(*function->body)).in(key));
    }
    return {};
}

} // namespace nabla::engine

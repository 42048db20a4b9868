// Schemas converted from the library's when first asked for, and kept.
#include "engine/schema/schema.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "engine/schema/contrib_schemas.h"
#include "engine/schema/nabla_schemas.h"
#include "engine/schema/proto_convert.h"
#include "engine/schema/registry.h"

#include "onnx/defs/schema.h"

namespace nabla::engine {

namespace {

FormalParameter convertParameter(const onnx::OpSchema::FormalParameter& p) {
    FormalParameter out;
    out.name = p.GetName();
    out.typeText = p.GetTypeStr();
    out.doc = p.GetDescription();
    out.kind = p.GetOption() == onnx::OpSchema::Optional ? FormalParameter::Kind::Optional
        : p.GetOption() == onnx::OpSchema::Variadic      ? FormalParameter::Kind::Variadic
                                                         : FormalParameter::Kind::Single;
    for (const std::string* type : p.GetTypes())
        out.types.push_back(*type);
    std::sort(out.types.begin(), out.types.end());
    return out;
}

OperatorSchema convertSchema(const onnx::OpSchema& s) {
    OperatorSchema out;
    out.name = s.Name();
    out.domain = s.domain();
    out.sinceVersion = s.SinceVersion();
    out.doc = s.doc() ? s.doc() : "";
    out.deprecated = s.Deprecated();
    out.hasFunctionBody = s.HasFunction() || s.HasContextDependentFunction();
    for (const auto& p : s.inputs())
        out.inputs.push_back(convertParameter(p));
    for (const auto& p : s.outputs())
        out.outputs.push_back(convertParameter(p));
    for (const auto& [name, a] : s.attributes()) {
        out.attributes.push_back({name, onnx::AttributeProto_AttributeType_Name(a.type), a.description, a.required,
            a.default_value.has_name() || a.default_value.type() != onnx::AttributeProto::UNDEFINED ? fromAttributeProto(a.default_value) : std::nullopt});
    }
    return out;
}

struct Key {
    std::string_view opType, domain;
    std::int64_t opset;
    friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
        const std::hash<std::string_view> text;
        return text(key.opType) * 31 + text(key.domain) * 7 + static_cast<std::size_t>(key.opset);
    }
};

/// Answers, found ones and failures alike, under the key they were asked by. Nothing is ever removed: schemas live as long as the program.
class Cache {
public:
    const SchemaEntry* find(const Key& key) {
        {
            const std::shared_lock lock(m_mutex);
            if (const auto it = m_answers.find(key); it != m_answers.end())
                return it->second;
        }
        const std::unique_lock lock(m_mutex);
        if (const auto it = m_answers.find(key); it != m_answers.end())
            return it->second;
        const SchemaEntry* entry = ask(key);
        if (!entry)
            return nullptr; // not kept: a file can name any number of operators that do not exist
        m_names.push_back(std::make_unique<std::pair<std::string, std::string>>(key.opType, key.domain));
        m_answers.emplace(Key{m_names.back()->first, m_names.back()->second, key.opset}, entry);
        return entry;
    }

private:
    const SchemaEntry* ask(const Key& key) {
        if (key.domain == "nabla")
            return askTable(nablaSchemas(), key);
        const int opset = static_cast<int>(std::min<std::int64_t>(key.opset, std::numeric_limits<int>::max()));
        const auto* library = onnx::OpSchemaRegistry::Schema(std::string(key.opType), opset, std::string(key.domain));
        if (!library)
            return askTable(contribSchemas(), key);
        auto& slot = m_entries[library];
        if (!slot)
            slot = std::make_unique<const SchemaEntry>(SchemaEntry{convertSchema(*library), library});
        return slot.get();
    }
    const SchemaEntry* askTable(std::span<const OperatorSchema> table, const Key& key) {
        for (const OperatorSchema& schema : table) {
            if (schema.name != key.opType || schema.domain != key.domain)
                continue;
            auto& slot = m_entries[&schema];
            if (!slot)
                slot = std::make_unique<const SchemaEntry>(SchemaEntry{schema, nullptr});
            return slot.get();
        }
        return nullptr;
    }

    std::shared_mutex m_mutex;
    std::unordered_map<Key, const SchemaEntry*, KeyHash> m_answers;
    std::vector<std::unique_ptr<std::pair<std::string, std::string>>> m_names;
    std::unordered_map<const void*, std::unique_ptr<const SchemaEntry>> m_entries;
};

} // namespace

const SchemaEntry* findSchemaEntry(std::string_view opType, std::string_view domain, std::int64_t opset) {
    static Cache cache;
    if (opset < 1 || opType.empty())
        return nullptr;
    if (domain == "ai.onnx")
        domain = "";
    return cache.find({opType, domain, opset});
}

const FormalAttribute* OperatorSchema::attribute(std::string_view attributeName) const {
    const auto it = std::find_if(attributes.begin(), attributes.end(), [&](const FormalAttribute& a) { return a.name == attributeName; });
    return it == attributes.end() ? nullptr : &*it;
}

namespace {
const FormalParameter* parameterAt(const std::vector<FormalParameter>& list, std::size_t position) {
    if (position < list.size())
        return &list[position];
    return !list.empty() && list.back().kind == FormalParameter::Kind::Variadic ? &list.back() : nullptr;
}
} // namespace

const FormalParameter* OperatorSchema::input(std::size_t position) const { return parameterAt(inputs, position); }
const FormalParameter* OperatorSchema::output(std::size_t position) const { return parameterAt(outputs, position); }

std::int64_t newestOpset(std::string_view domain) {
    if (domain == "nabla" || domain == kContribDomain)
        return 1;
    const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    const auto it = versions.find(std::string(domain == "ai.onnx" ? "" : domain));
    return it == versions.end() ? 0 : it->second.second;
}

const OperatorSchema* findSchema(std::string_view opType, std::string_view domain, std::int64_t opset) {
    const SchemaEntry* entry = findSchemaEntry(opType, domain, opset);
    return entry ? &entry->schema : nullptr;
}

std::vector<std::int64_t> schemaVersions(std::string_view opType, std::string_view domain) {
    std::vector<std::int64_t> versions;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
        if (schema.Name() == opType && schema.domain() == domain)
            versions.push_back(schema.SinceVersion());
    }
    for (const auto table : {nablaSchemas(), contribSchemas()}) {
        for (const OperatorSchema& schema : table) {
            if (schema.name == opType && schema.domain == domain)
                versions.push_back(schema.sinceVersion);
        }
    }
    std::sort(versions.begin(), versions.end());
    return versions;
}

std::vector<const OperatorSchema*> newestSchemas() {
    std::vector<const OperatorSchema*> out;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
        if (const auto* found = findSchema(schema.Name(), schema.domain(), schema.SinceVersion()))
            out.push_back(found);
    }
    for (const auto table : {nablaSchemas(), contribSchemas()}) {
        for (const OperatorSchema& schema : table)
            out.push_back(findSchema(schema.name, schema.domain, 1));
    }
    std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return std::tie(a->domain, a->name) < std::tie(b->domain, b->name); });
    return out;
}

std::optional<AttributeValue> attributeOrDefault(const Node& node, std::string_view attributeName, std::int64_t opset) {
    if (const Attribute* attribute = node.attribute(attributeName))
        return attribute->value;
    const OperatorSchema* schema = findSchema(node.opType, node.domain, opset);
    const FormalAttribute* formal = schema ? schema->attribute(attributeName) : nullptr;
    return formal ? formal->otherwise : std::nullopt;
}

} // namespace nabla::engine

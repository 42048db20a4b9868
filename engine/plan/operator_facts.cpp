// Facts from the rows, the schemas and the list of kernels.
#include "engine/plan/operator_facts.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/kernels/kernel.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

namespace {

/// Element types by one word, where all of a group are allowed; else each by its own.
struct TypeGroup {
    std::string_view word;
    std::vector<std::string_view> members;
};
const std::vector<TypeGroup>& typeGroups() {
    static const std::vector<TypeGroup> groups{
        {"float", {"bfloat16", "float16", "float", "double"}},
        {"int", {"int8", "int16", "int32", "int64"}},
        {"uint", {"uint8", "uint16", "uint32", "uint64"}},
        {"bool", {"bool"}},
        {"string", {"string"}},
        {"complex", {"complex64", "complex128"}},
        {"float8", {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"}},
        {"int4", {"int4", "uint4"}},
        {"int2", {"int2", "uint2"}},
    };
    return groups;
}

/// `tensor(float)` to `float`; `seq(tensor(float))` keeps its words.
std::string inner(const std::string& type) {
    constexpr std::string_view kTensor = "tensor(";
    return type.starts_with(kTensor) && type.ends_with(')') ? type.substr(kTensor.size(), type.size() - kTensor.size() - 1) : type;
}
std::string container(const std::string& type) {
    const auto bracket = type.find('(');
    const std::string word = type.substr(0, bracket);
    return word == "seq" ? "sequences" : word == "optional" ? "optionals" : word == "map" ? "maps" : word == "sparse_tensor" ? "sparse" : type;
}

std::string shortTypes(const std::vector<std::string>& allowed) {
    std::set<std::string> elements, containers;
    for (const std::string& type : allowed) {
        const std::string element = inner(type);
        element == type ? containers.insert(container(type)) : elements.insert(element);
    }
    std::vector<std::string> words;
    for (const TypeGroup& group : typeGroups()) {
        const auto isAllowed = [&](std::string_view member) { return elements.contains(std::string(member)); };
        const bool all = std::all_of(group.members.begin(), group.members.end(), isAllowed);
        if (all)
            words.emplace_back(group.word);
        for (const std::string_view member : group.members) {
            // "float" alone would read as the whole group
            if (!all && isAllowed(member))
                words.push_back(member == "float" ? "float32" : member == "double" ? "float64" : std::string(member));
            elements.erase(std::string(member));
        }
    }
    words.insert(words.end(), elements.begin(), elements.end());
    words.insert(words.end(), containers.begin(), containers.end());
    return fmt::format("{}", fmt::join(words, " "));
}

std::string gradientText(const GradientRule& gradient) {
    if (gradient.usesBody())
        return "through its body";
    return gradient.rule() ? "rule" : fmt::format("none: {}", gradient.reason());
}

/// What the schemas tell of the versions until `since`.
OperatorFacts factsOf(std::string_view name, std::string_view domain, std::int64_t since) {
    OperatorFacts facts;
    facts.name = name;
    facts.domain = domain;
    facts.versions = schemaVersions(name, domain);
    std::erase_if(facts.versions, [&](std::int64_t version) { return version > since; });
    if (const OperatorSchema* schema = findSchema(name, domain, since)) {
        const FormalParameter* first = !schema->inputs.empty() ? &schema->inputs.front() : schema->outputs.empty() ? nullptr : &schema->outputs.front();
        facts.types = first ? shortTypes(first->types) : "";
    }
    return facts;
}

OperatorFacts factsOf(const OpDef& op) {
    OperatorFacts facts = factsOf(op.name, op.domain, op.since);
    facts.run = op.run.expands() ? "by its body" : op.run.isControlFlow() ? "runs its bodies" : "kernel";
    facts.gradient = gradientText(op.gradient);
    for (const Kernel* kernel : allKernels()) {
        const std::string name(kernel->name);
        if (kernel->opType == op.name && kernel->domain == op.domain && std::find(facts.kernels.begin(), facts.kernels.end(), name) == facts.kernels.end())
            facts.kernels.push_back(name);
    }
    facts.cost = op.flops.countsIterations() ? "of its iterations" : op.flops.countsBody() ? "of its body" : "formula";
    return facts;
}

constexpr std::string_view kGradient = "Gradient", kTraining = "ai.onnx.preview.training";

/// The one operator without a row: it is gone before anything runs (engine/passes/legalize/gradient_nodes.h).
OperatorFacts gradientFacts() {
    OperatorFacts facts = factsOf(kGradient, kTraining, 1);
    facts.run = "as backward nodes";
    facts.gradient = "through backward nodes";
    facts.cost = "of backward nodes";
    return facts;
}

} // namespace

std::optional<OperatorFacts> operatorFacts(std::string_view opType, std::string_view domain) {
    if (opType == kGradient && domain == kTraining)
        return gradientFacts();
    const OpDef* op = findOp(opType, domain);
    return op ? std::optional(factsOf(*op)) : std::nullopt;
}

std::vector<OperatorFacts> allOperatorFacts() {
    std::vector<OperatorFacts> all;
    for (const OpDef* op : allOps())
        all.push_back(factsOf(*op));
    all.push_back(gradientFacts());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return std::tie(a.domain, a.name) < std::tie(b.domain, b.name); });
    return all;
}

std::string versionsText(const OperatorFacts& facts) { return fmt::format("{}", fmt::join(facts.versions, ", ")); }

std::string kernelsText(const OperatorFacts& facts) {
    return facts.kernels.empty() ? facts.run == "kernel" ? "reference" : facts.run : fmt::format("{}", fmt::join(facts.kernels, ", "));
}

} // namespace nabla::engine

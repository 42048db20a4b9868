// Structural faults: what is wrong with a graph before anything about its types is asked.
#include "engine/analysis/topology.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

using Severity = Diagnostic::Severity;

std::string clipped(std::string_view name) { return name.size() <= 200 ? std::string(name) : fmt::format("{}…", name.substr(0, 200)); }
std::string_view domainName(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

/// One ring among the nodes that wait for each other: from any of them, walking to a producer that waits too must come back.
std::vector<NodeId> findRing(const Graph& graph, const std::vector<NodeId>& waiting) {
    const std::unordered_set<NodeId> set(waiting.begin(), waiting.end());
    const auto before = [&](NodeId id) {
        const Node& node = *graph.node(id);
        for (const auto* list : {&node.inputs, &node.captures}) {
            for (const ValueId input : *list) {
                const Value* value = graph.value(input);
                if (value && set.contains(value->producer))
                    return value->producer;
            }
        }
        return NodeId{};
    };
    std::unordered_set<NodeId> seen;
    NodeId at = waiting.front();
    while (seen.insert(at).second)
        at = before(at);
    std::vector<NodeId> ring;
    const NodeId start = at;
    do {
        ring.push_back(at);
        at = before(at);
    } while (at != start);
    std::reverse(ring.begin(), ring.end());
    return ring;
}

class Finder {
public:
    Finder(const Graph& root, std::vector<Diagnostic>& out) : m_root(root), m_out(out) { }

    void checkGraph(const Graph& graph) {
        checkCycles(graph);
        checkDangling(graph);
        graph.forEachNode([&](const Node& node) {
            checkOperator(graph, node);
            for (const auto& [name, body] : node.bodies())
                checkGraph(*body);
        });
    }
    void checkOpsets(const ModelInfo& info, std::string_view where);
    void checkRecursion();

private:
    void report(Severity severity, NodeId node, ValueId value, std::string message) {
        m_out.push_back({severity, node, value, std::move(message), severity == Severity::Error});
    }
    void checkCycles(const Graph& graph);
    void checkDangling(const Graph& graph);
    void checkOperator(const Graph& graph, const Node& node);
    std::set<std::string> calls(const Graph& graph) const;

    const Graph& m_root;
    std::vector<Diagnostic>& m_out;
};

void Finder::checkCycles(const Graph& graph) {
    const auto order = topologicalOrder(graph);
    if (order->inCycle.empty())
        return;
    const std::vector<NodeId> ring = findRing(graph, order->inCycle);
    std::string text;
    for (std::size_t i = 0; i < ring.size() && i < 8; ++i)
        text += fmt::format("{}{}", i ? " -> " : "", clipped(describe(*graph.node(ring[i]))));
    if (ring.size() > 8)
        text += fmt::format(" -> … ({} more)", ring.size() - 8);
    const Node& first = *graph.node(ring.front());
    text += fmt::format(" -> {}", clipped(describe(first)));
    std::string output;
    for (const ValueId id : first.outputs) {
        if (id && output.empty())
            output = fmt::format(" (through \"{}\")", clipped(graph.value(id)->name));
    }
    report(Severity::Error, ring.front(), {}, fmt::format("cycle: {}{}; {} nodes cannot be ordered", text, output, order->inCycle.size()));
}

void Finder::checkDangling(const Graph& graph) {
    std::unordered_set<ValueId> fine(graph.inputs().begin(), graph.inputs().end());
    fine.insert(graph.captures().begin(), graph.captures().end());
    for (const Diagnostic& d : m_root.diagnostics()) {
        if (d.value && d.blocksRun)
            fine.insert(d.value); // the importer has said why nothing is there
    }
    const auto used = uses(graph);
    const std::unordered_set<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
    graph.forEachValue([&](const Value& value) {
        if (value.producer || value.constant || fine.contains(value.id))
            return;
        const auto& readers = used->of(value.id);
        if (outputs.contains(value.id))
            report(Severity::Error, {}, value.id, fmt::format("output \"{}\": no node makes it", clipped(value.name)));
        else if (!readers.empty())
            report(Severity::Error, readers.front(), value.id,
                fmt::format("{}: input \"{}\" is made by no node, input or initializer", describe(*graph.node(readers.front())), clipped(value.name)));
    });
}

void Finder::checkOperator(const Graph& graph, const Node& node) {
    if (graph.info().dialect != "onnx" || graph.function(node) || m_root.function(node))
        return;
    if (node.domain == "nabla") {
        if (!findSchema(node.opType, node.domain, 1))
            report(Severity::Error, node.id, {}, fmt::format("{}: unknown operator \"{}\" of domain nabla", describe(node), clipped(node.opType)));
        return;
    }
    const std::int64_t opset = graph.opset(node.domain);
    const auto domain = domainName(node.domain);
    if (opset == 0) {
        report(Severity::Error, node.id, {}, fmt::format("{}: the model imports no opset of domain \"{}\"", describe(node), clipped(domain)));
        return;
    }
    const OperatorSchema* schema = findSchema(node.opType, node.domain, opset);
    if (!schema) {
        report(Severity::Error, node.id, {},
            fmt::format("{}: unknown operator \"{}\" of domain \"{}\" (opset {})", describe(node), clipped(node.opType), clipped(domain), opset));
    } else if (schema->deprecated) {
        report(Severity::Warning, node.id, {}, fmt::format("{}: operator {} is deprecated since opset {}", describe(node), node.opType, schema->sinceVersion));
    }
}

void Finder::checkOpsets(const ModelInfo& info, std::string_view where) {
    if (info.dialect != "onnx")
        return;
    for (const auto& [domain, version] : info.opsets) {
        const std::int64_t newest = newestOpset(domain);
        if (newest > 0 && version > newest)
            report(Severity::Error, {}, {},
                fmt::format("{}opset version {} of domain \"{}\" is not known; the newest known is {}", where, version, domainName(domain), newest));
        else if (newest > 0 && version < 1)
            report(Severity::Error, {}, {}, fmt::format("{}opset version {} of domain \"{}\" does not exist", where, version, domainName(domain)));
    }
}

std::set<std::string> Finder::calls(const Graph& graph) const {
    std::set<std::string> found;
    graph.forEachNode([&](const Node& node) {
        if (const std::string key = functionKey(node.domain, node.opType, node.overload); m_root.functions().contains(key))
            found.insert(key);
        for (const auto& [name, body] : node.bodies())
            found.merge(calls(*body));
    });
    return found;
}

/// A depth-first walk with its own stack; a call back to a function on the stack is recursion.
void Finder::checkRecursion() {
    std::map<std::string, std::set<std::string>> edges;
    for (const auto& [key, function] : m_root.functions())
        edges[key] = calls(*function->body);
    std::set<std::string> done;
    for (const auto& [root, unused] : edges) {
        std::vector<std::pair<std::string, std::set<std::string>::const_iterator>> stack;
        const auto push = [&](const std::string& key) { stack.emplace_back(key, edges[key].begin()); };
        if (!done.contains(root))
            push(root);
        while (!stack.empty()) {
            auto& [key, next] = stack.back();
            if (next == edges[key].end()) {
                done.insert(key);
                stack.pop_back();
                continue;
            }
            const std::string callee = *next++;
            const auto onStack = std::find_if(stack.begin(), stack.end(), [&](const auto& entry) { return entry.first == callee; });
            if (onStack == stack.end()) {
                if (!done.contains(callee))
                    push(callee);
                continue;
            }
            std::string ring;
            for (auto it = onStack; it != stack.end(); ++it)
                ring += fmt::format("{} -> ", clipped(it->first));
            report(Severity::Error, {}, {}, std::next(onStack) == stack.end()
                    ? fmt::format("function {} calls itself: recursion cannot be expanded", clipped(callee))
                    : fmt::format("functions call each other in a cycle: {}{}: recursion cannot be expanded", ring, clipped(callee)));
        }
    }
}

} // namespace

std::vector<Diagnostic> problems(const Graph& graph) {
    std::vector<Diagnostic> found;
    Finder finder(graph, found);
    finder.checkOpsets(graph.info(), "");
    finder.checkGraph(graph);
    for (const auto& [key, function] : graph.functions()) {
        finder.checkOpsets(function->body->info(), fmt::format("function {}: ", clipped(key)));
        finder.checkGraph(*function->body);
    }
    finder.checkRecursion();
    return found;
}

} // namespace nabla::engine

// Searches and names bodies; their types come from the main graph's inference, which goes into them.
#include "app/main_window/bodies.h"

#include <algorithm>
#include <unordered_set>

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr std::size_t kDeepest = 32; // functions that call each other stop somewhere

/// Short name of a node: the end of the path that its name spells.
std::string titleOf(const Node& node) {
    const std::size_t slash = node.name.find_last_of('/');
    const std::string last = slash == std::string::npos ? node.name : node.name.substr(slash + 1);
    return last.empty() ? describe(node) : last.substr(0, 200);
}

bool holds(const Graph& graph, const views::Selection& wanted) {
    return wanted.node ? graph.node(wanted.node) != nullptr : graph.value(wanted.value) != nullptr;
}

bool search(const Graph& main, const Graph& graph, const views::Selection& wanted, std::unordered_set<const Graph*>& seen, BodyPath& path) {
    if (path.size() >= kDeepest)
        return false;
    bool found = false;
    graph.forEachNode([&](const Node& node) {
        if (found)
            return;
        for (const auto& [name, body] : bodiesOf(main, node)) {
            if (!seen.insert(body.get()).second)
                continue;
            path.push_back({node.id, name, titleOf(node), *body});
            found = holds(*body, wanted) || search(main, *body, wanted, seen, path);
            if (found)
                return;
            path.pop_back();
        }
    });
    return found;
}

/// Whether every step of the plan is a node of this graph, so that it can stand for the executed one.
bool holdsSteps(const Graph& graph, const Plan& plan) {
    return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) { return graph.node(step.node) != nullptr; });
}

} // namespace

std::vector<std::pair<std::string, GraphPtr>> bodiesOf(const Graph& main, const Node& node) {
    std::vector<std::pair<std::string, GraphPtr>> out;
    for (auto& [name, body] : node.bodies()) {
        if (body)
            out.emplace_back(std::move(name), std::move(body));
    }
    const auto it = main.functions().find(functionKey(node.domain, node.opType, node.overload));
    if (it != main.functions().end() && it->second && it->second->body)
        out.emplace_back(it->second->name, it->second->body);
    return out;
}

std::optional<views::BodyPlace> placeOf(const Graph& main, const Node& node, const std::string& body) {
    for (const auto& [name, graph] : bodiesOf(main, node)) {
        if (body.empty() || name == body)
            return views::BodyPlace{node.id, name, titleOf(node), *graph};
    }
    return std::nullopt;
}

std::optional<BodyPath> pathTo(const Graph& main, const views::Selection& wanted) {
    BodyPath path;
    if (holds(main, wanted))
        return path;
    std::unordered_set<const Graph*> seen;
    return search(main, main, wanted, seen, path) ? std::optional(path) : std::nullopt;
}

BodyPath pathOf(const Stepper& stepper, const Graph& main) {
    BodyPath path;
    const std::vector<Stepper::Level> levels = stepper.levels();
    for (std::size_t d = 0; d < levels.size(); ++d) {
        const Node* executed = stepper.planAt(d).graph.node(levels[d].node);
        const Plan& plan = stepper.planAt(d + 1);
        views::BodyPlace place{levels[d].node, levels[d].body, executed ? titleOf(*executed) : std::string(), plan.graph};
        const Graph& outer = path.empty() ? main : path.back().graph;
        const Node* shown = outer.node(levels[d].node);
        if (const auto asWritten = shown ? placeOf(main, *shown, levels[d].body) : std::nullopt; asWritten && holdsSteps(asWritten->graph, plan))
            place.graph = asWritten->graph;
        path.push_back(std::move(place));
    }
    return path;
}

bool samePath(const BodyPath& a, const BodyPath& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const views::BodyPlace& x, const views::BodyPlace& y) { return x.sameBody(y); });
}

ShownGraph analysed(const Graph& main, BodyPath bodies, const DimBindings& dims) {
    ShownGraph out;
    const Graph& shown = bodies.empty() ? main : bodies.back().graph;
    out.types = types(main, dims);
    out.cost = cost(main, dims);
    const bool known = shown.outputs().empty() || out.types->values.contains(shown.outputs()[0]);
    if (!known) { // a body that only running makes
        out.types = types(shown, dims);
        out.cost = cost(shown, dims);
    }
    out.scopes = std::make_shared<const views::ScopeTree>(views::scopeTree(shown));
    out.bodies = std::move(bodies);
    return out;
}

} // namespace nabla::app

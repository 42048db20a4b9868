// The random operators of the standard, found through functions and bodies too.
#include "engine/passes/random_ops.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace nabla::engine {

namespace {

constexpr std::array kRandom
    = {std::string_view("RandomNormal"), std::string_view("RandomNormalLike"), std::string_view("RandomUniform"),
        std::string_view("RandomUniformLike"), std::string_view("Multinomial"), std::string_view("Bernoulli")};

bool random(const Graph& main, const Graph& graph, const Node& node, std::set<const Function*>& open);

bool randomGraph(const Graph& main, const Graph& graph, std::set<const Function*>& open) {
    bool found = false;
    graph.forEachNode([&](const Node& node) { found = found || random(main, graph, node, open); });
    return found;
}

bool random(const Graph& main, const Graph& graph, const Node& node, std::set<const Function*>& open) {
    if (const Function* function = main.function(node)) {
        if (!function->body || !open.insert(function).second)
            return false;
        const bool found = randomGraph(main, *function->body, open);
        open.erase(function);
        return found;
    }
    if (node.domain.empty() && std::find(kRandom.begin(), kRandom.end(), node.opType) != kRandom.end())
        return true;
    if (node.is("Dropout") && node.input(2)) { // draws in training mode only
        const TensorPtr mode = graph.constant(node.input(2));
        return !mode || mode->elementCount() != 1 || mode->asDouble(0) != 0;
    }
    for (const auto& [name, body] : node.bodies()) {
        if (randomGraph(main, *body, open))
            return true;
    }
    return false;
}

} // namespace

bool isRandom(const Graph& main, const Node& node) {
    std::set<const Function*> open;
    return random(main, main, node, open);
}

} // namespace nabla::engine

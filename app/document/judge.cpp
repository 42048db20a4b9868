// Prices by estimatePlan and cost(); differences by two sessions in double on the same inputs.
#include "app/document/judge.h"

#include <algorithm>

#include "app/document/compare.h"
#include "engine/analysis/cost.h"
#include "engine/plan/plan.h"

namespace nabla::app {

using namespace nabla::engine;

Result<GraphPrice> Judge::price(const Graph& graph) {
    GraphPrice price;
    price.nodes = static_cast<std::int64_t>(graph.nodeCount());
    const auto total = cost(graph, m_dims);
    if (total->unknownNodes == 0) {
        price.flops = total->flops;
        price.bytesMoved = total->bytesMoved;
    }
    NABLA_TRY(const Graph newest, legalized(graph));
    PlanOptions options;
    options.dims = m_dims;
    // A state that cannot be planned (an operator nobody knows) still has its other prices.
    if (const auto plan = estimatePlan(newest, options)) {
        price.peakBytes = (*plan)->arena.arenaBytes;
        price.lowerBoundBytes = (*plan)->arena.lowerBoundBytes;
    }
    return price;
}

Result<std::vector<OutputDifference>> Judge::compare(const Graph& before, const Graph& after) {
    SessionOptions options;
    options.inDouble = true;
    options.optimisedKernels = false;
    NABLA_TRY(const Graph first, legalized(before));
    NABLA_TRY(const Graph second, legalized(after));
    if (!m_inputs) {
        NABLA_TRY(m_inputs, generateInputs(first, 1, m_dims));
    }
    NABLA_TRY(const auto one, Session::create(first, options));
    NABLA_TRY(const auto two, Session::create(second, options));
    NABLA_TRY(const NamedValues expected, one->run(*m_inputs, m_job));
    NABLA_TRY(const NamedValues actual, two->run(*m_inputs, m_job));
    std::vector<OutputDifference> differences;
    for (const std::string& name : one->outputNames()) {
        const auto it = actual.find(name);
        if (it == actual.end())
            return runError("output \"{}\" is missing after the pass", name);
        NABLA_TRY(const ValueDifference d, compareValues(expected.at(name), it->second));
        differences.push_back({name, d.largest, d.largestOfMax});
    }
    return differences;
}

} // namespace nabla::app

// Plans by input types, and runners for bodies and calls, each made when first needed.
#include "engine/runtime/graph_runner.h"

#include <algorithm>

#include "engine/analysis/function_call.h"
#include "engine/plan/node_text.h"
#include "engine/runtime/double_precision.h"
#include "engine/runtime/eager.h"

namespace nabla::engine {

namespace {

constexpr std::size_t kMaxPlans = 16; // a plan owns an arena and packed weights

/// Runs below one level deeper. Bodies are not recorded: their step counts as one.
RunEnv innerEnv(const RunEnv& env, std::uint64_t seed) {
    static const RunScope kSilent(nullptr, Phase::None);
    RunEnv inner = env;
    inner.scope = &kSilent;
    inner.seed = seed;
    ++inner.depth;
    return inner;
}

} // namespace

ValueType typeOf(const RuntimeValue& value) {
    if (value.isTensor())
        return ValueType::tensor(value.tensor().dtype(), ShapeView(value.tensor().shape()));
    if (const RuntimeSequence* sequence = value.sequence()) {
        if (!sequence->elements.empty() && !sequence->elements[0].isTensor())
            return ValueType::sequence(typeOf(sequence->elements[0]));
        const DType type = !sequence->elements.empty() && sequence->elements[0].isTensor()
            ? sequence->elements[0].tensor().dtype()
            : sequence->elementType;
        return ValueType::sequence(type == DType::Undefined ? ValueType() : ValueType::tensor(type));
    }
    if (const RuntimeOptional* optional = value.optional(); optional && optional->hasValue)
        return ValueType::optionalOf(typeOf(optional->value));
    if (const RuntimeMap* map = value.map()) {
        ValueType type = ValueType::sequence(ValueType::tensor(map->values.dtype(), ShapeView()));
        type.kind = ValueType::Kind::Map;
        type.elementType = map->keys.dtype();
        return type;
    }
    return {};
}

GraphRunner::TypeKey GraphRunner::keyOf(std::span<const RuntimeValue> values) {
    TypeKey key;
    for (const RuntimeValue& value : values) {
        key.push_back(value.isTensor() ? static_cast<std::int64_t>(value.tensor().dtype())
                : value.absent()       ? -1
                : value.sequence()     ? -2
                : value.optional()     ? -3
                                       : -4);
        if (!value.isTensor())
            continue;
        key.push_back(static_cast<std::int64_t>(value.tensor().rank()));
        key.insert(key.end(), value.tensor().shape().begin(), value.tensor().shape().end());
    }
    return key;
}

Result<PlanExecutor*> GraphRunner::executorFor(std::span<const RuntimeValue> values) {
    TypeKey key = keyOf(values);
    const auto known
        = std::find_if(m_planned.begin(), m_planned.end(), [&](const Planned& planned) { return planned.key == key; });
    if (known != m_planned.end()) {
        m_planned.splice(m_planned.begin(), m_planned, known);
        return m_planned.front().executor.get();
    }
    PlanOptions options;
    options.parallel = m_options->parallel;
    options.inPlace = m_options->inPlace;
    options.optimisedKernels = m_options->optimisedKernels;
    options.functions = &m_options->functions;
    options.opset = m_options->opset;
    std::vector<ValueType> types;
    types.reserve(values.size());
    for (const RuntimeValue& value : values)
        types.push_back(typeOf(value));
    NABLA_TRY(std::shared_ptr<const Plan> plan, buildPlan(m_graph, types, options));
    NABLA_TRY(std::unique_ptr<PlanExecutor> executor,
        PlanExecutor::create(std::move(plan), *this, m_options->memoryLimitBytes));
    m_planned.push_front({std::move(key), std::move(executor)});
    if (m_planned.size() > kMaxPlans)
        m_planned.pop_back();
    return m_planned.front().executor.get();
}

Result<std::vector<RuntimeValue>> GraphRunner::run(std::span<const RuntimeValue> values, const RunEnv& env) {
    if (env.depth > kMaxBodyDepth)
        return runError("bodies and function calls are nested more than {} deep", kMaxBodyDepth);
    if (m_options->eager)
        return runEager(*this, values, env);
    NABLA_TRY(PlanExecutor * executor, executorFor(values));
    return executor->run(values, env);
}

Result<GraphRunner*> GraphRunner::bodyRunner(const GraphPtr& body) {
    const std::scoped_lock lock(m_childrenMutex);
    auto& [graph, runner] = m_bodies[body.get()];
    if (!runner) {
        graph = body; // kept, so that its address stays its own
        runner = std::make_unique<GraphRunner>(*body, m_options);
    }
    return runner.get();
}

Result<std::vector<RuntimeValue>> GraphRunner::runBody(
    const GraphPtr& body, std::span<const RuntimeValue> values, const RunEnv& env, std::uint64_t seed) {
    NABLA_TRY(GraphRunner * runner, bodyRunner(body));
    const std::size_t wanted = body->inputs().size() + body->captures().size();
    if (values.size() != wanted)
        return runError("body \"{}\" takes {} values, it is given {}", body->name(), wanted, values.size());
    return runner->run(values, innerEnv(env, seed));
}

Result<GraphRunner*> GraphRunner::callRunner(
    const Node& node, const Function* function, std::span<const RuntimeValue> inputs) {
    TypeKey key;
    if (!function) // the body of an operator may depend on the types
        key = keyOf(inputs);
    {
        const std::scoped_lock lock(m_childrenMutex);
        if (const auto it = m_calls.find({node.id.value, key}); it != m_calls.end())
            return it->second.get();
    }
    Graph body;
    if (function) {
        NABLA_TRY(body, functionForCall(*function, node));
    } else {
        std::vector<ValueType> types;
        for (const RuntimeValue& input : inputs)
            types.push_back(typeOf(input));
        const std::int64_t own = m_graph.opset(node.domain);
        NABLA_TRY(body, bodyForCall(node, own > 0 ? own : m_options->opset, types, m_graph.ids()));
    }
    if (m_options->inDouble) { // a function has been widened, but not the attributes of this call
        NABLA_TRY(body, inDoublePrecision(body));
    }
    const std::scoped_lock lock(m_childrenMutex);
    auto& runner = m_calls[{node.id.value, key}];
    if (!runner)
        runner = std::make_unique<GraphRunner>(std::move(body), m_options);
    return runner.get();
}

Result<std::vector<RuntimeValue>> GraphRunner::call(const Node& node, const Function* function,
    std::span<const RuntimeValue> inputs, const RunEnv& env, std::uint64_t seed) {
    NABLA_TRY(GraphRunner * runner, callRunner(node, function, inputs));
    const std::size_t formal = runner->graph().inputs().size();
    if (inputs.size() > formal)
        return runError("the function takes {} inputs, it is given {}", formal, inputs.size());
    std::vector<RuntimeValue> values(inputs.begin(), inputs.end());
    values.resize(formal); // trailing inputs may be omitted
    return runner->run(values, innerEnv(env, seed));
}

} // namespace nabla::engine

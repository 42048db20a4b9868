// One node: operator, function or body.
#include "engine/runtime/node_call.h"

#include <random>

#include "engine/kernels/kernel.h"

namespace nabla::engine {

Result<NodeCall> lookUp(const Node& node, const Graph& graph, const GraphRunner& runner) {
    NodeCall call{node};
    const FunctionMap& functions = runner.options().functions;
    call.function = graph.function(node);
    if (const auto it = functions.find(functionKey(node.domain, node.opType, node.overload));
        !call.function && it != functions.end())
        call.function = it->second.get();
    if (!call.function)
        call.op = findOp(node.opType, node.domain);
    if (!call.function && !call.op)
        return runError("the operator {}{}{} is not known here, so the model cannot be run", node.domain,
            node.domain.empty() ? "" : ".", node.opType);
    return call;
}

Result<std::vector<RuntimeValue>> runNode(const NodeCall& call, GraphRunner& runner,
    std::span<const RuntimeValue> inputs, std::span<const RuntimeValue> captures, const RunEnv& env,
    std::int64_t inUseBytes) {
    const Node& node = call.node;
    const std::uint64_t seed = mixSeed(env.seed, node.id.value);
    if (call.function || (!call.kernel && call.op->run.expands())) {
        NABLA_TRY(std::vector<RuntimeValue> results, runner.call(node, call.function, inputs, env, seed));
        results.resize(node.outputs.size());
        return results;
    }
    std::vector<RuntimeValue> outputs(node.outputs.size());
    const std::int64_t own = runner.graph().opset(node.domain);
    KernelContext context(node, own > 0 ? own : runner.options().opset, inputs, outputs);
    std::mt19937_64 random(seed);
    std::uint64_t bodyRuns = 0;
    context.captures = captures;
    context.pool = env.pool;
    context.job = env.job;
    context.random = &random;
    context.place = [&](std::size_t, DType dtype, const Shape& shape) -> Result<Tensor> {
        if (auto ok = checkShape(shape); !ok)
            return runError("{}", ok.error().message());
        const std::int64_t bytes = storageBytes(dtype, elementCount(shape));
        if (bytes > env.memoryLimitBytes - inUseBytes) {
            return runError("a result {} {} of {} bytes does not fit: {} bytes are in use, the limit is {}",
                name(dtype), toString(shape), bytes, inUseBytes, env.memoryLimitBytes);
        }
        return Tensor::make(dtype, shape);
    };
    context.runBody = [&](const GraphPtr& body, std::vector<RuntimeValue> values, std::vector<RuntimeValue> captured) -> Result<std::vector<RuntimeValue>> {
        values.insert(values.end(), std::make_move_iterator(captured.begin()), std::make_move_iterator(captured.end()));
        const std::uint64_t run = bodyRuns++;
        return call.bodyHook ? (*call.bodyHook)(run, body, std::move(values), mixSeed(seed, run))
                             : runner.runBody(body, values, env, mixSeed(seed, run));
    };
    NABLA_CHECK(call.kernel ? call.kernel->run(context, call.state) : call.op->run.run()(context));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (node.outputs[k] && outputs[k].absent())
            return runError("its kernel made no output {}", k);
    }
    return outputs;
}

} // namespace nabla::engine

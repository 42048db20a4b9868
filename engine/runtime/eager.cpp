// The interpreter: a table of values, and for each how many readers are still to come.
#include "engine/runtime/eager.h"

#include <unordered_map>

#include "engine/analysis/topology.h"
#include "engine/plan/node_text.h"
#include "engine/runtime/node_call.h"

namespace nabla::engine {

namespace {

class Interpreter {
public:
    Interpreter(GraphRunner& runner, const RunEnv& env)
        : m_runner(runner)
        , m_graph(runner.graph())
        , m_env(env) { }

    Result<std::vector<RuntimeValue>> run(std::span<const RuntimeValue> values) {
        const auto order = topologicalOrder(m_graph);
        if (!order->inCycle.empty())
            return runError("{}: its inputs depend on its own output", nodeText(*m_graph.node(order->inCycle.front())));
        m_uses = uses(m_graph);
        std::size_t next = 0;
        for (const auto& ids : {m_graph.inputs(), m_graph.captures()}) {
            for (const ValueId id : ids)
                m_values[id] = Live{values[next++], 0};
        }
        for (const ValueId id : m_graph.outputs())
            m_values[id].keep = true;
        std::uint32_t step = 0;
        for (const NodeId id : order->order) {
            NABLA_CHECK(m_env.job->check());
            const Node& node = *m_graph.node(id);
            if (auto done = this->step(node, step++); !done)
                return done.error().kind() == ErrorKind::Cancelled ? done.error() : done.error().in(nodeText(node));
        }
        std::vector<RuntimeValue> outputs;
        for (const ValueId id : m_graph.outputs()) {
            NABLA_TRY(RuntimeValue value, valueOf(id));
            outputs.push_back(std::move(value));
        }
        return outputs;
    }

private:
    struct Live {
        RuntimeValue value;
        std::size_t readBy = 0; ///< readers that have run
        bool keep = false; ///< an output
    };

    Result<RuntimeValue> valueOf(ValueId id) {
        if (!id)
            return RuntimeValue();
        if (const TensorPtr constant = m_graph.constant(id))
            return RuntimeValue(*constant);
        const auto it = m_values.find(id);
        const Value* value = m_graph.value(id);
        if (it == m_values.end() || (value && value->producer && it->second.value.absent()))
            return runError("nothing makes the value \"{}\"", value ? value->name : "?");
        return it->second.value;
    }

    Result<std::vector<RuntimeValue>> gather(const std::vector<ValueId>& ids) {
        std::vector<RuntimeValue> out;
        for (const ValueId id : ids) {
            NABLA_TRY(RuntimeValue value, valueOf(id));
            out.push_back(std::move(value));
        }
        return out;
    }

    Result<void> step(const Node& node, std::uint32_t index) {
        NABLA_TRY(const std::vector<RuntimeValue> inputs, gather(node.inputs));
        NABLA_TRY(const std::vector<RuntimeValue> captures, gather(node.captures));
        NABLA_TRY(const NodeCall call, lookUp(node, m_graph, m_runner));
        const Phase phase = node.gradientOf ? Phase::Backward : Phase::Forward;
        const StepScope scope(*m_env.scope, node.id.value, index, 0, phase);
        NABLA_TRY(std::vector<RuntimeValue> outputs, runNode(call, m_runner, inputs, captures, m_env, m_liveBytes));
        return store(node, std::move(outputs));
    }

    Result<void> store(const Node& node, std::vector<RuntimeValue> outputs) {
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const ValueId id = node.outputs[k];
            if (!id || (m_uses->of(id).empty() && !m_values.contains(id)))
                continue;
            m_liveBytes += outputs[k].bytes();
            m_values[id].value = std::move(outputs[k]);
        }
        for (const auto* list : {&node.inputs, &node.captures}) {
            for (const ValueId id : *list)
                countRead(id, node.id);
        }
        return {};
    }

    void countRead(ValueId id, NodeId reader) {
        const auto it = id ? m_values.find(id) : m_values.end();
        const Value* value = id ? m_graph.value(id) : nullptr;
        if (it == m_values.end() || it->second.keep || !value->producer || m_lastReader[id] == reader)
            return;
        m_lastReader[id] = reader; // a node that reads a value twice counts once
        if (++it->second.readBy < m_uses->of(id).size())
            return;
        m_liveBytes -= it->second.value.bytes();
        m_values.erase(it);
    }

    GraphRunner& m_runner;
    const Graph& m_graph;
    const RunEnv& m_env;
    std::shared_ptr<const Uses> m_uses;
    std::unordered_map<ValueId, Live> m_values;
    std::unordered_map<ValueId, NodeId> m_lastReader;
    std::int64_t m_liveBytes = 0;
};

} // namespace

Result<std::vector<RuntimeValue>> runEager(
    GraphRunner& runner, std::span<const RuntimeValue> values, const RunEnv& env) {
    return Interpreter(runner, env).run(values);
}

} // namespace nabla::engine

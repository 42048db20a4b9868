// The kernel of the node decides what an iteration is given; here its body is only intercepted.
#include "engine/runtime/body_steps.h"

#include <algorithm>

#include "engine/plan/node_text.h"

namespace nabla::engine {

namespace {

std::int64_t bytesOf(const std::vector<RuntimeValue>& values) {
    std::int64_t bytes = 0;
    for (const RuntimeValue& value : values)
        bytes += value.bytes();
    return bytes;
}

/// Whether a Loop's body can never end the loop: its condition is the one it was given, or a constant true.
bool conditionStaysTrue(const Graph& body) {
    if (body.outputs().empty() || body.inputs().size() < 2)
        return false;
    ValueId condition = body.outputs()[0];
    const Node* producer = body.producer(condition);
    while (producer && producer->is("Identity")) {
        condition = producer->input(0);
        producer = body.producer(condition);
    }
    TensorPtr constant = body.constant(condition);
    if (producer && producer->is("Constant"))
        constant = producer->tensorAttribute("value");
    return condition == body.inputs()[1]
        || (constant && constant->dtype() == DType::Bool && constant->elementCount() == 1 && constant->asInt64(0) != 0);
}

std::int64_t scanLength(const Node& node, const std::vector<RuntimeValue>& inputs) {
    const auto scans = static_cast<std::size_t>(node.intAttribute("num_scan_inputs", 1));
    const Tensor& first = inputs[inputs.size() - scans].tensor(); // the kernel has checked the counts and axes
    const std::vector<std::int64_t> axes = node.intsAttribute("scan_input_axes");
    const std::int64_t axis = axes.empty() ? 0 : axes[0];
    return first.dim(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(first.rank()) : axis));
}

} // namespace

bool BodySteps::canEnter(const PlanStep& step) {
    return step.isCall() || (step.graphNode && !step.graphNode->bodies().empty());
}

StepTableOptions BodySteps::innerOptions(std::uint64_t seed) const {
    StepTableOptions options = m_outer.options();
    options.seed = seed;
    ++options.depth;
    return options;
}

void BodySteps::keep(std::size_t iteration, std::vector<RuntimeValue> values) {
    if (m_done.size() <= iteration)
        m_done.resize(iteration + 1);
    if (m_done[iteration])
        m_kept -= bytesOf(*m_done[iteration]);
    m_kept += bytesOf(values);
    m_done[iteration] = std::move(values);
    m_oldestKept = std::min(m_oldestKept, iteration);
}

void BodySteps::keepWithin(std::int64_t budgetBytes) {
    for (; m_kept > budgetBytes && m_oldestKept < m_done.size(); ++m_oldestKept) {
        if (auto& old = m_done[m_oldestKept]) {
            m_kept -= bytesOf(*old);
            old.reset();
        }
    }
}

Result<std::vector<RuntimeValue>> BodySteps::runKernel(
    std::int64_t openAt, std::optional<Opened>& opened, const JobControl& job) {
    static const RunScope kSilent(nullptr, Phase::None);
    RunEnv env; // as the table makes it
    env.job = &job;
    env.scope = &kSilent;
    env.pool = m_outer.options().pool;
    env.memoryLimitBytes = m_outer.runner().options().memoryLimitBytes;
    env.depth = m_outer.options().depth;
    const BodyHook hook = [&](std::uint64_t run, const GraphPtr& body, std::vector<RuntimeValue> values,
                              std::uint64_t seed) -> Result<std::vector<RuntimeValue>> {
        if (static_cast<std::int64_t>(run) == openAt) {
            opened = Opened{body, std::move(values), seed};
            return Error{ErrorKind::Cancelled, "stepped into"};
        }
        if (run < m_done.size() && m_done[run])
            return *m_done[run];
        NABLA_CHECK(job.check());
        NABLA_TRY(std::vector<RuntimeValue> out, m_outer.runner().runBody(body, values, env, seed));
        keep(run, out);
        return out;
    };
    return m_outer.evaluateNext(kSilent, job, &hook);
}

Result<void> BodySteps::countIterations(const GraphPtr& body, const JobControl& job) {
    const Node& node = *m_outer.next().graphNode;
    for (const auto& [name, each] : node.bodies()) {
        if (each == body)
            m_bodyName = name;
    }
    NABLA_TRY(const std::vector<RuntimeValue> inputs, m_outer.nextInputs(job));
    if (node.is("If")) {
        m_iterations = 1;
    } else if (node.is("Scan")) {
        m_iterations = scanLength(node, inputs);
    } else if (node.is("Loop") && !inputs.empty() && inputs[0].isTensor()) {
        m_iterations = inputs[0].tensor().asInt64(0);
        m_atMost = !conditionStaysTrue(*body);
    }
    return {};
}

Result<bool> BodySteps::openCall(const JobControl& job) {
    const PlanStep& step = m_outer.next();
    NABLA_TRY(std::vector<RuntimeValue> inputs, m_outer.nextInputs(job));
    auto found = m_outer.runner().callRunner(*step.graphNode, step.function, inputs);
    if (!found)
        return found.error().in(nodeText(*step.graphNode));
    GraphRunner& runner = **found;
    const std::size_t formal = runner.graph().inputs().size();
    if (inputs.size() > formal)
        return runError("{}: the function takes {} inputs, it is given {}", nodeText(*step.graphNode), formal, inputs.size());
    inputs.resize(formal);
    NABLA_TRY(m_table,
        StepTable::create(runner, std::move(inputs), innerOptions(mixSeed(m_outer.options().seed, step.node.value))));
    m_bodyName = step.function ? step.function->name : step.graphNode->opType;
    m_iterations = 1;
    return true;
}

Result<bool> BodySteps::open(std::int64_t k, const JobControl& job) {
    if (isCall())
        return openCall(job);
    std::optional<Opened> opened;
    auto ended = runKernel(k, opened, job);
    if (!opened) {
        if (!ended)
            return ended.error();
        results = std::move(*ended);
        return false;
    }
    NABLA_TRY(GraphRunner* const runner, m_outer.runner().bodyRunner(opened->body));
    const std::size_t wanted = opened->body->inputs().size() + opened->body->captures().size();
    if (opened->values.size() != wanted)
        return runError("body \"{}\" takes {} values, it is given {}", opened->body->name(), wanted, opened->values.size());
    NABLA_TRY(auto table, StepTable::create(*runner, std::move(opened->values), innerOptions(opened->seed)));
    if (!m_table)
        NABLA_CHECK(countIterations(opened->body, job));
    m_table = std::move(table);
    m_iteration = k;
    return true;
}

Result<bool> BodySteps::openNext(const JobControl& job) {
    NABLA_TRY(std::vector<RuntimeValue> out, m_table->outputs(job));
    if (isCall()) {
        out.resize(m_outer.next().graphNode->outputs.size());
        results = std::move(out);
        return false;
    }
    keep(static_cast<std::size_t>(m_iteration), std::move(out));
    return open(m_iteration + 1, job);
}

Result<std::vector<RuntimeValue>> BodySteps::finish(const JobControl& job) {
    static const RunScope kSilent(nullptr, Phase::None);
    std::optional<Opened> none;
    return isCall() ? m_outer.evaluateNext(kSilent, job) : runKernel(-1, none, job);
}

} // namespace nabla::engine

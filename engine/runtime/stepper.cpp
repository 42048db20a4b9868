// Stepper: the main graph's table and a stack of open bodies.
#include "engine/runtime/stepper.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/kernels/kernel.h"
#include "engine/plan/node_text.h"
#include "engine/runtime/body_steps.h"
#include "engine/runtime/session_inputs.h"
#include "engine/runtime/session_setup.h"

namespace nabla::engine {

namespace {
constexpr std::size_t kWholeGraph = static_cast<std::size_t>(-1);
}

struct Stepper::Impl {
    Impl(const Graph& graph, const SessionOptions& given)
        : options(given)
        , runner(graph, std::make_shared<const RunnerOptions>(runnerOptions(graph, given))) {
        if (given.threads != 1)
            pool = std::make_unique<ThreadPool>(given.threads, initKernelThread);
    }

    StepTable& top() { return bodies.empty() ? *main : bodies.back().table(); }
    const StepTable& top() const { return bodies.empty() ? *main : bodies.back().table(); }
    StepTable& tableAt(std::size_t depth) { return depth == 0 ? *main : bodies[depth - 1].table(); }
    const StepTable& tableAt(std::size_t depth) const { return depth == 0 ? *main : bodies[depth - 1].table(); }

    Result<void> over(const JobControl& job);
    Result<void> cross(const JobControl& job);
    Result<Stop> runOn(std::size_t whileDeeperThan, const JobControl& job);
    void leave(std::vector<RuntimeValue> results);
    std::int64_t kept() const;
    void keepWithinBudget();
    bool mayStopInside(const PlanStep& step);
    bool hasBreakpointIn(const Graph& graph, std::unordered_set<const Graph*>& seen) const;
    bool hasBreakpointIn(const Graph& graph, const Node& node, std::unordered_set<const Graph*>& seen) const;

    SessionOptions options;
    GraphRunner runner;
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<StepTable> main;
    std::vector<BodySteps> bodies; ///< open ones, outermost first; each stands in the next step of the one before
    std::int64_t budget = 0;
    std::set<NodeId> breakpoints;
    std::unordered_map<const Node*, bool> breaksInside; ///< of steps met, for these breakpoints
    bool breakOnNotFinite = false;
    ExecutionObserver* observer = nullptr;
    std::optional<RunScope> scope;
};

std::int64_t Stepper::Impl::kept() const {
    std::int64_t bytes = main->keptBytes();
    for (const BodySteps& body : bodies)
        bytes += body.keptBytes() + body.table().keptBytes();
    return bytes;
}

/// Outer values first: the innermost body is what is looked at.
void Stepper::Impl::keepWithinBudget() {
    std::int64_t over = kept() - budget;
    for (std::size_t d = 0; over > 0 && d <= bodies.size(); ++d) {
        if (d > 0)
            bodies[d - 1].keepWithin(bodies[d - 1].keptBytes() - over);
        over = kept() - budget;
        tableAt(d).keepWithin(tableAt(d).keptBytes() - over);
        over = kept() - budget;
    }
}

Result<void> Stepper::Impl::over(const JobControl& job) {
    static const RunScope kSilent(nullptr, Phase::None);
    NABLA_CHECK(job.check());
    StepTable& table = top();
    if (bodies.empty() && observer && !scope)
        scope.emplace(observer, Phase::None);
    NABLA_TRY(std::vector<RuntimeValue> results, table.evaluateNext(bodies.empty() && scope ? *scope : kSilent, job));
    table.commitNext(std::move(results));
    keepWithinBudget();
    if (main->atEnd())
        scope.reset();
    return {};
}

/// The node of the innermost body has these results; stepping goes on behind it.
void Stepper::Impl::leave(std::vector<RuntimeValue> results) {
    bodies.pop_back();
    top().commitNext(std::move(results));
    keepWithinBudget();
    if (main->atEnd())
        scope.reset();
}

Result<void> Stepper::Impl::cross(const JobControl& job) {
    NABLA_CHECK(job.check());
    NABLA_TRY(const bool more, bodies.back().openNext(job));
    if (more)
        keepWithinBudget();
    else
        leave(std::move(bodies.back().results));
    return {};
}

bool Stepper::Impl::hasBreakpointIn(const Graph& graph, std::unordered_set<const Graph*>& seen) const {
    if (!seen.insert(&graph).second)
        return false;
    bool found = false;
    graph.forEachNode([&](const Node& node) {
        found = found || breakpoints.contains(node.id) || hasBreakpointIn(graph, node, seen);
    });
    return found;
}

bool Stepper::Impl::hasBreakpointIn(const Graph& graph, const Node& node, std::unordered_set<const Graph*>& seen) const {
    for (const auto& [name, body] : node.bodies()) {
        if (body && hasBreakpointIn(*body, seen))
            return true;
    }
    const FunctionMap& functions = runner.options().functions;
    const Function* function = graph.function(node);
    if (const auto it = functions.find(functionKey(node.domain, node.opType, node.overload));
        !function && it != functions.end())
        function = it->second.get();
    return function && function->body && hasBreakpointIn(*function->body, seen);
}

bool Stepper::Impl::mayStopInside(const PlanStep& step) {
    if (!BodySteps::canEnter(step))
        return false;
    if (breakOnNotFinite)
        return true;
    if (breakpoints.empty())
        return false;
    // The body that an operator is defined by is made when it runs; what it has in it is not known before.
    if (step.isCall() && !step.function)
        return true;
    const auto [it, isNew] = breaksInside.emplace(step.graphNode, false);
    if (isNew) {
        std::unordered_set<const Graph*> seen;
        it->second = hasBreakpointIn(top().plan().graph, *step.graphNode, seen);
    }
    return it->second;
}

/// Until there are no more than so many open bodies, or for the main graph until its end.
Result<Stepper::Stop> Stepper::Impl::runOn(std::size_t until, const JobControl& job) {
    const bool toTheEnd = until == kWholeGraph;
    for (bool first = true; toTheEnd ? !bodies.empty() || !main->atEnd() : bodies.size() > until; first = false) {
        StepTable& table = top();
        const PlanStep* next = table.atEnd() ? nullptr : &table.next();
        if (!first && next && breakpoints.contains(next->node))
            return Stop{Stop::Why::Breakpoint, fmt::format("breakpoint on {}", nodeText(*next->graphNode))};
        bool ran = true;
        Result<void> done;
        if (!next) {
            const std::size_t before = bodies.size();
            done = cross(job);
            ran = bodies.size() < before;
        } else if (mayStopInside(*next)) {
            BodySteps body(table);
            if (auto entered = body.open(0, job); !entered) {
                done = entered.error();
            } else if (*entered) {
                bodies.push_back(std::move(body));
                ran = false;
            } else {
                table.commitNext(std::move(body.results));
            }
        } else {
            done = over(job);
        }
        if (!done) {
            if (done.error().kind() == ErrorKind::Cancelled)
                return Stop{Stop::Why::Cancelled, done.error().message()};
            return done.error();
        }
        if (!ran || !breakOnNotFinite)
            continue;
        if (std::string found = top().notFinite(); !found.empty())
            return Stop{Stop::Why::NotFinite, std::move(found)};
    }
    return toTheEnd ? Stop{Stop::Why::End, "the end"} : Stop{Stop::Why::LeftBody, "left the body"};
}

Stepper::Stepper(std::unique_ptr<Impl> impl)
    : m_impl(std::move(impl)) { }
Stepper::~Stepper() = default;

Result<std::unique_ptr<Stepper>> Stepper::create(
    const Graph& graph, const NamedValues& inputs, const SessionOptions& options, std::int64_t memoryBudgetBytes) {
    NABLA_TRY(const Graph prepared, graphToRun(graph, options));
    NABLA_TRY(std::vector<RuntimeValue> values, orderedInputs(prepared, inputs, options.inDouble));
    auto impl = std::make_unique<Impl>(prepared, options);
    impl->budget = memoryBudgetBytes;
    const StepTableOptions table{impl->pool.get(), options.seed, 0, options.optimisedKernels};
    NABLA_TRY(impl->main, StepTable::create(impl->runner, std::move(values), table));
    return std::unique_ptr<Stepper>(new Stepper(std::move(impl)));
}

std::size_t Stepper::stepCount() const {
    return m_impl->main->stepCount();
}
std::size_t Stepper::position() const {
    return m_impl->main->position();
}
NodeId Stepper::nodeAt(std::size_t step) const {
    return step < stepCount() ? plan().steps[step].node : NodeId{};
}
Phase Stepper::phaseAt(std::size_t step) const {
    return step < stepCount() ? plan().steps[step].phase : Phase::None;
}
std::optional<std::size_t> Stepper::stepOf(NodeId node) const {
    return m_impl->main->stepOf(node);
}

std::size_t Stepper::backwardStart() const {
    const auto& steps = plan().steps;
    return static_cast<std::size_t>(std::find_if(steps.begin(), steps.end(), [](const PlanStep& s) {
        return s.phase == Phase::Backward;
    }) - steps.begin());
}

std::vector<Stepper::Level> Stepper::levels() const {
    std::vector<Level> out;
    for (const BodySteps& body : m_impl->bodies) {
        out.push_back({body.node(), body.bodyName(), body.iteration(), body.iterations(), body.atMost(),
            body.table().position(), body.table().stepCount()});
    }
    return out;
}

std::size_t Stepper::depth() const {
    return m_impl->bodies.size();
}
const Plan& Stepper::planAt(std::size_t depth) const {
    return m_impl->tableAt(depth).plan();
}
NodeId Stepper::nextNode() const {
    return m_impl->top().atEnd() ? NodeId{} : m_impl->top().next().node;
}

Result<void> Stepper::stepForward(const JobControl& job) {
    initKernelThread();
    if (!m_impl->top().atEnd())
        return m_impl->over(job);
    return m_impl->bodies.empty() ? Result<void>() : m_impl->cross(job);
}

bool Stepper::canStepInto() const {
    return !m_impl->top().atEnd() && BodySteps::canEnter(m_impl->top().next());
}

Result<void> Stepper::stepInto(const JobControl& job) {
    if (!canStepInto())
        return stepForward(job);
    initKernelThread();
    NABLA_CHECK(job.check());
    BodySteps body(m_impl->top());
    NABLA_TRY(const bool entered, body.open(0, job));
    if (entered)
        m_impl->bodies.push_back(std::move(body));
    else
        m_impl->top().commitNext(std::move(body.results));
    m_impl->keepWithinBudget();
    return {};
}

Result<void> Stepper::stepBack(const JobControl& job) {
    StepTable& table = m_impl->top();
    m_impl->scope.reset();
    if (table.position() > 0 || m_impl->bodies.empty()) {
        table.back();
        return {};
    }
    BodySteps& body = m_impl->bodies.back();
    if (body.iteration() == 0) {
        m_impl->bodies.pop_back();
        return {};
    }
    initKernelThread();
    const std::int64_t before = body.iteration() - 1;
    NABLA_CHECK(goToIteration(before, job));
    while (m_impl->top().position() + 1 < m_impl->top().stepCount())
        NABLA_CHECK(m_impl->over(job));
    return {};
}

Result<Stepper::Stop> Stepper::continueForward(const JobControl& job) {
    initKernelThread();
    return m_impl->runOn(kWholeGraph, job);
}

Result<Stepper::Stop> Stepper::stepOut(const JobControl& job) {
    if (m_impl->bodies.empty())
        return usageError("stepping is not inside a body");
    initKernelThread();
    BodySteps& body = m_impl->bodies.back();
    StepTable& outer = m_impl->tableAt(depth() - 1);
    if (m_impl->breakOnNotFinite || !m_impl->breakpoints.empty())
        return m_impl->runOn(depth() - 1, job);
    auto results = body.finish(job);
    if (!results) {
        if (results.error().kind() == ErrorKind::Cancelled)
            return Stop{Stop::Why::Cancelled, results.error().message()};
        return results.error();
    }
    const std::string text = fmt::format("left {}", nodeText(*outer.next().graphNode));
    m_impl->leave(std::move(*results));
    return Stop{Stop::Why::LeftBody, text};
}

Result<void> Stepper::goToIteration(std::int64_t k, const JobControl& job) {
    if (m_impl->bodies.empty())
        return usageError("stepping is not inside a body");
    BodySteps& body = m_impl->bodies.back();
    const std::string what = nodeText(*m_impl->tableAt(depth() - 1).next().graphNode);
    if (k < 0 || (body.isCall() && k > 0))
        return usageError("{} has no iteration {}", what, k);
    initKernelThread();
    NABLA_TRY(const bool there, body.open(k, job));
    if (!there)
        return usageError("{} ends before iteration {}", what, k);
    m_impl->keepWithinBudget();
    return {};
}

Result<void> Stepper::goTo(std::size_t position, const JobControl& job) {
    m_impl->bodies.clear();
    while (this->position() > position)
        NABLA_CHECK(stepBack(job));
    while (this->position() < std::min(position, stepCount())) {
        job.say("Running", static_cast<std::int64_t>(this->position()), static_cast<std::int64_t>(position));
        NABLA_CHECK(stepForward(job));
    }
    return {};
}

bool Stepper::available(ValueId id) const {
    for (std::size_t d = depth() + 1; d-- > 0;) {
        if (m_impl->tableAt(d).has(id))
            return m_impl->tableAt(d).available(id);
    }
    return false;
}

Result<RuntimeValue> Stepper::value(ValueId id) {
    for (std::size_t d = depth() + 1; d-- > 0;) {
        StepTable& table = m_impl->tableAt(d);
        if (table.has(id)) {
            NABLA_TRY(RuntimeValue value, table.value(id));
            m_impl->keepWithinBudget();
            return value;
        }
        if (const TensorPtr constant = table.plan().graph.constant(id)) // nobody reads it
            return RuntimeValue(*constant);
    }
    return usageError("the graph has no value #{}, or its body is not open", id.value);
}

std::int64_t Stepper::keptBytes() const {
    return m_impl->kept();
}
void Stepper::setBreakpoints(std::set<NodeId> nodes) {
    m_impl->breakpoints = std::move(nodes);
    m_impl->breaksInside.clear();
}
void Stepper::setBreakOnNotFinite(bool on) {
    m_impl->breakOnNotFinite = on;
}
void Stepper::setObserver(ExecutionObserver* observer) {
    m_impl->scope.reset();
    m_impl->observer = observer;
}
const Graph& Stepper::graph() const {
    return m_impl->runner.graph();
}
const Plan& Stepper::plan() const {
    return m_impl->main->plan();
}

} // namespace nabla::engine

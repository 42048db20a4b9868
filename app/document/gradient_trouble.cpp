// A walk back from the gradient to the birth, then a look forward from there.
#include "app/document/gradient_trouble.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/document/numeric_trouble.h"
#include "engine/analysis/topology.h"
#include "engine/runtime/stepper.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

struct Counts {
    std::int64_t nan = 0, infinite = 0, first = -1;
    bool none() const { return nan == 0 && infinite == 0; }
    std::string text() const { return nan > 0 ? fmt::format("{} NaN", nan) : fmt::format("{} infinite", infinite); }
};

Counts notFinite(const Tensor& tensor) {
    Counts out;
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i) {
        const double x = tensor.asDouble(i);
        out.nan += std::isnan(x) ? 1 : 0;
        out.infinite += std::isinf(x) ? 1 : 0;
        if (!std::isfinite(x) && out.first < 0)
            out.first = i;
    }
    return out;
}

/// The graph as stepped through to its end.
class Traced {
public:
    Traced(const JointGraph& joint, Stepper& stepper, const JobControl& job)
        : m_joint(joint)
        , m_stepper(stepper)
        , m_graph(stepper.graph())
        , m_job(job)
        , m_uses(uses(m_graph)) { }

    Result<Diagnostic> explain(ValueId wrt, const Counts& counts) {
        const auto valueOf = [&](ValueId id) { return value(id); };
        NABLA_TRY(const std::vector<WalkStep> walk, walkBack(m_graph, m_joint.gradientOf.at(wrt), counts.first, valueOf, m_job));
        Diagnostic out{Diagnostic::Severity::Warning, {}, wrt, "", false};
        const std::string what = fmt::format("gradient of \"{}\" is not finite: {}", m_graph.value(wrt)->name, counts.text());
        if (walk.empty() || !m_graph.node(walk.back().producer)) {
            const std::string from = walk.empty() ? "" : fmt::format(", from the value of \"{}\"", m_graph.value(walk.back().value)->name);
            out.message = what + from;
            return out;
        }
        const WalkStep& birth = walk.back();
        const Node& maker = *m_graph.node(birth.producer);
        const Node& forward = m_graph.node(maker.gradientOf) ? *m_graph.node(maker.gradientOf) : maker;
        const bool isBackward = &forward != &maker;
        out.node = forward.id;
        std::string text = what + fmt::format(", born in {}{}, {} at element {} of \"{}\"", isBackward ? "the backward step of " : "", describe(forward),
            std::isnan(birth.number) ? "NaN" : "infinite", birth.element, m_graph.value(birth.value)->name);
        const std::vector<std::string> masks = isBackward ? masksOfCotangent(forward) : masksOfValue(birth.value);
        if (!masks.empty())
            text += fmt::format("; {} keeps it out of the output but not out of the gradient: its cotangent there is 0, and 0 times what is not finite is NaN",
                fmt::join(masks, ", "));
        else if (isBackward)
            text += "; the slope is not finite there: the function is not differentiable at this point";
        out.message = std::move(text);
        return out;
    }

private:
    Result<RuntimeValue> value(ValueId id) const {
        if (const TensorPtr constant = m_graph.constant(id); constant && !m_stepper.available(id))
            return RuntimeValue(*constant);
        return m_stepper.value(id);
    }
    bool isFinite(ValueId id) const {
        const auto here = value(id);
        return here && (!here->isTensor() || notFinite(here->tensor()).none());
    }

    /// Readers of a value, forward ones only.
    std::vector<const Node*> forwardReaders(ValueId value) const {
        std::vector<const Node*> out;
        for (const NodeId id : m_uses->of(value)) {
            const Node* node = m_graph.node(id);
            if (node && !node->gradientOf)
                out.push_back(node);
        }
        return out;
    }

    /// From a value that is not finite along readers that are not either, to those that are.
    std::vector<std::string> masksOfValue(ValueId born) const {
        std::set<std::string> masks;
        std::set<ValueId> seen{born};
        for (std::deque<ValueId> open{born}; !open.empty(); open.pop_front()) {
            for (const Node* reader : forwardReaders(open.front())) {
                bool passes = false;
                for (const ValueId output : reader->outputs) {
                    if (!output || isFinite(output))
                        continue;
                    passes = true;
                    if (seen.insert(output).second)
                        open.push_back(output);
                }
                if (!passes)
                    masks.insert(describe(*reader));
            }
        }
        return {masks.begin(), masks.end()};
    }

    /// Some of the elements of the cotangent are zero at a value, and none of those at a reader's output: that reader made them so.
    bool hasZero(ValueId forward) const {
        const auto it = m_joint.gradientOf.find(forward);
        const auto here = it == m_joint.gradientOf.end() ? Result<RuntimeValue>(runError("none")) : value(it->second);
        if (!here || !here->isTensor())
            return false;
        for (std::int64_t i = 0; i < here->tensor().elementCount(); ++i) {
            if (here->tensor().asDouble(i) == 0)
                return true;
        }
        return false;
    }
    std::vector<std::string> masksOfCotangent(const Node& node) const {
        std::set<std::string> masks;
        std::set<ValueId> seen;
        std::deque<ValueId> open(node.outputs.begin(), node.outputs.end());
        for (; !open.empty(); open.pop_front()) {
            if (!open.front() || !hasZero(open.front()))
                continue;
            for (const Node* reader : forwardReaders(open.front())) {
                const bool zeroBehind = std::any_of(reader->outputs.begin(), reader->outputs.end(), [&](ValueId output) { return output && hasZero(output); });
                if (!zeroBehind)
                    masks.insert(describe(*reader));
                for (const ValueId output : reader->outputs) {
                    if (zeroBehind && output && seen.insert(output).second)
                        open.push_back(output);
                }
            }
        }
        return {masks.begin(), masks.end()};
    }

    const JointGraph& m_joint;
    Stepper& m_stepper;
    const Graph& m_graph;
    const JobControl& m_job;
    std::shared_ptr<const Uses> m_uses;
};

} // namespace

Result<std::vector<Diagnostic>> gradientTrouble(
    const JointGraph& joint, const NamedValues& inputs, const NamedValues& results, const SessionOptions& options, const JobControl& job) {
    std::vector<std::pair<ValueId, Counts>> found;
    for (const ValueId wrt : joint.wrt) {
        const auto it = results.find(joint.graph.value(joint.gradientOf.at(wrt))->name);
        if (it == results.end() || !it->second.isTensor())
            continue;
        if (const Counts counts = notFinite(it->second.tensor()); !counts.none())
            found.emplace_back(wrt, counts);
    }
    std::vector<Diagnostic> warnings;
    if (found.empty())
        return warnings;
    NABLA_TRY(const auto stepper, Stepper::create(joint.graph, inputs, options));
    NABLA_CHECK(stepper->goTo(stepper->stepCount(), job));
    Traced traced(joint, *stepper, job);
    std::map<NodeId, std::size_t> firstAt; // node of birth -> its warning; later gradients are only counted
    std::map<NodeId, std::size_t> others;
    for (const auto& [wrt, counts] : found) {
        NABLA_TRY(Diagnostic each, traced.explain(wrt, counts));
        if (const auto [it, isNew] = firstAt.emplace(each.node, warnings.size()); !isNew && each.node)
            ++others[each.node];
        else
            warnings.push_back(std::move(each));
    }
    for (const auto& [node, count] : others)
        warnings[firstAt.at(node)].message += fmt::format(" (and {} more gradient{})", count, count == 1 ? "" : "s");
    return warnings;
}

} // namespace nabla::app

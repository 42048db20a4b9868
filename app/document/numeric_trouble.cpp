// Counting first, then experiments on single nodes.
#include "app/document/numeric_trouble.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/analysis/types.h"
#include "engine/autodiff/chain_rule.h"
#include "engine/tensor/element.h"
#include "engine/tensor/half_range.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

NotFinite countNotFinite(const Tensor& t) {
    NotFinite out;
    out.shape = t.shape();
    for (std::int64_t i = 0; i < t.elementCount(); ++i) {
        const double x = t.asDouble(i);
        if (std::isnan(x)) {
            out.firstNan = out.nan++ ? out.firstNan : i;
        } else if (std::isinf(x)) {
            out.firstInfinite = out.infinite++ ? out.firstInfinite : i;
        }
    }
    return out;
}

struct Finder {
    const Graph& graph;
    const ValueOf& valueOf;
    const std::function<bool(ValueId)>& knownFinite;
    TroubleReport report;
    std::unordered_map<ValueId, std::size_t> rows; // into report.values

    /// The row of a value that has trouble; null otherwise.
    const NotFinite* rowOf(ValueId value) const {
        const auto it = rows.find(value);
        return it == rows.end() ? nullptr : &report.values[it->second];
    }

    void look(ValueId value, const Node* producer) {
        if (!value || rows.contains(value) || (knownFinite && knownFinite(value)))
            return;
        const auto here = valueOf(value);
        if (!here || !here->isTensor() || !isFloat(here->tensor().dtype()))
            return;
        NotFinite row = countNotFinite(here->tensor());
        if (!row.nan && !row.infinite)
            return;
        row.value = value;
        bool nanRead = false, infinityRead = false;
        if (producer) {
            row.producer = producer->id;
            row.backward = static_cast<bool>(producer->gradientOf);
            const auto read = [&](const std::vector<ValueId>& values) {
                for (const ValueId each : values) {
                    const NotFinite* source = each ? rowOf(each) : nullptr;
                    nanRead |= source && source->nan > 0;
                    infinityRead |= source && source->infinite > 0;
                }
            };
            read(producer->inputs);
            read(producer->captures);
        }
        row.bornNan = row.nan > 0 && !nanRead;
        row.bornInfinite = row.infinite > 0 && !infinityRead;
        rows.emplace(value, report.values.size());
        report.values.push_back(row);
    }
};

} // namespace

const NotFinite* TroubleReport::firstNan() const {
    const auto it = std::find_if(values.begin(), values.end(), [](const NotFinite& v) { return v.nan > 0; });
    return it == values.end() ? nullptr : &*it;
}

const NotFinite* TroubleReport::firstInfinite() const {
    const auto it = std::find_if(values.begin(), values.end(), [](const NotFinite& v) { return v.infinite > 0; });
    return it == values.end() ? nullptr : &*it;
}

Result<TroubleReport> findTrouble(const Graph& graph, const std::vector<NodeId>& order, const ValueOf& valueOf, const JobControl& job,
    const std::function<bool(ValueId)>& knownFinite) {
    Finder finder{graph, valueOf, knownFinite, {}, {}};
    for (const ValueId input : graph.inputs())
        finder.look(input, nullptr);
    graph.forEachValue([&](const Value& value) {
        if (value.constant)
            finder.look(value.id, nullptr);
    });
    for (const NodeId id : order) {
        NABLA_CHECK(job.check());
        const Node& node = *graph.node(id);
        for (const ValueId output : node.outputs)
            finder.look(output, &node);
    }
    return std::move(finder.report);
}

namespace {

/// One node with its values, run again and again with some elements changed.
class Experiment {
public:
    using Place = WalkStep::Cause; // an element of an input

    static Result<Experiment> of(const Graph& graph, const Node& node, ValueId output, std::int64_t element, const ValueOf& valueOf, const JobControl& job) {
        Experiment e(job);
        std::set<ValueId> free;
        const auto collect = [&](const std::vector<ValueId>& values) -> Result<void> {
            for (const ValueId value : values) {
                if (!value || free.contains(value))
                    continue;
                NABLA_TRY(const RuntimeValue here, valueOf(value));
                if (here.isTensor() && isFloat(here.tensor().dtype())) {
                    free.insert(value);
                    e.m_order.push_back(value);
                }
            }
            return {};
        };
        NABLA_CHECK(collect(node.inputs));
        NABLA_CHECK(collect(node.captures));
        NABLA_TRY(e.m_node, cutOut(graph, node, valueOf, free));
        SessionOptions options;
        options.optimisedKernels = false;
        NABLA_TRY(e.m_session, Session::create(e.m_node.graph, options));
        e.m_output = e.m_node.nameOf(output);
        e.m_element = element;
        e.listPlaces();
        return e;
    }

    const std::vector<Place>& notFinite() const { return m_notFinite; }
    const std::vector<Place>& all() const { return m_all; }

    /// Places of the candidates that the output element depends on, at most `limit`, found by halving.
    Result<std::vector<Place>> influential(const std::vector<Place>& candidates, bool asNan, std::size_t limit) {
        NABLA_TRY(const double calm, run({}, asNan));
        std::vector<Place> found;
        NABLA_CHECK(halve(candidates, asNan, calm, limit, found));
        return found;
    }

private:
    explicit Experiment(const JobControl& job) : m_job(job) { }

    void listPlaces() {
        for (const ValueId value : m_order) {
            const Tensor& t = m_node.inputs.at(m_node.nameOf(value)).tensor();
            for (std::int64_t i = 0; i < t.elementCount(); ++i) {
                const Place place{value, i, t.asDouble(i)};
                m_all.push_back(place);
                if (!std::isfinite(place.number))
                    m_notFinite.push_back(place);
            }
        }
    }

    /// The output element when every element that is not finite is 1, except `places`, which are as they are. `asNan`: when every element
    /// is 1, except `places`, which are NaN.
    Result<double> run(std::span<const Place> places, bool asNan) {
        NamedValues inputs = m_node.inputs;
        std::map<ValueId, Tensor> changed;
        const auto writable = [&](ValueId value) -> Result<Tensor*> {
            const auto it = changed.find(value);
            if (it != changed.end())
                return &it->second;
            NABLA_TRY(Tensor copy, m_node.inputs.at(m_node.nameOf(value)).tensor().clone());
            return &changed.emplace(value, std::move(copy)).first->second;
        };
        for (const Place& place : asNan ? m_all : m_notFinite) {
            NABLA_TRY(Tensor* const t, writable(place.value));
            writeDouble(t->dtype(), t->mutableRaw(), place.element, 1);
        }
        for (const Place& place : places) {
            NABLA_TRY(Tensor* const t, writable(place.value));
            writeDouble(t->dtype(), t->mutableRaw(), place.element, asNan ? std::numeric_limits<double>::quiet_NaN() : place.number);
        }
        for (auto& [value, tensor] : changed)
            inputs[m_node.nameOf(value)] = RuntimeValue(std::move(tensor));
        NABLA_TRY(const NamedValues results, m_session->run(inputs, m_job));
        const Tensor& y = results.at(m_output).tensor();
        if (m_element >= y.elementCount())
            return runError("the shape of the result depends on the elements that are not finite");
        return y.asDouble(m_element);
    }

    Result<void> halve(std::span<const Place> candidates, bool asNan, double calm, std::size_t limit, std::vector<Place>& found) {
        if (candidates.empty() || found.size() >= limit)
            return {};
        NABLA_TRY(const double here, run(candidates, asNan));
        const bool same = here == calm || (std::isnan(here) && std::isnan(calm));
        if (same)
            return {};
        if (candidates.size() == 1) {
            found.push_back(candidates[0]);
            return {};
        }
        const std::size_t middle = candidates.size() / 2, before = found.size();
        NABLA_CHECK(halve(candidates.first(middle), asNan, calm, limit, found));
        NABLA_CHECK(halve(candidates.subspan(middle), asNan, calm, limit, found));
        // Neither half alone changes it (two infinities that cancel): then they do it together.
        if (found.size() == before)
            found.insert(found.end(), candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), limit - before)));
        return {};
    }

    JobControl m_job;
    LocalNode m_node;
    std::unique_ptr<Session> m_session;
    std::vector<ValueId> m_order;
    std::string m_output;
    std::int64_t m_element = 0;
    std::vector<Place> m_notFinite, m_all;
};

Result<WalkStep> explainElement(const Graph& graph, ValueId value, std::int64_t element, const ValueOf& valueOf, const JobControl& job) {
    WalkStep step;
    step.value = value;
    step.element = element;
    NABLA_TRY(const RuntimeValue here, valueOf(value));
    step.number = here.tensor().asDouble(element);
    const Node* node = graph.producer(value);
    if (!node)
        return step;
    step.producer = node->id;
    NABLA_TRY(Experiment experiment, Experiment::of(graph, *node, value, element, valueOf, job));
    if (!experiment.notFinite().empty()) {
        NABLA_TRY(step.causes, experiment.influential(experiment.notFinite(), false, kWalkCauses + 1));
    }
    if (step.causes.empty()) {
        step.bornHere = true;
        NABLA_TRY(step.causes, experiment.influential(experiment.all(), true, kWalkCauses + 1));
    }
    step.more = step.causes.size() > kWalkCauses;
    step.causes.resize(std::min(step.causes.size(), kWalkCauses));
    return step;
}

} // namespace

Result<std::vector<WalkStep>> walkBack(const Graph& graph, ValueId value, std::int64_t element, const ValueOf& valueOf, const JobControl& job) {
    std::vector<WalkStep> walk;
    for (;;) {
        NABLA_CHECK(job.check());
        NABLA_TRY(WalkStep step, explainElement(graph, value, element, valueOf, job));
        walk.push_back(step);
        if (!step.producer || step.bornHere || step.causes.empty())
            return walk;
        value = step.causes.front().value;
        element = step.causes.front().element;
    }
}

namespace {

std::string numberText(double x) { return std::isnan(x) ? "NaN" : std::isinf(x) ? (x > 0 ? "+inf" : "-inf") : fmt::format("{:.6g}", x); }

std::string makerText(const Graph& graph, NodeId producer, ValueId value) {
    if (!producer)
        return graph.constant(value) ? "a weight" : "a graph input";
    return describe(*graph.node(producer));
}

} // namespace

std::string troubleText(const Graph& graph, const TroubleReport& report) {
    if (report.values.empty())
        return "every value is finite\n";
    std::string out;
    std::size_t carriers = 0;
    for (const NotFinite& v : report.values) {
        if (!v.bornNan && !v.bornInfinite) {
            ++carriers;
            continue;
        }
        const bool nan = v.bornNan;
        out += fmt::format("{} {} {}{}, value \"{}\": {} element{}, first {}\n", nan ? "NaN" : "infinity", v.producer ? "is born in" : "comes in by",
            makerText(graph, v.producer, v.value), v.backward ? " (backward)" : "", graph.value(v.value)->name, nan ? v.nan : v.infinite,
            (nan ? v.nan : v.infinite) == 1 ? "" : "s", elementText(nan ? v.firstNan : v.firstInfinite, v.shape));
    }
    if (carriers)
        out += fmt::format("{} more value{} only carr{} it on\n", carriers, carriers == 1 ? "" : "s", carriers == 1 ? "ies" : "y");
    return out;
}

std::string walkText(const Graph& graph, const std::vector<WalkStep>& walk, const ValueOf& valueOf) {
    const auto place = [&](ValueId value, std::int64_t element, double number) {
        const auto here = valueOf(value);
        const std::string at = here && here->isTensor() ? elementText(element, here->tensor().shape()) : fmt::format("[{}]", element);
        return fmt::format("{}{} = {}", graph.value(value)->name, at, numberText(number));
    };
    std::string out;
    for (const WalkStep& step : walk) {
        out += fmt::format("{}  from {}{}\n", place(step.value, step.element, step.number), makerText(graph, step.producer, step.value),
            step.bornHere ? ", which read finite elements only" : "");
        for (const WalkStep::Cause& cause : step.causes)
            out += fmt::format("    {}\n", place(cause.value, cause.element, cause.number));
        if (step.more)
            out += "    and more\n";
    }
    return out;
}

Result<std::vector<PrecisionLoss>> precisionLoss(const Graph& graph, const NamedValues& inputs, const JobControl& job) {
    SessionOptions here, inDouble = referenceInDouble();
    here.optimisedKernels = false;
    const auto typeMap = types(graph);
    std::vector<const Value*> values;
    for (const NodeId id : topologicalOrder(graph)->order) {
        for (const ValueId output : graph.node(id)->outputs) {
            const DType type = output ? typeMap->of(output).elementType : DType::Undefined;
            if (type == DType::Float16 || type == DType::BFloat16)
                values.push_back(graph.value(output));
        }
    }
    for (const Value* value : values)
        here.extraOutputs.push_back(value->name);
    inDouble.extraOutputs = here.extraOutputs;
    NABLA_TRY(const auto narrow, Session::create(graph, here));
    NABLA_TRY(const auto wide, Session::create(graph, inDouble));
    NABLA_TRY(const NamedValues got, narrow->run(inputs, job));
    NABLA_TRY(const NamedValues wanted, wide->run(inputs, job));
    std::vector<PrecisionLoss> out;
    for (const Value* value : values) {
        const Tensor &a = got.at(value->name).tensor(), &b = wanted.at(value->name).tensor();
        const HalfRange range = halfRange(a.dtype()).value_or(HalfRange{});
        PrecisionLoss loss{.value = value->id, .count = a.elementCount()};
        double scale = 0, worst = 0;
        for (std::int64_t i = 0; i < a.elementCount() && i < b.elementCount(); ++i) {
            const double x = a.asDouble(i), exact = b.asDouble(i);
            if (std::isfinite(exact) && std::fabs(x) >= range.largest)
                ++loss.saturated;
            if (exact != 0 && x == 0)
                ++loss.underflowed;
            if (x != 0 && std::fabs(x) < range.smallestNormal)
                ++loss.subnormal;
            if (std::isfinite(exact) && std::isfinite(x)) {
                scale = std::max(scale, std::fabs(exact));
                worst = std::max(worst, std::fabs(x - exact));
            }
        }
        loss.largestRelative = scale > 0 ? worst / scale : 0;
        out.push_back(loss);
    }
    return out;
}

} // namespace nabla::app

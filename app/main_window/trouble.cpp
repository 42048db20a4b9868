// The stepper executes a legalized graph; its nodes and values are named by those of the graph that is shown.
#include "app/main_window/trouble.h"

#include <algorithm>
#include <cmath>

#include "app/document/numeric_trouble.h"

namespace nabla::app {

using namespace nabla::engine;
using views::ElementPlace;
using views::NumericTrouble;
using views::TroubleStop;

namespace {

ValueOf valuesOf(Stepper& stepper) {
    return [&stepper](ValueId id) -> Result<RuntimeValue> {
        if (stepper.available(id))
            return stepper.value(id);
        if (const TensorPtr constant = stepper.graph().constant(id))
            return RuntimeValue(*constant);
        const Value* value = stepper.graph().value(id);
        return runError("\"{}\" has not been computed yet", value ? value->name : "?");
    };
}

const Value* named(const Graph& graph, const std::string& name) {
    const Value* out = nullptr;
    graph.forEachValue([&](const Value& value) { out = !out && value.name == name ? &value : out; });
    return out;
}

/// From the executed graph to the shown one: by id, else by origin and name.
struct Translation {
    const Graph& executed;
    const Graph& shown;

    NodeId node(NodeId id) const {
        if (!id || shown.node(id))
            return id;
        for (const NodeId origin : executed.node(id)->origins) {
            if (shown.node(origin))
                return origin;
        }
        return {};
    }
    ValueId value(ValueId id) const {
        const Value* there = executed.value(id);
        if (!there || shown.value(id))
            return id;
        const Value* other = named(shown, there->name);
        return other ? other->id : id;
    }
    ElementPlace place(ValueId id, std::int64_t element, double number, const Shape& shape) const {
        const Value* made = executed.value(id);
        return {value(id), made ? node(made->producer) : NodeId{}, element, number, shape};
    }
};

bool bornAt(const WalkStep& step) {
    const bool nan = std::isnan(step.number);
    return std::none_of(step.causes.begin(), step.causes.end(), [nan](const WalkStep::Cause& c) { return nan ? std::isnan(c.number) : !std::isfinite(c.number); });
}

/// Of `value`, or the first one of the report.
struct Start {
    ValueId value;
    std::int64_t element = -1;
};

Start startOf(const views::Selection& selection, const NumericTrouble& trouble, Stepper& stepper, const ValueOf& valueOf) {
    const Start first{trouble.first.value, trouble.first.element};
    if (!stepper.graph().value(selection.value))
        return first;
    const auto here = valueOf(selection.value);
    if (!here || !here->isTensor() || !isFloat(here->tensor().dtype()))
        return first;
    const Tensor& t = here->tensor();
    if (selection.element >= 0 && selection.element < t.elementCount() && !std::isfinite(t.asDouble(selection.element)))
        return {selection.value, selection.element};
    std::int64_t infinite = -1;
    for (std::int64_t i = 0; i < t.elementCount(); ++i) {
        const double x = t.asDouble(i);
        if (std::isnan(x))
            return {selection.value, i};
        if (std::isinf(x) && infinite < 0)
            infinite = i;
    }
    // A value with infinities alone is no way to a NaN elsewhere.
    return infinite >= 0 && !std::isnan(trouble.first.number) ? Start{selection.value, infinite} : first;
}

} // namespace

Result<std::shared_ptr<const NumericTrouble>> troubleOf(
    Stepper& stepper, const Graph& shown, const std::unordered_map<ValueId, views::ValueStats>& stats, FiniteValues& finite, const JobControl& job) {
    const Graph& graph = stepper.graph();
    const ValueOf valueOf = valuesOf(stepper);
    std::vector<NodeId> order;
    for (std::size_t i = 0; i < stepper.position(); ++i)
        order.push_back(stepper.nodeAt(i));
    std::vector<ValueId> looked;
    const auto knownFinite = [&](ValueId id) {
        if (const auto it = stats.find(id); it != stats.end())
            return it->second.nan == 0 && it->second.inf == 0;
        if (finite.contains(id))
            return true;
        looked.push_back(id);
        return false;
    };
    NABLA_TRY(const TroubleReport report, findTrouble(graph, order, valueOf, job, knownFinite));
    finite.insert(looked.begin(), looked.end());
    for (const NotFinite& each : report.values)
        finite.erase(each.value);
    const NotFinite* worst = report.firstNan() ? report.firstNan() : report.firstInfinite();
    if (!worst)
        return std::shared_ptr<const NumericTrouble>();
    // Infinities of a mask are meant: the first one that a node made says more than those that came in.
    if (!worst->nan) {
        const auto made = std::find_if(report.values.begin(), report.values.end(), [](const NotFinite& v) { return v.bornInfinite && v.producer; });
        worst = made == report.values.end() ? worst : &*made;
    }
    const std::int64_t element = worst->nan ? worst->firstNan : worst->firstInfinite;
    NABLA_TRY(const RuntimeValue value, valueOf(worst->value));
    auto out = std::make_shared<NumericTrouble>();
    out->first = Translation{graph, shown}.place(worst->value, element, value.tensor().asDouble(element), worst->shape);
    out->count = worst->nan ? worst->nan : worst->infinite;
    out->values = report.values.size();
    out->backward = worst->backward;
    out->born = worst->producer && (worst->nan ? worst->bornNan : worst->bornInfinite);
    return std::shared_ptr<const NumericTrouble>(std::move(out));
}

Result<NumericTrouble> walked(NumericTrouble trouble, Stepper& stepper, const Graph& shown, const views::Selection& selection, const JobControl& job) {
    const Graph& graph = stepper.graph();
    const ValueOf valueOf = valuesOf(stepper);
    Start start = startOf(selection, trouble, stepper, valueOf);
    if (!graph.value(start.value)) { // legalization has made another value of this name
        const Value* other = shown.value(start.value) ? named(graph, shown.value(start.value)->name) : nullptr;
        if (!other)
            return runError("the value is not in the graph that is executed");
        start.value = other->id;
    }
    NABLA_TRY(const std::vector<WalkStep> walk, walkBack(graph, start.value, start.element, valueOf, job));
    const Translation to{graph, shown};
    const auto place = [&](ValueId value, std::int64_t element, double number) -> Result<ElementPlace> {
        NABLA_TRY(const RuntimeValue here, valueOf(value));
        return to.place(value, element, number, here.tensor().shape());
    };
    trouble.walk.clear();
    trouble.error.clear();
    std::optional<std::size_t> birth;
    for (const WalkStep& step : walk) {
        TroubleStop stop;
        NABLA_TRY(stop.at, place(step.value, step.element, step.number));
        for (const WalkStep::Cause& cause : step.causes) {
            NABLA_TRY(ElementPlace at, place(cause.value, cause.element, cause.number));
            stop.causes.push_back(std::move(at));
        }
        stop.more = step.more;
        stop.born = bornAt(step);
        if (stop.born && !birth)
            birth = trouble.walk.size();
        trouble.walk.push_back(std::move(stop));
    }
    trouble.birth = birth.value_or(trouble.walk.size() - 1);
    return trouble;
}

} // namespace nabla::app

// Local derivatives are one column of a node's Jacobian: the gradient of the node's gradient with respect to its cotangent, which is
// exact because a cotangent enters linearly (the "double vjp" of forward mode, as in Theano's Rop).
#include "app/document/explain_element.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/autodiff/formulas.h"
#include "engine/graph/dead_nodes.h"
#include "engine/graph/graph_editor.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

bool isBackward(const Node& node) { return node.gradientOf || (node.createdBy && node.createdBy->starts_with("grad/")); }

Result<Tensor> oneHot(const Shape& shape, std::int64_t element) {
    NABLA_TRY(Tensor t, Tensor::make(DType::Float64, shape));
    t.mutableData<double>()[static_cast<std::size_t>(element)] = 1;
    return t;
}

/// dy[j]/dx[element] for every output that `upstream` has, by the rules.
Result<NamedValues> localByRules(const LocalNode& node, ValueId x, std::int64_t element, const std::map<ValueId, Tensor>& upstream, const JobControl& job) {
    GradOptions first{.of = {}, .wrt = {node.local.at(x)}, .cotangents = GradOptions::Cotangents::Inputs, .job = job};
    for (const auto& [output, cotangent] : upstream)
        first.of.push_back(node.local.at(output));
    NABLA_TRY(const JointGraph back, grad(node.graph, first));
    GradOptions second{.of = {back.gradientOf.at(node.local.at(x))}, .wrt = {}, .cotangents = GradOptions::Cotangents::Inputs, .job = job};
    NamedValues inputs = node.inputs;
    for (const auto& [output, cotangent] : upstream) {
        const ValueId extra = back.cotangentInput.at(node.local.at(output));
        second.wrt.push_back(extra);
        inputs[back.graph.value(extra)->name] = RuntimeValue(cotangent);
    }
    NABLA_TRY(const JointGraph twice, grad(back.graph, second));
    NABLA_TRY(Tensor direction, oneHot(node.inputs.at(node.nameOf(x)).tensor().shape(), element));
    inputs[twice.graph.value(twice.cotangentInput.at(second.of.front()))->name] = RuntimeValue(std::move(direction));
    NABLA_TRY(const auto session, Session::create(twice.graph, referenceInDouble()));
    NABLA_TRY(const NamedValues results, session->run(inputs, job));
    NamedValues local;
    std::size_t k = 0;
    for (const auto& [output, cotangent] : upstream)
        local[node.nameOf(output)] = results.at(twice.graph.value(twice.gradientOf.at(second.wrt[k++]))->name);
    return local;
}

/// A copy in double with one element moved.
Result<Tensor> moved(const Tensor& base, std::int64_t element, double by) {
    NABLA_TRY(Tensor t, Tensor::make(DType::Float64, base.shape()));
    auto out = t.mutableData<double>();
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = base.asDouble(static_cast<std::int64_t>(i));
    out[static_cast<std::size_t>(element)] += by;
    return t;
}

double stepAt(double x) { return 1e-5 * std::max(1e-2, std::fabs(x)); }

/// The same by two runs of the node.
Result<NamedValues> localByDifferences(const LocalNode& node, ValueId x, std::int64_t element, const JobControl& job) {
    const Tensor base = node.inputs.at(node.nameOf(x)).tensor();
    const double h = stepAt(base.asDouble(element));
    NABLA_TRY(const auto session, Session::create(node.graph, referenceInDouble()));
    const auto at = [&](double by) -> Result<NamedValues> {
        NamedValues inputs = node.inputs;
        NABLA_TRY(Tensor there, moved(base, element, by));
        inputs[node.nameOf(x)] = RuntimeValue(std::move(there));
        return session->run(inputs, job);
    };
    NABLA_TRY(const NamedValues up, at(h));
    NABLA_TRY(NamedValues down, at(-h));
    for (auto& [name, value] : down) {
        if (!value.isTensor())
            continue;
        NABLA_TRY(Tensor slope, Tensor::make(DType::Float64, value.tensor().shape()));
        auto out = slope.mutableData<double>();
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = (up.at(name).tensor().asDouble(static_cast<std::int64_t>(i)) - value.tensor().asDouble(static_cast<std::int64_t>(i))) / (2 * h);
        value = RuntimeValue(std::move(slope));
    }
    return down;
}

void addTerms(ChainPath& path, ValueId output, const Tensor& upstream, const Tensor& local) {
    for (std::int64_t j = 0; j < local.elementCount(); ++j) {
        const double slope = local.asDouble(j);
        if (slope == 0)
            continue;
        path.terms.push_back({output, j, upstream.asDouble(j), slope});
        path.share += path.terms.back().product();
    }
}

void keepLargest(ChainPath& path) {
    path.termCount = static_cast<std::int64_t>(path.terms.size());
    const auto larger = [](const ChainTerm& a, const ChainTerm& b) {
        const double left = std::fabs(a.product()), right = std::fabs(b.product());
        return left != right ? left > right : std::pair(a.output, a.index) < std::pair(b.output, b.index);
    };
    const std::size_t kept = std::min(path.terms.size(), kChainTerms);
    std::partial_sort(path.terms.begin(), path.terms.begin() + static_cast<std::ptrdiff_t>(kept), path.terms.end(), larger);
    path.terms.resize(kept);
}

struct Explainer {
    const JointGraph& joint;
    const ValueOf& valueOf;
    const JobControl& job;

    /// The cotangents of the node's outputs that there are.
    Result<std::map<ValueId, Tensor>> arriving(const Node& node) const {
        std::map<ValueId, Tensor> upstream;
        for (const ValueId output : node.outputs) {
            const auto it = output ? joint.gradientOf.find(output) : joint.gradientOf.end();
            if (it == joint.gradientOf.end())
                continue;
            NABLA_TRY(const RuntimeValue value, valueOf(it->second));
            if (value.isTensor())
                upstream.emplace(output, value.tensor());
        }
        return upstream;
    }

    std::string cutReason(const Node& node) const {
        for (const Diagnostic& note : joint.notes) {
            if (note.node == node.id)
                return note.message;
        }
        return "nothing that is differentiated depends on it";
    }

    Result<ChainPath> path(const Node& node, ValueId value, std::int64_t element) const {
        ChainPath path;
        path.reader = node.id;
        path.rule = gradientFormula(node, value);
        NABLA_TRY(const auto upstream, arriving(node));
        if (upstream.empty()) {
            path.cut = cutReason(node);
            return path;
        }
        NABLA_TRY(const LocalNode alone, cutOut(joint.graph, node, valueOf, {value}));
        auto local = localByRules(alone, value, element, upstream, job);
        if (!local) {
            if (local.error().kind() == ErrorKind::Cancelled)
                return local.error();
            local = localByDifferences(alone, value, element, job);
            path.measured = true;
        }
        if (!local)
            return local.error();
        for (const auto& [output, cotangent] : upstream)
            addTerms(path, output, cotangent, local->at(alone.nameOf(output)).tensor());
        keepLargest(path);
        return path;
    }
};

} // namespace

Result<ChainRule> chainRule(const JointGraph& joint, ValueId value, std::int64_t element, const ValueOf& valueOf, const JobControl& job) {
    const Value* v = joint.graph.value(value);
    if (!v || !joint.gradientOf.contains(value))
        return usageError("\"{}\" has no gradient in this graph", v ? v->name : "?");
    NABLA_TRY(const RuntimeValue at, valueOf(value));
    ChainRule out;
    out.value = value;
    out.element = element;
    out.shape = at.tensor().shape();
    if (element < 0 || element >= at.tensor().elementCount())
        return usageError("\"{}\" has {} elements, none with number {}", v->name, at.tensor().elementCount(), element);
    out.x = at.tensor().asDouble(element);
    if (const auto seed = joint.seedOf.find(value); seed != joint.seedOf.end()) {
        NABLA_TRY(const RuntimeValue cotangent, valueOf(seed->second));
        out.seed = cotangent.tensor().asDouble(element);
        out.total = *out.seed;
    }
    const Explainer explainer{joint, valueOf, job};
    for (const NodeId id : uses(joint.graph)->of(value)) {
        const Node& node = *joint.graph.node(id);
        if (isBackward(node))
            continue;
        NABLA_TRY(ChainPath path, explainer.path(node, value, element));
        out.total += path.share;
        out.paths.push_back(std::move(path));
    }
    if (const auto gradient = valueOf(joint.gradientOf.at(value)); gradient && gradient->isTensor())
        out.gradient = gradient->tensor().asDouble(element);
    return out;
}

namespace {

/// The forward part of a joint graph in which `value` is an input.
struct Opened {
    Graph graph;
    std::string name;
};
Opened openAt(const JointGraph& joint, ValueId value, const std::vector<ValueId>& of) {
    GraphEditor editor(joint.graph);
    editor.setOutputs(of);
    const Value v = *joint.graph.value(value);
    const std::span<const ValueId> inputs = joint.graph.inputs();
    if (std::find(inputs.begin(), inputs.end(), value) != inputs.end()) {
        removeUnneeded(editor);
        return {editor.finish(), v.name};
    }
    const ValueId opened = editor.addInput(v.name + ":moved", v.declared);
    const std::string name = editor.graph().value(opened)->name;
    for (const NodeId reader : std::vector<NodeId>(editor.consumers(value))) {
        Node node = *editor.graph().node(reader);
        std::replace(node.inputs.begin(), node.inputs.end(), value, opened);
        std::replace(node.captures.begin(), node.captures.end(), value, opened);
        editor.replaceNode(std::move(node));
    }
    removeUnneeded(editor);
    return {editor.finish(), name};
}

} // namespace

Result<ElementCheck> checkElement(const JointGraph& joint, const NamedValues& inputs, ValueId value, std::int64_t element, const JobControl& job) {
    const std::string& name = joint.graph.value(value)->name;
    const std::string& gradient = joint.graph.value(joint.gradientOf.at(value))->name;
    SessionOptions options = referenceInDouble();
    options.extraOutputs = {name, gradient};
    for (const auto& [output, seed] : joint.seedOf)
        options.extraOutputs.push_back(joint.graph.value(seed)->name);
    NABLA_TRY(const auto whole, Session::create(joint.graph, options));
    NABLA_TRY(const NamedValues results, whole->run(inputs, job));
    ElementCheck out;
    out.reference = results.at(gradient).tensor().asDouble(element);
    const Tensor base = results.at(name).tensor();
    out.step = stepAt(base.asDouble(element));

    std::vector<ValueId> of;
    for (const auto& [output, seed] : joint.seedOf)
        of.push_back(output);
    const Opened opened = openAt(joint, value, of);
    NABLA_TRY(const auto session, Session::create(opened.graph, referenceInDouble()));
    const auto loss = [&](double by) -> Result<double> {
        NamedValues at;
        for (const ValueId input : opened.graph.inputs()) {
            if (const auto it = inputs.find(opened.graph.value(input)->name); it != inputs.end())
                at[it->first] = it->second;
        }
        NABLA_TRY(Tensor there, moved(base, element, by));
        at[opened.name] = RuntimeValue(std::move(there));
        NABLA_TRY(const NamedValues outputs, session->run(at, job));
        double sum = 0;
        for (const auto& [output, seed] : joint.seedOf) {
            // A differentiated value that is the moved one itself enters with its own weight.
            const Tensor y = output == value ? at[opened.name].tensor() : outputs.at(opened.graph.value(output)->name).tensor();
            const Tensor weight = results.at(joint.graph.value(seed)->name).tensor();
            for (std::int64_t i = 0; i < y.elementCount(); ++i)
                sum += y.asDouble(i) * weight.asDouble(i);
        }
        return sum;
    };
    NABLA_TRY(const double up, loss(out.step));
    NABLA_TRY(const double down, loss(-out.step));
    out.central = (up - down) / (2 * out.step);
    return out;
}

ValueId forwardOf(const JointGraph& joint, ValueId cotangent) {
    for (const auto& [forward, back] : joint.gradientOf) {
        if (back == cotangent)
            return forward;
    }
    return {};
}

Result<std::optional<Curve>> curveOf(const Graph& graph, const Node& node, double from, double to, const JobControl& job) {
    constexpr std::int64_t kPoints = 161;
    if (!isElementwiseFunction(node))
        return std::optional<Curve>{};
    Curve curve;
    NABLA_TRY(Tensor line, Tensor::make(DType::Float64, {kPoints}));
    for (std::int64_t i = 0; i < kPoints; ++i)
        line.mutableData<double>()[static_cast<std::size_t>(i)] = from + (to - from) * static_cast<double>(i) / (kPoints - 1);
    const ValueId x = node.input(0);
    const ValueOf valueOf = [&](ValueId id) -> Result<RuntimeValue> {
        if (id == x)
            return RuntimeValue(line);
        if (const TensorPtr constant = graph.constant(id))
            return RuntimeValue(*constant);
        return runError("\"{}\" is not constant", graph.value(id)->name);
    };
    NABLA_TRY(const LocalNode alone, cutOut(graph, node, valueOf, {x}));
    GradOptions options{.of = {alone.graph.outputs()[0]}, .wrt = {alone.local.at(x)}, .cotangents = GradOptions::Cotangents::Ones, .job = job};
    NABLA_TRY(const JointGraph joint, grad(alone.graph, options));
    NABLA_TRY(const auto session, Session::create(joint.graph, referenceInDouble()));
    NABLA_TRY(const NamedValues results, session->run(alone.inputs, job));
    const Tensor y = results.at(alone.nameOf(node.output(0))).tensor();
    const Tensor slope = results.at(joint.graph.value(joint.gradientOf.at(options.wrt[0]))->name).tensor();
    for (std::int64_t i = 0; i < kPoints; ++i) {
        curve.x.push_back(line.asDouble(i));
        curve.y.push_back(y.asDouble(i));
        curve.slope.push_back(slope.asDouble(i));
    }
    return std::optional<Curve>(std::move(curve));
}

} // namespace nabla::app

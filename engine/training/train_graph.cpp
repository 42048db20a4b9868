// Loss nodes, weights as inputs, the sweep of grad(), then the optimizer's nodes and the state's names.
#include "engine/training/train_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/analysis/topology.h"
#include "engine/analysis/types.h"
#include "engine/autodiff/grad.h"
#include "engine/graph/dead_nodes.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

std::unordered_map<std::string, ValueId> idsByName(const Graph& graph) {
    std::unordered_map<std::string, ValueId> ids;
    graph.forEachValue([&](const Value& value) { ids.emplace(value.name, value.id); });
    return ids;
}

bool isFloatTensor(const ValueType& type) { return type.isTensor() && isDifferentiable(type.elementType); }

/// One element for certain, or perhaps: a shape that is not known is judged when it runs.
bool mayBeScalar(const ValueType& type) {
    if (!type.shape)
        return true;
    return std::all_of(type.shape->begin(), type.shape->end(), [](const Dim& dim) { return dim.constant().value_or(1) == 1; });
}
bool isScalar(const ValueType& type) {
    const auto shape = type.concreteShape();
    return shape && elementCount(*shape) == 1;
}

Result<ValueId> outputFor(const Graph& graph, const LossSpec& spec) {
    const auto typeMap = types(graph);
    if (!spec.output.empty()) {
        const auto ids = idsByName(graph);
        const auto it = ids.find(spec.output);
        if (it == ids.end())
            return usageError("the model has no value \"{}\" for the loss", spec.output);
        return it->second;
    }
    std::vector<ValueId> fits;
    std::vector<std::string> names;
    for (const ValueId id : graph.outputs()) {
        const ValueType& type = typeMap->of(id);
        names.push_back(fmt::format("\"{}\" {}", graph.value(id)->name, type.text()));
        if (!isFloatTensor(type))
            continue;
        if (spec.kind != LossSpec::Kind::Output)
            return id;
        if (graph.value(id)->name == "loss" && mayBeScalar(type))
            return id;
        if (isScalar(type))
            fits.push_back(id);
    }
    if (fits.size() == 1)
        return fits.front();
    return usageError("which output is the loss? {} of {} have one element; name one, or ask for cross-entropy or mse", fits.size(), fmt::join(names, ", "));
}

/// Adds the loss and gives its value; the target becomes a graph input.
Result<ValueId> addLoss(GraphEditor& editor, const LossSpec& spec, ValueId output) {
    const ValueType type = types(editor.graph())->of(output);
    const std::string& name = editor.graph().value(output)->name;
    if (!isFloatTensor(type))
        return usageError("the loss needs a float tensor, \"{}\" is {}", name, type.text());
    if (spec.kind == LossSpec::Kind::Output) {
        if (!mayBeScalar(type))
            return usageError("the loss must have one element, \"{}\" is {}", name, type.text());
        return output;
    }
    if (idsByName(editor.graph()).contains(spec.target))
        return usageError("the model has a value \"{}\" already: give the target another name", spec.target);
    if (spec.kind == LossSpec::Kind::MeanSquare) {
        NodeWriter w(editor, "loss/mse");
        const ValueId target = editor.addInput(spec.target, type);
        const ValueId difference = w.sub(output, target);
        return w.op("ReduceMean", {w.mul(difference, difference)}, {{"keepdims", std::int64_t{0}}}, "loss");
    }
    if (!type.shape || type.shape->size() < 2)
        return usageError("cross-entropy needs scores of a known rank of 2 or more, \"{}\" is {}", name, type.text());
    NABLA_TRY(const std::int64_t axis, normalizeAxis(spec.classAxis, type.shape->size(), "class axis"));
    NodeWriter w(editor, "loss/cross-entropy");
    SymbolicShape labels = *type.shape;
    labels.erase(labels.begin() + axis);
    const ValueId target = editor.addInput(spec.target, ValueType::tensor(DType::Int64, labels));
    ValueId scores = output;
    if (axis != 1) {
        std::vector<std::int64_t> order;
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(type.shape->size()); ++i) {
            if (i != axis)
                order.push_back(i);
        }
        order.insert(order.begin() + 1, axis);
        scores = w.op("Transpose", {output}, {{"perm", order}});
    }
    return w.op("SoftmaxCrossEntropyLoss", {scores, target}, {{"reduction", std::string("mean")}}, "loss");
}

/// BatchNormalization and Dropout of the main graph in training form.
void switchLayers(GraphEditor& editor) {
    std::vector<Node> changed;
    editor.graph().forEachNode([&](const Node& node) {
        if (node.is("BatchNormalization") || node.is("Dropout"))
            changed.push_back(node);
    });
    ValueId yes;
    for (Node& node : changed) {
        if (node.is("BatchNormalization")) {
            std::erase_if(node.attributes, [](const Attribute& a) { return a.name == "training_mode"; });
            node.attributes.push_back({"training_mode", std::int64_t{1}});
        } else {
            if (!yes)
                yes = editor.addInitializer("train:dropout", std::make_shared<const Tensor>(Tensor::scalar(true)));
            node.inputs.resize(3);
            node.inputs[2] = yes;
        }
        editor.replaceNode(std::move(node));
    }
}

/// The axis of a weight along which the units lie that it feeds. Conv and Gemm with transB keep them first, matrix products last; elsewhere
/// the first axis.
std::int64_t unitAxisOf(const Graph& graph, ValueId weight, std::size_t rank) {
    if (rank < 2)
        return 0;
    const auto last = static_cast<std::int64_t>(rank) - 1;
    for (const NodeId id : uses(graph)->of(weight)) {
        const Node& node = *graph.node(id);
        if (node.is("MatMul") && node.input(1) == weight)
            return last;
        if (node.is("Gemm") && node.input(1) == weight)
            return node.intAttribute("transB", 0) != 0 ? 0 : 1;
        if (node.is("ConvTranspose") && node.input(1) == weight)
            return 1;
        if (node.is("LSTM") || node.is("GRU") || node.is("RNN"))
            return 1;
    }
    return 0;
}

class Builder {
public:
    Builder(const Graph& forward, const TrainGraphOptions& options) : m_options(options), m_forward(forward) { }

    Result<TrainGraph> build() {
        NABLA_CHECK(check(m_options.optimizer));
        NABLA_CHECK(check(m_options.schedule));
        NABLA_CHECK(check(m_options.clip));
        NABLA_CHECK(writeForward());
        NABLA_CHECK(chooseParameters());
        NABLA_CHECK(differentiate());
        NABLA_CHECK(freeInputs());
        NABLA_CHECK(writeOptimizer());
        return std::move(m_out);
    }

private:
    Result<void> writeForward() {
        NABLA_TRY(const ValueId output, outputFor(m_forward, m_options.loss));
        GraphEditor editor(m_forward);
        NABLA_TRY(m_loss, addLoss(editor, m_options.loss, output));
        if (m_options.layers == LayerMode::Training)
            switchLayers(editor);
        NABLA_CHECK(findRunningStatistics(editor));
        std::vector<ValueId> outputs = {m_loss};
        for (const auto& [from, to] : m_running)
            outputs.push_back(to);
        editor.setOutputs(std::move(outputs));
        removeUnneeded(editor);
        const std::vector<ValueId> inputs(editor.graph().inputs().begin(), editor.graph().inputs().end());
        for (const ValueId id : inputs) { // a label that only another loss reads
            if (editor.consumers(id).empty() && !editor.isOutput(id))
                editor.removeValue(id);
        }
        m_forward = editor.finish();
        return {};
    }

    /// Inputs 3 and 4 of BatchNormalization in training form, and the outputs that follow them up. In ONNX the running variance takes in the
    /// batch's population variance, in PyTorch the one with n - 1.
    Result<void> findRunningStatistics(GraphEditor& editor) {
        std::vector<Node> nodes;
        editor.graph().forEachNode([&](const Node& node) {
            if (node.is("BatchNormalization"))
                nodes.push_back(node);
        });
        for (const Node& node : nodes) {
            for (const std::size_t i : {3U, 4U}) {
                m_statistics.insert(node.input(i));
                if (node.intAttribute("training_mode", 0) == 0 || !editor.graph().value(node.input(i))->constant)
                    continue;
                const std::size_t at = i - 2; // outputs running_mean, running_var
                while (editor.graph().node(node.id)->outputs.size() <= at)
                    editor.appendOutput(node.id, fmt::format("{}.running_{}", node.name.empty() ? node.opType : node.name, i));
                const ValueId next = editor.graph().node(node.id)->output(at);
                if (!next)
                    return runError("{}: wants a running variance but no running mean", describe(node));
                if (!m_running.emplace(node.input(i), next).second)
                    return runError("{}: shares its running statistics \"{}\" with another node", describe(node), editor.graph().value(node.input(i))->name);
            }
        }
        return {};
    }

    Result<void> chooseParameters() {
        const auto ids = idsByName(m_forward);
        for (const auto* list : {&m_options.parameters, &m_options.frozen}) {
            for (const std::string& name : *list) {
                const auto it = ids.find(name);
                const TensorPtr tensor = it == ids.end() ? nullptr : m_forward.value(it->second)->constant;
                if (!tensor || !isDifferentiable(tensor->dtype()))
                    return usageError("\"{}\" is no float weight that the loss needs", name);
                if (list == &m_options.parameters)
                    m_parameters.push_back(it->second);
            }
        }
        const std::set<std::string> frozen(m_options.frozen.begin(), m_options.frozen.end());
        if (m_parameters.empty()) {
            m_forward.forEachValue([&](const Value& value) {
                if (value.constant && isDifferentiable(value.constant->dtype()) && value.constant->rank() >= 1 && !m_statistics.contains(value.id))
                    m_parameters.push_back(value.id);
            });
        }
        std::erase_if(m_parameters, [&](ValueId id) { return frozen.contains(m_forward.value(id)->name); });
        std::set<ValueId> seen;
        std::erase_if(m_parameters, [&](ValueId id) { return !seen.insert(id).second; });
        return m_parameters.empty() ? Result<void>(usageError("the loss depends on no float weight that could be trained")) : Result<void>();
    }

    /// grad() by all candidates; those that no path reaches get zeros from it and are left alone, as PyTorch leaves weights without gradient.
    Result<void> differentiate() {
        NABLA_TRY(JointGraph joint, gradient());
        const auto unreached = [&](ValueId id) {
            const Node* producer = joint.graph.producer(joint.gradientOf.at(id));
            return producer && producer->is("ConstantOfShape");
        };
        std::vector<ValueId> reached;
        for (const ValueId id : m_parameters) {
            const std::string& name = m_forward.value(id)->name;
            if (!unreached(id))
                reached.push_back(id);
            else if (!m_options.parameters.empty())
                return usageError("no differentiable path leads from \"{}\" to the loss", name);
            else
                m_out.notes.push_back(fmt::format("\"{}\" stays as it is: no differentiable path leads from it to the loss", name));
        }
        if (reached.empty())
            return usageError("the loss depends on no float weight that could be trained");
        if (reached.size() != m_parameters.size()) {
            m_parameters = std::move(reached);
            NABLA_TRY(joint, gradient());
        }
        for (const Diagnostic& note : joint.notes)
            m_out.notes.push_back(note.message);
        m_joint = std::move(joint);
        return {};
    }
    Result<JointGraph> gradient() {
        GradOptions options;
        options.of = {m_loss};
        options.wrt = m_parameters;
        options.cotangents = GradOptions::Cotangents::Ones;
        options.job = m_options.job;
        return grad(m_forward, options);
    }

    /// Weights and running statistics become graph inputs under the same ids and names.
    Result<void> freeInputs() {
        m_editor.emplace(m_joint.graph);
        std::vector<ValueId> inputs(m_joint.graph.inputs().begin(), m_joint.graph.inputs().end());
        std::vector<ValueId> freed = m_parameters;
        for (const auto& [from, to] : m_running)
            freed.push_back(from);
        const std::set<ValueId> own(freed.begin(), freed.end());
        for (const ValueId id : inputs) {
            if (!own.contains(id) && !m_joint.graph.value(id)->constant)
                m_out.dataInputs.push_back(m_joint.graph.value(id)->name);
        }
        for (const ValueId id : freed) {
            const Value& value = *m_joint.graph.value(id);
            m_out.weights.push_back(value.name);
            m_initial[id] = value.constant;
            m_editor->setDeclaredType(id, ValueType::tensor(m_initial[id]->dtype(), ShapeView(m_initial[id]->shape())));
            m_editor->setConstant(id, nullptr);
            if (std::find(inputs.begin(), inputs.end(), id) == inputs.end())
                inputs.push_back(id);
        }
        m_editor->setInputs(std::move(inputs));
        return {};
    }

    std::string nameOf(ValueId id) const { return m_editor->graph().value(id)->name; }

    std::vector<WeightUpdate> stateInputs() {
        std::vector<WeightUpdate> updates;
        for (const ValueId id : m_parameters) {
            const Tensor& initial = *m_initial.at(id);
            WeightUpdate u{id, m_joint.gradientOf.at(id), initial.dtype(), {}, {}};
            for (const std::string& suffix : stateNames(m_options.optimizer.kind)) {
                const ValueType type = ValueType::tensor(initial.dtype(), ShapeView(initial.shape()));
                u.states.push_back({suffix, m_editor->addInput(fmt::format("{}:{}", nameOf(id), suffix), type), {}});
            }
            updates.push_back(std::move(u));
        }
        return updates;
    }

    Result<void> writeOptimizer() {
        NodeWriter w(*m_editor, fmt::format("train/{}", name(m_options.optimizer.kind)));
        const ValueId step = m_editor->addInput("train:step", ValueType::tensor(DType::Int64, ShapeView()));
        const ValueId base = m_editor->addInput("train:learning_rate", ValueType::tensor(DType::Float64, ShapeView()));
        std::vector<WeightUpdate> updates = stateInputs();
        const ValueId rate = w.op("Mul", {base, writeSchedule(w, m_options.schedule, step)}, {}, "train:rate");
        DType normType = DType::Float32;
        ValueId norm = writeNorm(w, updates, normType);
        m_editor->renameValue(norm, "train:gradient_norm");
        const std::vector<WeightUpdate> raw = updates;
        writeClip(w, m_options.clip, norm, normType, updates);
        writeUpdates(w, m_options.optimizer, rate, step, updates);
        const ValueId nextStep = w.op("Add", {step, w.scalar(DType::Int64, 1)}, {}, "next:train:step");

        std::vector<ValueId> outputs = {m_loss, rate, norm, nextStep};
        m_out.loss = nameOf(m_loss);
        m_out.rate = nameOf(rate);
        m_out.gradientNorm = nameOf(norm);
        m_out.stepInput = nameOf(step);
        m_out.stepOutput = nameOf(nextStep);
        m_out.rateInput = nameOf(base);
        for (std::size_t i = 0; i < updates.size(); ++i)
            NABLA_CHECK(addSlots(updates[i], raw[i].gradient, outputs));
        for (const auto& [from, to] : m_running) {
            outputs.push_back(to);
            m_out.state.push_back({nameOf(from), nameOf(to), m_initial.at(from)});
        }
        m_editor->setOutputs(std::move(outputs));
        removeUnneeded(*m_editor);
        m_out.graph = m_editor->finish();
        for (TrainedParameter& parameter : m_out.parameters)
            parameter.unitAxis = unitAxisOf(m_forward, parameter.value, m_initial.at(parameter.value)->rank());
        return {};
    }

    Result<void> addSlots(const WeightUpdate& u, ValueId gradient, std::vector<ValueId>& outputs) {
        const std::string weight = nameOf(u.weight);
        m_editor->renameValue(u.next, fmt::format("next:{}", weight));
        outputs.push_back(gradient);
        outputs.push_back(u.next);
        m_out.parameters.push_back({u.weight, weight, nameOf(u.next), nameOf(gradient), 0});
        m_out.state.push_back({weight, nameOf(u.next), m_initial.at(u.weight)});
        for (const UpdateSlot& slot : u.states) {
            const std::string input = nameOf(slot.input);
            m_editor->renameValue(slot.output, fmt::format("next:{}", input));
            outputs.push_back(slot.output);
            NABLA_TRY(Tensor zeros, Tensor::make(u.dtype, m_initial.at(u.weight)->shape()));
            m_out.state.push_back({input, nameOf(slot.output), std::make_shared<const Tensor>(std::move(zeros))});
        }
        return {};
    }

    const TrainGraphOptions& m_options;
    Graph m_forward; ///< with the loss, later
    ValueId m_loss;
    std::map<ValueId, ValueId> m_running; ///< running statistic -> its next value
    std::set<ValueId> m_statistics;       ///< inputs 3 and 4 of any BatchNormalization
    std::vector<ValueId> m_parameters;
    JointGraph m_joint;
    std::optional<GraphEditor> m_editor;
    std::map<ValueId, TensorPtr> m_initial;
    TrainGraph m_out;
};

} // namespace

Result<TrainGraph> buildTrainGraph(const Graph& forward, const TrainGraphOptions& options) { return Builder(forward, options).build(); }

Result<Graph> withWeights(const Graph& graph, const std::map<std::string, Tensor>& weights) {
    const auto ids = idsByName(graph);
    GraphEditor editor(graph);
    for (const auto& [name, tensor] : weights) {
        const auto it = ids.find(name);
        const TensorPtr old = it == ids.end() ? nullptr : graph.value(it->second)->constant;
        if (!old)
            return usageError("\"{}\" is no weight of the model", name);
        if (old->shape() != tensor.shape())
            return usageError("weight \"{}\" is {} in the model, {} is given", name, toString(old->shape()), toString(tensor.shape()));
        NABLA_TRY(Tensor cast, castTensor(tensor, old->dtype()));
        editor.setConstant(it->second, std::make_shared<const Tensor>(std::move(cast)));
    }
    return editor.finish();
}

} // namespace nabla::engine

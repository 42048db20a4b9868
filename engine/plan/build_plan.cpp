// buildPlan: from a graph and concrete input types to flat steps and slots.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/analysis/cost.h"
#include "engine/analysis/input_shapes.h"
#include "engine/analysis/topology.h"
#include "engine/base/saturated.h"
#include "engine/graph/graph_editor.h"
#include "engine/kernels/kernel.h"
#include "engine/plan/arena.h"
#include "engine/plan/node_text.h"
#include "engine/plan/sharing.h"

namespace nabla::engine {

namespace {

/// The graph whose inputs say the concrete types, so that one inference gives every shape; the graph itself when they
/// say so already.
Graph withInputTypes(const Graph& graph, const std::vector<ValueType>& types, DimBindings& bindings) {
    std::vector<ValueId> ids(graph.inputs().begin(), graph.inputs().end());
    ids.insert(ids.end(), graph.captures().begin(), graph.captures().end());
    std::vector<std::pair<ValueId, ValueType>> changed;
    for (std::size_t i = 0; i < ids.size() && i < types.size(); ++i) {
        const ValueType& declared = graph.value(ids[i])->declared;
        if (types[i].kind == ValueType::Kind::Unknown || declared == types[i])
            continue;
        changed.emplace_back(ids[i], types[i]);
        if (!declared.shape || !types[i].shape || declared.shape->size() != types[i].shape->size())
            continue;
        for (std::size_t d = 0; d < declared.shape->size();
             ++d) { // what the file says of inner values in these names holds in numbers
            const std::vector<std::string> atoms = (*declared.shape)[d].atoms();
            const auto size = (*types[i].shape)[d].constant();
            if (size && atoms.size() == 1 && (*declared.shape)[d].sameAs(Dim::symbol(atoms[0])))
                bindings.emplace(atoms[0], *size);
        }
    }
    if (changed.empty())
        return graph;
    GraphEditor editor(graph);
    for (auto& [id, type] : changed)
        editor.setDeclaredType(id, std::move(type));
    return editor.finish();
}

constexpr std::int64_t kWorthFlops
    = 2'000'000; // some 20 us on one core: handing a step to another thread costs about one
constexpr double kWorthParallelism = 1.15; // all work over the longest chain
constexpr std::int64_t kMaxPlannedBytes = std::int64_t{1} << 62; // offset + size never overflows below

class PlanBuilder {
public:
    PlanBuilder(const Graph& graph, const std::vector<ValueType>& inputTypes, const PlanOptions& options)
        : m_options(options)
        , m_bindings(options.dims)
        , m_plan(std::make_shared<Plan>()) {
        m_plan->graph = withInputTypes(graph, inputTypes, m_bindings);
        m_plan->functions = graph.functions().empty() && options.functions ? *options.functions : graph.functions();
        m_plan->opset = graph.opset("") > 0 ? graph.opset("") : options.opset;
        m_types = types(m_plan->graph, m_bindings);
    }

    Result<std::shared_ptr<const Plan>> build() {
        NABLA_TRY(std::vector<const Node*> nodes, orderedNodes());
        const Levels levels = levelsOf(nodes);
        m_plan->parallel = m_options.parallel && !m_options.keepAll && levels.worthThreads;
        if (m_plan->parallel) // a step of one level then never stands between steps of another
            std::stable_sort(nodes.begin(), nodes.end(),
                [&](const Node* a, const Node* b) { return levels.of.at(a->id) < levels.of.at(b->id); });
        for (const ValueId id : m_plan->graph.inputs())
            m_plan->inputSlots.push_back(addSlot(id, PlanSlot::Place::Input));
        for (const ValueId id : m_plan->graph.captures())
            m_plan->inputSlots.push_back(addSlot(id, PlanSlot::Place::Input));
        for (const Node* node : nodes) {
            if (!addConstantNode(*node))
                NABLA_CHECK(addStep(*node, levels.of.at(node->id)));
        }
        NABLA_CHECK(addOutputs());
        NABLA_CHECK(chooseKernels());
        giveOwnMemory();
        shareSlots(*m_plan, m_options.inPlace && !m_options.keepAll);
        NABLA_CHECK(place());
        return std::shared_ptr<const Plan>(std::move(m_plan));
    }

private:
    /// Forward nodes, then backward ones; only what an output needs unless all is kept.
    Result<std::vector<const Node*>> orderedNodes() {
        const Graph& graph = m_plan->graph;
        const auto order = topologicalOrder(graph);
        if (!order->inCycle.empty())
            return runError("{}: its inputs depend on its own output", nodeText(*graph.node(order->inCycle.front())));
        std::unordered_set<ValueId> wanted(graph.outputs().begin(), graph.outputs().end());
        std::vector<const Node*> nodes;
        for (auto it = order->order.rbegin(); it != order->order.rend(); ++it) {
            const Node* node = graph.node(*it);
            if (!m_options.keepAll && std::none_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) {
                    return wanted.contains(id);
                }))
                continue;
            wanted.insert(node->inputs.begin(), node->inputs.end());
            wanted.insert(node->captures.begin(), node->captures.end());
            nodes.push_back(node);
        }
        std::reverse(nodes.begin(), nodes.end());
        for (const Node* node : nodes) {
            if (isBackward(*node))
                m_backward.insert(node->id);
        }
        std::stable_partition(
            nodes.begin(), nodes.end(), [&](const Node* node) { return !m_backward.contains(node->id); });
        return nodes;
    }

    /// Made by differentiation, or reads something that was: so the forward nodes never wait for a backward one.
    bool isBackward(const Node& node) const {
        if (node.gradientOf || (node.createdBy && node.createdBy->starts_with("grad/")) || isOptimizer(node))
            return true;
        const auto backward = [&](ValueId id) {
            const Value* value = id ? m_plan->graph.value(id) : nullptr;
            return value && m_backward.contains(value->producer);
        };
        return std::any_of(node.inputs.begin(), node.inputs.end(), backward)
            || std::any_of(node.captures.begin(), node.captures.end(), backward);
    }

    /// Made by engine/training.
    static bool isOptimizer(const Node& node) { return node.createdBy && node.createdBy->starts_with("train/"); }

    struct Levels {
        std::unordered_map<NodeId, std::uint32_t> of;
        bool worthThreads = false;
    };

    /// `nodes` in execution order. Levels of the backward phase go on behind those of the forward one.
    Levels levelsOf(const std::vector<const Node*>& nodes) const {
        Levels levels;
        const auto costs = m_options.parallel ? cost(m_plan->graph) : nullptr;
        std::unordered_map<NodeId, std::int64_t> chain;
        std::int64_t total = 0, longest = 0;
        std::uint32_t top = 0, floor = 0;
        bool backward = false;
        for (const Node* node : nodes) {
            if (!backward && m_backward.contains(node->id)) {
                backward = true;
                floor = top + 1;
            }
            std::uint32_t level = floor;
            std::int64_t before = 0;
            for (const auto* list : {&node->inputs, &node->captures}) {
                for (const ValueId id : *list) {
                    const Value* value = id ? m_plan->graph.value(id) : nullptr;
                    const auto made = value ? levels.of.find(value->producer) : levels.of.end();
                    if (made == levels.of.end())
                        continue;
                    level = std::max(level, made->second + 1);
                    before = std::max(before, chain[made->first]);
                }
            }
            levels.of.emplace(node->id, level);
            top = std::max(top, level);
            const std::int64_t flops = costs && costs->nodes.contains(node->id)
                ? std::max<std::int64_t>(0, costs->nodes.at(node->id).flops)
                : 0;
            before = saturatedSum(before, flops);
            total = saturatedSum(total, flops);
            chain[node->id] = before;
            longest = std::max(longest, before);
        }
        levels.worthThreads
            = total > kWorthFlops && static_cast<double>(total) > kWorthParallelism * static_cast<double>(longest);
        return levels;
    }

    std::uint32_t addSlot(ValueId id, PlanSlot::Place place) {
        PlanSlot slot;
        slot.value = id;
        slot.place = place;
        const ValueType& type = m_types->of(id);
        if (type.isTensor()) {
            slot.dtype = type.elementType;
            if (auto shape = type.concreteShape(); shape && checkShape(*shape)) {
                slot.shape = std::move(*shape);
                slot.sizeKnown = slot.dtype != DType::Undefined;
                slot.bytes = slot.sizeKnown ? storageBytes(slot.dtype, elementCount(slot.shape)) : 0;
            }
        }
        m_plan->slotTable.push_back(std::move(slot));
        const auto index = static_cast<std::uint32_t>(m_plan->slotTable.size() - 1);
        m_slotOf.emplace(id, index);
        return index;
    }

    std::uint32_t addConstant(ValueId id, TensorPtr tensor) {
        const std::uint32_t index = addSlot(id, PlanSlot::Place::Constant);
        PlanSlot& slot = m_plan->slotTable[index];
        slot.dtype = tensor->dtype();
        slot.shape = tensor->shape();
        slot.sizeKnown = true;
        slot.bytes = tensor->bytes();
        slot.constant = std::move(tensor);
        return index;
    }

    bool addConstantNode(const Node& node) {
        if (!node.is("Constant") || !node.output(0))
            return false;
        TensorPtr tensor = node.tensorAttribute("value");
        if (!tensor) // value_float and its like are small: the reference kernel makes them
            return false;
        addConstant(node.output(0), std::move(tensor));
        return true;
    }

    Result<std::uint32_t> slotOf(ValueId id, const Node& reader) {
        if (!id)
            return kNoSlot;
        if (const auto it = m_slotOf.find(id); it != m_slotOf.end())
            return it->second;
        if (TensorPtr tensor = m_plan->graph.constant(id))
            return addConstant(id, std::move(tensor));
        const Value* value = m_plan->graph.value(id);
        return runError("{}: nothing makes its input \"{}\"", nodeText(reader), value ? value->name : "?");
    }

    Result<void> addStep(const Node& node, std::uint32_t level) {
        PlanStep step;
        step.level = level;
        step.node = node.id;
        step.graphNode = &node;
        step.phase = isOptimizer(node) ? Phase::Optimizer : m_backward.contains(node.id) ? Phase::Backward : Phase::Forward;
        if (const auto it = m_plan->functions.find(functionKey(node.domain, node.opType, node.overload));
            it != m_plan->functions.end())
            step.function = it->second.get();
        else
            step.op = findOp(node.opType, node.domain);
        if (!step.function && !step.op) {
            return runError("{}: the operator {}{}{} is not known here, so the model cannot be run", nodeText(node),
                node.domain, node.domain.empty() ? "" : ".", node.opType);
        }
        const auto at = static_cast<std::uint32_t>(m_plan->steps.size());
        for (const auto& [from, to] :
            {std::pair(&node.inputs, &step.inputs), std::pair(&node.captures, &step.captures)}) {
            for (const ValueId id : *from) {
                NABLA_TRY(const std::uint32_t slot, slotOf(id, node));
                to->push_back(slot);
                if (slot != kNoSlot)
                    m_plan->slotTable[slot].lastStep = at;
            }
        }
        for (const ValueId id : node.outputs) {
            if (!id) {
                step.outputs.push_back(kNoSlot);
                continue;
            }
            const std::uint32_t index = addSlot(id, PlanSlot::Place::Heap);
            PlanSlot& slot = m_plan->slotTable[index];
            slot.firstStep = slot.lastStep = at;
            if (slot.sizeKnown && slot.dtype != DType::String && !m_options.keepAll)
                slot.place = PlanSlot::Place::Arena;
            m_plan->heapSlots += !slot.sizeKnown;
            step.outputs.push_back(index);
        }
        m_plan->steps.push_back(std::move(step));
        return {};
    }

    Result<void> addOutputs() {
        const auto end = static_cast<std::uint32_t>(m_plan->steps.empty() ? 0 : m_plan->steps.size() - 1);
        for (const ValueId id : m_plan->graph.outputs()) {
            auto it = m_slotOf.find(id);
            if (it == m_slotOf.end()) {
                TensorPtr tensor = id ? m_plan->graph.constant(id) : nullptr;
                if (!tensor)
                    return runError("nothing makes the output \"{}\"",
                        id && m_plan->graph.value(id) ? m_plan->graph.value(id)->name : "?");
                it = m_slotOf.emplace(id, addConstant(id, std::move(tensor))).first;
            }
            PlanSlot& slot = m_plan->slotTable[it->second];
            slot.lastStep = end;
            if (!slot.isOutput && slot.place != PlanSlot::Place::Input && slot.place != PlanSlot::Place::Constant)
                m_plan->outputBytes = saturatedSum(m_plan->outputBytes, slot.bytes);
            slot.isOutput = true;
            m_plan->outputSlots.push_back(it->second);
        }
        return {};
    }

    Result<void> chooseKernels() {
        if (!m_options.optimisedKernels)
            return {};
        std::vector<ValueType> inputs, outputs;
        std::vector<TensorPtr> constants;
        for (PlanStep& step : m_plan->steps) {
            if (step.function)
                continue;
            inputs.clear();
            outputs.clear();
            constants.clear();
            for (const std::uint32_t slot : step.inputs) {
                inputs.push_back(slot == kNoSlot ? ValueType{} : typeOf(slot));
                constants.push_back(slot == kNoSlot ? nullptr : constantOf(slot));
            }
            for (const std::uint32_t slot : step.outputs)
                outputs.push_back(slot == kNoSlot ? ValueType{} : typeOf(slot));
            const KernelQuery query{*step.graphNode, inputs, outputs, constants};
            step.kernel = chooseKernel(query);
            step.kernelIndex = kernelIndex(step.kernel);
            if (!step.kernel || !step.kernel->prepare || !m_options.prepareKernels)
                continue;
            auto state = step.kernel->prepare(query);
            if (!state)
                return state.error().in(nodeText(*step.graphNode));
            step.state = std::move(*state);
            m_plan->packedBytes += step.state ? step.state->bytes : 0;
        }
        return {};
    }

    /// What a body made comes from there: it is not written to a place here.
    void giveOwnMemory() {
        for (const PlanStep& step : m_plan->steps) {
            if (!step.isCall() && !(step.op && step.op->run.isControlFlow()))
                continue;
            for (const std::uint32_t slot : step.outputs) {
                if (slot != kNoSlot)
                    m_plan->slotTable[slot].place = PlanSlot::Place::Heap;
            }
        }
    }

    ValueType typeOf(std::uint32_t index) const {
        const PlanSlot& slot = m_plan->slotTable[index];
        return slot.sizeKnown ? ValueType::tensor(slot.dtype, ShapeView(slot.shape)) : m_types->of(slot.value);
    }
    TensorPtr constantOf(std::uint32_t index) const {
        const PlanSlot& slot = m_plan->slotTable[index];
        if (slot.constant)
            return slot.constant;
        const auto it = m_types->constants.find(slot.value);
        return it == m_types->constants.end() ? nullptr : it->second;
    }

    // For placement time is counted in steps, or for several threads in levels: all steps of a level may run at once.
    // Steps are sorted by level then, so that the last reader by index is also the last by level.
    std::uint32_t firstTime(const PlanSlot& slot) const {
        return m_plan->parallel ? m_plan->steps[slot.firstStep].level : slot.firstStep;
    }
    std::uint32_t lastTime(const PlanSlot& slot) const {
        return m_plan->parallel ? m_plan->steps[slot.lastStep].level : slot.lastStep;
    }

    /// One buffer per set of slots that share a place.
    Result<void> place() {
        std::vector<ArenaBuffer> buffers;
        std::int64_t all = 0; // of all buffers one behind the other: no offset is beyond
        std::vector<std::uint32_t> owners;
        std::vector<std::uint32_t> bufferOf(m_plan->slotTable.size(), kNoSlot);
        for (std::uint32_t i = 0; i < m_plan->slotTable.size(); ++i) {
            PlanSlot& slot = m_plan->slotTable[i];
            if (slot.place != PlanSlot::Place::Arena)
                continue;
            slot.bytes = (slot.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
            if (slot.bytes == 0)
                continue;
            all = saturatedSum(all, slot.bytes);
            const std::uint32_t root = slot.aliasOf == kNoSlot ? i : slot.aliasOf;
            if (bufferOf[root] == kNoSlot) {
                bufferOf[root] = static_cast<std::uint32_t>(buffers.size());
                buffers.push_back({slot.bytes, firstTime(slot), lastTime(slot)});
            }
            ArenaBuffer& buffer = buffers[bufferOf[root]];
            buffer.bytes = std::max(buffer.bytes, slot.bytes);
            buffer.firstStep = std::min(buffer.firstStep, firstTime(slot));
            buffer.lastStep = std::max(buffer.lastStep, lastTime(slot));
            owners.push_back(i);
        }
        if (all > kMaxPlannedBytes)
            return runError("the values of the graph are too large: together they need more than 2^62 bytes");
        const std::uint32_t times
            = m_plan->parallel ? m_plan->steps.back().level + 1 : static_cast<std::uint32_t>(m_plan->steps.size());
        const ArenaPlacement placed = placeBuffers(buffers, times);
        for (const std::uint32_t i : owners) {
            PlanSlot& slot = m_plan->slotTable[i];
            slot.offset = placed.offsets[bufferOf[slot.aliasOf == kNoSlot ? i : slot.aliasOf]];
        }
        const auto atPeak = std::find_if(m_plan->steps.begin(), m_plan->steps.end(),
            [&](const PlanStep& step) { return step.level == placed.peakStep; });
        const std::uint32_t peakStep
            = m_plan->parallel ? static_cast<std::uint32_t>(atPeak - m_plan->steps.begin()) : placed.peakStep;
        m_plan->arena = {placed.bytes, placed.lowerBound, peakStep, std::string(placed.method)};
        return {};
    }

    const PlanOptions& m_options;
    DimBindings m_bindings;
    std::shared_ptr<Plan> m_plan;
    std::shared_ptr<const TypeMap> m_types;
    std::unordered_map<ValueId, std::uint32_t> m_slotOf;
    std::unordered_set<NodeId> m_backward;
};

} // namespace

Result<std::shared_ptr<const Plan>> buildPlan(
    const Graph& graph, const std::vector<ValueType>& inputTypes, const PlanOptions& options) {
    return PlanBuilder(graph, inputTypes, options).build();
}

DimBindings withFreeDimsOne(const Graph& graph, const DimBindings& dims) {
    DimBindings all = dims;
    for (const SymbolicShape& shape : namedInputShapes(graph)) {
        for (const Dim& dim : shape) {
            for (const std::string& atom : dim.atoms())
                all.emplace(atom, 1);
        }
    }
    return all;
}

std::vector<ValueType> assumedInputTypes(const Graph& graph, const DimBindings& dims) {
    const auto known = types(graph, withFreeDimsOne(graph, dims));
    std::vector<ValueType> out;
    for (const ValueId id : graph.inputs()) {
        ValueType type = known->of(id);
        if (type.kind == ValueType::Kind::Unknown)
            type = graph.value(id)->declared;
        if (type.isTensor() && type.shape) {
            for (Dim& dim : *type.shape)
                dim = dim.constant() ? dim : Dim(1);
        }
        out.push_back(std::move(type));
    }
    return out;
}

Result<std::shared_ptr<const Plan>> estimatePlan(const Graph& graph, const PlanOptions& options) {
    PlanOptions estimate = options;
    estimate.prepareKernels = false;
    estimate.dims = withFreeDimsOne(graph, options.dims);
    return buildPlan(graph, assumedInputTypes(graph, options.dims), estimate);
}

} // namespace nabla::engine

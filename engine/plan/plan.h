// Plan: a graph made flat for one set of input shapes: steps in order, chosen kernels, places in the arena.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/types.h"
#include "engine/base/phase.h"
#include "engine/graph/graph.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

struct Kernel; // kernels/kernel.h
struct KernelState;

/// One node in execution order. Indices point into Plan::slotTable.
struct PlanStep {
    NodeId node;
    const Node* graphNode = nullptr; ///< owned by Plan::graph
    const OpDef* op = nullptr; ///< null for a call of a model's function
    const Function* function = nullptr; ///< the model's function that is called
    const Kernel* kernel = nullptr; ///< null: the reference kernel of `op`
    std::uint16_t kernelIndex = 0; ///< for recordings: kernelNames() of kernels/kernel.h
    std::shared_ptr<KernelState> state; ///< what the kernel prepared; one run at a time may use it
    std::vector<std::uint32_t> inputs, outputs; ///< slots; kNoSlot for omitted
    std::vector<std::uint32_t> captures;
    Phase phase = Phase::Forward;
    std::uint32_t level = 0; ///< distance from the inputs in steps, counted within the phase and on from the one before
    /// By running a graph of its own: a model's function, or an operator that is defined by its body and has no kernel
    /// here.
    bool isCall() const { return function || (!kernel && op->run.expands()); }
};
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

/// Where the value of an edge lives during a run.
struct PlanSlot {
    ValueId value;
    /// Input: given by the caller. Constant: initializers and Constant nodes. Heap: memory of its own, because the size
    /// is known only while running, or because the value outlives the run (outputs), or is no tensor of plain elements.
    enum class Place : std::uint8_t { Input, Constant, Arena, Heap } place = Place::Heap;
    DType dtype = DType::Undefined;
    Shape shape; ///< valid when sizeKnown
    bool sizeKnown = false;
    std::int64_t bytes = 0; ///< rounded up to the arena's alignment when in the arena
    std::int64_t offset = 0; ///< in the arena
    std::uint32_t firstStep = 0, lastStep = 0; ///< live range, both included: made by, last read by
    std::uint32_t aliasOf = kNoSlot; ///< the first slot of those that share one place (views, in-place results)
    enum class Share : std::uint8_t { None, View, InPlace } share = Share::None; ///< why it shares
    bool isOutput = false;
    TensorPtr constant;
};

/// Peak against the largest set of bytes alive at once: equal means no plan for this order can be smaller.
struct ArenaCertificate {
    std::int64_t arenaBytes = 0, lowerBoundBytes = 0;
    std::uint32_t peakStep = 0;
    std::string method; ///< the order that won
};

struct PlanOptions {
    DimBindings dims;
    bool inPlace = true; ///< element-wise results over inputs nobody reads later, views for Reshape and the like
    bool optimisedKernels = true; ///< false: reference kernels only
    /// Several threads will run it: where the graph has enough work beside its longest chain, steps are ordered by
    /// their distance from the inputs, and values of steps of one distance never share a place. Costs memory, so it is
    /// off for estimates and for one thread.
    bool parallel = false;
    bool prepareKernels = true; ///< false: nothing is packed (an estimate)
    bool keepAll = false; ///< stepping: every value keeps its own place, nodes that no output needs run too
    const FunctionMap* functions = nullptr; ///< of the model, for bodies that do not carry them
    std::int64_t opset = 0; ///< of ai.onnx, for bodies that do not say
};

/// Immutable once built; shared by runs.
struct Plan {
    Graph graph;
    std::vector<PlanStep> steps;
    std::vector<PlanSlot> slotTable; ///< not called "slots", which Qt makes a keyword
    std::vector<std::uint32_t> inputSlots, outputSlots; ///< inputSlots: the graph's inputs, then its captures
    ArenaCertificate arena;
    bool parallel = false; ///< ordered and placed for several threads
    std::int64_t heapSlots = 0; ///< values whose size depends on data
    std::int64_t outputBytes = 0; ///< outputs lie outside the arena, since they outlive the run
    std::int64_t packedBytes = 0; ///< copies that kernels made of weights
    FunctionMap functions;
    std::int64_t opset = 0;
};

/// `inputTypes`: concrete type of each graph input, then of each capture (bodies), in order. The graph must be
/// legalized. Constant nodes become constant slots and no steps. Errors (Run): unknown operator, cycle, missing value,
/// by node.
Result<std::shared_ptr<const Plan>> buildPlan(
    const Graph& graph, const std::vector<ValueType>& inputTypes, const PlanOptions& options = {});

/// Concrete types to run the graph with when nobody gave values: the declared ones, with unbound dimensions 1.
std::vector<ValueType> assumedInputTypes(const Graph& graph, const DimBindings& dims);
/// `dims`, and 1 for every other name in the types of the inputs.
DimBindings withFreeDimsOne(const Graph& graph, const DimBindings& dims);

/// Plan from the declared types with dims bound (unbound symbols: 1), for prices before running, without packed
/// weights. Values of unknown size are left out.
Result<std::shared_ptr<const Plan>> estimatePlan(const Graph& graph, const PlanOptions& options = {});

} // namespace nabla::engine

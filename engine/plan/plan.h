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



/// One node in execution order. Indices point into Plan::slots.
struct PlanStep {
    NodeId node;
    const Node* graphNode = nullptr;      ///< owned by Plan::graph
    const OpDef* op = nullptr;
    const Kernel* kernel = nullptr;       ///< null: the reference kernel of `op`
    std::vector<std::uint32_t> inputs, outputs; ///< slots; kNoSlot for omitted
    std::vector<std::uint32_t> captures;
    Phase phase = Phase::Forward;
};
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

/// Where the value of an edge lives during a run.
struct PlanSlot {
    ValueId value;
    enum class Place : std::uint8_t { Input, Constant, Arena, Heap } place = Place::Heap; ///< Heap: size known only while running
    DType dtype = DType::Undefined;
    Shape shape;              ///< valid when sizeKnown
    bool sizeKnown = false;
    std::int64_t bytes = 0;   ///< rounded up to the arena's alignment when in the arena
    std::int64_t offset = 0;  ///< in the arena
    std::uint32_t firstStep = 0, lastStep = 0; ///< live range, both included
    std::uint32_t aliasOf = kNoSlot;           ///< shares the place of another slot (view or in-place)
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
    bool inPlace = true;          ///< element-wise results over inputs nobody reads later, views for Reshape and the like
    bool optimisedKernels = true; ///< false: reference kernels only
    bool keepAll = false;         ///< stepping: every value keeps its own place
};

/// Immutable once built; shared by runs.
struct Plan {
    Graph graph;
    std::vector<PlanStep> steps;
    std::vector<PlanSlot> slots;
    std::vector<std::uint32_t> inputSlots, outputSlots;
    ArenaCertificate arena;
    std::int64_t heapSlots = 0; ///< values whose size depends on data
};

/// `inputTypes`: concrete type of each graph input, in order. The graph must be legalized. Errors (Run): unknown operator, cycle, missing value,
/// by node.
Result<std::shared_ptr<const Plan>> buildPlan(const Graph& graph, const std::vector<ValueType>& inputTypes, const PlanOptions& options = {});

/// Plan from the declared types with dims bound (unbound symbols: 1), for prices before running. Values of unknown size are left out.
Result<std::shared_ptr<const Plan>> estimatePlan(const Graph& graph, const PlanOptions& options = {});

} // namespace nabla::engine

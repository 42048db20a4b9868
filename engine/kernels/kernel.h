// Optimised kernels: one ordered list per operator family; the first that accepts a step wins, the reference comes
// last.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/ops/op_def.h"

namespace nabla::engine {

/// What a kernel may decide by: types, and shapes where the plan knows them.
struct KernelQuery {
    const Node& node;
    std::span<const ValueType> inputs, outputs;
    std::span<const TensorPtr> constants; ///< per input; null when not constant
};

/// State made once per plan step: a oneDNN primitive, packed weights.
struct KernelState {
    virtual ~KernelState() = default;
    std::int64_t bytes = 0; ///< packed copies, counted in the memory panel
};

struct Kernel {
    std::string_view name; ///< as shown: `onednn.conv`, `tile.elementwise`
    std::string_view opType, domain;
    bool (*accepts)(const KernelQuery&);
    Result<std::unique_ptr<KernelState>> (*prepare)(const KernelQuery&); ///< null: no state
    Result<void> (*run)(const KernelContext&, KernelState*);
};

/// First accepting kernel; null: use the reference.
const Kernel* chooseKernel(const KernelQuery& query);
std::span<const Kernel* const> allKernels();
/// Names by the number that recordings carry: 0 = "reference", then allKernels() in order.
std::vector<std::string_view> kernelNames();
std::uint16_t kernelIndex(const Kernel* kernel); ///< 0 for null
/// Must run once on every worker thread: keeps the kernel library from starting threads of its own.
void initKernelThread();

} // namespace nabla::engine

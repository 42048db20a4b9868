// Element-wise kernels.
#include "engine/kernels/families.h"

namespace nabla::engine {

std::span<const Kernel> elementwiseKernels() { return {}; }

} // namespace nabla::engine

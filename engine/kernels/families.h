// The families of optimised kernels; registry.cpp lists them.
#pragma once

#include <span>

#include "engine/kernels/kernel.h"

namespace nabla::engine {

std::span<const Kernel> matMulKernels();
std::span<const Kernel> convKernels();
std::span<const Kernel> softmaxAndPoolKernels();
std::span<const Kernel> logSoftmaxKernels();
std::span<const Kernel> maxPoolKernels();
std::span<const Kernel> elementwiseKernels();
std::span<const Kernel> treeKernels();

} // namespace nabla::engine

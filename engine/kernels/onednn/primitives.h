// Descriptions of primitives in the two dialects: oneDNN 2.x goes by way of an operation descriptor, 3.x does not.
#pragma once

#include "engine/kernels/onednn/onednn.h"

namespace nabla::engine::onednn {

using Desc = dnnl::memory::desc;

dnnl::matmul::primitive_desc matMul(const Desc& a, const Desc& b, const std::optional<Desc>& bias, const Desc& y);

struct WindowDims {
    Dims strides, dilations, padsBegin, padsEnd; ///< dilations as oneDNN counts them: 0 = dense
};
dnnl::convolution_forward::primitive_desc convolution(
    const Desc& x, const Desc& w, const std::optional<Desc>& bias, const Desc& y, const WindowDims& window);
dnnl::pooling_forward::primitive_desc pooling(
    dnnl::algorithm algorithm, const Desc& x, const Desc& y, const Dims& kernel, const WindowDims& window);

/// Softmax along one axis.
dnnl::softmax_forward softmax(const Desc& x, int axis);

} // namespace nabla::engine::onednn

// The two dialects of oneDNN.
#include "engine/kernels/onednn/primitives.h"

namespace nabla::engine::onednn {

namespace {
constexpr auto kInference = dnnl::prop_kind::forward_inference;
}

#if DNNL_VERSION_MAJOR >= 3

dnnl::matmul::primitive_desc matMul(const Desc& a, const Desc& b, const std::optional<Desc>& bias, const Desc& y) {
    return bias ? dnnl::matmul::primitive_desc(engine(), a, b, *bias, y)
                : dnnl::matmul::primitive_desc(engine(), a, b, y);
}

dnnl::convolution_forward::primitive_desc convolution(
    const Desc& x, const Desc& w, const std::optional<Desc>& bias, const Desc& y, const WindowDims& window) {
    using Primitive = dnnl::convolution_forward::primitive_desc;
    constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
    if (bias)
        return Primitive(engine(), kInference, kAlgorithm, x, w, *bias, y, window.strides, window.dilations,
            window.padsBegin, window.padsEnd);
    return Primitive(
        engine(), kInference, kAlgorithm, x, w, y, window.strides, window.dilations, window.padsBegin, window.padsEnd);
}

dnnl::pooling_forward::primitive_desc pooling(
    dnnl::algorithm algorithm, const Desc& x, const Desc& y, const Dims& kernel, const WindowDims& window) {
    return dnnl::pooling_forward::primitive_desc(engine(), kInference, algorithm, x, y, window.strides, kernel,
        window.dilations, window.padsBegin, window.padsEnd);
}

dnnl::softmax_forward softmax(const Desc& x, int axis) {
    return dnnl::softmax_forward::primitive_desc(engine(), kInference, dnnl::algorithm::softmax_accurate, x, x, axis);
}

#else

dnnl::matmul::primitive_desc matMul(const Desc& a, const Desc& b, const std::optional<Desc>& bias, const Desc& y) {
    const dnnl::matmul::desc described = bias ? dnnl::matmul::desc(a, b, *bias, y) : dnnl::matmul::desc(a, b, y);
    return {described, engine()};
}

dnnl::convolution_forward::primitive_desc convolution(
    const Desc& x, const Desc& w, const std::optional<Desc>& bias, const Desc& y, const WindowDims& window) {
    using Described = dnnl::convolution_forward::desc;
    constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
    if (bias)
        return {Described(kInference, kAlgorithm, x, w, *bias, y, window.strides, window.dilations, window.padsBegin,
                    window.padsEnd),
            engine()};
    return {
        Described(kInference, kAlgorithm, x, w, y, window.strides, window.dilations, window.padsBegin, window.padsEnd),
        engine()};
}

dnnl::pooling_forward::primitive_desc pooling(
    dnnl::algorithm algorithm, const Desc& x, const Desc& y, const Dims& kernel, const WindowDims& window) {
    return {dnnl::pooling_forward::desc(
                kInference, algorithm, x, y, window.strides, kernel, window.padsBegin, window.padsEnd),
        engine()};
}

dnnl::softmax_forward softmax(const Desc& x, int axis) {
    return dnnl::softmax_forward({{kInference, x, axis}, engine()});
}

#endif

} // namespace nabla::engine::onednn

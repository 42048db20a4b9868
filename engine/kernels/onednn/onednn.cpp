// Engine, stream and operands.
#include "engine/kernels/onednn/onednn.h"

#include <algorithm>

namespace nabla::engine::onednn {

const dnnl::engine& engine() {
    initKernelThread(); // a primitive keeps the number of threads that it was made for
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

dnnl::stream& stream() {
    initKernelThread(); // and runs on those of the calling thread
    thread_local dnnl::stream own(engine());
    return own;
}

dnnl::memory::desc strided(const Dims& dims, const Dims& strides) {
    return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc plain(const Dims& dims) {
    const auto strides = rowMajorStrides(dims);
    return strided(dims, strides);
}

dnnl::memory::desc anyLayout(const Dims& dims) {
    return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

Operand::Operand(const dnnl::memory::desc& ours, const dnnl::memory::desc& wanted, Use use)
    : m_use(use) {
    m_ours.emplace(ours, engine(), nullptr);
    if (ours == wanted)
        return;
    m_own.emplace(wanted, engine());
    m_reorder.emplace(use == Use::Input ? dnnl::reorder(*m_ours, *m_own) : dnnl::reorder(*m_own, *m_ours));
}

Operand Operand::packed(const dnnl::memory::desc& ours, const dnnl::memory::desc& wanted, const Tensor& constant) {
    Operand operand;
    operand.m_constant = true;
    dnnl::memory given(ours, engine(), const_cast<std::byte*>(constant.raw()));
    if (ours == wanted) {
        operand.m_own = given;
        operand.m_kept = constant;
        return operand;
    }
    operand.m_own.emplace(wanted, engine());
    dnnl::reorder(given, *operand.m_own).execute(stream(), given, *operand.m_own);
    stream().wait();
    return operand;
}

const dnnl::memory& Operand::bind(const std::byte* data) {
    if (m_constant)
        return *m_own;
    m_ours->set_data_handle(const_cast<std::byte*>(data));
    if (!m_reorder)
        return *m_ours;
    if (m_use == Use::Input)
        m_reorder->execute(stream(), *m_ours, *m_own);
    return *m_own;
}

void Operand::finish() {
    if (m_reorder && m_use == Use::Output)
        m_reorder->execute(stream(), *m_own, *m_ours);
}

std::optional<Dims> floatDims(const ValueType& type) {
    if (!type.isTensor() || type.elementType != DType::Float32)
        return std::nullopt;
    auto shape = type.concreteShape();
    if (!shape || shape->size() > 12
        || std::any_of(shape->begin(), shape->end(), [](std::int64_t d) { return d <= 0; }))
        return std::nullopt;
    return Dims(shape->begin(), shape->end());
}

} // namespace nabla::engine::onednn

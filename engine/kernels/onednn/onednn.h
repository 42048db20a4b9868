// oneDNN behind a small wall: its engine, its memory over our tensors, and its errors as ours. Versions 2.x and 3.x
// differ in how primitives are described; that difference stands in primitives.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "engine/kernels/kernel.h"

namespace nabla::engine::onednn {

/// The CPU engine of the process.
const dnnl::engine& engine();
/// The calling thread's stream; keeps oneDNN on that thread.
dnnl::stream& stream();

using Dims = dnnl::memory::dims;
/// Row-major float32 of these dimensions.
dnnl::memory::desc plain(const Dims& dims);
/// Float32 with strides in elements.
dnnl::memory::desc strided(const Dims& dims, const Dims& strides);
/// Whatever layout suits the primitive.
dnnl::memory::desc anyLayout(const Dims& dims);

/// Runs `body`, turning oneDNN's exceptions into errors (Run).
template <typename F> auto guarded(F&& body) -> decltype(body()) {
    try {
        return body();
    } catch (const dnnl::error& error) {
        return runError("oneDNN: {}", error.what());
    }
}

/// One operand of a primitive: our memory, and where the primitive wants another layout a copy of its own.
class Operand {
public:
    enum class Use : std::uint8_t { Input, Output };
    Operand() = default;
    /// `ours`: as the tensor lies; `wanted`: as the primitive asked for.
    Operand(const dnnl::memory::desc& ours, const dnnl::memory::desc& wanted, Use use);
    /// A constant: packed now, once.
    static Operand packed(const dnnl::memory::desc& ours, const dnnl::memory::desc& wanted, const Tensor& constant);

    /// Before the primitive: the data to work on; copies an input whose layout differs.
    const dnnl::memory& bind(const std::byte* data);
    /// After the primitive: copies an output whose layout differs.
    void finish();
    const dnnl::memory& memory() const { return m_reorder || m_constant ? *m_own : *m_ours; }
    bool isConstant() const { return m_constant; }
    std::int64_t ownBytes() const { return m_own ? static_cast<std::int64_t>(m_own->get_desc().get_size()) : 0; }

private:
    std::optional<dnnl::memory> m_ours, m_own;
    std::optional<dnnl::reorder> m_reorder;
    bool m_constant = false;
    Use m_use = Use::Input;
    Tensor m_kept; // a constant used where it lies
};

/// Shape of an input or output when it is a float32 tensor whose every dimension is known and above 0.
std::optional<Dims> floatDims(const ValueType& type);

} // namespace nabla::engine::onednn

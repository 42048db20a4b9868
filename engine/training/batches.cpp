// Shuffling and cutting of rows.
#include "engine/training/batches.h"

#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/runtime/run_env.h"

namespace nabla::engine {

namespace {

Result<Tensor> pickRows(const std::string& name, const Tensor& from, const std::vector<std::int64_t>& rows) {
    Shape shape = from.shape();
    shape[0] = static_cast<std::int64_t>(rows.size());
    NABLA_TRY(Tensor out, Tensor::make(from.dtype(), shape));
    if (from.dtype() == DType::String || bitWidth(from.dtype()) < 8)
        return usageError("array \"{}\" of {} cannot be cut into batches", name, nabla::engine::name(from.dtype()));
    const std::int64_t rowBytes = from.dim(0) == 0 ? 0 : from.bytes() / from.dim(0);
    for (std::size_t i = 0; i < rows.size() && rowBytes > 0; ++i) {
        std::memcpy(out.mutableRaw() + static_cast<std::int64_t>(i) * rowBytes, from.raw() + rows[i] * rowBytes, static_cast<std::size_t>(rowBytes));
    }
    return out;
}

} // namespace

Result<Batches> Batches::make(const std::map<std::string, Tensor>& data, const std::vector<std::string>& inputs, std::int64_t size, BatchOrder order,
    std::uint64_t seed) {
    Batches out;
    out.m_order = order;
    out.m_seed = seed;
    out.m_size = size;
    if (size < 0)
        return usageError("the batch size is {}, it must not be negative", size);
    std::optional<std::pair<std::string, std::int64_t>> first;
    for (const std::string& input : inputs) {
        const auto it = data.find(input);
        if (it == data.end()) {
            std::vector<std::string> names;
            for (const auto& [name, tensor] : data)
                names.push_back(name);
            return usageError("the data has no array \"{}\" for this input; it has {}", input, fmt::join(names, ", "));
        }
        if (size > 0) {
            if (it->second.rank() == 0)
                return usageError("array \"{}\" is one number: it has no rows to make batches of", input);
            if (!first)
                first = {input, it->second.dim(0)};
            else if (first->second != it->second.dim(0))
                return usageError("array \"{}\" has {} rows, \"{}\" has {}", input, it->second.dim(0), first->first, first->second);
        }
        out.m_data.emplace(input, it->second);
    }
    if (size > 0 && first) {
        out.m_rows = first->second;
        if (out.m_rows == 0)
            return usageError("array \"{}\" has no rows", first->first);
        out.m_perEpoch = (out.m_rows - 1) / size + 1;
    }
    return out;
}

std::vector<std::int64_t> Batches::rowsAt(std::int64_t step) const {
    const std::int64_t epoch = step / m_perEpoch, begin = step % m_perEpoch * m_size;
    std::vector<std::int64_t> order(static_cast<std::size_t>(m_rows));
    std::iota(order.begin(), order.end(), 0);
    if (m_order == BatchOrder::Shuffled) {
        // Fisher and Yates, with our own numbers: std::shuffle differs between libraries.
        const std::uint64_t base = mixSeed(m_seed, static_cast<std::uint64_t>(epoch));
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[mixSeed(base, i) % i]);
    }
    const std::int64_t end = std::min(m_rows, begin + m_size);
    return {order.begin() + begin, order.begin() + end};
}

Result<NamedValues> Batches::at(std::int64_t step) const {
    NamedValues out;
    if (m_size == 0) {
        for (const auto& [name, tensor] : m_data)
            out.emplace(name, RuntimeValue(tensor));
        return out;
    }
    const std::vector<std::int64_t> rows = rowsAt(step);
    for (const auto& [name, tensor] : m_data) {
        NABLA_TRY(Tensor picked, pickRows(name, tensor, rows));
        out.emplace(name, RuntimeValue(std::move(picked)));
    }
    return out;
}

} // namespace nabla::engine

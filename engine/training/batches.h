// Batches out of arrays, as a pure function of the step: what a resumed run needs to go on exactly where it was.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/runtime/session.h"

namespace nabla::engine {

enum class BatchOrder : bool { InFile, Shuffled };

/// Rows along the first axis of every array belong together. Thread safe.
class Batches {
public:
    /// The arrays of `data` called as `inputs` are. `size` 0: every step gets the whole arrays, which then need not have equal lengths. The last
    /// batch of an epoch may be shorter (torch DataLoader's drop_last=False). Errors (Usage): an input without array, arrays of different
    /// length, no rows.
    static Result<Batches> make(const std::map<std::string, Tensor>& data, const std::vector<std::string>& inputs, std::int64_t size,
        BatchOrder order, std::uint64_t seed);

    std::int64_t perEpoch() const { return m_perEpoch; }
    std::int64_t rows() const { return m_rows; }
    /// The batch of step 0, 1, 2, …; each epoch has its own order, drawn from the seed and the epoch's number.
    Result<NamedValues> at(std::int64_t step) const;
    /// The rows that go into it, in order.
    std::vector<std::int64_t> rowsAt(std::int64_t step) const;

private:
    Batches() = default;
    std::map<std::string, Tensor> m_data;
    std::int64_t m_rows = 1, m_size = 0, m_perEpoch = 1;
    BatchOrder m_order = BatchOrder::Shuffled;
    std::uint64_t m_seed = 0;
};

} // namespace nabla::engine

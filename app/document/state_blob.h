// States of a history as bytes (NABLA_STATE.graph) and back. The blobs of one document are one stream cut into pieces:
//
//   "NBST" version | kind title subtitle | pass record? | graph | joint graph?
//
// Whatever states share (tensors, nodes, values, bodies, functions, model facts) is written where it is met first and from then on named by
// its number, so that shared objects are shared again after loading. A graph is a patch on an earlier one, or on nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "app/document/document.h"
#include "app/document/session_weights.h"

namespace nabla::app {

inline constexpr std::uint64_t kStateBlobVersion = 1;
inline constexpr std::size_t kInsideBytes = 64 << 10;          ///< tensors up to this size are in the blob always
inline constexpr std::int64_t kMostInsideBytes = 512 << 20;    ///< what a session holds of weights by itself
inline constexpr std::uint32_t kMostId = 1 << 26;              ///< ids beyond are refused: tables are as long as their largest id

/// Writes the states of one document in their order; they must outlive the writer.
class StateWriter {
public:
    StateWriter(const SessionFolder& folder, engine::JobControl job);
    ~StateWriter();
    /// `parent` may be null. Errors (Usage): more weights than a session holds by itself; a dimension that cannot be written.
    Result<std::vector<std::byte>> write(const HistoryState& state, const HistoryState* parent);

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Reads blobs in the order they were written in. `id` and `parent` are the caller's.
class StateReader {
public:
    StateReader(SessionFolder& folder, engine::JobControl job);
    ~StateReader();
    /// Errors (Read): another version, truncated, a reference to what is not there, ids twice or out of bounds, a graph that breaks a
    /// promise of the engine, weights that changed. Nothing read is trusted; memory is bounded by a multiple of the blob.
    Result<HistoryState> read(std::span<const std::byte> blob);
    /// After the last one: new ids are larger than all that were read.
    void finish();

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace nabla::app

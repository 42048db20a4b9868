// Frames between the program and `nablascope-layout`: little-endian, each led by its length.
//
//   frame    u32 length of what follows | payload
//   request  u32 id | u8 kind (0 layout, 1 ping, 2 quit) | layout only: spacing, counts, nodes, groups, edges
//   reply    u32 id | i32 code (0 done) | u32 microseconds | u32 peak memory KiB | result, or a text when code != 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "views/layout/layout_types.h"

namespace nabla::views {

using Bytes = std::vector<std::byte>;

enum class WorkerRequestKind : std::uint8_t { Layout, Ping, Quit };

struct WorkerRequest {
    std::uint32_t id = 0;
    WorkerRequestKind kind = WorkerRequestKind::Layout;
    LayoutRequest layout;
};

struct WorkerReply {
    std::uint32_t id = 0;
    std::int32_t code = 0; ///< 0: `result` holds the layout (empty for a ping); else `message` says why not
    std::uint32_t microseconds = 0;
    std::uint32_t peakMemoryKib = 0;
    LayoutResult result;
    std::string message;
};

/// Whole frames, the length included.
Bytes encodeRequest(const WorkerRequest& request);
Bytes encodeReply(const WorkerReply& reply);

/// Payloads without the length. Counts are checked against the bytes that are there before anything is allocated.
engine::Result<WorkerRequest> decodeRequest(std::span<const std::byte> payload);
engine::Result<WorkerReply> decodeReply(std::span<const std::byte> payload);

/// Collects bytes as they arrive and hands out whole payloads.
class FrameReader {
public:
    static constexpr std::uint32_t kMaxPayload = 64u << 20;

    void append(std::span<const std::byte> bytes);
    /// The next payload, nothing if it has not fully arrived; an error when the other side announces more than
    /// kMaxPayload: what follows cannot be read any more.
    engine::Result<std::optional<Bytes>> next();

private:
    Bytes m_buffer;
    std::size_t m_start = 0;
};

} // namespace nabla::views

// Ids of the graph and the source they come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/base/id.h"

namespace nabla::engine {

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;

/// Gives out ids that are unique in one document: every state of its history, every branch and every body draws from the same one.
class IdSource {
public:
    NodeId nextNode() { return {m_node.fetch_add(1, std::memory_order_relaxed) + 1}; }
    ValueId nextValue() { return {m_value.fetch_add(1, std::memory_order_relaxed) + 1}; }

private:
    std::atomic<std::uint32_t> m_node{0};
    std::atomic<std::uint32_t> m_value{0};
};
using IdSourcePtr = std::shared_ptr<IdSource>;

} // namespace nabla::engine

// One record a scope, 32 bytes, in a ring a thread: single producer, single consumer, never blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "engine/base/phase.h"

namespace nabla::engine {

enum class RecordKind : std::uint8_t {
    Step, ///< one plan step: start, end, node, planStep, kernel, phase
    Run, ///< one execution of a plan: start, end, phase; iteration says which
    Alloc, ///< a value became alive in the arena; bytes() is its size
    Free, ///< its place was given back
    Counter, ///< a number: start is the time, `end` the bits of a double, `node` the counter
};

/// What a producer stores. The meaning of the fields depends on `kind`.
struct EventRecord {
    std::uint64_t start = 0; ///< ticks
    std::uint64_t end = 0; ///< ticks; Alloc, Free: offset in the arena; Counter: bits of the value
    std::uint32_t node = 0; ///< node id; Alloc, Free: value id; Counter: counter id
    std::uint32_t planStep = 0; ///< index in the plan; Alloc, Free: low half of the size
    std::uint32_t iteration = 0; ///< 1, 2, ... : the execution it belongs to
    std::uint16_t kernel = 0; ///< index of the kernel that ran; Alloc, Free: bits 32..47 of the size
    Phase phase = Phase::None;
    RecordKind kind = RecordKind::Step;

    /// Alloc, Free: size in bytes (below 2^48).
    std::uint64_t bytes() const { return planStep | (std::uint64_t{kernel} << 32); }
    /// Counter: the number.
    double counterValue() const {
        double value;
        std::memcpy(&value, &end, sizeof value);
        return value;
    }
};
static_assert(sizeof(EventRecord) == 32);

/// A power-of-two ring. push() only on the producer's thread, drain() only on the consumer's.
class EventRing {
public:
    /// capacity: a power of two. The memory is touched here, so that push() meets no page fault.
    explicit EventRing(std::size_t capacity)
        : m_mask(capacity - 1)
        , m_slots(std::make_unique<EventRecord[]>(capacity)) { }

    /// Stores one record, or counts it as dropped when the consumer is a whole ring behind.
    void push(const EventRecord& record) {
        const std::uint64_t head = m_head.load(std::memory_order_relaxed);
        if (head - m_knownTail > m_mask) [[unlikely]] {
            m_knownTail = m_tail.load(std::memory_order_acquire);
            if (head - m_knownTail > m_mask) {
                m_dropped.store(m_dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                return;
            }
        }
        m_slots[head & m_mask] = record;
        m_head.store(head + 1, std::memory_order_release);
    }

    /// Hands everything stored so far to `sink(std::span<const EventRecord>)`, in at most two pieces. Returns how many.
    template <typename Sink> std::size_t drain(Sink&& sink) {
        const std::uint64_t tail = m_tail.load(std::memory_order_relaxed);
        const std::uint64_t head = m_head.load(std::memory_order_acquire);
        const auto count = static_cast<std::size_t>(head - tail);
        if (count == 0)
            return 0;
        const std::size_t first = tail & m_mask;
        const std::size_t untilWrap = std::min(count, m_mask + 1 - first);
        sink(std::span<const EventRecord>(&m_slots[first], untilWrap));
        if (count > untilWrap)
            sink(std::span<const EventRecord>(&m_slots[0], count - untilWrap));
        m_tail.store(head, std::memory_order_release);
        return count;
    }

    /// Nothing waits to be drained. Any thread.
    bool empty() const { return m_head.load(std::memory_order_acquire) == m_tail.load(std::memory_order_acquire); }
    /// Records lost since the ring was made. Any thread.
    std::uint64_t dropped() const { return m_dropped.load(std::memory_order_relaxed); }
    std::size_t capacity() const { return m_mask + 1; }

private:
    // Producer and consumer write different cache lines, or each push would wait for the other core.
    alignas(64) std::atomic<std::uint64_t> m_head{0};
    std::uint64_t m_knownTail = 0;
    std::atomic<std::uint64_t> m_dropped{0};
    alignas(64) std::atomic<std::uint64_t> m_tail{0};
    alignas(64) const std::size_t m_mask;
    std::unique_ptr<EventRecord[]> m_slots;
};

} // namespace nabla::engine

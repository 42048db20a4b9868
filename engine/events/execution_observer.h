// What a profiler may see of an execution: the executor tells an ExecutionObserver, a recorder drains it.
//
// How an executor uses it (`observer` may be null: nothing is ever recorded then):
//
//     RunScope run(observer, Phase::None);                      // one execution of the plan; lives until it ends
//     for (const Step& step : plan.steps) {                     // on any thread that works for this run
//         StepScope scope(run, step.node.value, stepIndex, step.kernelIndex, Phase::Forward);
//         run.allocated(value.value, offset, bytes);            // arena blocks, where wanted
//         runKernel(step);
//         run.freed(value.value, offset, bytes);
//     }
//     run.counter(kLossCounter, loss);
//
// When recording is off a RunScope holds no observer and each hook is one predictable branch. When it is on, a
// StepScope is two clock reads and a 32-byte store into the thread's own ring: no lock, no allocation, no virtual call.
// The first event on a thread takes a lock and makes the ring; prepareThread() does that beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/events/clock.h"
#include "engine/events/event_ring.h"

namespace nabla::engine {

/// A counter id that every recording knows: the loss of the iteration.
inline constexpr std::uint32_t kLossCounter = 1;

/// The ring of one thread and who that is.
struct ThreadRing {
    explicit ThreadRing(std::size_t capacity)
        : ring(capacity) { }
    EventRing ring;
    std::int32_t threadId = 0; ///< the kernel's tid
    std::string threadName;
    std::uint64_t droppedBefore = 0; ///< drops of earlier recordings and of earlier owners of the ring
    std::atomic<bool> abandoned{false}; ///< the thread has ended
};

/// Collects the events of every thread. One object serves any number of recordings, one after the other; it must
/// outlive every run that was given it.
class ExecutionObserver {
public:
    /// ringCapacity: records a thread, a power of two.
    explicit ExecutionObserver(std::size_t ringCapacity = 1u << 17, ClockSource source = trustedClockSource());
    ~ExecutionObserver();
    ExecutionObserver(const ExecutionObserver&) = delete;
    ExecutionObserver& operator=(const ExecutionObserver&) = delete;

    bool recording() const { return m_recording.load(std::memory_order_relaxed); }
    ClockSource clockSource() const { return m_source; }

    /// Makes the calling thread's ring now, so that its first event does not have to.
    void prepareThread() { ring(); }

    /// Recorder's side: throws away what is left of an earlier recording, begins with iteration 1.
    void start();
    /// Recorder's side: hooks become no-ops; what is in the rings stays for a last drain().
    void stop();
    /// Recorder's side, one thread at a time: hands over `sink(const ThreadRing&, std::span<const EventRecord>)` for
    /// every ring. Returns the number of records. Records of one thread come in the order in which they ended.
    template <typename Sink> std::size_t drain(Sink&& sink) {
        std::size_t count = 0;
        const std::lock_guard lock(m_mutex);
        for (const auto& thread : m_rings)
            count += thread->ring.drain([&](std::span<const EventRecord> records) { sink(*thread, records); });
        return count;
    }
    /// Records lost since start().
    std::uint64_t dropped() const;

private:
    friend class RunScope;
    friend class StepScope;

    EventRing& ring() {
        if (t_cache.observer == m_id) [[likely]]
            return *t_cache.ring;
        return registerThread();
    }
    EventRing& registerThread();
    std::uint32_t nextIteration() { return m_iterations.fetch_add(1, std::memory_order_relaxed) + 1; }

    struct ThreadCache {
        std::uint64_t observer;
        EventRing* ring;
    };
    // By id, not by address: a later observer may be made where an earlier one was.
    static inline constinit thread_local ThreadCache t_cache{0, nullptr};

    std::atomic<bool> m_recording{false};
    const ClockSource m_source;
    const std::uint64_t m_id;
    const std::size_t m_capacity;
    std::atomic<std::uint32_t> m_iterations{0};
    mutable std::mutex m_mutex;
    std::vector<std::shared_ptr<ThreadRing>> m_rings;
};

/// One execution of a plan: a row of NABLA_STEP in the recording. Give it by reference to the threads that work for it.
class RunScope {
public:
    RunScope(ExecutionObserver* observer, Phase phase) {
        if (!observer || !observer->recording())
            return;
        m_observer = observer;
        m_record.iteration = observer->nextIteration();
        m_record.phase = phase;
        m_record.kind = RecordKind::Run;
        m_record.start = readTicks(observer->m_source);
    }
    ~RunScope() { end(); }
    RunScope(const RunScope&) = delete;
    RunScope& operator=(const RunScope&) = delete;

    /// Ends the run before the scope does (a stepper that goes back and starts anew). Later hooks do nothing.
    void end() {
        if (!m_observer)
            return;
        m_record.end = readTicks(m_observer->m_source);
        m_observer->ring().push(m_record);
        m_observer = nullptr;
    }

    bool recording() const { return m_observer && m_observer->recording(); }
    /// 1, 2, ... within the recording; 0 when not recorded.
    std::uint32_t iteration() const { return m_record.iteration; }

    /// A value became alive at `offset` of the arena.
    void allocated(std::uint32_t value, std::uint64_t offset, std::uint64_t bytes) const {
        block(RecordKind::Alloc, value, offset, bytes);
    }
    void freed(std::uint32_t value, std::uint64_t offset, std::uint64_t bytes) const {
        block(RecordKind::Free, value, offset, bytes);
    }
    /// A number at this time, such as the loss.
    void counter(std::uint32_t counter, double value) const {
        if (!recording())
            return;
        EventRecord record = stamped(RecordKind::Counter);
        record.node = counter;
        std::memcpy(&record.end, &value, sizeof value);
        m_observer->ring().push(record);
    }

private:
    friend class StepScope;

    EventRecord stamped(RecordKind kind) const {
        EventRecord record;
        record.start = readTicks(m_observer->m_source);
        record.iteration = m_record.iteration;
        record.kind = kind;
        return record;
    }
    void block(RecordKind kind, std::uint32_t value, std::uint64_t offset, std::uint64_t bytes) const {
        if (!recording())
            return;
        EventRecord record = stamped(kind);
        record.end = offset;
        record.node = value;
        record.planStep = static_cast<std::uint32_t>(bytes);
        record.kernel = static_cast<std::uint16_t>(bytes >> 32);
        m_observer->ring().push(record);
    }

    ExecutionObserver* m_observer = nullptr;
    EventRecord m_record;
};

/// One plan step: a row of NABLA_OP_EVENT. Begins and ends on the same thread, within its run.
class StepScope {
public:
    StepScope(const RunScope& run, std::uint32_t node, std::uint32_t planStep, std::uint16_t kernel, Phase phase) {
        // One load and a branch when off; GCC moves the rest out of the way only for a plain pointer test.
        if (run.m_observer) [[unlikely]]
            begin(run, node, planStep, kernel, phase);
    }
    ~StepScope() {
        if (m_observer) [[unlikely]]
            end();
    }
    StepScope(const StepScope&) = delete;
    StepScope& operator=(const StepScope&) = delete;

private:
    void begin(const RunScope& run, std::uint32_t node, std::uint32_t planStep, std::uint16_t kernel, Phase phase) {
        if (!run.m_observer->recording())
            return;
        m_observer = run.m_observer;
        m_node = node;
        m_planStep = planStep;
        m_iteration = run.m_record.iteration;
        m_kernel = kernel;
        m_phase = phase;
        m_start = readTicks(m_observer->m_source);
    }
    void end() {
        const std::uint64_t now = readTicks(m_observer->m_source);
        m_observer->ring().push({m_start, now, m_node, m_planStep, m_iteration, m_kernel, m_phase, RecordKind::Step});
    }

    // Left uninitialised when off: clearing them would cost more than the branch.
    ExecutionObserver* m_observer = nullptr;
    std::uint64_t m_start;
    std::uint32_t m_node;
    std::uint32_t m_planStep;
    std::uint32_t m_iteration;
    std::uint16_t m_kernel;
    Phase m_phase;
};

} // namespace nabla::engine

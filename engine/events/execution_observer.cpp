// Registration of threads and the start and stop of a recording.
#include "engine/events/execution_observer.h"

#include <algorithm>
#include <array>

#include <pthread.h>
#include <unistd.h>

#include "engine/base/assert.h"

namespace nabla::engine {

namespace {

/// Rings that this thread owns, marked when it ends so that another thread can take them over.
struct OwnedRings {
    std::vector<std::shared_ptr<ThreadRing>> rings;
    ~OwnedRings() {
        for (const auto& ring : rings)
            ring->abandoned.store(true, std::memory_order_release);
    }
};

OwnedRings& ownedRings() {
    thread_local OwnedRings owned;
    return owned;
}

std::string currentThreadName() {
    std::array<char, 16> name{}; // the kernel's limit, with the NUL
    if (pthread_getname_np(pthread_self(), name.data(), name.size()) != 0)
        return {};
    return name.data();
}

std::uint64_t nextObserverId() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1) + 1;
}

} // namespace

ExecutionObserver::ExecutionObserver(std::size_t ringCapacity, ClockSource source)
    : m_source(source)
    , m_id(nextObserverId())
    , m_capacity(ringCapacity) {
    NABLA_ASSERT(ringCapacity > 0 && (ringCapacity & (ringCapacity - 1)) == 0, "ring capacity is not a power of two");
}

ExecutionObserver::~ExecutionObserver() = default;

EventRing& ExecutionObserver::registerThread() {
    const std::lock_guard lock(m_mutex);
    const auto self = static_cast<std::int32_t>(gettid());
    std::shared_ptr<ThreadRing> mine;
    for (const auto& thread : m_rings) {
        // The cache holds one observer; a thread that serves two comes back here and must find its own ring.
        if (thread->threadId == self && !thread->abandoned.load(std::memory_order_acquire))
            mine = thread;
    }
    if (!mine) {
        // A ring whose thread has ended serves again once it is drained; its records carry no thread of their own.
        const auto free = std::find_if(m_rings.begin(), m_rings.end(), [](const auto& thread) {
            return thread->abandoned.load(std::memory_order_acquire) && thread->ring.empty();
        });
        if (free != m_rings.end()) {
            mine = *free;
            mine->abandoned.store(false, std::memory_order_relaxed);
        } else {
            mine = std::make_shared<ThreadRing>(m_capacity);
            m_rings.push_back(mine);
        }
        mine->threadId = self;
        mine->threadName = currentThreadName();
        ownedRings().rings.push_back(mine);
    }
    t_cache = {m_id, &mine->ring};
    return mine->ring;
}

void ExecutionObserver::start() {
    {
        const std::lock_guard lock(m_mutex);
        for (const auto& thread : m_rings) {
            thread->ring.drain([](std::span<const EventRecord>) {});
            thread->droppedBefore = thread->ring.dropped();
        }
    }
    m_iterations.store(0, std::memory_order_relaxed);
    m_recording.store(true, std::memory_order_release);
}

void ExecutionObserver::stop() {
    m_recording.store(false, std::memory_order_release);
}

std::uint64_t ExecutionObserver::dropped() const {
    const std::lock_guard lock(m_mutex);
    std::uint64_t count = 0;
    for (const auto& thread : m_rings)
        count += thread->ring.dropped() - thread->droppedBefore;
    return count;
}

} // namespace nabla::engine

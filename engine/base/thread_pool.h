// A small work-stealing pool: one deque a worker, the caller helps while it waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace nabla::engine {

/// Runs tasks on `threads - 1` workers and the calling thread. Tasks must not block on one another.
class ThreadPool {
public:
    /// threads: 0 = one per core. `onWorkerStart` runs once on every worker (kernel libraries set per-thread state there).
    explicit ThreadPool(unsigned threads = 0, std::function<void()> onWorkerStart = {});
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    unsigned threads() const { return static_cast<unsigned>(m_workers.size()) + 1; }

    /// Queues one task; any worker may take it.
    void submit(std::function<void()> task);

    /// Calls body(begin, end) over [0, count) in blocks of at least `grain`, on all threads; returns when all are done.
    void parallelFor(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

    /// Runs one queued task on the calling thread. False when there was none.
    bool runOne();

private:
    struct Queue {
        std::mutex mutex;
        std::deque<std::function<void()>> tasks;
    };
    bool take(std::size_t home, std::function<void()>& task);
    void work(std::size_t home, const std::stop_token& stop);

    std::vector<std::unique_ptr<Queue>> m_queues;
    std::mutex m_sleepMutex;
    std::condition_variable_any m_wake;
    std::atomic<std::size_t> m_pending{0};
    std::atomic<std::size_t> m_next{0};
    std::vector<std::jthread> m_workers;
};

} // namespace nabla::engine

// Work stealing over mutex-guarded deques: tasks here last tens of microseconds, so a lock each is noise.
#include "engine/base/thread_pool.h"

#include <algorithm>
#include <utility>

namespace nabla::engine {

ThreadPool::ThreadPool(unsigned threads, std::function<void()> onWorkerStart) {
    if (threads == 0)
        threads = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < threads; ++i)
        m_queues.push_back(std::make_unique<Queue>());
    for (unsigned i = 1; i < threads; ++i) {
        m_workers.emplace_back([this, i, onWorkerStart](const std::stop_token& stop) {
            if (onWorkerStart)
                onWorkerStart();
            work(i, stop);
        });
    }
}

ThreadPool::~ThreadPool() {
    for (auto& worker : m_workers)
        worker.request_stop();
    m_wake.notify_all();
}

void ThreadPool::submit(std::function<void()> task) {
    const std::size_t target = m_next.fetch_add(1, std::memory_order_relaxed) % m_queues.size();
    {
        const std::scoped_lock lock(m_queues[target]->mutex);
        m_queues[target]->tasks.push_back(std::move(task));
    }
    m_pending.fetch_add(1, std::memory_order_release);
    {
        const std::scoped_lock lock(m_sleepMutex); // a worker between its test and its wait must not miss this
    }
    m_wake.notify_one();
}

bool ThreadPool::take(std::size_t home, std::function<void()>& task) {
    for (std::size_t i = 0; i < m_queues.size(); ++i) {
        Queue& queue = *m_queues[(home + i) % m_queues.size()];
        const std::scoped_lock lock(queue.mutex);
        if (queue.tasks.empty())
            continue;
        if (i == 0) { // own work newest first (warm cache), stolen work oldest first (largest)
            task = std::move(queue.tasks.back());
            queue.tasks.pop_back();
        } else {
            task = std::move(queue.tasks.front());
            queue.tasks.pop_front();
        }
        m_pending.fetch_sub(1, std::memory_order_relaxed);
        return true;
    }
    return false;
}

bool ThreadPool::runOne() {
    std::function<void()> task;
    if (!take(0, task))
        return false;
    task();
    return true;
}

void ThreadPool::work(std::size_t home, const std::stop_token& stop) {
    std::function<void()> task;
    while (!stop.stop_requested()) {
        if (take(home, task)) {
            task();
            task = nullptr;
            continue;
        }
        std::unique_lock lock(m_sleepMutex);
        m_wake.wait(lock, stop, [this] { return m_pending.load(std::memory_order_acquire) > 0; });
    }
}

void ThreadPool::parallelFor(std::size_t count, std::size_t grain,
    const std::function<void(std::size_t, std::size_t)>& body) {
    const std::size_t blocks = std::min<std::size_t>(threads() * 4UL, (count + grain - 1) / std::max<std::size_t>(grain, 1));
    if (blocks <= 1 || m_workers.empty()) {
        if (count > 0)
            body(0, count);
        return;
    }
    std::atomic<std::size_t> left{blocks - 1};
    const auto bounds = [&](std::size_t block) { return count * block / blocks; };
    for (std::size_t block = 1; block < blocks; ++block) {
        submit([&, block] {
            body(bounds(block), bounds(block + 1));
            left.fetch_sub(1, std::memory_order_release);
        });
    }
    body(bounds(0), bounds(1));
    while (left.load(std::memory_order_acquire) > 0) {
        if (!runOne())
            std::this_thread::yield();
    }
}

} // namespace nabla::engine

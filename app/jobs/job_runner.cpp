// One thread of a pool; progress is passed on at most every 50 ms.
#include "app/jobs/job_runner.h"

#include <atomic>
#include <chrono>

namespace nabla::app {

JobRunner::JobRunner(QObject* parent) : QObject(parent) {
    m_pool.setMaxThreadCount(1);
    m_pool.setStackSize(64 << 20); // bodies within bodies within bodies
}

JobRunner::~JobRunner() {
    cancel();
    m_pool.waitForDone();
}

void JobRunner::enqueue(const QString& title, std::shared_ptr<std::stop_source> source, std::function<void()> task) {
    m_title = title;
    ++m_queued;
    std::erase_if(m_sources, [](const auto& weak) { return weak.expired(); });
    m_sources.push_back(source);
    Q_EMIT started(title);
    m_pool.start(std::move(task));
}

void JobRunner::cancel() {
    for (const auto& weak : m_sources) {
        if (const auto source = weak.lock())
            source->request_stop();
    }
}

void JobRunner::report(std::string_view phase, std::int64_t done, std::int64_t total) {
    static std::atomic<std::int64_t> last{0}; // milliseconds
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    if (now - last.load(std::memory_order_relaxed) < 50 && done != total)
        return;
    last.store(now, std::memory_order_relaxed);
    Q_EMIT progressed(QString::fromUtf8(phase.data(), static_cast<qsizetype>(phase.size())), done, total);
}

void JobRunner::finish() {
    if (--m_queued == 0)
        Q_EMIT idle();
}

} // namespace nabla::app

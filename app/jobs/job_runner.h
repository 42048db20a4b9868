// JobRunner: work off the GUI thread, one job at a time, with progress and a Cancel that answers at once.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include <QObject>
#include <QString>
#include <QThreadPool>

#include "engine/base/stop.h"

namespace nabla::app {

/// Jobs run in order on one thread. Results come back on the thread that owns the runner, as values.
class JobRunner : public QObject {
    Q_OBJECT
public:
    explicit JobRunner(QObject* parent = nullptr);
    ~JobRunner() override; ///< cancels and waits

    /// `work` runs on the job thread, then `done` here. A job that was cancelled still ends in done(), with ErrorKind::Cancelled.
    template <typename T>
    void start(const QString& title, std::function<engine::Result<T>(const engine::JobControl&)> work, std::function<void(engine::Result<T>)> done) {
        auto source = std::make_shared<std::stop_source>();
        enqueue(title, source, [this, source, work = std::move(work), done = std::move(done)] {
            auto result = std::make_shared<engine::Result<T>>(run<T>(work, *source));
            QMetaObject::invokeMethod(this, [this, result, done] {
                finish();
                done(std::move(*result));
            }, Qt::QueuedConnection);
        });
    }

    bool busy() const { return m_queued > 0; }
    QString title() const { return m_title; }

public Q_SLOTS:
    /// Asks the running job and those behind it to stop.
    void cancel();

Q_SIGNALS:
    void started(const QString& title);
    void progressed(const QString& phase, qint64 done, qint64 total);
    void idle(); ///< no job runs or waits any more

private:
    template <typename T> engine::Result<T> run(const std::function<engine::Result<T>(const engine::JobControl&)>& work, const std::stop_source& source) {
        engine::JobControl control;
        control.stop = source.get_token();
        control.progress = [this](std::string_view phase, std::int64_t done, std::int64_t total) { report(phase, done, total); };
        if (auto ok = control.check(); !ok)
            return ok.error();
        try {
            return work(control);
        } catch (const std::bad_alloc&) {
            return engine::runError("out of memory");
        }
    }
    void enqueue(const QString& title, std::shared_ptr<std::stop_source> source, std::function<void()> task);
    void report(std::string_view phase, std::int64_t done, std::int64_t total);
    void finish();

    QThreadPool m_pool;
    QString m_title;
    int m_queued = 0;
    std::vector<std::weak_ptr<std::stop_source>> m_sources;
};

} // namespace nabla::app

// The layout worker seen from the window: one process, newest request wins, never waits.
#pragma once

#include <cstdint>
#include <optional>

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "views/layout/worker_protocol.h"

namespace nabla::app {

/// Runs `nablascope-layout` and keeps it for the next request. A newer request kills the one that is running; a crash,
/// an unreadable reply or a request over its time budget ends in failed(), and the next request starts a new process.
class LayoutWorker : public QObject {
    Q_OBJECT
public:
    /// `program`: path of nablascope-layout. Nothing is started before the first request.
    explicit LayoutWorker(QString program, QObject* parent = nullptr);
    ~LayoutWorker() override;

    /// Asks for a layout and returns its id. What an older request was asked for is dropped without a signal.
    std::uint32_t request(views::LayoutRequest layout);
    /// Drops the running request, if any, without a signal.
    void cancel();
    bool isBusy() const { return m_running.has_value(); }

    /// Time from request to reply, 250 ms at first; after it failed() is emitted.
    void setBudgetMs(int budget) { m_budgetMs = budget; }
    /// Process id of the worker, 0 when none runs.
    qint64 processId() const { return m_process ? m_process->processId() : 0; }

    /// nablascope-layout beside the running program.
    static QString defaultProgram();

Q_SIGNALS:
    void done(std::uint32_t id, const nabla::views::LayoutResult& result);
    /// `reason`: one sentence, for the notice and the log.
    void failed(std::uint32_t id, const QString& reason);
    /// A line of the worker's stderr, for the log.
    void logLine(const QString& line);

private:
    void start();
    void drop();
    void fail(const QString& reason);
    void readReplies();
    void accept(const views::WorkerReply& reply);

    QString m_program;
    QProcess* m_process = nullptr;
    views::FrameReader m_reader;
    std::optional<std::uint32_t> m_running;
    std::size_t m_nodes = 0, m_groups = 0, m_edges = 0; // of the running request
    std::uint32_t m_nextId = 1;
    QTimer m_budget;
    int m_budgetMs = 250;
};

} // namespace nabla::app

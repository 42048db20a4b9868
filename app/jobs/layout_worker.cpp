// Starting, feeding, killing and replacing the layout process.
#include "app/jobs/layout_worker.h"

#include <utility>

#include <QCoreApplication>
#include <QDir>

namespace nabla::app {

LayoutWorker::LayoutWorker(QString program, QObject* parent)
    : QObject(parent)
    , m_program(std::move(program)) {
    m_budget.setSingleShot(true);
    connect(&m_budget, &QTimer::timeout, this, [this] {
        drop();
        fail(tr("Graphviz took longer than %1 ms").arg(m_budgetMs));
    });
}

LayoutWorker::~LayoutWorker() {
    constexpr int kReapMs = 500; // a killed process is reaped in about 2 ms
    if (m_process == nullptr)
        return;
    m_process->disconnect(this);
    m_process->kill();
    m_process->waitForFinished(kReapMs);
}

QString LayoutWorker::defaultProgram() {
    return QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("nablascope-layout"));
}

std::uint32_t LayoutWorker::request(views::LayoutRequest layout) {
    if (m_running)
        drop();
    const std::uint32_t id = m_nextId++;
    m_nodes = layout.nodes.size();
    m_groups = layout.groups.size();
    m_edges = layout.edges.size();
    const views::Bytes frame = views::encodeRequest({id, views::WorkerRequestKind::Layout, std::move(layout)});
    m_running = id;
    if (m_process == nullptr)
        start();
    m_process->write(reinterpret_cast<const char*>(frame.data()), static_cast<qint64>(frame.size()));
    m_budget.start(m_budgetMs);
    return id;
}

void LayoutWorker::cancel() {
    if (m_running)
        drop();
}

void LayoutWorker::start() {
    m_process = new QProcess(this);
    m_reader = {};
    connect(m_process, &QProcess::readyReadStandardOutput, this, &LayoutWorker::readReplies);
    connect(m_process, &QProcess::readyReadStandardError, this, [this] {
        const auto lines = QString::fromUtf8(m_process->readAllStandardError()).split(u'\n', Qt::SkipEmptyParts);
        for (const QString& line : lines)
            Q_EMIT logLine(line);
    });
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart)
            return; // a crash also arrives as finished()
        const QString reason = tr("Cannot start %1: %2").arg(m_program, m_process->errorString());
        drop();
        fail(reason);
    });
    connect(m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        const QString reason = status == QProcess::CrashExit ? tr("The layout process crashed")
                                                             : tr("The layout process ended with code %1").arg(code);
        const bool wasBusy = m_running.has_value();
        const auto running = m_running;
        drop();
        m_running = running;
        if (wasBusy)
            fail(reason);
    });
    m_process->start(m_program, {});
}

/// Forgets the process and what it was doing. The object lives until the process is reaped, so nothing waits here.
void LayoutWorker::drop() {
    m_budget.stop();
    if (m_process == nullptr)
        return;
    QProcess* old = std::exchange(m_process, nullptr);
    old->disconnect(this);
    if (old->state() == QProcess::NotRunning) {
        old->deleteLater();
        return;
    }
    // Outlives this object if need be: QProcess's destructor would wait for the end.
    old->setParent(QCoreApplication::instance());
    connect(old, &QProcess::finished, old, &QObject::deleteLater);
    connect(old, &QProcess::errorOccurred, old, [old](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            old->deleteLater();
    });
    old->kill();
}

void LayoutWorker::fail(const QString& reason) {
    if (const auto id = std::exchange(m_running, std::nullopt))
        Q_EMIT failed(*id, reason);
}

void LayoutWorker::readReplies() {
    const QByteArray bytes = m_process->readAllStandardOutput();
    m_reader.append(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))));
    while (m_process != nullptr) {
        auto frame = m_reader.next();
        if (frame && !frame->has_value())
            return;
        auto reply = frame ? views::decodeReply(**frame) : engine::Result<views::WorkerReply>(std::move(frame).error());
        if (!reply) {
            drop();
            fail(QString::fromStdString(reply.error().message()));
            return;
        }
        accept(*reply);
    }
}

void LayoutWorker::accept(const views::WorkerReply& reply) {
    if (!m_running || reply.id != *m_running)
        return;
    m_budget.stop();
    if (reply.code != 0)
        return fail(QString::fromStdString(reply.message));
    const views::LayoutResult& r = reply.result;
    if (r.nodes.size() != m_nodes || r.groups.size() != m_groups || r.firstPoint.size() != m_edges + 1)
        return fail(tr("The layout process answered for another graph"));
    m_running.reset();
    Q_EMIT done(reply.id, r);
}

} // namespace nabla::app

// Runs the program as a user does, and tells what it printed, how it ended and what it took.
#pragma once

#include <sys/resource.h>

#include <QElapsedTimer>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>

namespace nabla::tests {

struct Ended {
    int code = -1; ///< exit code; -1: crashed, did not start, or was stopped for taking too long
    QByteArray out, err;
    qint64 elapsedMs = 0;

    QByteArray text() const { return out + err; }
    /// The object on stdout; empty when it is not one JSON object.
    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
    /// For messages of checks.
    QByteArray told() const { return "exit " + QByteArray::number(code) + "\n" + out.right(600) + err.right(600); }
};

inline QString programPath() { return QStringLiteral(NABLA_BINARY_DIR "/nablascope"); }

/// Runs `nablascope arguments…` in `folder` and waits up to `limitMs`.
inline Ended runProgram(const QStringList& arguments, const QString& folder = {}, int limitMs = 60'000) {
    QProcess process;
    if (!folder.isEmpty())
        process.setWorkingDirectory(folder);
    QElapsedTimer clock;
    clock.start();
    process.start(programPath(), arguments);
    Ended ended;
    if (!process.waitForStarted(limitMs))
        return ended;
    if (!process.waitForFinished(limitMs)) {
        process.kill();
        process.waitForFinished();
        ended.elapsedMs = clock.elapsed();
        ended.err = process.readAllStandardError() + "(stopped for taking too long)";
        return ended;
    }
    ended.elapsedMs = clock.elapsed();
    ended.out = process.readAllStandardOutput();
    ended.err = process.readAllStandardError();
    if (process.exitStatus() == QProcess::NormalExit)
        ended.code = process.exitCode();
    return ended;
}

/// Largest resident set of any child that has ended so far, in bytes (Linux counts it in KiB).
inline qint64 largestChildBytes() {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    return qint64(usage.ru_maxrss) * 1024;
}

} // namespace nabla::tests

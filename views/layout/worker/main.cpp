// nablascope-layout: lays out graphs by Graphviz in a process of its own, so that a hanging or crashing layout costs
// nothing but this process. Reads frames from stdin, writes frames to stdout, ends at the end of stdin.
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cstdio>

#include <sys/resource.h>
#include <unistd.h>

#include "views/layout/worker/graphviz_layout.h"
#include "views/layout/worker_protocol.h"

namespace {

using namespace nabla::views;

constexpr rlim_t kMemoryBytes = rlim_t(2) << 30;
constexpr rlim_t kSecondsPerRequest = 20; // the caller kills far earlier; this is for a caller that died

void limitMemory() {
#ifndef NABLA_SANITIZED // a sanitizer reserves terabytes of address space
    const rlimit limit{kMemoryBytes, kMemoryBytes};
    setrlimit(RLIMIT_AS, &limit);
#endif
}

rusage usage() {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return u;
}

/// Lets this request use kSecondsPerRequest of processor time beyond what earlier ones used.
void limitTime() {
    const rusage u = usage();
    const auto used = static_cast<rlim_t>(u.ru_utime.tv_sec + u.ru_stime.tv_sec);
    const rlimit limit{used + kSecondsPerRequest, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &limit);
}

bool writeAll(const Bytes& bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += static_cast<std::size_t>(n);
    }
    return true;
}

WorkerReply answer(GraphvizLayout& graphviz, const WorkerRequest& request) {
    WorkerReply reply;
    reply.id = request.id;
    if (request.kind != WorkerRequestKind::Layout) {
        reply.result.firstPoint = {0};
        return reply;
    }
    limitTime();
    const auto start = std::chrono::steady_clock::now();
    auto result = graphviz.layout(request.layout);
    const auto took = std::chrono::steady_clock::now() - start;
    reply.microseconds
        = static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    reply.peakMemoryKib = static_cast<std::uint32_t>(usage().ru_maxrss);
    if (result) {
        reply.result = std::move(*result);
    } else {
        reply.code = 1;
        reply.message = result.error().message();
    }
    return reply;
}

/// Returns the exit status: 0 at the end of stdin or on request, 1 when the frames make no sense.
int serve() {
    GraphvizLayout graphviz;
    FrameReader reader;
    Bytes chunk(1 << 16);
    while (true) {
        const ssize_t n = read(STDIN_FILENO, chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        reader.append(std::span(chunk).first(static_cast<std::size_t>(n)));
        while (true) {
            auto frame = reader.next();
            if (!frame) {
                std::fprintf(stderr, "%s\n", frame.error().message().c_str());
                return 1;
            }
            if (!frame->has_value())
                break;
            const auto request = decodeRequest(**frame);
            if (!request) {
                std::fprintf(stderr, "%s\n", request.error().message().c_str());
                return 1;
            }
            if (request->kind == WorkerRequestKind::Quit)
                return 0;
            if (!writeAll(encodeReply(answer(graphviz, *request))))
                return 0;
        }
    }
}

} // namespace

int main() {
    std::setlocale(LC_ALL, "C"); // Graphviz reads and writes numbers by the locale
    limitMemory();
    return serve();
}

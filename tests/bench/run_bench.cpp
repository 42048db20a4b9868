// Times of one run of each sample model on one thread: optimised kernels, reference kernels, and recording on against
// off.
//
//   run_bench [FOLDER…]      a folder holds model.onnx and inputs.npz; without one: the sample models
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "engine/events/execution_observer.h"
#include "engine/importers/importer.h"
#include "engine/importers/values/npz.h"
#include "engine/passes/pass.h"
#include "engine/runtime/session.h"

using namespace nabla::engine;
using Clock = std::chrono::steady_clock;

namespace {

template <typename T> T need(Result<T> result, const std::string& what) {
    if (result)
        return std::move(*result);
    std::fprintf(stderr, "%s: %s\n", what.c_str(), result.error().message().c_str());
    std::exit(1);
}

double oneRunMs(Session& session, const NamedValues& inputs, ExecutionObserver* observer) {
    const auto begin = Clock::now();
    const auto outputs = need(session.run(inputs, {}, observer), "run");
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Runs for about a second, at least five times.
double medianMs(Session& session, const NamedValues& inputs) {
    const double first = oneRunMs(session, inputs, nullptr);
    std::vector<double> times;
    const auto count = static_cast<std::size_t>(std::clamp(1000 / std::max(first, 0.01), 5.0, 5000.0));
    for (std::size_t i = 0; i < count; ++i)
        times.push_back(oneRunMs(session, inputs, nullptr));
    return median(std::move(times));
}

/// Off and on by turns, so that both meet the same disturbances.
void compareRecording(Session& session, const NamedValues& inputs, std::size_t steps) {
    ExecutionObserver observer;
    std::vector<double> off, on;
    for (int i = 0; i < 2000; ++i) {
        off.push_back(oneRunMs(session, inputs, nullptr));
        observer.start();
        on.push_back(oneRunMs(session, inputs, &observer));
        observer.stop();
        observer.drain([](const ThreadRing&, std::span<const EventRecord>) {});
    }
    const double without = median(off), with = median(on);
    std::printf("  recording off %.4f ms, on %.4f ms: ratio %.3f, %.1f ns per step\n", without, with, with / without,
        (with - without) * 1e6 / static_cast<double>(steps));
}

void bench(const std::filesystem::path& folder) {
    ImportContext context;
    const Model model = need(openModel(folder / "model.onnx", context), folder.string());
    const Graph graph = need(legalized(model.graph), folder.string());
    NamedValues inputs;
    for (const auto& [name, tensor] : need(readNpz(folder / "inputs.npz"), folder.string()))
        inputs.emplace(name, tensor);
    SessionOptions options;
    options.threads = 1;
    const auto fast = need(Session::create(graph, options), folder.string());
    options.optimisedKernels = false;
    const auto reference = need(Session::create(graph, options), folder.string());
    const auto begin = Clock::now();
    const auto plan = need(fast->plan(inputs), folder.string());
    const double planMs = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    const double fastMs = medianMs(*fast, inputs), referenceMs = medianMs(*reference, inputs);
    std::printf("%-16s %5zu steps  plan %8.2f ms  optimised %9.4f ms  reference %9.4f ms  ratio %6.2f  arena %lld of "
                "%lld bytes\n",
        folder.filename().c_str(), plan->steps.size(), planMs, fastMs, referenceMs, referenceMs / fastMs,
        static_cast<long long>(plan->arena.arenaBytes), static_cast<long long>(plan->arena.lowerBoundBytes));
    compareRecording(*fast, inputs, plan->steps.size());
}

} // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // lines as they come, into a pipe too
    std::vector<std::filesystem::path> folders(argv + 1, argv + argc);
    if (folders.empty()) {
        for (const char* name : {"digits_mlp", "digits_cnn", "tiny_gpt", "control_flow"})
            folders.emplace_back(std::filesystem::path(NABLA_SAMPLE_MODELS) / name);
    }
    for (const auto& folder : folders)
        bench(folder);
}

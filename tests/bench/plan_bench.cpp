// Time and gap of buffer placement on buffers shaped like a training step: what research measured at 2,551 buffers.
//
//   plan_bench [BUFFERS]     default 2551
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/plan/arena.h"

using namespace nabla::engine;

namespace {

/// Three kinds in equal parts: activations kept for their backward step, short-lived values, cotangents.
std::vector<ArenaBuffer> trainingBuffers(std::uint32_t count) {
    std::mt19937 random(7);
    const std::uint32_t layers = count / 3;
    std::vector<ArenaBuffer> buffers;
    for (std::uint32_t i = 0; i < layers; ++i) {
        const auto bytes = [&] { return kArenaAlignment * (std::int64_t{1} << (random() % 16)); };
        buffers.push_back({bytes(), i, 2 * layers - 1 - i});
        buffers.push_back({bytes(), i, i + 1 + static_cast<std::uint32_t>(random() % 3)});
        buffers.push_back({bytes(), layers + i, layers + i + 1 + static_cast<std::uint32_t>(random() % 3)});
    }
    return buffers;
}

} // namespace

int main(int argc, char** argv) {
    const auto count = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 2551);
    const std::vector<ArenaBuffer> buffers = trainingBuffers(count);
    double best = 1e9;
    ArenaPlacement placed;
    for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        placed = placeBuffers(buffers, 2 * (count / 3) + 4);
        best = std::min(
            best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf("%zu buffers: %.2f ms, %lld bytes, lower bound %lld (gap %.3f %%), order \"%.*s\"\n", buffers.size(),
        best, static_cast<long long>(placed.bytes), static_cast<long long>(placed.lowerBound),
        100.0 * (static_cast<double>(placed.bytes) / static_cast<double>(placed.lowerBound) - 1),
        static_cast<int>(placed.method.size()), placed.method.data());
}

// Times of the timeline's frames with ten million slices in 40 lanes. Usage: timeline_bench [slices] -platform offscreen
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <QApplication>
#include <QKeyEvent>
#include <QPixmap>

#include "views/theme/nabla_style.h"
#include "views/timeline/timeline_view.h"

namespace {

using namespace nabla::views;
using namespace nabla::profiler;
using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// Busy ns per bucket of 2^14 ns, then pairs of buckets: what the reader of recordings makes for long lanes.
void makeMips(TimelineLane& lane) {
    lane.mipOrigin = lane.start.front();
    const auto buckets = static_cast<std::size_t>(((lane.endOf(lane.size() - 1) - lane.mipOrigin) >> lane.mipShift) + 1);
    lane.mips.assign(1, std::vector<std::uint32_t>(buckets, 0));
    for (std::size_t i = 0; i < lane.size(); ++i) {
        for (std::int64_t t = lane.start[i] - lane.mipOrigin, end = lane.endOf(i) - lane.mipOrigin; t < end;) {
            const std::int64_t next = std::min(end, ((t >> lane.mipShift) + 1) << lane.mipShift);
            lane.mips[0][static_cast<std::size_t>(t >> lane.mipShift)] += static_cast<std::uint32_t>(next - t);
            t = next;
        }
    }
    while (lane.mips.back().size() > 1) {
        const auto& fine = lane.mips.back();
        std::vector<std::uint32_t> coarse((fine.size() + 1) / 2, 0);
        for (std::size_t i = 0; i < fine.size(); ++i)
            coarse[i / 2] += fine[i];
        lane.mips.push_back(std::move(coarse));
    }
}

std::shared_ptr<const TimelineData> manySlices(std::size_t count) {
    auto data = std::make_shared<TimelineData>();
    std::mt19937 random(1);
    for (int i = 0; i < 64; ++i)
        data->names.push_back("kernel_" + std::to_string(i));
    constexpr std::size_t kLanes = 40;
    for (std::size_t l = 0; l < kLanes; ++l) {
        TimelineLane lane;
        lane.name = "Stream " + std::to_string(l);
        lane.source = SliceSource::Kernel;
        lane.track = static_cast<std::int64_t>(l);
        std::int64_t time = 0;
        for (std::size_t i = 0; i < count / kLanes; ++i) {
            const auto duration = static_cast<std::uint32_t>(1000 + random() % 8000);
            lane.start.push_back(time);
            lane.duration.push_back(duration);
            lane.nameId.push_back(static_cast<std::uint32_t>(random() % 64));
            lane.nodeId.push_back(static_cast<std::uint32_t>(1 + random() % 1000));
            lane.rowId.push_back(static_cast<std::uint32_t>(i));
            time += duration + static_cast<std::int64_t>(random() % 3000);
        }
        data->range.end = std::max(data->range.end, time);
        makeMips(lane);
        data->lanes.push_back(std::move(lane));
    }
    return data;
}

} // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    const std::size_t count = argc > 1 ? static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10)) : 10'000'000;
    ThemeSource theme;
    applyTheme(theme);
    TimelineCanvas canvas(theme);
    canvas.resize(1920, 1080);
    const auto data = manySlices(std::max<std::size_t>(count, 40));
    const auto start = Clock::now();
    canvas.setData(data, nabla::engine::Graph());
    std::printf("index of %zu slices: %.0f ms\n", data->slices(), msSince(start));
    QPixmap target(canvas.size());
    const double whole = canvas.window().nsPerPixel();
    for (double nearer = 1; whole / nearer > 20; nearer *= 10) {
        std::vector<double> ms;
        for (int frame = 0; frame < 60; ++frame) {
            QKeyEvent pan(QEvent::KeyPress, frame % 2 ? Qt::Key_A : Qt::Key_D, {});
            QApplication::sendEvent(&canvas, &pan);
            const auto begin = Clock::now();
            canvas.render(&target);
            ms.push_back(msSince(begin));
        }
        std::sort(ms.begin(), ms.end());
        std::printf("%10.0f ns a pixel: p50 %5.1f ms, p99 %5.1f ms\n", canvas.window().nsPerPixel(), ms[30], ms[59]);
        for (int i = 0; i < 6; ++i) { // 1.5^5.68 = 10
            QKeyEvent zoom(QEvent::KeyPress, Qt::Key_W, {});
            QApplication::sendEvent(&canvas, &zoom);
        }
    }
    return 0;
}

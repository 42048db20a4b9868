// Times of the graph canvas at 50,000 nodes with irregular skips: layout, index, first picture, frames while panning
// and zooming. Usage: canvas_bench [nodes] -platform offscreen
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include <QApplication>
#include <QThread>

#include "views/canvas/graph_canvas.h"
#include "views/layout/layered_layout.h"
#include "views/theme/nabla_style.h"

namespace {

using namespace nabla::views;
using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Every node reads one of the last 20 nodes, half of them a second one, one in ten a node up to 2,000 back.
GraphScene irregularSkips(int count) {
    GraphScene scene;
    std::mt19937 random(1);
    const auto join = [&](int from, int to) {
        SceneEdge e;
        e.from = from;
        e.to = to;
        e.bytes = 1 << (12 + random() % 12);
        scene.edges.push_back(e);
    };
    for (int i = 0; i < count; ++i) {
        SceneNode n;
        n.kind = static_cast<OperatorKind>(random() % 9);
        n.name = "layer." + std::to_string(i / 12) + ".op_" + std::to_string(i % 12);
        n.subtitle = "Conv 3×3 · stride 1 · 64→64";
        n.shapeText = "[1,64,56,56] f32";
        n.bytesText = "784 KiB";
        n.rightText = "0.12 ms";
        n.share = static_cast<float>(random() % 100) / 100;
        scene.nodes.push_back(n);
        const auto back
            = [&](int most) { return i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, most))); };
        if (i == 0)
            continue;
        join(back(20), i);
        if (random() % 2 == 0)
            join(back(20), i);
        if (random() % 10 == 0)
            join(back(2000), i);
    }
    return scene;
}

struct Frames {
    std::vector<double> ms;
    void print(const char* name) {
        std::sort(ms.begin(), ms.end());
        std::printf("%-28s median %6.2f ms   p99 %6.2f ms   worst %6.2f ms   (%zu frames)\n", name, ms[ms.size() / 2],
            ms[ms.size() * 99 / 100], ms.back(), ms.size());
    }
};

void settle(GraphCanvas& canvas) {
    do {
        QApplication::processEvents();
        canvas.repaint();
        QThread::usleep(200);
    } while (!canvas.isSettled());
}

/// Frames of one movement; between frames the event loop takes finished tiles, as it does while a user drags.
template <typename Move> Frames measure(GraphCanvas& canvas, int frames, Move move) {
    Frames result;
    for (int i = 0; i < frames; ++i) {
        move(i);
        const auto start = Clock::now();
        canvas.repaint();
        result.ms.push_back(msSince(start));
        QApplication::processEvents();
        QThread::msleep(4); // the rest of a frame's time
    }
    return result;
}

} // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    ThemeSource theme;
    applyTheme(theme);
    const int count = argc > 1 ? std::max(10, std::atoi(argv[1])) : 50'000;
    GraphScene scene = irregularSkips(count);
    std::printf("%zu nodes, %zu edges\n", scene.nodes.size(), scene.edges.size());
    const LayoutRequest request = layoutRequestOf(scene);
    std::vector<double> layoutMs;
    LayoutResult layout;
    for (int i = 0; i < 5; ++i) {
        const auto start = Clock::now();
        layout = *layeredLayout(request);
        layoutMs.push_back(msSince(start));
    }
    std::sort(layoutMs.begin(), layoutMs.end());
    std::printf("layout                       median %6.1f ms   best %6.1f ms   (%.0f x %.0f units)\n", layoutMs[2],
        layoutMs[0], static_cast<double>(layout.bounds.width), static_cast<double>(layout.bounds.height));
    applyLayout(scene, layout);
    auto start = Clock::now();
    const ScenePtr prepared = PreparedScene::make(std::move(scene));
    std::printf("index                        %6.1f ms\n", msSince(start));
    GraphCanvas canvas(theme);
    canvas.resize(1920, 1080);
    canvas.show();
    QApplication::processEvents();
    start = Clock::now();
    canvas.setScene(prepared);
    canvas.repaint();
    std::printf("first frame                  %6.1f ms\n", msSince(start));
    settle(canvas);
    std::printf("first picture, all tiles     %6.1f ms\n", msSince(start));

    const struct {
        const char* name;
        int level;
    } places[]
        = {{"pan, everything visible", 1000}, {"pan, zoom 0.15", -11}, {"pan, zoom 0.35", -6}, {"pan, zoom 1", 0}};
    for (const auto& place : places) {
        canvas.fitAll();
        if (place.level < 1000)
            canvas.zoomBy(place.level - canvas.zoomLevel(), canvas.rect().center());
        settle(canvas);
        const QPointF centre = canvas.centre();
        measure(canvas, 300, [&](int i) {
            canvas.setView(centre + QPointF(0, 6.0 * i) / canvas.zoom(), canvas.zoomLevel());
        }).print(place.name);
    }
    canvas.fitAll();
    const int fitted = canvas.zoomLevel();
    settle(canvas);
    const int levels = -fitted;
    measure(canvas, 2 * levels * 4, [&](int i) {
        if (i % 4 == 0)
            canvas.zoomBy(i < levels * 4 ? 1 : -1, canvas.rect().center());
        canvas.update();
    }).print("zoom sweep, fit to 1 to fit");
    std::printf("tile cache %.0f MB\n", static_cast<double>(canvas.tiles().bytes()) / 1e6);
    return 0;
}

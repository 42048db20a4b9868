// Graphs that layouts are tested and measured with.
#pragma once

#include <random>

#include "views/layout/layout_types.h"

namespace nabla::views::test {

inline LayoutRequest cards(int count) {
    LayoutRequest r;
    r.nodes.assign(static_cast<std::size_t>(count), LayoutNode{230, 64});
    return r;
}

inline LayoutRequest chain(int count) {
    LayoutRequest r = cards(count);
    for (int i = 0; i + 1 < count; ++i)
        r.edges.push_back({i, i + 1});
    return r;
}

/// `blocks` blocks of six nodes in a line; each block's last node is also read by one exit node.
inline LayoutRequest fanIn(int blocks) {
    LayoutRequest r = chain(blocks * 6 + 1);
    for (int b = 0; b + 1 < blocks; ++b)
        r.edges.push_back({b * 6 + 5, blocks * 6});
    return r;
}

/// Residual blocks of five nodes: a line with a skip connection from each block's input to its last node.
inline LayoutRequest residual(int blocks) {
    LayoutRequest r = chain(blocks * 5 + 1);
    for (int b = 0; b < blocks; ++b)
        r.edges.push_back({b * 5, b * 5 + 5});
    return r;
}

/// Every node reads one of the last 20 nodes, half of them a second one, one in ten a node up to 2,000 back.
inline LayoutRequest irregularSkips(int count, unsigned seed = 1) {
    LayoutRequest r = cards(count);
    std::mt19937 random(seed);
    const auto back = [&](int i, int most) {
        return i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, most)));
    };
    for (int i = 1; i < count; ++i) {
        r.edges.push_back({back(i, 20), i});
        if (random() % 2 == 0)
            r.edges.push_back({back(i, 20), i});
        if (random() % 10 == 0)
            r.edges.push_back({back(i, 2000), i});
    }
    return r;
}

/// `layers` equal groups "layer" in a line, each with a nested group, a skip over it, and a mask read by all of them.
inline LayoutRequest transformer(int layers) {
    LayoutRequest r;
    const auto node = [&](int group) {
        r.nodes.push_back({230, 64, group});
        return static_cast<int>(r.nodes.size()) - 1;
    };
    const int mask = node(-1);
    int last = node(-1);
    for (int l = 0; l < layers; ++l) {
        const int outer = static_cast<int>(r.groups.size());
        r.groups.push_back({-1, 120});
        const int inner = static_cast<int>(r.groups.size());
        r.groups.push_back({outer, 120});
        const int norm = node(outer);
        const int q = node(inner), k = node(inner), v = node(inner), score = node(inner), mix = node(inner);
        const int add = node(outer);
        r.edges.insert(r.edges.end(),
            {{last, norm}, {norm, q}, {norm, k}, {norm, v}, {q, score}, {k, score}, {mask, score}, {score, mix},
                {v, mix}, {mix, add}, {last, add}});
        last = add;
    }
    const int head = node(-1);
    r.edges.push_back({last, head});
    return r;
}

} // namespace nabla::views::test

// Scenes that the canvas is tested and looked at with; the values are those of the design's pictures.
#pragma once

#include <string>

#include "views/canvas/graph_scene.h"
#include "views/layout/layered_layout.h"

namespace nabla::views::test {

inline SceneNode card(std::string name, OperatorKind kind, std::string subtitle, std::string shape, std::string bytes,
    std::string right, float share, int group) {
    SceneNode n;
    n.kind = kind;
    n.group = group;
    n.share = share;
    n.name = std::move(name);
    n.subtitle = std::move(subtitle);
    n.shapeText = std::move(shape);
    n.bytesText = std::move(bytes);
    n.rightText = std::move(right);
    return n;
}

inline void place(GraphScene& scene) {
    for (std::size_t i = 0; i < scene.nodes.size(); ++i)
        scene.nodes[i].key = i + 1;
    auto layout = layeredLayout(layoutRequestOf(scene));
    applyLayout(scene, *layout);
}

/// Two residual blocks of a ResNet, the first opened, with a portal, an overlay and a closed stack.
inline GraphScene resnetBlock() {
    using K = OperatorKind;
    GraphScene s;
    SceneNode layer1;
    layer1.form = NodeForm::CollapsedGroup;
    layer1.repeat = 2;
    layer1.name = "layer1";
    layer1.subtitle = "BasicBlock · 14 nodes";
    layer1.bytesText = "784 KiB";
    s.nodes.push_back(layer1);
    SceneGroup g;
    g.title = "layer2.0";
    g.countText = "BasicBlock · 9 nodes";
    g.rightText = "2.27 ms";
    s.groups.push_back(g);
    const std::string shape = "[1,128,28,28] f32";
    s.nodes.push_back(
        card("conv1", K::Convolution, "Conv 3×3 · stride 2 · pad 1 · 64→128", shape, "392 KiB", "0.71 ms", 0.63f, 0));
    s.nodes.push_back(
        card("bn1", K::Normalization, "BatchNormalization · ε 1e−5", shape, "392 KiB", "0.09 ms", 0.08f, 0));
    s.nodes.push_back(card("relu", K::Activation, "Relu", shape, "392 KiB", "0.07 ms", 0.06f, 0));
    s.nodes.push_back(
        card("conv2", K::Convolution, "Conv 3×3 · stride 1 · pad 1 · 128→128", shape, "392 KiB", "1.12 ms", 1, 0));
    s.nodes.push_back(
        card("bn2", K::Normalization, "BatchNormalization · ε 1e−5", shape, "392 KiB", "0.08 ms", 0.07f, 0));
    s.nodes.push_back(
        card("downsample.0", K::Convolution, "Conv 1×1 · stride 2 · 64→128", shape, "392 KiB", "0.10 ms", 0.09f, 0));
    s.nodes.push_back(
        card("downsample.1", K::Normalization, "BatchNormalization · ε 1e−5", shape, "392 KiB", "0.01 ms", 0.01f, 0));
    s.nodes.push_back(
        card("add", K::Elementwise, "Add · two inputs of one shape", shape, "392 KiB", "0.05 ms", 0.04f, 0));
    s.nodes.push_back(card("relu_1", K::Activation, "Relu", shape, "392 KiB", "0.04 ms", 0.03f, 0));
    s.nodes.push_back(card("layer2.1.conv1", K::Convolution, "Conv 3×3 · stride 1 · pad 1 · 128→128", shape, "392 KiB",
        "1.10 ms", 0.98f, -1));
    SceneNode portal;
    portal.form = NodeForm::Portal;
    portal.name = "weights: 3 conv, 3 bn";
    portal.group = 0;
    s.nodes.push_back(portal);
    const auto edge = [&](int from, int to, std::int64_t kib, bool labelled = false) {
        SceneEdge e;
        e.from = from;
        e.to = to;
        e.bytes = kib * 1024;
        e.labelled = labelled;
        e.label = kib == 784 ? "[1,64,56,56] f32 784 KiB" : "[1,128,28,28] f32 392 KiB";
        e.name = "value_" + std::to_string(s.edges.size());
        s.edges.push_back(e);
    };
    edge(0, 1, 784, true);
    edge(0, 6, 784, true);
    edge(1, 2, 392);
    edge(2, 3, 392);
    edge(3, 4, 392);
    edge(4, 5, 392);
    edge(5, 8, 392);
    edge(6, 7, 392);
    edge(7, 8, 392);
    edge(8, 9, 392);
    edge(9, 10, 392, true);
    s.hiddenEdges = {{11, 4}, {11, 6}};
    for (SceneNode& n : s.nodes)
        n.overlay = n.share < 0 ? std::numeric_limits<float>::quiet_NaN() : n.share;
    s.overlayRamp = OverlayRamp::Heat;
    s.overlayTitle = "Overlay: time, this run";
    s.overlayLow = "0";
    s.overlayHigh = "2.91 ms";
    place(s);
    return s;
}

/// Every diff state, a ghost, gradient, saved and not-yet edges, a NaN.
inline GraphScene diffStates() {
    using K = OperatorKind;
    GraphScene s;
    const std::string shape = "[1,128,28,28] f32";
    s.nodes.push_back(card("conv1", K::Convolution, "Conv + Relu · 3×3 · stride 2", shape, "392 KiB", "", 0.6f, -1));
    s.nodes.push_back(card("relu", K::Activation, "Relu", shape, "392 KiB", "", 0.1f, -1));
    s.nodes.push_back(card("conv2", K::Convolution, "Conv + Add + Relu", shape, "392 KiB", "", -1, -1));
    s.nodes.push_back(
        card("gelu · grad", K::Activation, "Mul · dY ⊙ gelu′(x)", "[1,128,3072] f32", "1.50 MiB", "7.94e−5", -1, -1));
    s.nodes.push_back(card("add", K::Elementwise, "Add · broadcast", shape, "384 KiB", "0.05 ms", 0.05f, -1));
    s.nodes.push_back(card("relu_1", K::Activation, "now part of the node above", "", "", "", -1, -1));
    s.nodes.push_back(card("mystery", K::Unknown, "com.example.Frobnicate", "[?]", "", "", -1, -1));
    s.nodes.push_back(card("input", K::Constant, "graph input", "[1,3,224,224] f32", "588 KiB", "", -1, -1));
    s.nodes[0].diff = DiffState::Changed;
    s.nodes[1].diff = DiffState::Removed;
    s.nodes[2].diff = DiffState::Added;
    s.nodes[4].hasNan = true;
    s.nodes[5].form = NodeForm::Ghost;
    s.nodes[6].notYet = true;
    const auto edge = [&](int from, int to, EdgeStyle style, DiffState diff = DiffState::None) {
        SceneEdge e;
        e.from = from;
        e.to = to;
        e.bytes = 24 << 20;
        e.style = style;
        e.diff = diff;
        e.label = style == EdgeStyle::Gradient ? "dgelu ↑ rms 8.02e−5" : "[1,128,28,28] f32 392 KiB";
        e.labelled = style == EdgeStyle::Gradient || diff == DiffState::Added;
        s.edges.push_back(e);
    };
    edge(7, 0, EdgeStyle::Value);
    edge(0, 1, EdgeStyle::Value, DiffState::Removed);
    edge(0, 2, EdgeStyle::Value, DiffState::Added);
    edge(1, 3, EdgeStyle::Saved);
    edge(2, 4, EdgeStyle::Gradient);
    edge(3, 5, EdgeStyle::NotYet);
    edge(4, 6, EdgeStyle::NotYet);
    place(s);
    return s;
}

} // namespace nabla::views::test

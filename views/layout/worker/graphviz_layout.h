// Graphviz's dot behind our own values. Not thread safe: one object, one thread.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "views/layout/layout_types.h"

namespace nabla::views {

/// Owns Graphviz's context, which takes milliseconds to make.
class GraphvizLayout {
public:
    GraphvizLayout();
    ~GraphvizLayout();
    GraphvizLayout(const GraphvizLayout&) = delete;
    GraphvizLayout& operator=(const GraphvizLayout&) = delete;

    /// Lays out by `dot` with groups as clusters. The request is checked as layeredLayout() does; above kMaxNodes nodes
    /// it is refused, because dot would take minutes.
    engine::Result<LayoutResult> layout(const LayoutRequest& request);
    static constexpr std::size_t kMaxNodes = 5000;

private:
    struct Context;
    std::unique_ptr<Context> m_context;
};

} // namespace nabla::views

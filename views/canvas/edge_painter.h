// Painting of edges and their labels, near and mid.
#pragma once

#include <optional>

#include "views/canvas/paint_context.h"

namespace nabla::views {

enum class EdgeEmphasis { None, Hovered, Selected };

class EdgePainter {
public:
    EdgePainter(QPainter& painter, const PaintContext& context)
        : m_painter(painter)
        , m_context(context) { }

    void paintEdge(std::size_t edge, EdgeEmphasis emphasis = EdgeEmphasis::None) const;
    /// The pill with the edge's label at its anchor; only near.
    void paintLabel(std::size_t edge, EdgeEmphasis emphasis = EdgeEmphasis::None) const;

private:
    QPainter& m_painter;
    const PaintContext& m_context;

    QPen penOf(const SceneEdge& edge, EdgeEmphasis emphasis) const;
};

} // namespace nabla::views

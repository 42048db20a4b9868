// The canvas for screen readers: a list whose items are the nodes in view and around the selection.
#pragma once

namespace nabla::views {

class GraphCanvas;

class CanvasAccessible {
public:
    /// Registers the factory; more than once does no harm.
    static void install();
    /// To be called when the items may have become others.
    static void sceneChanged(GraphCanvas& canvas);
    static void selectionChanged(GraphCanvas& canvas);
};

} // namespace nabla::views

// Finds what lies in a rectangle or under a point of a scene, and who is joined to whom; no Qt.
#pragma once

#include <optional>

#include "views/canvas/graph_scene.h"

namespace nabla::views {

/// A grid of 1024-unit cells over nodes and edges (larger cells for enormous scenes), and the edges of each node.
class SceneIndex {
public:
    /// `scene` must outlive the index and not change.
    explicit SceneIndex(const GraphScene& scene);

    /// Marks for one query after another; one per thread.
    struct Scratch {
        std::vector<std::uint32_t> nodeStamp, edgeStamp;
        std::uint32_t stamp = 0;
        std::vector<int> nodes, edges;
    };
    /// Nodes and edges whose boxes meet `area`, in scene order; the answer lies in `scratch`.
    void query(const Box& area, Scratch& scratch) const;

    std::optional<int> nodeAt(Point p) const;
    /// The innermost group whose box holds p.
    std::optional<int> groupAt(Point p) const;
    /// The nearest edge not farther than `distance`.
    std::optional<int> edgeAt(Point p, float distance) const;

    /// Edges that end in, or start at, a node.
    std::span<const int> edgesInto(int node) const { return slice(m_intoStart, m_into, node); }
    std::span<const int> edgesFrom(int node) const { return slice(m_fromStart, m_from, node); }
    /// Groups, outer ones first.
    std::span<const int> groupsOutsideIn() const { return m_groupOrder; }

private:
    struct Cells {
        std::vector<std::uint32_t> start;
        std::vector<int> item;
    };
    const GraphScene& m_scene;
    float m_cell = 1024;
    int m_columns = 1, m_rows = 1;
    Cells m_nodes, m_edges;
    std::vector<int> m_intoStart, m_into, m_fromStart, m_from, m_groupOrder;

    int column(float x) const;
    int row(float y) const;
    template <typename Boxes> void fill(Cells& cells, Boxes forEachBox) const;
    template <typename Visit> void visit(const Cells& cells, const Box& area, Visit f) const;
    void joinNodes();
    static std::span<const int> slice(const std::vector<int>& start, const std::vector<int>& all, int node) {
        return std::span(all).subspan(
            static_cast<std::size_t>(start[node]), static_cast<std::size_t>(start[node + 1] - start[node]));
    }
};

/// A scene with its index: made on any thread, then never changed.
class PreparedScene {
public:
    static std::shared_ptr<const PreparedScene> make(GraphScene scene);

    const GraphScene& scene() const { return m_scene; }
    const SceneIndex& index() const { return m_index; }

    explicit PreparedScene(GraphScene scene)
        : m_scene(std::move(scene))
        , m_index(m_scene) { }
    PreparedScene(const PreparedScene&) = delete;
    PreparedScene& operator=(const PreparedScene&) = delete;

private:
    GraphScene m_scene;
    SceneIndex m_index;
};

using ScenePtr = std::shared_ptr<const PreparedScene>;

} // namespace nabla::views

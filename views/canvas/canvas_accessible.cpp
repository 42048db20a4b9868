// Accessible interfaces of the canvas and its nodes, made only when somebody asks.
#include "views/canvas/canvas_accessible.h"

#include <algorithm>
#include <map>

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>

#include "views/canvas/graph_canvas.h"

namespace nabla::views {
namespace {

constexpr std::size_t kMostItems = 200; // a reader walks items one by one; 50,000 would hang it

class NodeInterface : public QAccessibleInterface {
public:
    NodeInterface(GraphCanvas* canvas, int node)
        : m_canvas(canvas)
        , m_node(node) { }

    bool isValid() const override {
        return m_canvas && m_node < static_cast<int>(m_canvas->scenePtr()->scene().nodes.size());
    }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override {
        return m_canvas ? QAccessible::queryAccessibleInterface(m_canvas) : nullptr;
    }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text kind) const override {
        return kind == QAccessible::Name && isValid() ? m_canvas->describe(m_node) : QString();
    }
    void setText(QAccessible::Text, const QString&) override { }
    QAccessible::Role role() const override { return QAccessible::ListItem; }
    QRect rect() const override {
        if (!isValid())
            return {};
        const QRectF r = m_canvas->widgetRect(m_canvas->scenePtr()->scene().nodes[m_node].box);
        return {m_canvas->mapToGlobal(r.topLeft().toPoint()), r.size().toSize()};
    }
    QAccessible::State state() const override {
        QAccessible::State s;
        s.selectable = s.focusable = true;
        if (!isValid()) {
            s.invalid = true;
            return s;
        }
        const auto& selection = m_canvas->selection();
        s.selected = std::find(selection.begin(), selection.end(), m_node) != selection.end();
        s.focused = m_canvas->hasFocus() && !selection.empty() && selection[0] == m_node;
        return s;
    }
    int node() const { return m_node; }

private:
    QPointer<GraphCanvas> m_canvas;
    int m_node;
};

class CanvasInterface : public QAccessibleWidget {
public:
    explicit CanvasInterface(GraphCanvas* canvas)
        : QAccessibleWidget(canvas, QAccessible::List) { }
    ~CanvasInterface() override { forget(); }

    int childCount() const override { return static_cast<int>(items().size()); }
    QAccessibleInterface* child(int index) const override {
        const auto nodes = items();
        return index >= 0 && index < static_cast<int>(nodes.size())
            ? interfaceOf(nodes[static_cast<std::size_t>(index)])
            : nullptr;
    }
    int indexOfChild(const QAccessibleInterface* child) const override {
        const auto* node = dynamic_cast<const NodeInterface*>(child);
        if (node == nullptr)
            return -1;
        const auto nodes = items();
        const auto it = std::find(nodes.begin(), nodes.end(), node->node());
        return it == nodes.end() ? -1 : static_cast<int>(it - nodes.begin());
    }
    QAccessibleInterface* childAt(int x, int y) const override {
        const Point p = canvas()->toScene(canvas()->mapFromGlobal(QPoint(x, y)));
        const auto node = canvas()->scenePtr()->index().nodeAt(p);
        return node ? interfaceOf(*node) : nullptr;
    }
    QAccessibleInterface* focusChild() const override {
        return canvas()->selection().empty() ? nullptr : interfaceOf(canvas()->selection()[0]);
    }
    QAccessibleInterface* interfaceOf(int node) const {
        const auto it = m_children.find(node);
        if (it != m_children.end())
            return QAccessible::accessibleInterface(it->second);
        auto* made = new NodeInterface(canvas(), node); // owned by Qt's registry from here on
        m_children[node] = QAccessible::registerAccessibleInterface(made);
        return made;
    }
    void forget() {
        for (const auto& [node, id] : m_children)
            QAccessible::deleteAccessibleInterface(id);
        m_children.clear();
    }

private:
    mutable std::map<int, QAccessible::Id> m_children;

    GraphCanvas* canvas() const { return static_cast<GraphCanvas*>(widget()); }

    /// The selected nodes and their neighbours, then what is in view.
    std::vector<int> items() const {
        const auto& scene = canvas()->scenePtr()->scene();
        const auto& index = canvas()->scenePtr()->index();
        std::vector<int> nodes;
        const auto add = [&](int n) {
            if (nodes.size() < kMostItems && std::find(nodes.begin(), nodes.end(), n) == nodes.end())
                nodes.push_back(n);
        };
        for (const int n : canvas()->selection()) {
            add(n);
            for (const int e : index.edgesInto(n))
                add(scene.edges[e].from);
            for (const int e : index.edgesFrom(n))
                add(scene.edges[e].to);
        }
        const Point a = canvas()->toScene({0, 0});
        const Point b
            = canvas()->toScene({static_cast<double>(canvas()->width()), static_cast<double>(canvas()->height())});
        SceneIndex::Scratch scratch;
        index.query({a.x, a.y, b.x - a.x, b.y - a.y}, scratch);
        for (const int n : scratch.nodes) {
            if (nodes.size() >= kMostItems)
                break;
            add(n);
        }
        return nodes;
    }
};

QAccessibleInterface* makeInterface(const QString&, QObject* object) {
    auto* canvas = qobject_cast<GraphCanvas*>(object);
    return canvas == nullptr ? nullptr : new CanvasInterface(canvas);
}

CanvasInterface* activeInterface(GraphCanvas& canvas) {
    return QAccessible::isActive() ? dynamic_cast<CanvasInterface*>(QAccessible::queryAccessibleInterface(&canvas))
                                   : nullptr;
}

} // namespace

void CanvasAccessible::install() {
    QAccessible::installFactory(makeInterface); // Qt keeps one entry per function
}

void CanvasAccessible::sceneChanged(GraphCanvas& canvas) {
    if (CanvasInterface* list = activeInterface(canvas)) {
        list->forget();
        QAccessibleEvent event(&canvas, QAccessible::ObjectReorder);
        QAccessible::updateAccessibility(&event);
    }
}

void CanvasAccessible::selectionChanged(GraphCanvas& canvas) {
    CanvasInterface* list = activeInterface(canvas);
    if (list == nullptr || canvas.selection().empty())
        return;
    QAccessibleEvent event(list->interfaceOf(canvas.selection()[0]), QAccessible::Focus);
    QAccessible::updateAccessibility(&event);
}

} // namespace nabla::views

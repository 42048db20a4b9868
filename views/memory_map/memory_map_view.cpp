// Picture, table and their agreement.
#include "views/memory_map/memory_map_view.h"

#include <algorithm>

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString bytesText(std::int64_t bytes) { return QString::fromStdString(formatBytes(bytes)); }

} // namespace

MemoryMapView::MemoryMapView(const ThemeSource& theme, QWidget* parent) : View(theme, parent), m_canvas(new MemoryMapCanvas(theme, this)) {
    using Content = TextColumn::Content;
    m_model = new TextTableModel({{tr("Block"), Content::Words}, {tr("Steps"), Content::Number}, {tr("Bytes"), Content::Number}}, this);
    m_table = makeTable(m_model, theme, tr("Blocks alive at the step"), this);
    m_table->setObjectName("memoryMapTable");
    m_empty = new EmptyPanel(tr("No plan yet: run the model to see where its values live."), tr("Run"), this);
    auto* parts = new QSplitter(Qt::Horizontal, this);
    parts->setChildrenCollapsible(false);
    parts->addWidget(m_canvas);
    parts->addWidget(makeSide());
    parts->setStretchFactor(0, 3);
    parts->setStretchFactor(1, 1);
    parts->setSizes({720, 300});
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(parts);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    connectAll();
}

QWidget* MemoryMapView::makeSide() {
    auto* side = new QWidget(this);
    side->setBackgroundRole(QPalette::Base);
    side->setAutoFillBackground(true);
    m_title = new QLabel(side);
    m_title->setObjectName("memoryMapTitle");
    m_title->setWordWrap(true);
    m_title->setFont(Fonts::from(font()).strong);
    m_title->setContentsMargins(8, 6, 8, 6);
    m_outside = new QLabel(side);
    m_outside->setObjectName("memoryMapOutside");
    m_outside->setWordWrap(true);
    m_outside->setContentsMargins(8, 6, 8, 6);
    m_outside->setForegroundRole(QPalette::PlaceholderText);
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_title);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_outside);
    side->setMinimumWidth(200);
    return side;
}

void MemoryMapView::connectAll() {
    connect(m_canvas, &MemoryMapCanvas::blockPicked, this, &MemoryMapView::pick);
    connect(m_canvas, &MemoryMapCanvas::blockActivated, this, [this](std::size_t block) {
        const auto& producers = m_canvas->map().blocks[block].producers;
        if (!producers.empty() && producers.front())
            Q_EMIT revealWanted(producers.front());
    });
    connect(m_canvas, &MemoryMapCanvas::shownStepChanged, this, &MemoryMapView::fillTable);
    connect(m_canvas, &MemoryMapCanvas::stepPicked, this, [this](std::uint32_t step) {
        if (m_state.step)
            Q_EMIT stepWanted(step);
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& row) {
        if (!m_filling && row.isValid())
            pick(m_alive[static_cast<std::size_t>(row.row())]);
    });
    connect(m_empty->button(), &QPushButton::clicked, this, [this] { Q_EMIT actionWanted(m_state.hasDocument() ? "run" : "open"); });
}

void MemoryMapView::pick(std::size_t block) {
    const MemoryBlock& b = m_canvas->map().blocks[block];
    // The selected node may hold this place under another value: keep to its own.
    for (std::size_t i = 0; i < b.producers.size(); ++i) {
        if (b.producers[i] && b.producers[i] == m_state.selection.node) {
            Q_EMIT selectionWanted({b.producers[i], b.values[i]});
            return;
        }
    }
    Q_EMIT selectionWanted({b.producers.front(), b.values.front()});
}

void MemoryMapView::setState(const ViewState& state, const Changes& changes) {
    m_state = state;
    if (state.hasDocument())
        m_empty->setText(tr("No plan yet: run the model to see where its values live."), tr("Run"));
    else
        m_empty->setText(tr("No model is open."), tr("Open a model"));
    if (changes.plan || changes.graph)
        m_canvas->setMap(state.plan ? memoryMap(*state.plan) : MemoryMap{});
    if (changes.step || changes.plan) {
        const bool stepping = state.step && state.step->position < m_canvas->map().steps;
        m_canvas->setCurrentStep(stepping ? std::optional(static_cast<std::uint32_t>(state.step->position)) : std::nullopt);
    }
    if (changes.plan || changes.graph)
        fillTable();
    if (changes.selection || changes.plan || changes.graph) {
        m_canvas->setSelection(state.selection);
        markRow();
    }
    m_pages->setCurrentIndex(m_canvas->map().steps > 0 ? 1 : 0);
}

void MemoryMapView::fillTable() {
    const MemoryMap& map = m_canvas->map();
    const std::uint32_t step = m_canvas->shownStep();
    m_alive = map.aliveAt(step);
    std::vector<TextRow> rows;
    for (const std::size_t i : m_alive) {
        const MemoryBlock& b = map.blocks[i];
        rows.push_back({{QString::fromStdString(b.name), QStringLiteral("%1–%2").arg(b.firstStep).arg(b.lastStep), bytesText(b.bytes)}, b.kind, false});
    }
    m_filling = true;
    m_model->setRows(std::move(rows));
    fitColumns(m_table);
    m_filling = false;
    const QString bytes = bytesText(map.liveBytes(step));
    const int count = static_cast<int>(m_alive.size());
    m_title->setText(step == map.peakStep ? tr("%1 at step %2, the peak; blocks: %3").arg(bytes).arg(step).arg(count)
                                          : tr("%1 at step %2; blocks: %3").arg(bytes).arg(step).arg(count));
    QStringList outside;
    if (map.heapSlots > 0)
        outside << tr("values of a size known only while running, on the heap: %1").arg(map.heapSlots);
    if (map.outputBytes > 0)
        outside << tr("outputs %1").arg(bytesText(map.outputBytes));
    if (map.packedBytes > 0)
        outside << tr("packed weights %1").arg(bytesText(map.packedBytes));
    m_outside->setText(outside.isEmpty() ? tr("Nothing but inputs and weights lies outside the arena.")
                                         : tr("Outside the arena: %1.").arg(outside.join(tr("; "))));
    markRow();
}

void MemoryMapView::markRow() {
    m_filling = true;
    const auto selected = m_canvas->map().blocksOf(m_state.selection.node);
    m_table->clearSelection();
    m_table->selectionModel()->clearCurrentIndex();
    for (std::size_t row = 0; row < m_alive.size(); ++row) {
        if (std::find(selected.begin(), selected.end(), m_alive[row]) != selected.end()) {
            m_table->setCurrentIndex(m_model->index(static_cast<int>(row), 0));
            break;
        }
    }
    m_filling = false;
}

} // namespace nabla::views

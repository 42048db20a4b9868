// Picture and table of sums.
#include "views/timeline/timeline_view.h"

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString durationText(std::int64_t ns) { return QString::fromStdString(formatDurationNs(ns)); }

constexpr std::size_t kMostRows = 1000; ///< of the table: heaviest first, the rest is one row

} // namespace

TimelineView::TimelineView(const ThemeSource& theme, QWidget* parent) : View(theme, parent), m_canvas(new TimelineCanvas(theme, this)) {
    using Content = TextColumn::Content;
    m_model = new TextTableModel({{tr("Name"), Content::Words}, {tr("Count"), Content::Number}, {tr("Sum"), Content::Number},
                                     {tr("Mean"), Content::Number}, {tr("Share of work"), Content::Number}},
        this);
    m_table = makeTable(m_model, theme, tr("Sums of the selected time"), this);
    m_table->setObjectName("timelineSums");
    m_empty = new EmptyPanel(tr("No recording yet."), tr("Record a run"), this);
    auto* sums = new QWidget(this);
    sums->setBackgroundRole(QPalette::Base);
    sums->setAutoFillBackground(true);
    m_title = new QLabel(sums);
    m_title->setObjectName("timelineTitle");
    m_title->setFont(Fonts::from(font()).strong);
    m_title->setContentsMargins(8, 6, 8, 4);
    m_title->setMinimumWidth(60);
    auto* sumsLayout = new QVBoxLayout(sums);
    sumsLayout->setContentsMargins(0, 0, 0, 0);
    sumsLayout->setSpacing(0);
    sumsLayout->addWidget(m_title);
    sumsLayout->addWidget(m_table);
    auto* parts = new QSplitter(Qt::Vertical, this);
    parts->setChildrenCollapsible(false);
    parts->addWidget(m_canvas);
    parts->addWidget(sums);
    parts->setStretchFactor(0, 3);
    parts->setStretchFactor(1, 1);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(parts);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    connectAll();
}

void TimelineView::connectAll() {
    connect(m_empty->button(), &QPushButton::clicked, this, [this] { Q_EMIT actionWanted(m_state.hasDocument() ? "record" : "open"); });
    connect(m_canvas, &TimelineCanvas::rangeChanged, this, &TimelineView::fillTable);
    connect(m_canvas, &TimelineCanvas::slicePicked, this,
        [this](std::uint32_t lane, std::uint32_t slice) { pickNode(m_state.timeline->lanes[lane].nodeId[slice]); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& row) {
        if (!m_filling && row.isValid() && static_cast<std::size_t>(row.row()) < m_sums.size())
            pickNode(m_sums[static_cast<std::size_t>(row.row())].node);
    });
}

void TimelineView::pickNode(std::uint32_t node) {
    // A recording may name nodes that another state of the history has.
    if (const engine::Node* n = m_state.main().node({node}))
        Q_EMIT selectionWanted({n->id, n->output(0)});
}

void TimelineView::setState(const ViewState& state, const Changes& changes) {
    m_state = state;
    if (state.hasDocument())
        m_empty->setText(tr("No recording yet."), tr("Record a run"));
    else
        m_empty->setText(tr("No model is open."), tr("Open a model"));
    if (changes.timeline || changes.graph) {
        m_canvas->setData(state.timeline, state.main());
        m_canvas->setMedians(state.medianNs);
        fillTable();
    }
    m_pages->setCurrentIndex(state.timeline ? 1 : 0);
    if (changes.selection || changes.timeline)
        m_canvas->setSelectedNode(state.selection.node);
}

void TimelineView::fillTable() {
    if (!m_state.timeline)
        return;
    const auto selected = m_canvas->selectedRange();
    const profiler::TimeRange range = selected.value_or(m_canvas->window().whole());
    m_sums = timelineSums(*m_state.timeline, m_canvas->index(), range);
    std::vector<TextRow> rows;
    std::int64_t count = 0, sum = 0, restCount = 0, restSum = 0;
    double restShare = 0;
    const auto cells = [](const QString& name, std::int64_t n, std::int64_t ns, double share) {
        return std::vector<QString>{name, QString::fromStdString(formatCount(n)), durationText(ns), n > 0 ? durationText(ns / n) : QString(),
            QString::fromStdString(formatNumber(share * 100)) + QStringLiteral(" %")};
    };
    for (std::size_t i = 0; i < m_sums.size(); ++i) {
        const TimelineSum& s = m_sums[i];
        count += s.count;
        sum += s.sumNs;
        if (i < kMostRows) {
            rows.push_back({cells(QString::fromStdString(m_state.timeline->names[s.nameId]), s.count, s.sumNs, s.share), s.kind, false});
        } else {
            restCount += s.count;
            restSum += s.sumNs;
            restShare += s.share;
        }
    }
    if (restCount > 0)
        rows.push_back({cells(tr("%1 more").arg(m_sums.size() - kMostRows), restCount, restSum, restShare), {}, false});
    m_filling = true;
    m_model->setRows(std::move(rows));
    fitColumns(m_table);
    m_filling = false;
    const QString length = durationText(range.end - range.begin);
    const QString words = selected ? tr("Selection, %1: %2 slices, %3 of work") : tr("Whole recording, %1: %2 slices, %3 of work");
    m_title->setText(words.arg(length, QString::fromStdString(formatCount(count)), durationText(sum)));
}

} // namespace nabla::views

// Tables of passes, rewrites and near misses.
#include "views/passes/passes_view.h"

#include <cmath>

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/theme/fonts.h"
#include "views/theme/icons.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }

QString flopsChange(std::int64_t flops) {
    if (flops == 0)
        return QStringLiteral("±0");
    return (flops > 0 ? QStringLiteral("+") : QString()) + text(formatFlops(static_cast<double>(flops)));
}

QLabel* sectionTitle(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setFont(Fonts::from(label->font()).strong);
    label->setContentsMargins(8, 6, 8, 4);
    return label;
}

QWidget* titled(QLabel* title, QWidget* body, QWidget* parent) {
    auto* box = new QWidget(parent);
    box->setBackgroundRole(QPalette::Base);
    box->setAutoFillBackground(true);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(title);
    layout->addWidget(body);
    return box;
}

} // namespace

PassesView::PassesView(const ThemeSource& theme, QWidget* parent) : View(theme, parent) {
    using Content = TextColumn::Content;
    m_passModel = new TextTableModel({{tr("Pass"), Content::Words}, {tr("Rewrites"), Content::Number}, {tr("Δ nodes"), Content::Number},
                                         {tr("Δ work"), Content::Number}, {tr("Δ bytes moved"), Content::Number},
                                         {tr("Δ planned peak"), Content::Number}, {tr("Took"), Content::Number},
                                         {tr("Largest difference"), Content::Number}},
        this);
    m_rewriteModel = new TextTableModel({{tr("Rule")}, {tr("Removed → added")}, {tr("Because")}}, this);
    m_missModel = new TextTableModel({{tr("Node")}, {tr("Rule")}, {tr("What did not hold")}}, this);
    m_passTable = makeTable(m_passModel, theme, tr("Passes"), this);
    m_passTable->setObjectName("passTable");
    m_rewriteTable = makeTable(m_rewriteModel, theme, tr("Rewrites of the pass"), this, 2);
    m_rewriteTable->setObjectName("rewriteTable");
    m_missTable = makeTable(m_missModel, theme, tr("Near misses of the pass"), this, 2);
    m_missTable->setObjectName("nearMissTable");
    m_empty = new EmptyPanel(tr("No pass has run yet."), tr("Optimise"), this);
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeToolRow());
    auto* parts = new QSplitter(Qt::Vertical, content);
    parts->setChildrenCollapsible(false);
    parts->addWidget(m_passTable);
    parts->addWidget(makeDetails());
    parts->setSizes({240, 200});
    layout->addWidget(parts, 1);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(content);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_pages);
    connectAll();
}

QWidget* PassesView::makeToolRow() {
    auto* box = new QWidget(this);
    m_summary = new QLabel(box);
    m_summary->setObjectName("passSummary");
    m_summary->setMinimumWidth(60);
    const auto button = [&](const char* name, const char* icon, const QString& words, const QString& tip) {
        auto* b = new QToolButton(box);
        b->setObjectName(name);
        b->setIcon(themedIcon(icon, themeSource()));
        b->setText(words);
        b->setToolTip(tip);
        b->setAccessibleName(words);
        b->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        b->setFocusPolicy(Qt::StrongFocus);
        b->setAutoRaise(true);
        return b;
    };
    m_compare = button("passCompare", "compare", tr("Compare"), tr("Show the graph before and after this pass"));
    m_run = button("passRun", "passes", tr("Optimise"), tr("Choose passes and run them on this state"));
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(8, 4, 8, 4);
    row->addWidget(m_summary, 1);
    row->addWidget(m_compare);
    row->addWidget(m_run);
    return box;
}

QWidget* PassesView::makeDetails() {
    auto* details = new QSplitter(Qt::Horizontal, this);
    details->setChildrenCollapsible(false);
    m_rewriteTitle = sectionTitle(details);
    m_missTitle = sectionTitle(details);
    details->addWidget(titled(m_rewriteTitle, m_rewriteTable, details));
    details->addWidget(titled(m_missTitle, m_missTable, details));
    details->setStretchFactor(0, 3);
    details->setStretchFactor(1, 2);
    return details;
}

void PassesView::connectAll() {
    connect(m_empty->button(), &QAbstractButton::clicked, this, [this] { Q_EMIT actionWanted(m_state.hasDocument() ? "passes" : "open"); });
    connect(m_run, &QToolButton::clicked, this, [this] { Q_EMIT actionWanted("passes"); });
    connect(m_passTable->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
        if (m_filling)
            return;
        fillDetails();
        if (const PassRow* pass = currentPass())
            Q_EMIT historyStateWanted(pass->id);
    });
    connect(m_compare, &QToolButton::clicked, this, [this] {
        if (const PassRow* pass = currentPass(); pass && pass->before)
            Q_EMIT comparisonWanted(pass->before, pass->id);
    });
    const auto selectRewrite = [this](const QModelIndex& index) {
        if (!m_filling && index.isValid())
            selectNodes(m_rewrites[static_cast<std::size_t>(index.row())].nodes);
    };
    const auto selectMiss = [this](const QModelIndex& index) {
        if (!m_filling && index.isValid())
            selectNodes({m_misses[static_cast<std::size_t>(index.row())].node});
    };
    for (QTableView* table : {m_rewriteTable, m_missTable}) {
        const bool rewrites = table == m_rewriteTable;
        const auto select = [=](const QModelIndex& i) { rewrites ? selectRewrite(i) : selectMiss(i); };
        connect(table, &QTableView::clicked, this, select);
        connect(table, &QTableView::activated, this, select);
    }
}

void PassesView::selectNodes(const std::vector<engine::NodeId>& nodes) {
    const PassRow* pass = currentPass();
    if (!pass)
        return;
    Selection wanted = firstPresent(m_state.main(), nodes);
    if (!wanted.node) {
        // The state shown is another one: show the pass's, or the one before it when the pass removed them all.
        const HistoryEntry* entry = passEntry(m_state, pass->id);
        wanted = entry ? firstPresent(entry->pass->after, nodes) : Selection{};
        const bool after = static_cast<bool>(wanted.node);
        if (!after && entry)
            wanted = firstPresent(entry->pass->before, nodes);
        if (!wanted.node)
            return;
        if (after || pass->before)
            Q_EMIT historyStateWanted(after ? pass->id : pass->before);
    }
    Q_EMIT selectionWanted(wanted);
}

const PassRow* PassesView::currentPass() const {
    const QModelIndex index = m_passTable->currentIndex();
    return index.isValid() && static_cast<std::size_t>(index.row()) < m_passes.size() ? &m_passes[static_cast<std::size_t>(index.row())]
                                                                                      : nullptr;
}

void PassesView::setState(const ViewState& state, const Changes& changes) {
    m_state = state;
    if (state.hasDocument())
        m_empty->setText(tr("No pass has run yet."), tr("Optimise"));
    else
        m_empty->setText(tr("No model is open."), tr("Open a model"));
    if (changes.history || changes.graph)
        fillPasses();
}

void PassesView::fillPasses() {
    const PassRow* shown = currentPass();
    const std::uint32_t keep = shown ? shown->id : 0;
    m_filling = true;
    m_passes = passRows(m_state);
    std::vector<TextRow> rows;
    const QString unknown = tr("not measured");
    const auto bytes = [&](const std::optional<std::int64_t>& v) { return v ? text(formatBytesChange(*v)) : unknown; };
    for (const PassRow& p : m_passes) {
        TextRow row;
        row.strong = p.id == m_state.currentState;
        const QString title = p.error.empty() ? text(p.title) : tr("%1, failed: %2").arg(text(p.title), text(p.error));
        row.cells = {title, text(formatCount(static_cast<std::int64_t>(p.rewrites))), text(formatCountChange(p.nodesChange)),
            p.flopsChange ? flopsChange(*p.flopsChange) : unknown, bytes(p.bytesChange), bytes(p.peakChange),
            text(formatDurationNs(std::llround(p.milliseconds * 1e6))),
            p.largestDifference ? text(formatNumber(*p.largestDifference)) : unknown};
        rows.push_back(std::move(row));
    }
    m_passModel->setRows(std::move(rows));
    fitColumns(m_passTable);
    int row = static_cast<int>(m_passes.size()) - 1;
    for (const std::uint32_t wanted : {keep, m_state.currentState}) {
        for (std::size_t i = 0; i < m_passes.size(); ++i) {
            if (m_passes[i].id == wanted)
                row = static_cast<int>(i);
        }
    }
    if (row >= 0)
        m_passTable->setCurrentIndex(m_passModel->index(row, 0));
    m_pages->setCurrentIndex(m_passes.empty() ? 0 : 1);
    m_summary->setText(tr("Passes in the history: %1").arg(m_passes.size()));
    m_filling = false;
    fillDetails();
}

void PassesView::fillDetails() {
    m_filling = true;
    const PassRow* pass = currentPass();
    const HistoryEntry* entry = pass ? passEntry(m_state, pass->id) : nullptr;
    m_rewrites = entry ? rewriteRows(*entry->pass) : std::vector<RewriteRow>{};
    m_misses = entry ? nearMissRows(*entry->pass) : std::vector<NearMissRow>{};
    std::vector<TextRow> rewrites, misses;
    for (const RewriteRow& r : m_rewrites) {
        const QString removed = r.removed.empty() ? tr("nothing") : text(r.removed);
        const QString added = r.added.empty() ? tr("nothing") : text(r.added);
        rewrites.push_back({{text(r.rule), tr("%1 → %2").arg(removed, added), text(r.reason)}, {}, false});
    }
    for (const NearMissRow& m : m_misses)
        misses.push_back({{text(m.nodeName), text(m.rule), text(m.predicate)}, {}, false});
    m_rewriteModel->setRows(std::move(rewrites));
    m_missModel->setRows(std::move(misses));
    fitColumns(m_rewriteTable, 2);
    fitColumns(m_missTable, 2);
    const QString name = pass ? text(pass->title) : QString();
    m_rewriteTitle->setText(m_rewrites.empty() ? tr("%1: nothing to rewrite").arg(name)
                                               : tr("%1: rewrites, %2").arg(name).arg(m_rewrites.size()));
    m_missTitle->setText(m_misses.empty() ? tr("No near miss")
                                          : tr("Near misses, %1: why it did not fire").arg(m_misses.size()));
    m_compare->setEnabled(pass && pass->before != 0);
    m_filling = false;
}

} // namespace nabla::views

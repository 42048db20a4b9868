// A list; click selects the node (and the element), Ctrl+C copies the text.
#include "views/problems/problems_view.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QShortcut>
#include <QVBoxLayout>

#include "views/theme/row_delegate.h"

namespace nabla::views {

using engine::Diagnostic;

namespace {

QString q(const std::string& text, std::size_t limit = 1000) { return QString::fromStdString(text.substr(0, limit)); }

} // namespace

void ProblemsItemModel::setState(const ViewState& state) {
    beginResetModel();
    m_state = state;
    m_trouble = state.trouble ? troubleRows(state.main(), *state.trouble) : std::vector<TroubleRow>();
    endResetModel();
}

int ProblemsItemModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_trouble.size() + m_state.problems.size()); }

const TroubleRow* ProblemsItemModel::trouble(const QModelIndex& index) const {
    return index.isValid() && index.row() < static_cast<int>(m_trouble.size()) ? &m_trouble[static_cast<std::size_t>(index.row())] : nullptr;
}

const Diagnostic* ProblemsItemModel::problem(const QModelIndex& index) const {
    const bool here = index.isValid() && index.row() >= static_cast<int>(m_trouble.size()) && index.row() < rowCount();
    return here ? &m_state.problems[static_cast<std::size_t>(index.row()) - m_trouble.size()] : nullptr;
}

int ProblemsItemModel::birthRow() const {
    for (std::size_t i = 0; i < m_trouble.size(); ++i) {
        if (m_trouble[i].kind == TroubleRow::Kind::Birth)
            return static_cast<int>(i);
    }
    return -1;
}

QVariant ProblemsItemModel::data(const QModelIndex& index, int role) const {
    if (const TroubleRow* row = trouble(index))
        return troubleData(*row, role);
    if (const Diagnostic* p = problem(index))
        return problemData(*p, role);
    return {};
}

QVariant ProblemsItemModel::troubleData(const TroubleRow& row, int role) const {
    using Kind = TroubleRow::Kind;
    const QString signal = m_state.trouble && isSerious(*m_state.trouble) ? QStringLiteral("error") : QStringLiteral("info");
    switch (role) {
    case Qt::DisplayRole: return q(row.title);
    case kSecondRole: return q(row.detail);
    case kIconRole: return row.kind == Kind::First ? QVariant(signal) : QVariant();
    case kMarkRole: return row.kind == Kind::First || row.kind == Kind::Birth ? QVariant(signal) : QVariant();
    case kKindRole: {
        if (row.kind == Kind::First)
            return {};
        const engine::Node* node = m_state.main().node(row.at.producer);
        return static_cast<int>(node ? operatorKind(node->opType, node->domain) : OperatorKind::Constant);
    }
    case kStrongRole: return row.kind == Kind::Birth;
    case kIndentRole: return row.kind == Kind::First ? 0 : row.kind == Kind::Cause ? 2 : 1;
    case Qt::ToolTipRole: return (q(row.title) + "\n" + q(row.detail)).toHtmlEscaped().replace("\n", "<br>");
    case Qt::AccessibleTextRole: return q(row.title) + ", " + q(row.detail);
    default: return {};
    }
}

QVariant ProblemsItemModel::problemData(const Diagnostic& p, int role) const {
    const bool error = p.severity == Diagnostic::Severity::Error;
    const bool warning = p.severity == Diagnostic::Severity::Warning;
    switch (role) {
    case Qt::DisplayRole: return q(p.message);
    case kSecondRole: {
        if (const engine::Node* node = m_state.main().node(p.node))
            return QString::fromStdString(describe(*node));
        if (const engine::Value* value = m_state.main().value(p.value))
            return tr("value %1").arg(q(value->name, 200));
        return p.blocksRun ? tr("about the model; it cannot run") : tr("about the model");
    }
    case kIconRole: return error ? QStringLiteral("error") : warning ? QStringLiteral("warning") : QStringLiteral("info");
    case kMarkRole: return error ? QStringLiteral("error") : warning ? QStringLiteral("warning") : QStringLiteral("info");
    case Qt::ToolTipRole: return q(p.message).toHtmlEscaped();
    case Qt::AccessibleTextRole: return q(p.message);
    default: return {};
    }
}

ProblemsView::ProblemsView(const ThemeSource& theme, QWidget* parent)
    : View(theme, parent), m_model(new ProblemsItemModel(this)), m_list(new QListView(this)), m_empty(new QLabel(tr("No problems found in this model."), this)),
      m_find(new QPushButton(tr("Find where it comes from"), this)) {
    m_list->setObjectName("problemsList");
    m_list->setAccessibleName(tr("Problems"));
    m_list->setItemDelegate(new RowDelegate(theme, m_list));
    m_list->setModel(m_model);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setMouseTracking(true);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setObjectName("problemsEmpty");
    m_find->setObjectName("problemsFind");
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(12, 6, 12, 0);
    bar->addWidget(m_find);
    bar->addStretch();
    layout->addLayout(bar);
    layout->addWidget(m_list);
    layout->addWidget(m_empty);
    m_list->hide();
    m_find->hide();
    connect(m_find, &QPushButton::clicked, this, [this] { Q_EMIT actionWanted("find_nonfinite"); });
    connect(m_list, &QListView::clicked, this, &ProblemsView::choose);
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, &ProblemsView::choose);
    auto* copy = new QShortcut(QKeySequence::Copy, m_list, nullptr, nullptr, Qt::WidgetShortcut);
    connect(copy, &QShortcut::activated, this, [this] {
        const QModelIndex index = m_list->currentIndex();
        if (const Diagnostic* p = m_model->problem(index))
            QApplication::clipboard()->setText(QString::fromStdString(p->message));
        else if (const TroubleRow* row = m_model->trouble(index))
            QApplication::clipboard()->setText(QString::fromStdString(row->title + "\n" + row->detail));
    });
    connect(&theme, &ThemeSource::changed, m_list->viewport(), qOverload<>(&QWidget::update));
}

void ProblemsView::choose(const QModelIndex& index) {
    if (m_selecting)
        return;
    if (const TroubleRow* row = m_model->trouble(index)) {
        Q_EMIT selectionWanted({row->at.producer, row->at.value, row->at.element});
        if (row->at.producer)
            Q_EMIT revealWanted(row->at.producer);
    } else if (const Diagnostic* p = m_model->problem(index); p && (p->node || p->value)) {
        Q_EMIT selectionWanted({p->node, p->value});
        if (p->node)
            Q_EMIT revealWanted(p->node);
    }
}

void ProblemsView::setState(const ViewState& state, const Changes& changes) {
    if (!changes.problems && !changes.graph)
        return;
    const QModelIndex current = m_list->currentIndex();
    const int chosen = m_shown == state.trouble && current.isValid() ? current.row() : -1;
    m_selecting = true;
    m_model->setState(state);
    const int row = m_shown != state.trouble ? m_model->birthRow() : chosen;
    if (row >= 0 && row < m_model->rowCount()) {
        m_list->setCurrentIndex(m_model->index(row));
        m_list->scrollTo(m_model->index(0), QAbstractItemView::PositionAtTop);
        m_list->scrollTo(m_model->index(row));
    }
    m_selecting = false;
    m_shown = state.trouble;
    m_find->setVisible(state.trouble && state.trouble->walk.empty());
    m_list->setVisible(m_model->rowCount() > 0);
    m_empty->setVisible(m_model->rowCount() == 0);
    m_empty->setText(state.hasDocument() ? tr("No problems found in this model.") : tr("No model is open."));
}

} // namespace nabla::views

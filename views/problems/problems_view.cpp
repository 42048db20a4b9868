// A list; click selects the node, Ctrl+C copies the text.
#include "views/problems/problems_view.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QShortcut>
#include <QVBoxLayout>

#include "views/theme/row_delegate.h"

namespace nabla::views {

using engine::Diagnostic;

void ProblemsItemModel::setState(const ViewState& state) {
    beginResetModel();
    m_state = state;
    endResetModel();
}

int ProblemsItemModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_state.problems.size()); }

const Diagnostic* ProblemsItemModel::problem(const QModelIndex& index) const {
    return index.isValid() && index.row() < rowCount() ? &m_state.problems[static_cast<std::size_t>(index.row())] : nullptr;
}

QVariant ProblemsItemModel::data(const QModelIndex& index, int role) const {
    const Diagnostic* p = problem(index);
    if (!p)
        return {};
    const bool error = p->severity == Diagnostic::Severity::Error;
    const bool warning = p->severity == Diagnostic::Severity::Warning;
    switch (role) {
    case Qt::DisplayRole: return QString::fromStdString(p->message.substr(0, 1000));
    case kSecondRole: {
        if (const engine::Node* node = m_state.main().node(p->node))
            return QString::fromStdString(describe(*node));
        if (const engine::Value* value = m_state.main().value(p->value))
            return tr("value %1").arg(QString::fromStdString(value->name.substr(0, 200)));
        return p->blocksRun ? tr("about the model; it cannot run") : tr("about the model");
    }
    case kIconRole: return error ? QStringLiteral("error") : warning ? QStringLiteral("warning") : QStringLiteral("info");
    case kMarkRole: return error ? QStringLiteral("error") : warning ? QStringLiteral("warning") : QStringLiteral("info");
    case Qt::ToolTipRole: return QString::fromStdString(p->message.substr(0, 1000)).toHtmlEscaped();
    case Qt::AccessibleTextRole: return QString::fromStdString(p->message.substr(0, 1000));
    default: return {};
    }
}

ProblemsView::ProblemsView(const ThemeSource& theme, QWidget* parent)
    : View(theme, parent), m_model(new ProblemsItemModel(this)), m_list(new QListView(this)), m_empty(new QLabel(tr("No problems found in this model."), this)) {
    m_list->setObjectName("problemsList");
    m_list->setAccessibleName(tr("Problems"));
    m_list->setItemDelegate(new RowDelegate(theme, m_list));
    m_list->setModel(m_model);
    m_list->setFrameShape(QFrame::NoFrame);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setObjectName("problemsEmpty");
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_list);
    layout->addWidget(m_empty);
    m_list->hide();
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& current) {
        if (const Diagnostic* p = m_model->problem(current); p && (p->node || p->value)) {
            Q_EMIT selectionWanted({p->node, p->value});
            if (p->node)
                Q_EMIT revealWanted(p->node);
        }
    });
    auto* copy = new QShortcut(QKeySequence::Copy, m_list, nullptr, nullptr, Qt::WidgetShortcut);
    connect(copy, &QShortcut::activated, this, [this] {
        if (const Diagnostic* p = m_model->problem(m_list->currentIndex()))
            QApplication::clipboard()->setText(QString::fromStdString(p->message));
    });
    connect(&theme, &ThemeSource::changed, m_list->viewport(), qOverload<>(&QWidget::update));
}

void ProblemsView::setState(const ViewState& state, const Changes& changes) {
    if (!changes.problems && !changes.graph)
        return;
    m_model->setState(state);
    m_list->setVisible(!state.problems.empty());
    m_empty->setVisible(state.problems.empty());
    m_empty->setText(state.hasDocument() ? tr("No problems found in this model.") : tr("No model is open."));
}

} // namespace nabla::views

// Two lists with boxes to tick and a filter each.
#include "app/main_window/differentiate_dialog.h"

#include <algorithm>

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QVBoxLayout>

namespace nabla::app {

using namespace nabla::engine;

namespace {

void addRow(QStandardItemModel* model, const std::string& name, const QString& text, bool ticked) {
    auto* item = new QStandardItem(text);
    item->setData(QString::fromStdString(name), Qt::UserRole + 1);
    item->setCheckable(true);
    item->setCheckState(ticked ? Qt::Checked : Qt::Unchecked);
    item->setEditable(false);
    model->appendRow(item);
}

std::vector<std::string> ticked(const QStandardItemModel& model) {
    std::vector<std::string> names;
    for (int row = 0; row < model.rowCount(); ++row) {
        if (model.item(row)->checkState() == Qt::Checked)
            names.push_back(model.item(row)->data(Qt::UserRole + 1).toString().toStdString());
    }
    return names;
}

} // namespace

DifferentiateDialog::DifferentiateDialog(const Graph& graph, const TypeMap& types, const std::vector<std::string>& of, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Differentiate"));
    setObjectName("differentiateDialog");
    auto* lists = new QHBoxLayout;
    m_of = addList(lists, tr("Gradient of"), "differentiateOf");
    m_wrt = addList(lists, tr("With respect to"), "differentiateWrt");
    const auto isOutput = [&](ValueId id) { return std::find(graph.outputs().begin(), graph.outputs().end(), id) != graph.outputs().end(); };
    const auto isInput = [&](ValueId id) { return std::find(graph.inputs().begin(), graph.inputs().end(), id) != graph.inputs().end(); };
    std::vector<const Value*> outputs, inner, leaves;
    graph.forEachValue([&](const Value& value) {
        const DType type = value.constant ? value.constant->dtype() : types.of(value.id).elementType;
        if (!isDifferentiable(type))
            return;
        if (isOutput(value.id))
            outputs.push_back(&value);
        else if (value.producer)
            inner.push_back(&value);
        else
            leaves.push_back(&value);
    });
    const auto text = [&](const Value& value) { return QStringLiteral("%1   %2").arg(QString::fromStdString(value.name), QString::fromStdString(types.of(value.id).text())); };
    for (const auto* values : {&outputs, &inner}) {
        for (const Value* value : *values)
            addRow(m_of, value->name, text(*value), of.empty() ? isOutput(value->id) : std::find(of.begin(), of.end(), value->name) != of.end());
    }
    for (const auto* values : {&leaves, &inner}) {
        for (const Value* value : *values)
            addRow(m_wrt, value->name, text(*value), !value->producer && (isInput(value->id) || (value->constant && value->constant->rank() >= 1)));
    }
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_accept = buttons->addButton(tr("Differentiate"), QDialogButtonBox::AcceptRole);
    m_accept->setProperty("primary", true);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(lists, 1);
    layout->addWidget(buttons);
    for (const QStandardItemModel* model : {m_of, m_wrt})
        connect(model, &QStandardItemModel::itemChanged, this, &DifferentiateDialog::updateButton);
    updateButton();
    resize(720, 460);
}

QStandardItemModel* DifferentiateDialog::addList(QBoxLayout* layout, const QString& title, const QString& name) {
    auto* column = new QVBoxLayout;
    auto* filter = new QLineEdit(this);
    filter->setPlaceholderText(tr("Filter by name"));
    filter->setAccessibleName(tr("Filter: %1").arg(title));
    auto* model = new QStandardItemModel(this);
    auto* shown = new QSortFilterProxyModel(this);
    shown->setSourceModel(model);
    shown->setFilterCaseSensitivity(Qt::CaseInsensitive);
    auto* list = new QListView(this);
    list->setObjectName(name);
    list->setAccessibleName(title);
    list->setUniformItemSizes(true);
    list->setTextElideMode(Qt::ElideMiddle);
    list->setModel(shown);
    connect(filter, &QLineEdit::textChanged, shown, &QSortFilterProxyModel::setFilterFixedString);
    column->addWidget(new QLabel(title, this));
    column->addWidget(filter);
    column->addWidget(list, 1);
    layout->addLayout(column, 1);
    return model;
}

void DifferentiateDialog::updateButton() { m_accept->setEnabled(!of().empty() && !wrt().empty()); }

std::vector<std::string> DifferentiateDialog::of() const { return ticked(*m_of); }
std::vector<std::string> DifferentiateDialog::wrt() const { return ticked(*m_wrt); }

} // namespace nabla::app

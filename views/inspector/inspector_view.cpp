// Header, tabs, tables; the value with histogram, plane and exact numbers.
#include "views/inspector/inspector_view.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPixmap>
#include <QScrollArea>
#include <QSpinBox>
#include <QStyle>
#include <QTabWidget>
#include <QTableWidget>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "engine/tensor/half_range.h"
#include "views/inspector/value_pictures.h"
#include "views/theme/fonts.h"
#include "views/theme/row_delegate.h"

namespace nabla::views {

namespace {

constexpr std::size_t kRows = 24, kColumns = 12; // of exact numbers shown

QString q(const std::string& text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

void fitHeight(QTableWidget* table) {
    int height = table->horizontalHeader()->isHidden() ? 0 : table->horizontalHeader()->sizeHint().height();
    for (int row = 0; row < table->rowCount(); ++row)
        height += table->rowHeight(row);
    int width = 0;
    for (int column = 0; column < table->columnCount(); ++column)
        width += table->columnWidth(column);
    const bool scrolls = !table->horizontalHeader()->stretchLastSection() && width > table->viewport()->width();
    table->setFixedHeight(height + 4 + (scrolls ? table->style()->pixelMetric(QStyle::PM_ScrollBarExtent) : 0));
}

QTableWidgetItem* cell(const QString& text, bool right = false) {
    auto* item = new QTableWidgetItem(text);
    item->setToolTip(text.toHtmlEscaped());
    item->setTextAlignment((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    return item;
}

QTableWidget* plainTable(const QString& name, QWidget* parent) {
    auto* table = new QTableWidget(parent);
    table->setAccessibleName(name);
    table->setFrameShape(QFrame::NoFrame);
    table->setShowGrid(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(QFontMetrics(QApplication::font()).height() + 8);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table->setWordWrap(false);
    table->setTextElideMode(Qt::ElideMiddle);
    return table;
}

QLabel* sectionLabel(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setFont(Fonts::from(QApplication::font()).strong);
    label->setContentsMargins(0, 8, 0, 2);
    label->setTextFormat(Qt::PlainText);
    return label;
}

QWidget* scrolled(QWidget* page) {
    auto* area = new QScrollArea;
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setWidget(page);
    return area;
}

} // namespace

InspectorView::InspectorView(const ThemeSource& theme, QWidget* parent) : View(theme, parent) {
    m_empty = new QLabel(tr("Nothing is selected.\nClick a node on the graph or in the outline."), this);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_tabs = new QTabWidget(this);
    m_tabs->setDocumentMode(true);
    m_tabs->tabBar()->setExpanding(false);
    m_tabs->setAccessibleName(tr("Inspector pages"));
    m_tabs->addTab(makeValuesPage(), tr("Values"));
    m_cost = makePairs(tr("Cost"));
    m_tabs->addTab(m_cost, tr("Cost"));
    m_origin = makePairs(tr("Origin"));
    m_tabs->addTab(m_origin, tr("Origin"));
    m_documentation = new QTextBrowser(this);
    m_documentation->setFrameShape(QFrame::NoFrame);
    m_documentation->setAccessibleName(tr("Documentation of the operator"));
    m_documentation->setOpenLinks(false);
    m_facts = makePairs(tr("What is known of the operator"));
    auto* operatorPage = new QWidget(this);
    auto* operatorLayout = new QVBoxLayout(operatorPage);
    operatorLayout->setContentsMargins(0, 0, 0, 0);
    operatorLayout->setSpacing(0);
    operatorLayout->addWidget(m_facts);
    operatorLayout->addWidget(m_documentation, 1);
    m_tabs->addTab(operatorPage, tr("Operator"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeHeader());
    layout->addWidget(m_tabs, 1);
    layout->addWidget(m_empty, 1);
    connect(&theme, &ThemeSource::changed, this, [this] { show(); });
    show();
}

QWidget* InspectorView::makeHeader() {
    const Fonts fonts = Fonts::from(QApplication::font());
    auto* header = new QWidget(this);
    m_tile = new QLabel(header);
    m_title = new QLabel(header);
    m_subtitle = new QLabel(header);
    m_title->setObjectName("inspectorTitle");
    m_title->setFont(fonts.inspectorTitle);
    m_subtitle->setFont(fonts.caption);
    for (QLabel* label : {m_title, m_subtitle}) {
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    auto* text = new QVBoxLayout;
    text->setSpacing(1);
    text->addWidget(m_title);
    text->addWidget(m_subtitle);
    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(12, 8, 12, 8);
    row->setSpacing(8);
    row->addWidget(m_tile, 0, Qt::AlignTop);
    row->addLayout(text, 1);
    return header;
}

QTableWidget* InspectorView::makePairs(const QString& name) {
    QTableWidget* table = plainTable(name, this);
    table->setColumnCount(2);
    table->horizontalHeader()->hide();
    table->horizontalHeader()->setStretchLastSection(true);
    return table;
}

QWidget* InspectorView::makeValuesPage() {
    auto* page = new QWidget(this);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(12, 4, 12, 12);
    layout->setSpacing(4);
    m_attributesTitle = sectionLabel(tr("Attributes"), page);
    m_attributes = makePairs(tr("Attributes"));
    m_ports = plainTable(tr("Inputs and outputs"), page);
    m_ports->setObjectName("inspectorPorts");
    m_ports->setColumnCount(4);
    m_ports->setHorizontalHeaderLabels({tr("Port"), tr("Shape"), tr("Type"), tr("Bytes")});
    m_ports->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int c = 1; c < 4; ++c)
        m_ports->horizontalHeader()->setSectionResizeMode(c, QHeaderView::ResizeToContents);
    m_valueTitle = sectionLabel({}, page);
    m_valueTitle->setObjectName("inspectorValueTitle");
    m_valueTitle->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_valueNote = new QLabel(page);
    m_valueNote->setWordWrap(true);
    m_valueNote->setObjectName("inspectorValueNote");
    m_valueNote->setFont(Fonts::from(QApplication::font()).caption);
    m_elementNote = new QLabel(page);
    m_elementNote->setObjectName("inspectorElement");
    m_elementNote->setFont(Fonts::from(QApplication::font()).mono);
    m_elementNote->setTextFormat(Qt::PlainText);
    m_elementNote->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_histogram = new HistogramWidget(themeSource(), page);
    m_plane = new PlaneWidget(themeSource(), page);
    m_planeIndex = new QSpinBox(page);
    m_planeIndex->setAccessibleName(tr("Plane shown"));
    m_planeRow = new QWidget(page);
    auto* planeLayout = new QHBoxLayout(m_planeRow);
    planeLayout->setContentsMargins(0, 0, 0, 0);
    planeLayout->addWidget(new QLabel(tr("Plane"), m_planeRow));
    planeLayout->addWidget(m_planeIndex);
    planeLayout->addStretch();
    m_values = plainTable(tr("Values, exactly"), page);
    m_values->setObjectName("inspectorValues");
    m_values->horizontalHeader()->hide();
    m_values->setSelectionBehavior(QAbstractItemView::SelectItems);
    m_values->setSelectionMode(QAbstractItemView::ContiguousSelection);
    layout->addWidget(m_attributesTitle);
    layout->addWidget(m_attributes);
    layout->addWidget(sectionLabel(tr("Inputs and outputs"), page));
    layout->addWidget(m_ports);
    for (QWidget* widget : std::initializer_list<QWidget*>{m_valueTitle, m_valueNote, m_histogram, m_planeRow, m_plane, m_elementNote, m_values})
        layout->addWidget(widget);
    layout->addStretch();
    connect(m_ports, &QTableWidget::cellClicked, this, [this](int row, int) {
        const InspectorPort& port = m_model.ports[static_cast<std::size_t>(row)];
        Q_EMIT selectionWanted({m_node, port.value});
    });
    connect(m_planeIndex, &QSpinBox::valueChanged, this, [this] { showNumbers(); });
    return scrolled(page);
}

void InspectorView::fillPairs(QTableWidget* table, const std::vector<std::pair<std::string, std::string>>& rows) {
    table->setRowCount(static_cast<int>(rows.size()));
    const QFont mono = Fonts::from(QApplication::font()).mono;
    for (int row = 0; row < table->rowCount(); ++row) {
        const auto& [key, value] = rows[static_cast<std::size_t>(row)];
        table->setItem(row, 0, cell(q(key)));
        auto* item = cell(q(value));
        item->setFont(mono);
        table->setItem(row, 1, item);
    }
    table->resizeColumnToContents(0);
    table->setColumnWidth(0, qMin(table->columnWidth(0) + 12, 160));
}

void InspectorView::setState(const ViewState& state, const Changes& changes) {
    if (!changes.graph && !changes.selection && !changes.values && !changes.step && !changes.timeline)
        return;
    m_node = state.selection.node;
    m_model = inspectorModel(state);
    show();
}

void InspectorView::show() {
    const bool any = !m_model.title.empty();
    m_tabs->setVisible(any);
    m_empty->setVisible(!any);
    m_title->parentWidget()->setVisible(any);
    if (!any)
        return;
    QPixmap tile(QSize(16, 16) * devicePixelRatioF());
    tile.setDevicePixelRatio(devicePixelRatioF());
    tile.fill(Qt::transparent);
    QPainter painter(&tile);
    paintGlyphTile(painter, QRectF(0, 0, 16, 16), m_model.kind, themeSource().theme());
    painter.end();
    m_tile->setPixmap(tile);
    m_title->setText(q(m_model.title.substr(0, 300)).simplified());
    m_subtitle->setText(q(m_model.subtitle.substr(0, 400)).simplified());
    m_subtitle->setToolTip(q(m_model.subtitle.substr(0, 400)).toHtmlEscaped());
    fillPairs(m_attributes, m_model.attributes);
    fitHeight(m_attributes);
    m_attributes->setVisible(!m_model.attributes.empty());
    m_attributesTitle->setVisible(!m_model.attributes.empty());
    fillPairs(m_cost, m_model.cost);
    fillPairs(m_origin, m_model.origin);
    fillPairs(m_facts, m_model.facts);
    fitHeight(m_facts);
    m_facts->setVisible(!m_model.facts.empty());
    m_documentation->document()->setMarkdown(q(m_model.documentation), QTextDocument::MarkdownFeatures(QTextDocument::MarkdownDialectGitHub) | QTextDocument::MarkdownNoHTML); // Tensor<T> is no tag
    showPorts();
    showValue();
}

void InspectorView::showPorts() {
    const QFont mono = Fonts::from(QApplication::font()).mono;
    m_ports->setRowCount(static_cast<int>(m_model.ports.size()));
    for (int row = 0; row < m_ports->rowCount(); ++row) {
        const InspectorPort& port = m_model.ports[static_cast<std::size_t>(row)];
        auto* first = cell(QStringLiteral("%1  %2").arg(q(port.port), q(port.name)).simplified());
        m_ports->setItem(row, 0, first);
        const QString texts[] = {q(port.shape), q(port.type), q(port.bytes)};
        for (int c = 1; c < 4; ++c) {
            auto* item = cell(texts[c - 1], c == 3);
            item->setFont(mono);
            m_ports->setItem(row, c, item);
        }
        if (port.value == m_model.shown)
            m_ports->selectRow(row);
    }
    fitHeight(m_ports);
}

void InspectorView::showValue() {
    m_valueTitle->setText(q(m_model.valueTitle).simplified());
    m_valueTitle->setVisible(!m_model.valueTitle.empty());
    QString note = q(m_model.valueNote);
    if (m_model.stats)
        note = tr("%1 values, %2 NaN, %3 Inf, %4 zero").arg(m_model.stats->count).arg(m_model.stats->nan).arg(m_model.stats->inf).arg(m_model.stats->zero);
    if (const auto range = engine::halfRange(m_model.value.tensor().dtype()); m_model.stats && range) {
        const double count = std::max<double>(1, static_cast<double>(m_model.stats->count));
        note += tr(", %1 (%2 %) at the largest number %3, %4 (%5 %) below the smallest normal one")
                    .arg(m_model.stats->saturated).arg(100 * static_cast<double>(m_model.stats->saturated) / count, 0, 'g', 3)
                    .arg(range->largest, 0, 'g', 5).arg(m_model.stats->subnormal).arg(100 * static_cast<double>(m_model.stats->subnormal) / count, 0, 'g', 3);
    }
    m_valueNote->setText(note);
    m_histogram->setStats(m_model.stats && m_model.value.tensor().elementCount() > 1 ? m_model.stats : std::nullopt);
    const engine::Tensor& tensor = m_model.value.tensor();
    std::int64_t planes = 1;
    for (std::size_t i = 0; i + 2 < tensor.rank(); ++i)
        planes *= tensor.dim(i);
    const QSignalBlocker blocker(m_planeIndex);
    m_planeIndex->setRange(0, static_cast<int>(std::clamp<std::int64_t>(planes - 1, 0, 1'000'000)));
    m_planeIndex->setSuffix(tr(" of %1").arg(planes));
    m_planeRow->setVisible(planes > 1 && tensor.defined());
    if (m_model.element >= 0)
        m_planeIndex->setValue(static_cast<int>(elementAt(tensor, m_model.element).plane));
    showNumbers();
}

void InspectorView::showNumbers() {
    const engine::Tensor& tensor = m_model.value.tensor();
    const std::int64_t plane = m_planeIndex->value();
    m_values->clear();
    m_elementNote->hide();
    if (!tensor.defined()) {
        m_plane->setPlane(tensor, plane, m_model.stats);
        m_values->setVisible(false);
        return;
    }
    ElementAt first; // of the table; moved only as far as the selected element needs
    if (const ElementAt at = elementAt(tensor, std::max<std::int64_t>(0, m_model.element)); m_model.element >= 0 && at.plane == plane) {
        first.row = std::max<std::int64_t>(0, at.row - static_cast<std::int64_t>(kRows) + 1);
        first.column = std::max<std::int64_t>(0, at.column - static_cast<std::int64_t>(kColumns) + 1);
    }
    m_plane->setPlane(tensor, plane, m_model.stats, m_model.element);
    const auto rows = valueRows(tensor, plane, kRows, kColumns, first);
    m_values->setVisible(!rows.empty());
    m_values->setRowCount(static_cast<int>(rows.size()));
    m_values->setColumnCount(rows.empty() ? 0 : static_cast<int>(rows.front().size()));
    const QFont mono = Fonts::from(QApplication::font()).mono;
    for (int r = 0; r < m_values->rowCount(); ++r) {
        for (int c = 0; c < static_cast<int>(rows[static_cast<std::size_t>(r)].size()); ++c) {
            auto* item = cell(q(rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]), true);
            item->setFont(mono);
            m_values->setItem(r, c, item);
        }
    }
    m_values->resizeColumnsToContents();
    fitHeight(m_values);
    markElement(first);
}

/// The selected element in words and in the table, which begins at `first`.
void InspectorView::markElement(const ElementAt& first) {
    const engine::Tensor& tensor = m_model.value.tensor();
    if (m_model.element < 0)
        return;
    const ElementAt at = elementAt(tensor, m_model.element);
    if (at.plane != m_planeIndex->value())
        return;
    QString words = QStringLiteral("%1 = %2").arg(q(engine::elementText(m_model.element, tensor.shape())), q(tensor.asText(m_model.element).substr(0, 60)));
    if (first.row > 0 || first.column > 0)
        words += tr("   (table from row %1, column %2)").arg(first.row).arg(first.column);
    m_elementNote->setText(words);
    m_elementNote->show();
    m_values->setCurrentCell(static_cast<int>(at.row - first.row), static_cast<int>(at.column - first.column));
}

} // namespace nabla::views

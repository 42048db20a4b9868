// One column: value and element, the rule, three numbers, then tables of products, paths, checks and the chain.
#include "views/gradient/gradient_view.h"

#include <algorithm>

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "views/gradient/curve_plot.h"
#include "views/theme/fonts.h"

namespace nabla::views {

using engine::ValueId;

namespace {

QString q(const std::string& text) { return QString::fromStdString(text); }

std::vector<TextRow> textRows(const std::vector<GradientRow>& rows) {
    std::vector<TextRow> out;
    for (const GradientRow& row : rows) {
        TextRow text;
        for (const std::string& each : row.cells)
            text.cells.push_back(q(each));
        out.push_back(std::move(text));
    }
    return out;
}

} // namespace

/// A framed number with a title over and a caption under it, a coloured line at the top.
class NumberBox : public QWidget {
public:
    NumberBox(const ThemeSource& theme, QColor Theme::* line, const char* name, QWidget* parent) : QWidget(parent), m_theme(theme), m_line(line) {
        const Fonts fonts = Fonts::from(QApplication::font());
        m_title = new QLabel(this);
        m_number = new QLabel(this);
        m_caption = new QLabel(this);
        m_title->setFont(fonts.caption);
        m_caption->setFont(fonts.caption);
        QFont strong = fonts.mono;
        strong.setWeight(QFont::DemiBold);
        m_number->setFont(strong);
        m_number->setObjectName(name);
        m_number->setTextInteractionFlags(Qt::TextSelectableByMouse);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(8, 8, 8, 6);
        layout->setSpacing(2);
        for (QLabel* label : {m_title, m_number, m_caption}) {
            label->setTextFormat(Qt::PlainText);
            label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
            layout->addWidget(label);
        }
    }
    void set(const GradientBox& box) {
        m_title->setText(q(box.title));
        m_number->setText(q(box.number));
        m_full = q(box.caption);
        m_caption->setToolTip(m_full.toHtmlEscaped());
        elide();
    }

protected:
    void resizeEvent(QResizeEvent*) override { elide(); }
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = m_theme.theme();
        QPainter painter(this);
        painter.setPen(theme.border);
        painter.setBrush(theme.sunken);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        painter.fillRect(QRectF(1, 0, width() - 2, 2.5), theme.*m_line);
    }

private:
    void elide() { m_caption->setText(m_caption->fontMetrics().elidedText(m_full, Qt::ElideMiddle, width() - 16)); }

    const ThemeSource& m_theme;
    QColor Theme::* m_line;
    QString m_full;
    QLabel *m_title, *m_number, *m_caption;
};

GradientView::GradientView(const ThemeSource& theme, QWidget* parent) : View(theme, parent) {
    m_pages = new QStackedWidget(this);
    m_empty = new EmptyPanel({}, {}, this);
    m_empty->setObjectName("gradientEmpty");
    m_pages->addWidget(m_empty);
    m_pages->addWidget(makePage());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    connect(m_empty->button(), &QAbstractButton::clicked, this, [this] { Q_EMIT actionWanted(q(gradientLack(m_state).action)); });
    connect(m_value, &QComboBox::activated, this, [this] { ask(); });
    connect(m_element, &QLineEdit::editingFinished, this, &GradientView::editElement);
    for (const Table* table : {&m_terms, &m_paths, &m_chain}) {
        connect(table->table, &QAbstractItemView::activated, this, [this, table](const QModelIndex& index) {
            if (static_cast<std::size_t>(index.row()) < table->rows.size())
                follow(table->rows[static_cast<std::size_t>(index.row())]);
        });
    }
    connect(m_paths.table, &QAbstractItemView::clicked, this, [this](const QModelIndex& index) {
        if (!m_state.explanation || static_cast<std::size_t>(index.row()) >= m_state.explanation->rule.paths.size())
            return;
        m_path = static_cast<std::size_t>(index.row());
        show();
    });
    show();
}

QWidget* GradientView::makePage() {
    const Fonts fonts = Fonts::from(QApplication::font());
    auto* page = new QWidget(this);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(12, 8, 12, 12);
    layout->setSpacing(6);
    const auto label = [&](const char* name, const QFont& font) {
        auto* made = new QLabel(page);
        made->setObjectName(name);
        made->setFont(font);
        made->setTextFormat(Qt::PlainText);
        made->setWordWrap(true);
        made->setTextInteractionFlags(Qt::TextSelectableByMouse);
        layout->addWidget(made);
        return made;
    };
    m_title = label("gradientTitle", fonts.inspectorTitle);
    m_subtitle = label("gradientSubtitle", fonts.caption);
    m_rule = label("gradientRule", fonts.mono);
    auto* row = new QHBoxLayout;
    m_value = new QComboBox(page);
    m_value->setObjectName("gradientValue");
    m_value->setAccessibleName(tr("Value whose gradient is explained"));
    m_value->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_value->setMinimumContentsLength(8);
    m_element = new QLineEdit(page);
    m_element->setObjectName("gradientElement");
    m_element->setAccessibleName(tr("Element"));
    m_element->setFont(fonts.mono);
    row->addWidget(m_value, 3);
    row->addWidget(m_element, 2);
    layout->addLayout(row);
    m_note = label("gradientNote", fonts.caption);
    auto* boxes = new QHBoxLayout;
    boxes->setSpacing(4);
    m_upstream = new NumberBox(themeSource(), &Theme::bwd, "gradientUpstream", page);
    m_local = new NumberBox(themeSource(), &Theme::fwd, "gradientLocal", page);
    m_result = new NumberBox(themeSource(), &Theme::step, "gradientResult", page);
    boxes->addWidget(m_upstream, 1);
    boxes->addWidget(new QLabel(QStringLiteral("×"), page));
    boxes->addWidget(m_local, 1);
    boxes->addWidget(new QLabel(QStringLiteral("="), page));
    boxes->addWidget(m_result, 1);
    layout->addLayout(boxes);
    m_sum = label("gradientSum", fonts.caption);
    m_curve = new CurvePlot(themeSource(), page);
    layout->addWidget(m_curve);
    using Content = TextColumn::Content;
    m_terms = makeTableOf(tr("Products"), "gradientTerms", {{tr("y"), Content::Words}, {tr("∂L/∂y × ∂y/∂x"), Content::Number}, {tr("Product"), Content::Number}}, layout);
    m_paths = makeTableOf(tr("Paths that join"), "gradientPaths", {{tr("Read by"), Content::Words}, {tr("Share"), Content::Number}}, layout);
    m_checks = makeTableOf(tr("The same number by other means"), "gradientChecks", {{tr("By"), Content::Words}, {tr("∂L/∂x"), Content::Number}, {tr("Rel. error"), Content::Number}}, layout);
    m_chain = makeTableOf(tr("Chain down to here, rms of the gradient"), "gradientChain", {{tr("Value"), Content::Words}, {tr("Gain"), Content::Number}, {tr("rms"), Content::Number}}, layout);
    layout->addStretch();
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setWidget(page);
    return area;
}

GradientView::Table GradientView::makeTableOf(const QString& title, const QString& name, std::vector<TextColumn> columns, QVBoxLayout* layout) {
    Table out{new QLabel(title, this), new TextTableModel(std::move(columns), this), nullptr, {}};
    out.title->setFont(Fonts::from(QApplication::font()).strong);
    out.title->setContentsMargins(0, 8, 0, 0);
    out.table = makeTable(out.model, themeSource(), title, this);
    out.table->setObjectName(name);
    out.table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    layout->addWidget(out.title);
    layout->addWidget(out.table);
    return out;
}

void GradientView::fill(Table& table, std::vector<GradientRow> rows) {
    table.rows = std::move(rows);
    table.model->setRows(textRows(table.rows));
    fitColumns(table.table);
    const bool any = !table.rows.empty();
    table.title->setVisible(any);
    table.table->setVisible(any);
    const int rowHeight = table.table->verticalHeader()->defaultSectionSize();
    table.table->setFixedHeight(table.table->horizontalHeader()->sizeHint().height() + rowHeight * static_cast<int>(table.rows.size()) + 2);
}

ValueId GradientView::chosen() const {
    const int index = m_value->currentIndex();
    return index >= 0 && static_cast<std::size_t>(index) < m_choices.size() ? m_choices[static_cast<std::size_t>(index)].value : ValueId{};
}

/// A product leads to the element of y that it came from, a path or a link of the chain to its node.
void GradientView::follow(const GradientRow& row) {
    if (row.term) {
        m_elements[row.term->output] = row.term->index;
        Q_EMIT selectionWanted({{}, row.term->output});
    } else if (row.node) {
        const engine::NodeId node = row.node; // the rows change with the selection
        Q_EMIT selectionWanted({node, {}});
        Q_EMIT revealWanted(node);
    }
}

void GradientView::choose() {
    m_choices = gradientChoices(m_state);
    const QSignalBlocker block(m_value);
    m_value->clear();
    for (const GradientChoice& choice : m_choices)
        m_value->addItem(q(choice.name));
    m_path = 0;
}

void GradientView::ask() {
    const ValueId value = chosen();
    if (!value || !gradientIsThere(m_state, value))
        return;
    if (!m_elements.contains(value))
        m_elements[value] = largestGradient(m_state, value);
    Q_EMIT explanationWanted(value, m_elements[value]);
}

void GradientView::editElement() {
    const ValueId value = chosen();
    if (!m_state.explanation || m_state.explanation->rule.value != value)
        return;
    const auto element = engine::parseElement(m_element->text().toStdString(), m_state.explanation->rule.shape);
    if (!element) {
        m_note->setText(q(element.error().message()));
        m_note->show();
        return;
    }
    if (m_elements[value] == *element)
        return;
    m_elements[value] = *element;
    ask();
}

void GradientView::setState(const ViewState& state, const Changes& changes) {
    m_state = state;
    if (changes.graph)
        m_elements.clear();
    if (changes.graph || changes.selection || changes.values || changes.step) {
        m_stale = true;
        if (isVisible()) {
            choose();
            ask();
            m_stale = false;
        }
    }
    if (isVisible() && (changes.gradient || changes.graph || changes.selection || changes.values))
        show();
}

void GradientView::showEvent(QShowEvent* event) {
    View::showEvent(event);
    if (m_stale) {
        choose();
        ask();
        m_stale = false;
    }
    show();
}

void GradientView::show() {
    const GradientLack lack = gradientLack(m_state);
    const bool shown = lack.sentence.empty() && m_state.explanation && !m_choices.empty();
    if (!shown) {
        m_empty->setText(lack.sentence.empty() ? tr("Reading the numbers of this gradient…") : tr(lack.sentence.c_str()), tr(lack.verb.c_str()));
        m_empty->button()->setVisible(!lack.verb.empty());
        m_pages->setCurrentWidget(m_empty);
        return;
    }
    m_pages->setCurrentIndex(1);
    const Explanation& explanation = *m_state.explanation;
    const GradientModel model = gradientModel(m_state, m_path);
    const engine::Value* value = m_state.main().value(explanation.rule.value);
    m_title->setText(tr("∂L/∂ %1").arg(q(value ? value->name : "?")));
    m_subtitle->setText(q(model.subtitle));
    m_rule->setText(q(model.rule));
    if (!m_element->hasFocus() || m_element->text().isEmpty())
        m_element->setText(q(engine::elementText(explanation.rule.element, explanation.rule.shape)));
    m_note->setText(q(explanation.error));
    m_note->setVisible(!explanation.error.empty());
    m_upstream->set(model.upstream);
    m_local->set(model.local);
    m_result->set(model.result);
    m_sum->setText(q(model.sumText));
    m_sum->setVisible(!model.sumText.empty());
    m_curve->setVisible(explanation.curve.has_value());
    if (explanation.curve)
        m_curve->setCurve(*explanation.curve, explanation.rule.x);
    fill(m_terms, model.terms);
    fill(m_paths, model.paths);
    fill(m_checks, model.checks);
    fill(m_chain, model.chain);
}

} // namespace nabla::views

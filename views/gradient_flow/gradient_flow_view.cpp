// Controls above, the map at the left, what it means at the right.
#include "views/gradient_flow/gradient_flow_view.h"

#include <algorithm>

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "views/gradient_flow/flow_histograms.h"
#include "views/gradient_flow/flow_map.h"
#include "views/theme/fonts.h"
#include "views/theme/icons.h"
#include "views/theme/row_delegate.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString q(const std::string& text) { return QString::fromStdString(text); }

QString markOf(Finding::Kind kind) {
    switch (kind) {
    case Finding::Kind::NotFinite:
    case Finding::Kind::Exploding: return "error";
    case Finding::Kind::Vanishing:
    case Finding::Kind::Dead: return "warning";
    case Finding::Kind::Healthy: return "ok";
    }
    return {};
}

} // namespace

GradientFlowView::GradientFlowView(const ThemeSource& theme, QWidget* parent) : View(theme, parent) {
    m_pages = new QStackedWidget(this);
    m_empty = new EmptyPanel(tr("Nothing has been trained yet."), tr("Train"), this);
    m_empty->setObjectName("flowEmpty");
    m_pages->addWidget(m_empty);
    m_pages->addWidget(makePage());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    connect(m_empty->button(), &QAbstractButton::clicked, this, [this] { Q_EMIT actionWanted("train"); });
}

QWidget* GradientFlowView::makePage() {
    const Fonts fonts = Fonts::from(QApplication::font());
    auto* page = new QWidget(this);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(12, 6, 12, 2);
    m_title = new QLabel(page);
    m_title->setObjectName("flowTitle");
    m_title->setTextFormat(Qt::PlainText);
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_measure = new QComboBox(page);
    m_measure->setAccessibleName(tr("What the colours show"));
    m_measure->addItems({tr("Gradient rms"), tr("Update to weight"), tr("Zero share"), tr("Dead units")});
    m_rate = new QLineEdit(page);
    m_rate->setObjectName("flowRate");
    m_rate->setAccessibleName(tr("Learning rate"));
    m_rate->setFont(fonts.mono);
    m_rate->setFixedWidth(QFontMetrics(fonts.mono).horizontalAdvance("0.0000000") + 16);
    m_pause = new QPushButton(tr("Pause"), page);
    m_pause->setObjectName("flowPause");
    m_once = new QPushButton(tr("One step"), page);
    m_once->setObjectName("flowOnce");
    m_stop = new QPushButton(tr("Stop"), page);
    m_stop->setObjectName("flowStop");
    row->addWidget(m_title, 1);
    row->addWidget(m_measure);
    row->addWidget(new QLabel(tr("rate"), page));
    for (QWidget* widget : std::initializer_list<QWidget*>{m_rate, m_pause, m_once, m_stop})
        row->addWidget(widget);
    m_map = new FlowMap(themeSource(), page);
    m_cell = new QLabel(page);
    m_cell->setObjectName("flowCell");
    m_cell->setFont(fonts.caption);
    m_cell->setTextFormat(Qt::PlainText);
    m_cell->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_histograms = new FlowHistograms(themeSource(), page);
    m_list = new QListWidget(page);
    m_list->setObjectName("flowFindings");
    m_list->setAccessibleName(tr("Diagnosis"));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setWordWrap(true);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* left = new QWidget(page);
    auto* column = new QVBoxLayout(left);
    column->setContentsMargins(12, 0, 4, 4);
    column->addWidget(m_map, 1);
    column->addWidget(m_cell);
    auto* split = new QSplitter(Qt::Horizontal, page);
    auto* middle = new QWidget(page);
    auto* spread = new QVBoxLayout(middle);
    spread->setContentsMargins(8, 2, 8, 4);
    spread->addWidget(m_histograms);
    split->addWidget(left);
    split->addWidget(middle);
    split->addWidget(m_list);
    split->setStretchFactor(0, 1);
    split->setSizes({760, 280, 300});
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addLayout(row);
    layout->addWidget(split, 1);
    connect(m_measure, &QComboBox::currentIndexChanged, this, [this](int index) { m_map->setMeasure(static_cast<FlowMeasure>(index)); });
    connect(m_rate, &QLineEdit::editingFinished, this, [this] {
        bool ok = false;
        const double rate = m_rate->text().toDouble(&ok);
        if (ok && rate >= 0 && m_training && rate != m_training->rate)
            Q_EMIT learningRateWanted(rate);
    });
    connect(m_pause, &QPushButton::clicked, this, [this] {
        Q_EMIT actionWanted(m_training && m_training->phase == TrainingState::Phase::Running ? "train_pause" : "train_resume");
    });
    connect(m_once, &QPushButton::clicked, this, [this] { Q_EMIT actionWanted("train_once"); });
    connect(m_stop, &QPushButton::clicked, this, [this] { Q_EMIT actionWanted(m_training && m_training->phase == TrainingState::Phase::Ended ? "train" : "train_stop"); });
    connect(m_map, &FlowMap::picked, this, &GradientFlowView::pick);
    connect(m_list, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) { goTo(m_list->row(item)); });
    connect(m_list, &QListWidget::itemClicked, this, [this](QListWidgetItem* item) { goTo(m_list->row(item)); });
    return page;
}

void GradientFlowView::goTo(int index) {
    const Finding finding = m_findings[static_cast<std::size_t>(index)];
    if (!m_training || finding.step < 0)
        return;
    int column = 0;
    for (std::size_t i = 0; i < m_training->steps.size(); ++i)
        column = m_training->steps[i]->step == finding.step ? static_cast<int>(i) : column;
    pick(static_cast<int>(finding.weight), column);
}

void GradientFlowView::pick(int weight, int step) {
    if (!m_training || weight >= static_cast<int>(m_training->weights.size()) || step >= static_cast<int>(m_training->steps.size()))
        return;
    m_weight = weight;
    m_step = step;
    show();
    Q_EMIT selectionWanted({{}, m_training->values[static_cast<std::size_t>(weight)]});
}

void GradientFlowView::setState(const ViewState& state, const Changes& changes) {
    m_document = state.hasDocument();
    if (changes.selection && !changes.training && !changes.graph) {
        if (const int weight = weightOf(state); weight >= 0 && weight != m_weight) {
            m_weight = weight;
            m_step = -1;
            showCell();
        }
        return;
    }
    if (!changes.training && !changes.graph)
        return;
    if (state.training != m_training && (!state.training || !m_training || state.training->steps.size() < m_training->steps.size()))
        m_weight = m_step = -1; // another run
    m_training = state.training;
    if (const int weight = m_weight < 0 ? weightOf(state) : -1; weight >= 0)
        m_weight = weight;
    show();
}

int GradientFlowView::weightOf(const ViewState& state) const {
    if (!m_training)
        return -1;
    const auto place = [&](engine::ValueId value) {
        const auto it = value ? std::find(m_training->values.begin(), m_training->values.end(), value) : m_training->values.end();
        return it == m_training->values.end() ? -1 : static_cast<int>(it - m_training->values.begin());
    };
    if (const int weight = place(state.selection.value); weight >= 0)
        return weight;
    const engine::Node* node = state.graph.node(state.selection.node);
    if (node && node->gradientOf)
        node = state.graph.node(node->gradientOf);
    for (const engine::ValueId input : node ? node->inputs : std::vector<engine::ValueId>()) {
        if (const int weight = place(input); weight >= 0)
            return weight;
    }
    return -1;
}

/// What is said of the picked cell: its numbers and its histograms.
void GradientFlowView::showCell() {
    const TrainingState& t = *m_training;
    m_map->setPicked(m_weight, m_step);
    const TrainingStep* step = nullptr;
    if (m_weight >= 0 && m_weight < static_cast<int>(t.weights.size()) && m_step < static_cast<int>(t.steps.size())) {
        for (std::size_t i = m_step >= 0 ? static_cast<std::size_t>(m_step) + 1 : t.steps.size(); i-- > 0 && !step;) {
            if (t.steps[i]->cells.size() == t.weights.size())
                step = t.steps[i].get();
            else if (m_step >= 0)
                break; // that step has no statistics
        }
    }
    if (!step) {
        m_cell->setText(tr("Click a cell for its numbers."));
        m_histograms->setCell({}, std::nullopt);
        return;
    }
    const auto weight = static_cast<std::size_t>(m_weight);
    m_cell->setText(tr("%1, step %2: %3").arg(q(t.weights[weight])).arg(step->step).arg(q(cellText(step->cells[weight]))));
    m_histograms->setCell(tr("%1 · step %2").arg(q(t.weights[weight])).arg(step->step), step->cells[weight]);
}

void GradientFlowView::show() {
    const bool any = m_training && (!m_training->steps.empty() || m_training->phase != TrainingState::Phase::Ended);
    if (!any) {
        const QString why = m_training && !m_training->error.empty() ? q(m_training->error) : m_document ? tr("Nothing has been trained yet.") : tr("No model is open.");
        m_empty->setText(why, m_document ? tr("Train") : QString());
        m_empty->button()->setVisible(m_document);
        m_pages->setCurrentIndex(0);
        return;
    }
    m_pages->setCurrentIndex(1);
    const TrainingState& t = *m_training;
    const bool running = t.phase == TrainingState::Phase::Running, ended = t.phase == TrainingState::Phase::Ended;
    m_title->setText(t.steps.empty() ? q(t.title)
                                     : tr("%1 · step %2 of %3 · loss %4%5").arg(q(t.title)).arg(t.steps.back()->step + 1).arg(t.wanted).arg(q(formatNumber(t.steps.back()->loss)), t.error.empty() ? QString() : " · " + q(t.error)));
    m_title->setToolTip(m_title->text().toHtmlEscaped());
    if (!m_rate->hasFocus())
        m_rate->setText(QString::number(t.rate));
    m_pause->setText(running ? tr("Pause") : tr("Go on"));
    m_pause->setEnabled(!ended);
    m_once->setEnabled(t.phase == TrainingState::Phase::Paused);
    m_rate->setEnabled(!ended);
    m_stop->setText(ended ? tr("Train again") : tr("Stop"));
    m_map->setTraining(m_training);
    showCell();
    m_findings = diagnose(t);
    m_list->clear();
    for (const Finding& finding : m_findings) {
        auto* item = new QListWidgetItem(themedIcon(markOf(finding.kind), themeSource()), q(finding.title + "\n" + finding.text));
        m_list->addItem(item);
    }
}

} // namespace nabla::views

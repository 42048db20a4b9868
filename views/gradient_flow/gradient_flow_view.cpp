// Controls above, the map at the left, what it means at the right.
#include "views/gradient_flow/gradient_flow_view.h"

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
    split->addWidget(left);
    split->addWidget(m_list);
    split->setStretchFactor(0, 1);
    split->setSizes({900, 320});
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
    if (!changes.training && !changes.graph)
        return;
    if (state.training != m_training && (!state.training || !m_training || state.training->steps.size() < m_training->steps.size()))
        m_weight = m_step = -1; // another run
    m_training = state.training;
    show();
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
    m_map->setPicked(m_weight, m_step);
    const bool cell = m_weight >= 0 && m_step >= 0 && t.steps[static_cast<std::size_t>(m_step)]->cells.size() == t.weights.size();
    m_cell->setText(cell ? tr("%1, step %2: %3").arg(q(t.weights[static_cast<std::size_t>(m_weight)])).arg(t.steps[static_cast<std::size_t>(m_step)]->step).arg(q(cellText(t.steps[static_cast<std::size_t>(m_step)]->cells[static_cast<std::size_t>(m_weight)])))
                         : tr("Click a cell for its numbers."));
    m_findings = diagnose(t);
    m_list->clear();
    for (const Finding& finding : m_findings) {
        auto* item = new QListWidgetItem(themedIcon(markOf(finding.kind), themeSource()), q(finding.title + "\n" + finding.text));
        m_list->addItem(item);
    }
}

} // namespace nabla::views

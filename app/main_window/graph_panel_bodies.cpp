// What the path bar says about bodies: the way into them as buttons, the step and the iteration.
#include <algorithm>
#include <limits>

#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>

#include "app/main_window/bodies.h"
#include "app/main_window/graph_panel.h"

namespace nabla::app {

using namespace nabla::views;

void GraphPanel::makeIterationBox(QHBoxLayout* row) {
    m_iteration = new QSpinBox(this);
    m_iteration->setObjectName("iterationBox");
    m_iteration->setAccessibleName(tr("Go to iteration"));
    m_iteration->setToolTip(tr("Go to an iteration of this body (F12 the next, Shift+F12 the one before)"));
    m_iteration->setKeyboardTracking(false);
    m_iteration->setMinimum(1);
    m_iteration->hide();
    row->addWidget(m_iteration);
    connect(m_iteration, &QSpinBox::valueChanged, this, [this](int k) { Q_EMIT iterationWanted(k - 1); });
}

void GraphPanel::showCrumbs() {
    // Buttons that are clicked right now are deleted later.
    for (QToolButton* old : m_crumbs->findChildren<QToolButton*>()) {
        old->setObjectName({});
        old->hide();
        old->deleteLater();
    }
    auto* row = qobject_cast<QHBoxLayout*>(m_crumbs->layout());
    if (!row) {
        row = new QHBoxLayout(m_crumbs);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(2);
    }
    while (QLayoutItem* item = row->takeAt(0)) {
        if (auto* label = qobject_cast<QLabel*>(item->widget()))
            label->deleteLater();
        delete item;
    }
    m_crumbs->setVisible(!m_state.bodies.empty());
    if (m_state.bodies.empty())
        return;
    const auto crumb = [&](const QString& name, const QString& words, const QString& help) {
        if (row->count() > 0)
            row->addWidget(new QLabel(QStringLiteral("\u203a"), m_crumbs));
        auto* button = new QToolButton(m_crumbs);
        button->setObjectName(name);
        button->setText(QFontMetrics(button->font()).elidedText(words, Qt::ElideMiddle, QFontMetrics(button->font()).horizontalAdvance('x') * 30).replace('&', "&&"));
        button->setToolTip(help.toHtmlEscaped());
        button->setAccessibleName(words);
        button->setAutoRaise(true);
        row->addWidget(button);
        return button;
    };
    connect(crumb("crumb0", QString::fromStdString(m_state.documentTitle), tr("Back to the main graph")), &QToolButton::clicked, this, [this] { Q_EMIT leaveWanted(0); });
    for (std::size_t d = 0; d < m_state.bodies.size(); ++d) {
        const BodyPlace& place = m_state.bodies[d];
        const QString owner = QString::fromStdString(place.title), body = QString::fromStdString(place.body);
        connect(crumb(QStringLiteral("owner%1").arg(d + 1), owner, tr("Back to the node whose body this is")), &QToolButton::clicked, this, [this, d] { Q_EMIT leaveWanted(d); });
        QToolButton* button = crumb(QStringLiteral("crumb%1").arg(d + 1), body, tr("Body of %1").arg(owner));
        connect(button, &QToolButton::clicked, this, [this, d] { Q_EMIT leaveWanted(d + 1); });
        const engine::Graph& outer = d == 0 ? m_state.main() : m_state.bodies[d - 1].graph;
        const engine::Node* node = outer.node(place.node);
        const auto all = node ? bodiesOf(m_state.main(), *node) : decltype(bodiesOf(m_state.main(), *node)){};
        if (all.size() < 2)
            continue;
        auto* menu = new QMenu(button); // the branches of an If
        for (const auto& [name, graph] : all)
            menu->addAction(QString::fromStdString(name), this, [this, d, id = place.node, name = QString::fromStdString(name)] { Q_EMIT bodyWanted(d, id, name); });
        button->setMenu(menu);
        button->setPopupMode(QToolButton::MenuButtonPopup);
    }
}

void GraphPanel::showStepBadge() {
    const auto& step = m_state.step;
    m_stepBadge->setVisible(step.has_value());
    const auto steps = shownSteps(m_state);
    const StepLevel* level = step && !step->levels.empty() ? &step->levels.back() : nullptr;
    const bool iterates = level && level->iterations != 1;
    m_iteration->setVisible(iterates && steps && steps->innermost);
    if (!step)
        return;
    const Theme& theme = m_theme.theme();
    QString words;
    if (level) {
        if (iterates) {
            const qint64 k = level->iteration + 1;
            constexpr std::int64_t kMost = std::numeric_limits<int>::max(); // of a spin box; a larger count means "as often as it takes"
            const std::int64_t count = std::clamp<std::int64_t>(level->iterations.value_or(kMost), 1, kMost);
            words = count == kMost ? tr("Iteration %1").arg(k)
                : level->atMost    ? tr("Iteration %1 of at most %2").arg(k).arg(count)
                                   : tr("Iteration %1 of %2").arg(k).arg(count);
            words += tr(", ");
            const QSignalBlocker quiet(m_iteration);
            m_iteration->setMaximum(static_cast<int>(count));
            m_iteration->setValue(static_cast<int>(std::min<std::int64_t>(k, kMost)));
        }
        words += level->position < level->order.size() ? tr("step %1 of %2").arg(level->position).arg(level->order.size()) : tr("all %1 steps have run").arg(level->order.size());
        words[0] = words[0].toUpper();
    } else {
        const bool end = step->position >= step->count;
        const bool backward = step->position > step->backwardStart || (step->position == step->backwardStart && !end);
        words = end ? tr("All %1 steps have run").arg(step->count)
                    : tr("Step %1 of %2, %3").arg(step->position).arg(step->count).arg(backward ? tr("backward") : tr("forward"));
    }
    m_stepBadge->setText(words);
    m_stepBadge->setStyleSheet(QStringLiteral("color:%1;background:%2;border:1px solid %3;border-radius:3px;padding:1px 8px").arg(theme.stepText.name(), theme.stepBg.name(), theme.step.name()));
}

} // namespace nabla::app

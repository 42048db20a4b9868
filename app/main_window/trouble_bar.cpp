// Colours come from the theme's warning; the words are those of the list of problems.
#include "app/main_window/trouble_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "views/problems/trouble_rows.h"
#include "views/theme/icons.h"

namespace nabla::app {

TroubleBar::TroubleBar(const views::ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName("troubleBar");
    setAttribute(Qt::WA_StyledBackground);
    m_icon = new QLabel(this);
    m_label = new QLabel(this);
    m_label->setObjectName("troubleText");
    m_label->setTextFormat(Qt::PlainText);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_find = new QPushButton(tr("Find where it comes from"), this);
    m_find->setObjectName("troubleFind");
    auto* close = new QToolButton(this);
    close->setObjectName("troubleClose");
    close->setIcon(views::themedIcon("cancel", theme));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Close the message"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 4, 8, 4);
    row->setSpacing(8);
    row->addWidget(m_icon);
    row->addWidget(m_label, 1);
    row->addWidget(m_find);
    row->addWidget(close);
    hide();
    connect(m_find, &QPushButton::clicked, this, &TroubleBar::findWanted);
    connect(close, &QToolButton::clicked, this, [this] {
        m_closed = m_trouble;
        hide();
    });
    connect(&theme, &views::ThemeSource::changed, this, &TroubleBar::paint);
    paint();
}

void TroubleBar::paint() {
    const views::Theme& theme = m_theme.theme();
    setStyleSheet(QStringLiteral("#troubleBar{background:%1} #troubleText{color:%2}").arg(theme.warningBg.name(), theme.text.name()));
    m_icon->setPixmap(views::themedIcon("warning", m_theme, views::IconInk::Warning).pixmap(16, 16));
}

void TroubleBar::setState(const views::ViewState& state) {
    m_trouble = state.trouble;
    if (!m_trouble || !views::isSerious(*m_trouble)) {
        m_closed.reset();
        hide();
        return;
    }
    const QString words = QString::fromStdString(views::troubleTitle(state.main(), *m_trouble) + ". " + views::troubleDetail(state.main(), *m_trouble) + ".");
    m_label->setText(words);
    m_label->setToolTip(words.toHtmlEscaped());
    m_find->setEnabled(m_trouble->walk.empty());
    setVisible(!m_closed || !m_closed->first.same(m_trouble->first));
}

QString TroubleBar::text() const { return isHidden() ? QString() : m_label->text(); }

} // namespace nabla::app

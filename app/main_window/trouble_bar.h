// TroubleBar: one line above the graph that says what is not finite, with the one thing to do about it.
#pragma once

#include <QWidget>

#include "views/theme/theme_source.h"
#include "views/view_state.h"

class QLabel;
class QPushButton;

namespace nabla::app {

class TroubleBar : public QWidget {
    Q_OBJECT
public:
    explicit TroubleBar(const views::ThemeSource& theme, QWidget* parent = nullptr);

    /// Shown for NaN and for infinities that a node made; closed by the user, it stays away until something else is the first.
    void setState(const views::ViewState& state);
    QString text() const;

Q_SIGNALS:
    void findWanted();

private:
    void paint();

    const views::ThemeSource& m_theme;
    QLabel *m_icon, *m_label;
    QPushButton* m_find;
    std::shared_ptr<const views::NumericTrouble> m_trouble;
    std::shared_ptr<const views::NumericTrouble> m_closed; ///< the user has seen enough of it
};

} // namespace nabla::app

// CurvePlot: an element-wise function and its derivative around the element that is explained.
#pragma once

#include <QWidget>

#include "engine/autodiff/chain_rule.h"
#include "views/theme/theme_source.h"

namespace nabla::views {

class CurvePlot : public QWidget {
    Q_OBJECT
public:
    explicit CurvePlot(const ThemeSource& theme, QWidget* parent = nullptr);

    void setCurve(const engine::Curve& curve, double x);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const ThemeSource& m_theme;
    engine::Curve m_curve;
    double m_x = 0;
};

} // namespace nabla::views

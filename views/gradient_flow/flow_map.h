// FlowMap: weights by training steps as coloured cells, the loss above them.
#pragma once

#include <QWidget>

#include "views/gradient_flow/gradient_flow_view_model.h"
#include "views/theme/theme_source.h"

namespace nabla::views {

class FlowMap : public QWidget {
    Q_OBJECT
public:
    explicit FlowMap(const ThemeSource& theme, QWidget* parent = nullptr);

    void setTraining(std::shared_ptr<const TrainingState> state);
    void setMeasure(FlowMeasure measure);
    /// Cell with the outline: row in TrainingState::weights, column in steps; -1 none.
    void setPicked(int weight, int step);
    QRectF cellRect(int weight, int step) const;
    QSize sizeHint() const override { return {520, 200}; }
    QSize minimumSizeHint() const override { return {240, 90}; }

Q_SIGNALS:
    void picked(int weight, int step);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    QRectF plotRect() const;
    QRectF lossRect() const;
    int labelWidth() const;
    std::pair<int, int> cellAt(const QPointF& at) const;
    void paintLoss(QPainter& painter);

    const ThemeSource& m_theme;
    std::shared_ptr<const TrainingState> m_state;
    FlowMeasure m_measure = FlowMeasure::Rms;
    int m_weight = -1, m_step = -1;
};

} // namespace nabla::views

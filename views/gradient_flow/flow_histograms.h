// FlowHistograms: how the elements of one weight, and of its gradient, are spread in one training step.
#pragma once

#include <optional>

#include <QWidget>

#include "views/theme/theme_source.h"
#include "views/training_state.h"

namespace nabla::views {

class FlowHistograms : public QWidget {
    Q_OBJECT
public:
    explicit FlowHistograms(const ThemeSource& theme, QWidget* parent = nullptr);

    /// `title`: the weight and the step. Without a cell it says what to do to see one.
    void setCell(const QString& title, const std::optional<TrainingCell>& cell);
    const std::optional<TrainingCell>& cell() const { return m_cell; }
    QString title() const { return m_title; }
    QSize sizeHint() const override { return {260, 180}; }
    QSize minimumSizeHint() const override { return {180, 90}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintOne(QPainter& painter, const QRectF& area, const QString& caption, const engine::TensorStatistics& tensor, const QColor& colour) const;

    const ThemeSource& m_theme;
    QString m_title;
    std::optional<TrainingCell> m_cell;
};

} // namespace nabla::views

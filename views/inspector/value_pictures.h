// Two small pictures of a tensor: its histogram, and one plane of it as cells of colour.
#pragma once

#include <QWidget>

#include "engine/tensor/tensor.h"
#include "views/theme/theme_source.h"
#include "views/view_state.h"

namespace nabla::views {

class HistogramWidget : public QWidget {
public:
    explicit HistogramWidget(const ThemeSource& theme, QWidget* parent = nullptr);
    void setStats(const std::optional<ValueStats>& stats);

protected:
    void paintEvent(QPaintEvent* event) override;
    QSize sizeHint() const override;

private:
    const ThemeSource& m_theme;
    std::optional<ValueStats> m_stats;
};

/// Cells of one plane (the innermost two dimensions); signed values on the health ramp, others on heat. NaN crossed out.
class PlaneWidget : public QWidget {
public:
    explicit PlaneWidget(const ThemeSource& theme, QWidget* parent = nullptr);
    /// `marked`: an element with an outline; -1 = none.
    void setPlane(const engine::Tensor& tensor, std::int64_t plane, const std::optional<ValueStats>& stats, std::int64_t marked = -1);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    QSize sizeHint() const override;

private:
    struct Grid {
        std::int64_t rows = 0, columns = 0, base = 0; ///< shown, from element `base` on
        std::int64_t stride = 1;                      ///< elements per row of the tensor
    };
    Grid grid() const;

    const ThemeSource& m_theme;
    engine::Tensor m_tensor;
    std::int64_t m_plane = 0, m_marked = -1;
    std::optional<ValueStats> m_stats;
};

} // namespace nabla::views

// GradientFlowView: a training run live, layer by step, with its diagnosis.
#pragma once

#include "views/gradient_flow/gradient_flow_view_model.h"
#include "views/theme/text_table.h"
#include "views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QStackedWidget;

namespace nabla::views {

class FlowHistograms;
class FlowMap;

class GradientFlowView : public View {
    Q_OBJECT
public:
    explicit GradientFlowView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    FlowMap* map() const { return m_map; }
    FlowHistograms* histograms() const { return m_histograms; }
    EmptyPanel* emptyPanel() const { return m_empty; }

private:
    QWidget* makePage();
    void pick(int weight, int step);
    void goTo(int finding);
    void show();
    void showCell();
    /// The weight that is selected, or that the selected node reads; its backward node counts for it. -1: none of these.
    int weightOf(const ViewState& state) const;

    std::shared_ptr<const TrainingState> m_training;
    bool m_document = false;
    std::vector<Finding> m_findings;
    int m_weight = -1, m_step = -1; ///< a weight without a step: its last one
    QStackedWidget* m_pages;
    EmptyPanel* m_empty;
    FlowMap* m_map;
    FlowHistograms* m_histograms;
    QLabel *m_title, *m_cell;
    QComboBox* m_measure;
    QLineEdit* m_rate;
    QPushButton *m_pause, *m_once, *m_stop;
    QListWidget* m_list;
};

} // namespace nabla::views

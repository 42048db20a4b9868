// InspectorView: everything about the selected node or value.
#pragma once

#include "views/inspector/inspector_view_model.h"
#include "views/view.h"

class QLabel;
class QSpinBox;
class QTabWidget;
class QTableWidget;
class QTextBrowser;
class QVBoxLayout;

namespace nabla::views {

class HistogramWidget;
class PlaneWidget;

class InspectorView : public View {
    Q_OBJECT
public:
    explicit InspectorView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    const InspectorModel& model() const { return m_model; }
    QTableWidget* valueTable() const { return m_values; }

private:
    QWidget* makeHeader();
    QWidget* makeValuesPage();
    QTableWidget* makePairs(const QString& name);
    void show();
    void showPorts();
    void showValue();
    void showNumbers();
    void markElement(const ElementAt& first);
    static void fillPairs(QTableWidget* table, const std::vector<std::pair<std::string, std::string>>& rows);

    InspectorModel m_model;
    engine::NodeId m_node;
    QLabel *m_tile, *m_title, *m_subtitle, *m_empty, *m_valueTitle, *m_valueNote, *m_elementNote, *m_attributesTitle;
    QTabWidget* m_tabs;
    QTableWidget *m_attributes, *m_ports, *m_values, *m_cost, *m_origin, *m_facts;
    HistogramWidget* m_histogram;
    PlaneWidget* m_plane;
    QSpinBox* m_planeIndex;
    QWidget* m_planeRow;
    QTextBrowser* m_documentation;
};

} // namespace nabla::views

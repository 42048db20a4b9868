// DifferentiateDialog: which values to differentiate, and with respect to which.
#pragma once

#include <string>
#include <vector>

#include <QDialog>

#include "engine/analysis/types.h"

class QBoxLayout;
class QLineEdit;
class QPushButton;
class QStandardItemModel;

namespace nabla::app {

class DifferentiateDialog : public QDialog {
    Q_OBJECT
public:
    /// `of`: names ticked at first. With respect to: float inputs and weights of rank 1 and more are ticked, inner values can be.
    DifferentiateDialog(const engine::Graph& graph, const engine::TypeMap& types, const std::vector<std::string>& of, QWidget* parent);

    std::vector<std::string> of() const;
    std::vector<std::string> wrt() const;

private:
    QStandardItemModel* addList(QBoxLayout* layout, const QString& title, const QString& name);
    void updateButton();

    QStandardItemModel *m_of, *m_wrt;
    QPushButton* m_accept;
};

} // namespace nabla::app

// TrainDialog: data, optimizer, rate, batch and number of steps.
#pragma once

#include <QDialog>

#include "app/main_window/training_run.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace nabla::app {

class TrainDialog : public QDialog {
    Q_OBJECT
public:
    /// `examples`: what is offered at first; may be empty.
    TrainDialog(const QString& examples, QWidget* parent);

    TrainingSettings settings() const;

private:
    void updateButton();

    QLineEdit *m_data, *m_rate;
    QComboBox* m_optimizer;
    QSpinBox *m_batch, *m_steps, *m_seed;
    QPushButton* m_accept;
};

} // namespace nabla::app

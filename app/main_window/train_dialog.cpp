// A form.
#include "app/main_window/train_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace nabla::app {

using engine::OptimizerKind;

TrainDialog::TrainDialog(const QString& examples, QWidget* parent) : QDialog(parent) {
    setObjectName("trainDialog");
    setWindowTitle(tr("Train"));
    m_data = new QLineEdit(examples, this);
    m_data->setObjectName("trainData");
    m_data->setMinimumWidth(360);
    auto* browse = new QPushButton(tr("Choose…"), this);
    m_optimizer = new QComboBox(this);
    m_optimizer->setObjectName("trainOptimizer");
    for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Nesterov, OptimizerKind::Adam, OptimizerKind::AdamW, OptimizerKind::Adagrad}) {
        const std::string_view words = engine::name(kind);
        m_optimizer->addItem(QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size())), static_cast<int>(kind));
    }
    m_optimizer->setCurrentText("adam");
    m_rate = new QLineEdit("0.001", this);
    m_rate->setObjectName("trainRate");
    const auto spin = [this](const char* name, int value, int low) {
        auto* box = new QSpinBox(this);
        box->setObjectName(name);
        box->setRange(low, 1'000'000);
        box->setValue(value);
        return box;
    };
    m_batch = spin("trainBatch", 32, 0);
    m_batch->setSpecialValueText(tr("all"));
    m_steps = spin("trainSteps", 200, 1);
    m_seed = spin("trainSeed", 0, 0);
    auto* form = new QFormLayout;
    auto* dataRow = new QHBoxLayout;
    dataRow->addWidget(m_data, 1);
    dataRow->addWidget(browse);
    form->addRow(tr("Examples (.npz)"), dataRow);
    form->addRow(tr("Optimizer"), m_optimizer);
    form->addRow(tr("Learning rate"), m_rate);
    form->addRow(tr("Batch"), m_batch);
    form->addRow(tr("Steps"), m_steps);
    form->addRow(tr("Seed"), m_seed);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_accept = buttons->addButton(tr("Train"), QDialogButtonBox::AcceptRole);
    m_accept->setProperty("primary", true);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(form);
    layout->addWidget(buttons);
    connect(browse, &QPushButton::clicked, this, [this] {
        const QString path = QFileDialog::getOpenFileName(this, tr("Examples"), QFileInfo(m_data->text()).path(), tr("Arrays (*.npz)"));
        if (!path.isEmpty())
            m_data->setText(path);
    });
    connect(m_data, &QLineEdit::textChanged, this, &TrainDialog::updateButton);
    connect(m_rate, &QLineEdit::textChanged, this, &TrainDialog::updateButton);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    updateButton();
}

void TrainDialog::updateButton() {
    bool ok = false;
    const double rate = m_rate->text().toDouble(&ok);
    m_accept->setEnabled(ok && rate >= 0 && QFileInfo(m_data->text()).isFile());
}

TrainingSettings TrainDialog::settings() const {
    TrainingSettings out;
    out.data = m_data->text().toStdString();
    out.optimizer.kind = static_cast<OptimizerKind>(m_optimizer->currentData().toInt());
    out.learningRate = m_rate->text().toDouble();
    out.batch = m_batch->value();
    out.steps = m_steps->value();
    out.seed = static_cast<std::uint64_t>(m_seed->value());
    return out;
}

} // namespace nabla::app

// Tiles for samples, a list of recent files, the tour in three sentences.
#include "app/main_window/start_page.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/theme/fonts.h"
#include "views/theme/icons.h"

namespace nabla::app {

using views::Fonts;

QList<Sample> findSamples() {
    const QString known[][3] = {
        {"digits_cnn", QObject::tr("Digit classifier, CNN"), QObject::tr("Trained on 8 × 8 pictures. Step through convolutions and their gradients; fold its batch normalizations.")},
        {"digits_mlp", QObject::tr("Digit classifier, MLP"), QObject::tr("The smallest trained model: three matrix products. Good for a first look at the chain rule.")},
        {"tiny_gpt", QObject::tr("Small GPT"), QObject::tr("Two attention blocks that learned five sonnets. See masks, softmax and residual sums, and what the passes find.")},
        {"control_flow", QObject::tr("Loop and If"), QObject::tr("Square roots by a loop that stops when it is good enough.")},
        {"scan_filter", QObject::tr("Scan"), QObject::tr("Noisy measurements smoothed step by step, forward and backward in time. Step into the Scan, iteration by iteration.")},
        {"karate_gnn", QObject::tr("Graph network"), QObject::tr("A karate club splits in two: which friendships decide who goes where?")},
        {"rnn_loop", QObject::tr("Recurrent network"), QObject::tr("A Loop reads bits one by one and keeps their parity. Differentiate through time.")},
        {"cart_pole", QObject::tr("Agent and world"), QObject::tr("A pole is balanced by policy gradients; the cart's physics are in the graph. Step through an episode.")},
        {"two_tower", QObject::tr("Pictures and names"), QObject::tr("Two towers bring digits and their English names together by cosine similarity.")},
    };
    QList<Sample> out;
    for (const QString& root : {QApplication::applicationDirPath() + "/../share/nablascope/sample_models", QStringLiteral(NABLA_SOURCE_SAMPLES)}) {
        for (const auto& row : known) {
            const QString path = root + "/" + row[0] + "/model.onnx";
            if (QFileInfo::exists(path))
                out.append({QDir::cleanPath(path), row[1], row[2]});
        }
        if (!out.isEmpty())
            break;
    }
    return out;
}

namespace {

QLabel* text(const QString& words, const QFont& font, QWidget* parent, const char* role = "") {
    auto* label = new QLabel(words, parent);
    label->setFont(font);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setProperty("role", role);
    return label;
}

constexpr int kTilesInRow = 3;

/// A button that looks like a tile: title, words.
QPushButton* tile(const Sample& sample, const Fonts& fonts, QWidget* parent) {
    auto* button = new QPushButton(parent);
    button->setProperty("tile", true);
    button->setAccessibleName(sample.title);
    button->setAccessibleDescription(sample.text);
    button->setObjectName("sample_" + QFileInfo(sample.path).dir().dirName());
    button->setMinimumSize(QFontMetrics(fonts.body).horizontalAdvance('x') * 30, QFontMetrics(fonts.body).height() * 7);
    auto* layout = new QVBoxLayout(button);
    layout->setContentsMargins(14, 12, 14, 12);
    layout->setSpacing(4);
    auto* title = text(sample.title, fonts.strong, button);
    auto* words = text(sample.text, fonts.body, button, "muted");
    for (QLabel* label : {title, words})
        label->setAttribute(Qt::WA_TransparentForMouseEvents);
    layout->addWidget(title);
    layout->addWidget(words);
    layout->addStretch();
    return button;
}

} // namespace

StartPage::StartPage(const views::ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    const Fonts fonts = Fonts::from(QApplication::font());
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(48, 36, 48, 36);
    column->setSpacing(8);
    column->addWidget(text(tr("Open a model, run it, step forward and backward."), fonts.pageTitle, page));
    column->addWidget(text(tr("Drop a file anywhere in this window, or begin with a sample."), fonts.body, page, "muted"));
    auto* open = new QPushButton(tr("Open a model…"), page);
    open->setObjectName("startOpen");
    open->setProperty("primary", true);
    open->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    connect(open, &QPushButton::clicked, this, &StartPage::browseWanted);
    column->addSpacing(4);
    column->addWidget(open);
    column->addSpacing(16);
    column->addWidget(text(tr("Samples"), fonts.section, page));
    auto* grid = new QGridLayout;
    grid->setSpacing(16);
    int i = 0;
    for (const Sample& sample : findSamples()) {
        auto* button = tile(sample, fonts, page);
        connect(button, &QPushButton::clicked, this, [this, path = sample.path] { Q_EMIT openWanted(path); });
        grid->addWidget(button, i / kTilesInRow, i % kTilesInRow);
        ++i;
    }
    if (i == 0)
        grid->addWidget(text(tr("No samples are installed beside the program."), fonts.body, page, "muted"), 0, 0);
    column->addLayout(grid);
    column->addSpacing(16);
    m_recentBox = new QWidget(page);
    m_recent = new QVBoxLayout(m_recentBox);
    m_recent->setContentsMargins(0, 0, 0, 0);
    m_recent->setSpacing(2);
    column->addWidget(m_recentBox);
    column->addSpacing(16);
    column->addWidget(text(tr("In three steps"), fonts.section, page));
    column->addWidget(text(tr("1.  Open the CNN sample and press Run (Ctrl+R): every value is there, click any node to see its numbers."), fonts.body, page));
    column->addWidget(text(tr("2.  Press Differentiate, then Step (F8) and Back (Shift+F8): walk forward, on into the backward pass, and back."), fonts.body, page));
    column->addWidget(text(tr("3.  Press Passes to see each optimization change the graph, and Record to see where the time goes."), fonts.body, page));
    column->addStretch();
    page->setMaximumWidth(QFontMetrics(fonts.body).horizontalAdvance('x') * 130);
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidget(page);
    area->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(area);
    setRecent({});
    restyle();
    connect(&theme, &views::ThemeSource::changed, this, &StartPage::restyle);
}

void StartPage::restyle() {
    const views::Theme& theme = m_theme.theme();
    setStyleSheet(QStringLiteral("QLabel[role=\"muted\"]{color:%1}"
                                 "QPushButton[tile=\"true\"]{background:%2;border:1px solid %3;border-radius:6px;text-align:left}"
                                 "QPushButton[tile=\"true\"]:hover{background:%4}"
                                 "QPushButton[tile=\"true\"]:focus{border:2px solid %5}"
                                 "QScrollArea,QScrollArea>QWidget>QWidget{background:%6}")
                      .arg(theme.muted.name(), theme.dock.name(), theme.border.name(), theme.hover.name(), theme.focus.name(), theme.canvas.name()));
}

void StartPage::setRecent(const QStringList& files) {
    while (QLayoutItem* item = m_recent->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    m_recentBox->setVisible(!files.isEmpty());
    if (files.isEmpty())
        return;
    const Fonts fonts = Fonts::from(QApplication::font());
    m_recent->addWidget(text(tr("Recent files"), fonts.section, m_recentBox));
    for (const QString& file : files) {
        const bool there = QFileInfo::exists(file);
        auto* button = new QToolButton(m_recentBox);
        button->setText(QFileInfo(file).fileName() + "   " + QFileInfo(file).absolutePath() + (there ? QString() : tr("   (not there any more)")));
        button->setAccessibleName(tr("Open %1").arg(file));
        button->setAutoRaise(true);
        button->setEnabled(there);
        connect(button, &QToolButton::clicked, this, [this, file] { Q_EMIT openWanted(file); });
        m_recent->addWidget(button);
    }
}

} // namespace nabla::app

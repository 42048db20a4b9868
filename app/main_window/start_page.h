// StartPage: samples that open and run, recent files, a three-step tour.
#pragma once

#include <QWidget>

#include "views/theme/theme_source.h"

class QVBoxLayout;

namespace nabla::app {

/// A sample model on disk: folder with model.onnx and README.md.
struct Sample {
    QString path, title, text;
};
/// Samples beside the program or in the source tree; empty when there are none.
QList<Sample> findSamples();

class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(const views::ThemeSource& theme, QWidget* parent = nullptr);
    void setRecent(const QStringList& files);

Q_SIGNALS:
    void openWanted(const QString& path);
    void browseWanted();

private:
    void restyle();

    const views::ThemeSource& m_theme;
    QVBoxLayout* m_recent;
    QWidget* m_recentBox;
};

} // namespace nabla::app

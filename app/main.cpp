// Composes the program: the command line for a verb, else the window on the files given.
#include <cstdio>

#include <QApplication>
#include <QFileInfo>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

#include "app/cli/cli.h"
#include "app/main_window/main_window.h"
#include "views/theme/nabla_style.h"

int main(int argc, char** argv) {
    if (nabla::app::cli::wanted(argc, argv))
        return nabla::app::cli::run(argc, argv);
    // A mistyped verb must not start a window, nor a missing display end the program with a signal.
    if (argc > 1 && argv[1][0] != '-' && !QFileInfo::exists(QString::fromLocal8Bit(argv[1]))) {
        std::fprintf(stderr, "nablascope: %s is neither a verb nor a file; see nablascope --help\n", argv[1]);
        return 2;
    }
    if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
        std::fprintf(stderr, "nablascope: there is no display for a window; nablascope --help lists what works without one\n");
        return 2;
    }
    QApplication app(argc, argv);
    QApplication::setOrganizationName("Nablascope");
    QApplication::setApplicationName("Nablascope");
    QApplication::setApplicationVersion(NABLA_VERSION);
    QTranslator qtTexts;
    if (qtTexts.load(QLocale(), "qt", "_", QLibraryInfo::path(QLibraryInfo::TranslationsPath)))
        QApplication::installTranslator(&qtTexts);
    nabla::views::ThemeSource theme(nabla::app::savedTheme());
    nabla::views::applyTheme(theme);
    nabla::app::MainWindow window(theme);
    window.show();
    for (const QString& file : QApplication::arguments().mid(1)) {
        if (!file.startsWith('-'))
            window.openFile(QFileInfo(file).absoluteFilePath());
    }
    return QApplication::exec();
}

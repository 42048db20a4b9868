// Composes the program: the command line for a verb, else the window on the files given.
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

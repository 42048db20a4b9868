// Fonts from the system's font.
#include "views/theme/fonts.h"

#include <QStringList>

namespace nabla::views {
namespace {

QFont scaled(QFont font, double factor, QFont::Weight weight = QFont::Normal) {
    if (font.pixelSize() > 0)
        font.setPixelSize(std::max(1, qRound(font.pixelSize() * factor)));
    else
        font.setPointSizeF(font.pointSizeF() * factor);
    font.setWeight(weight);
    return font;
}

QFont monoOf(const QFont& system) {
    QFont font = system;
    font.setFamilies(
        {QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono"), QStringLiteral("Noto Sans CJK SC")});
    font.setStyleHint(QFont::Monospace);
    return font;
}

} // namespace

QFont uiFont(const QFont& system) {
    QFont font = system;
    QStringList families = system.families();
    families << QStringLiteral("Noto Sans") << QStringLiteral("DejaVu Sans") << QStringLiteral("Noto Sans CJK SC");
    families.removeDuplicates();
    font.setFamilies(families);
    return font;
}

Fonts Fonts::from(const QFont& system) {
    const QFont ui = uiFont(system);
    const QFont mono = monoOf(ui);
    Fonts f;
    f.body = scaled(ui, 1);
    f.caption = scaled(ui, 0.92);
    f.strong = scaled(ui, 1, QFont::DemiBold);
    f.medium = scaled(ui, 0.92, QFont::Medium);
    f.mono = scaled(mono, 0.92);
    f.cardMono = scaled(mono, 0.88);
    f.dockTitle = f.strong;
    f.inspectorTitle = scaled(ui, 1.08, QFont::DemiBold);
    f.section = scaled(ui, 1.25, QFont::DemiBold);
    f.bigNumber = scaled(ui, 1.67);
    f.pageTitle = scaled(ui, 1.83, QFont::DemiBold);
    return f;
}

} // namespace nabla::views

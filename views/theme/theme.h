// Colours by name, read from tokens.json; no other file names a colour.
#pragma once

#include <array>
#include <memory>

#include <QByteArray>
#include <QColor>
#include <QPalette>
#include <QString>

#include "engine/base/result.h"
#include "views/theme/operator_kind.h"

namespace nabla::views {

enum class ThemeKind { Light, Dark, Contrast };

using Ramp = std::array<QColor, 9>;

/// One theme. The names and their uses are those of the design's table of tokens.
struct Theme {
    ThemeKind kind = ThemeKind::Light;
    // Surfaces.
    QColor window, chrome, dock, header, canvas, card, group, sunken, hover, track;
    // Lines and text.
    QColor border, borderStrong, groupBorder, edge, text, muted, disabled;
    // Interaction.
    QColor accent, onAccent, accentText, selection, focus;
    // Phases, differences, the current step.
    QColor fwd, fwdBg, bwd, bwdBg, opt, optBg, added, addedBg, removed, removedBg, changed, changedBg, step, stepBg,
        stepText;
    // Health of gradients and values.
    QColor vanish, healthy, explode, dead, nan;
    // Messages.
    QColor ok, okBg, warning, warningBg, error, errorBg, info, infoBg;
    Ramp heat, health;
    std::array<QColor, kOperatorKindCount> kinds; ///< Unknown: `card`, with a `borderStrong` strip
    std::array<QColor, 2> inks;
    double sliceMix = 0.5;

    /// Reads one theme from the text of tokens.json; an error names the missing or malformed token.
    static engine::Result<Theme> parse(const QByteArray& json, ThemeKind kind);
    /// From the built-in tokens.
    static Theme load(ThemeKind kind);

    /// Fill of the kind's tile, strip and far block.
    QColor colour(OperatorKind k) const { return kinds[static_cast<std::size_t>(k)]; }
    /// The same where it stands as a line or block on a surface: kinds whose fill is the card's use `borderStrong`.
    QColor strip(OperatorKind k) const;
    /// Timeline slice: the kind's colour mixed into `dock`.
    QColor slice(OperatorKind k) const;
    /// The ink of higher contrast on a fill.
    QColor inkOn(const QColor& fill) const;
    /// t in 0..1, mixed between the nine steps; outside is clamped, NaN is `nan`.
    QColor heatAt(double t) const;
    /// t in -1 (vanishing) .. 0 (healthy) .. 1 (exploding).
    QColor healthAt(double t) const;
    QPalette palette() const;
    /// Tabs, tool buttons, table headers, tool tips, splitter handles, primary buttons (property "primary").
    QString styleSheet() const;
};

using ThemePtr = std::shared_ptr<const Theme>;

/// `a` with the share `t` of `b` mixed in.
QColor mix(const QColor& a, const QColor& b, double t);
/// WCAG 2 contrast ratio, 1 to 21.
double contrastRatio(const QColor& a, const QColor& b);
/// True when the palette's text is lighter than its window: Qt 6.4 has no other way to ask for the system's scheme.
bool isDark(const QPalette& palette);
/// Translated name of a kind.
QString operatorKindName(OperatorKind kind);

} // namespace nabla::views

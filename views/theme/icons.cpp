// An icon engine that puts the theme's colour where the file says currentColor.
#include "views/theme/icons.h"

#include <QFile>
#include <QHash>
#include <QIconEngine>
#include <QPainter>
#include <QPointer>
#include <QSvgRenderer>

namespace nabla::views {
namespace {

QByteArray readIcon(const QString& name) {
    QFile file(QStringLiteral(":/nablascope/icons/%1.svg").arg(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QImage renderIcon(QByteArray svg, const QColor& colour, QSize pixels) {
    svg.replace("currentColor", colour.name().toLatin1());
    QSvgRenderer renderer(svg);
    QImage image(pixels, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    const int side = std::min(pixels.width(), pixels.height());
    renderer.render(&painter, QRectF((pixels.width() - side) / 2.0, (pixels.height() - side) / 2.0, side, side));
    return image;
}

class ThemedIconEngine : public QIconEngine {
public:
    ThemedIconEngine(QByteArray svg, const ThemeSource* source, IconInk ink)
        : m_svg(std::move(svg))
        , m_source(source)
        , m_ink(ink) { }

    QIconEngine* clone() const override { return new ThemedIconEngine(m_svg, m_source, m_ink); }
    bool isNull() override { return m_svg.isEmpty(); }
    QSize actualSize(const QSize& size, QIcon::Mode, QIcon::State) override { return size; }
    QList<QSize> availableSizes(QIcon::Mode, QIcon::State) override { return {{16, 16}, {20, 20}, {32, 32}, {40, 40}}; }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        return scaledPixmap(size, mode, state, 1);
    }

    /// `size` is in device pixels.
    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State, qreal scale) override {
        if (!m_source || size.isEmpty())
            return {};
        if (m_revision != m_source->revision()) {
            m_cache.clear();
            m_revision = m_source->revision();
        }
        const quint64 key = static_cast<quint64>(size.width()) << 32 | static_cast<quint64>(size.height()) << 8
            | (mode == QIcon::Disabled ? 1u : 0u);
        auto it = m_cache.find(key);
        if (it == m_cache.end())
            it = m_cache.insert(key, QPixmap::fromImage(renderIcon(m_svg, colour(mode), size)));
        QPixmap pixmap = *it;
        pixmap.setDevicePixelRatio(scale);
        return pixmap;
    }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        const qreal ratio = painter->device() != nullptr ? painter->device()->devicePixelRatioF() : 1;
        const QSize pixels(qRound(rect.width() * ratio), qRound(rect.height() * ratio));
        painter->drawPixmap(rect, scaledPixmap(pixels, mode, state, 1));
    }

private:
    QByteArray m_svg;
    QPointer<const ThemeSource> m_source;
    IconInk m_ink;
    QHash<quint64, QPixmap> m_cache;
    int m_revision = 0;

    QColor colour(QIcon::Mode mode) const {
        const Theme& t = m_source->theme();
        if (mode == QIcon::Disabled)
            return t.disabled;
        switch (m_ink) {
        case IconInk::Text:
            return t.text;
        case IconInk::Muted:
            return t.muted;
        case IconInk::OnAccent:
            return t.onAccent;
        case IconInk::Accent:
            return t.accent;
        case IconInk::Ok:
            return t.ok;
        case IconInk::Warning:
            return t.warning;
        case IconInk::Error:
            return t.error;
        case IconInk::Info:
            return t.info;
        }
        return t.text;
    }
};

} // namespace

QIcon themedIcon(const QString& name, const ThemeSource& source, IconInk ink) {
    QByteArray svg = readIcon(name);
    return svg.isEmpty() ? QIcon() : QIcon(new ThemedIconEngine(std::move(svg), &source, ink));
}

QImage iconImage(const QString& name, const QColor& colour, int pixels) {
    const QByteArray svg = readIcon(name);
    return svg.isEmpty() ? QImage() : renderIcon(svg, colour, {pixels, pixels});
}

} // namespace nabla::views

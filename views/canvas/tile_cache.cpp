// The painting thread and the tiles it hands over as images: pixmaps may only be made in the GUI thread.
#include "views/canvas/tile_cache.h"

#include <algorithm>
#include <cmath>

#include "views/canvas/far_raster.h"
#include "views/canvas/scene_painter.h"

namespace nabla::views {

double zoomOfLevel(int level) {
    return std::exp2(level / 4.0);
}

TileCache::TileCache(QObject* parent)
    : QObject(parent)
    , m_thread([this](const std::stop_token& stop) { work(stop); }) { }

TileCache::~TileCache() {
    m_thread.request_stop();
    m_wake.notify_all();
    m_thread.join();
}

void TileCache::setSource(ScenePtr scene, ThemePtr theme, const QFont& font, double ratio) {
    m_tiles.clear();
    m_bytes = 0;
    m_overview = {};
    ++m_epoch;
    {
        const std::scoped_lock lock(m_mutex);
        m_source = {std::move(scene), std::move(theme), font, ratio, m_epoch};
        m_wanted.clear();
        m_inFlight.clear();
        m_overviewWanted = m_source.scene != nullptr;
    }
    m_wake.notify_one();
}

const QImage* TileCache::find(const TileKey& key) {
    const auto it = m_tiles.find(key);
    if (it == m_tiles.end())
        return nullptr;
    it->second.used = ++m_clock;
    return &it->second.image;
}

void TileCache::want(const std::vector<TileKey>& keys) {
    {
        const std::scoped_lock lock(m_mutex);
        m_wanted.clear();
        for (const TileKey& k : keys) {
            if (!m_inFlight.contains(k))
                m_wanted.push_back(k);
        }
        if (m_wanted.empty())
            return;
    }
    m_wake.notify_one();
}

bool TileCache::isBusy() const {
    const std::scoped_lock lock(m_mutex);
    return m_overviewWanted || m_overviewInFlight || !m_wanted.empty() || !m_inFlight.empty();
}

void TileCache::work(const std::stop_token& stop) {
    SceneIndex::Scratch scratch;
    std::uint64_t scratchEpoch = 0;
    while (true) {
        Source source;
        std::optional<TileKey> key;
        {
            std::unique_lock lock(m_mutex);
            if (!m_wake.wait(lock, stop, [this] { return m_overviewWanted || !m_wanted.empty(); }))
                return;
            source = m_source;
            // The overview first: it stands in for every tile that is not there yet.
            if (m_overviewWanted) {
                m_overviewWanted = false;
                m_overviewInFlight = true;
            } else {
                key = m_wanted.front();
                m_wanted.pop_front();
                m_inFlight.insert(*key);
            }
        }
        if (scratchEpoch != source.epoch) {
            scratch = {};
            scratchEpoch = source.epoch;
        }
        if (key) {
            PaintContext context(*source.scene, *source.theme, source.font, zoomOfLevel(key->level), source.ratio);
            context.dimmed = key->dimmed;
            QImage image = rasterScene({kTileSide, kTileSide}, QPoint(key->x, key->y) * kTileSide, context, scratch);
            QMetaObject::invokeMethod(
                this, [this, epoch = source.epoch, k = *key, image = std::move(image)] { accept(epoch, k, image); },
                Qt::QueuedConnection);
            continue;
        }
        const Box& b = source.scene->scene().bounds;
        const double scale
            = std::min(1.0, kOverviewSide / static_cast<double>(std::max({b.right(), b.bottom(), 1.0f})));
        const QSize size(std::max(1, static_cast<int>(std::ceil(b.right() * scale))),
            std::max(1, static_cast<int>(std::ceil(b.bottom() * scale))));
        PaintContext context(*source.scene, *source.theme, source.font, scale, 1);
        context.level = DetailLevel::Far;
        QImage image(size, QImage::Format_RGB32);
        rasterFar(image, {0, 0}, context, scratch);
        QMetaObject::invokeMethod(
            this,
            [this, epoch = source.epoch, scale, image = std::move(image)] { acceptOverview(epoch, image, scale); },
            Qt::QueuedConnection);
    }
}

void TileCache::accept(std::uint64_t epoch, const TileKey& key, const QImage& image) {
    if (epoch != m_epoch)
        return;
    {
        const std::scoped_lock lock(m_mutex);
        m_inFlight.erase(key);
    }
    const auto [it, added] = m_tiles.insert_or_assign(key, Entry{image, ++m_clock});
    if (added)
        m_bytes += static_cast<std::size_t>(image.sizeInBytes());
    evict();
    Q_EMIT tileReady();
}

void TileCache::acceptOverview(std::uint64_t epoch, const QImage& image, double scale) {
    {
        const std::scoped_lock lock(m_mutex);
        m_overviewInFlight = false;
    }
    if (epoch != m_epoch)
        return;
    m_overview = image;
    m_overviewScale = scale;
    Q_EMIT tileReady();
}

void TileCache::evict() {
    if (m_bytes <= m_capacity)
        return;
    // A quarter at a time, so that the sort is rare.
    std::vector<std::pair<std::uint64_t, TileKey>> oldest;
    for (const auto& [key, entry] : m_tiles)
        oldest.emplace_back(entry.used, key);
    std::sort(oldest.begin(), oldest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [used, key] : oldest) {
        if (m_bytes <= m_capacity / 4 * 3)
            break;
        const auto it = m_tiles.find(key);
        m_bytes -= static_cast<std::size_t>(it->second.image.sizeInBytes());
        m_tiles.erase(it);
    }
}

} // namespace nabla::views

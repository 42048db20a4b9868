// Tiles of 512 device pixels, filled by one background thread, kept up to a number of bytes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <QFont>
#include <QImage>
#include <QObject>

#include "views/canvas/scene_index.h"
#include "views/theme/theme.h"

namespace nabla::views {

constexpr int kTileSide = 512;
/// Zoom levels are powers of 2^(1/4): every frame is a copy of tiles, never a scaling, once they are there.
double zoomOfLevel(int level);

struct TileKey {
    int level = 0;
    int x = 0;
    int y = 0;
    bool dimmed = false;
    bool operator==(const TileKey&) const = default;
};

struct TileKeyHash {
    std::size_t operator()(const TileKey& k) const {
        std::uint64_t h = static_cast<std::uint32_t>(k.x) * 0x9e3779b97f4a7c15u;
        h = (h ^ static_cast<std::uint32_t>(k.y)) * 0xff51afd7ed558ccdu;
        h = (h ^ static_cast<std::uint32_t>(k.level * 2 + k.dimmed)) * 0xc4ceb9fe1a85ec53u;
        return h ^ h >> 32;
    }
};

/// Lives in the GUI thread. Everything it holds belongs to one source (scene, theme, font, device pixel ratio).
class TileCache : public QObject {
    Q_OBJECT
public:
    explicit TileCache(QObject* parent = nullptr);
    ~TileCache() override;

    /// Drops all tiles and starts with another source; also asks for its overview.
    void setSource(ScenePtr scene, ThemePtr theme, const QFont& font, double ratio);
    /// The tile, if it is there; it then counts as used now.
    const QImage* find(const TileKey& key);
    /// What the thread should paint next, most urgent first; forgets what earlier calls asked for.
    void want(const std::vector<TileKey>& keys);
    /// The whole scene in at most kOverviewSide pixels a side; null until it is painted.
    const QImage& overview() const { return m_overview; }
    double overviewScale() const { return m_overviewScale; }
    static constexpr int kOverviewSide = 1024;

    /// True while the thread has something to do.
    bool isBusy() const;
    void setCapacity(std::size_t bytes) { m_capacity = bytes; }
    std::size_t bytes() const { return m_bytes; }

Q_SIGNALS:
    void tileReady();

private:
    struct Source {
        ScenePtr scene;
        ThemePtr theme;
        QFont font;
        double ratio = 1;
        std::uint64_t epoch = 0;
    };
    struct Entry {
        QImage image;
        std::uint64_t used = 0;
    };
    std::unordered_map<TileKey, Entry, TileKeyHash> m_tiles;
    QImage m_overview;
    double m_overviewScale = 1;
    std::size_t m_bytes = 0;
    std::size_t m_capacity = std::size_t(192) << 20;
    std::uint64_t m_clock = 0;
    std::uint64_t m_epoch = 0; // of the GUI thread

    mutable std::mutex m_mutex; // guards the rest
    std::condition_variable_any m_wake;
    Source m_source;
    std::deque<TileKey> m_wanted;
    std::unordered_set<TileKey, TileKeyHash> m_inFlight; // painted or being painted, not yet accepted
    bool m_overviewWanted = false;
    bool m_overviewInFlight = false;
    std::jthread m_thread; // last: joined before anything it uses goes

    void work(const std::stop_token& stop);
    void accept(std::uint64_t epoch, const TileKey& key, const QImage& image);
    void acceptOverview(std::uint64_t epoch, const QImage& image, double scale);
    void evict();
};

} // namespace nabla::views

// Our own layered layout: the instant first picture of every graph, and the only one of large graphs.
#pragma once

#include <memory>
#include <stop_token>

#include "engine/base/result.h"
#include "views/layout/layout_types.h"

namespace nabla::views {

/// Remembers the layout of each scope by its structure, so that equal blocks are laid out once and opening a group
/// redoes only its ancestors. Not thread safe: one per thread that lays out.
class LayoutCache {
public:
    LayoutCache();
    ~LayoutCache();
    LayoutCache(LayoutCache&&) noexcept;
    LayoutCache& operator=(LayoutCache&&) noexcept;

    std::int64_t hits() const;
    std::int64_t misses() const;

    struct Data;
    Data& data() { return *m_data; }

private:
    std::unique_ptr<Data> m_data;
};

/// Lays out each group by itself, innermost first, then the group boxes as nodes of their parent (Sugiyama's method:
/// ranks, crossing reduction by weighted medians, coordinates by isotonic regression). Edges that cross a group's
/// border pass through a port on it. Fails on indices out of range, sizes that are not finite, groups that contain
/// themselves, and with ErrorKind::Cancelled when `stop` is asked for.
engine::Result<LayoutResult> layeredLayout(
    const LayoutRequest& request, std::stop_token stop = {}, LayoutCache* cache = nullptr);

/// The checks that layeredLayout() makes first; the Graphviz worker makes the same.
engine::Result<void> checkRequest(const LayoutRequest& request);

} // namespace nabla::views

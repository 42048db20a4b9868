// What the timeline shows: kinds and counts by node and name, the part of time on screen, sums of a selection. No Qt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "views/theme/operator_kind.h"
#include "views/view_state.h"

namespace nabla::views {

/// Facts that painting looks up for every slice, by node id and by name id.
class TimelineIndex {
public:
    TimelineIndex() = default;
    TimelineIndex(const profiler::TimelineData& data, const engine::Graph& graph);

    OperatorKind kindOfNode(std::uint32_t node) const { return node < m_kinds.size() ? m_kinds[node] : OperatorKind::Movement; }
    bool isGradient(std::uint32_t node) const { return node < m_gradient.size() && m_gradient[node]; }
    std::uint32_t countOfNode(std::uint32_t node) const { return node < m_counts.size() ? m_counts[node] : 0; }
    /// A node whose slices carry this name; 0 when none does.
    std::uint32_t nodeOfName(std::uint32_t name) const { return name < m_nodeOfName.size() ? m_nodeOfName[name] : 0; }
    /// Lanes whose slices are work of their own and contain no others: operators and kernels, else all lanes.
    const std::vector<std::size_t>& workLanes() const { return m_workLanes; }

private:
    std::vector<OperatorKind> m_kinds;
    std::vector<bool> m_gradient;
    std::vector<std::uint32_t> m_counts, m_nodeOfName;
    std::vector<std::size_t> m_workLanes;
};

/// One row of the table of sums.
struct TimelineSum {
    std::uint32_t nameId = 0;
    std::uint32_t node = 0; ///< of the name; 0 none
    OperatorKind kind = OperatorKind::Movement;
    std::int64_t count = 0, sumNs = 0;
    double share = 0; ///< of all the work in the selection
};
std::vector<TimelineSum> timelineSums(const profiler::TimelineData& data, const TimelineIndex& index, profiler::TimeRange range);

/// The part of time that a strip of pixels shows.
class TimeWindow {
public:
    void setWhole(profiler::TimeRange whole);
    profiler::TimeRange whole() const { return m_whole; }
    profiler::TimeRange range() const { return m_range; }
    void setArea(double x, double width) { m_x = x, m_width = width > 1 ? width : 1; }
    double x() const { return m_x; }
    double width() const { return m_width; }

    double xOf(std::int64_t time) const { return m_x + static_cast<double>(time - m_range.begin) / nsPerPixel(); }
    std::int64_t timeAt(double x) const { return m_range.begin + static_cast<std::int64_t>((x - m_x) * nsPerPixel()); }
    double nsPerPixel() const { return static_cast<double>(m_range.end - m_range.begin) / m_width; }

    /// Keeps the time under x where it is; a factor above 1 comes nearer. Not below 1 ns a pixel.
    void zoom(double factor, double x);
    void pan(double pixels);
    /// Shows a range and remembers the one before.
    void show(profiler::TimeRange range);
    /// Back to the range before the last show(); false when there is none.
    bool back();
    void fit();
    /// Centres on a time when the range is not in view; comes nearer when the range is narrower than 4 pixels.
    bool reveal(profiler::TimeRange range);

private:
    profiler::TimeRange m_whole{0, 1}, m_range{0, 1};
    std::vector<profiler::TimeRange> m_before;
    double m_x = 0, m_width = 1;
    void set(std::int64_t begin, std::int64_t span);
};

/// Even marks on the ruler, at least `apart` pixels from one another: 1, 2 or 5 times a power of ten ns.
std::int64_t rulerStep(const TimeWindow& window, double apart);

/// First slice of a node that begins at or after `from`, else its first one, over all lanes: (lane, slice).
std::optional<std::pair<std::uint32_t, std::uint32_t>> firstSlice(
    const profiler::TimelineData& data, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& slices, std::int64_t from);

/// The largest value of a counter; nullopt when it has none.
std::optional<double> counterMaximum(const profiler::TimelineCounter& counter);

} // namespace nabla::views

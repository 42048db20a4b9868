// Indices over a recording, and the window of time.
#include "views/timeline/timeline_view_model.h"

#include <algorithm>
#include <cmath>

namespace nabla::views {

using namespace profiler;

TimelineIndex::TimelineIndex(const TimelineData& data, const engine::Graph& graph) {
    graph.forEachNode([this](const engine::Node& node) {
        if (node.id.value >= m_kinds.size()) {
            m_kinds.resize(node.id.value + 1, OperatorKind::Movement);
            m_gradient.resize(node.id.value + 1, false);
        }
        m_kinds[node.id.value] = operatorKind(node.opType, node.domain);
        m_gradient[node.id.value] = static_cast<bool>(node.gradientOf);
    });
    m_nodeOfName.resize(data.names.size(), 0);
    for (std::size_t l = 0; l < data.lanes.size(); ++l) {
        const TimelineLane& lane = data.lanes[l];
        for (std::size_t i = 0; i < lane.size(); ++i) {
            const std::uint32_t node = lane.nodeId[i];
            if (node == 0)
                continue;
            if (node >= m_counts.size())
                m_counts.resize(node + 1, 0);
            ++m_counts[node];
            if (lane.nameId[i] < m_nodeOfName.size() && m_nodeOfName[lane.nameId[i]] == 0)
                m_nodeOfName[lane.nameId[i]] = node;
        }
        const bool work = lane.source == SliceSource::OpEvent || lane.source == SliceSource::Kernel || lane.source == SliceSource::Memcpy
            || lane.source == SliceSource::Memset;
        // Deeper operator lanes are parts of the ones above them.
        if (work && (isGpu(lane.source) || lane.depth == 0))
            m_workLanes.push_back(l);
    }
    for (std::size_t l = 0; m_workLanes.empty() && l < data.lanes.size(); ++l)
        m_workLanes.push_back(l);
}

std::vector<TimelineSum> timelineSums(const TimelineData& data, const TimelineIndex& index, TimeRange range) {
    std::vector<TimelineSum> sums;
    if (data.lanes.empty())
        return sums;
    double whole = 0;
    for (const SelectedTimes& t : selectionSums(data, range, index.workLanes())) {
        const std::uint32_t node = index.nodeOfName(t.nameId);
        sums.push_back({t.nameId, node, index.kindOfNode(node), t.count, t.sumNs, 0});
        whole += static_cast<double>(t.sumNs);
    }
    for (TimelineSum& sum : sums)
        sum.share = whole > 0 ? static_cast<double>(sum.sumNs) / whole : 0;
    return sums;
}

void TimeWindow::setWhole(TimeRange whole) {
    m_whole = {whole.begin, std::max(whole.end, whole.begin + 1)};
    fit();
    m_before.clear();
}

void TimeWindow::set(std::int64_t begin, std::int64_t span) {
    const std::int64_t whole = m_whole.end - m_whole.begin;
    const std::int64_t least = std::min<std::int64_t>(whole, static_cast<std::int64_t>(m_width));
    span = std::clamp(span, std::max<std::int64_t>(least, 1), whole);
    begin = std::clamp(begin, m_whole.begin, m_whole.end - span);
    m_range = {begin, begin + span};
}

void TimeWindow::zoom(double factor, double x) {
    const std::int64_t time = timeAt(x);
    const auto span = static_cast<std::int64_t>(static_cast<double>(m_range.end - m_range.begin) / factor);
    const double part = (x - m_x) / m_width;
    set(time - static_cast<std::int64_t>(part * static_cast<double>(std::max<std::int64_t>(span, 1))), span);
}

void TimeWindow::pan(double pixels) {
    set(m_range.begin - static_cast<std::int64_t>(pixels * nsPerPixel()), m_range.end - m_range.begin);
}

void TimeWindow::show(TimeRange range) {
    m_before.push_back(m_range);
    const std::int64_t begin = std::max(range.begin, m_whole.begin);
    set(begin, std::min(range.end, m_whole.end) - begin);
}

bool TimeWindow::back() {
    if (m_before.empty())
        return false;
    m_range = m_before.back();
    m_before.pop_back();
    return true;
}

void TimeWindow::fit() { m_range = m_whole; }

bool TimeWindow::reveal(TimeRange range) {
    const bool seen = range.begin < m_range.end && range.end > m_range.begin;
    const std::int64_t duration = std::max<std::int64_t>(range.end - range.begin, 1);
    const bool narrow = static_cast<double>(duration) < 4 * nsPerPixel();
    if (seen && !narrow)
        return false;
    const std::int64_t span = narrow ? duration * 40 : m_range.end - m_range.begin;
    show({range.begin + duration / 2 - span / 2, range.begin + duration / 2 - span / 2 + span});
    return true;
}

std::int64_t rulerStep(const TimeWindow& window, double apart) {
    const double least = std::max(1.0, window.nsPerPixel() * apart);
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double m : {1.0, 2.0, 5.0}) {
        if (m * power >= least)
            return static_cast<std::int64_t>(std::llround(m * power));
    }
    return static_cast<std::int64_t>(std::llround(10 * power));
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> firstSlice(
    const TimelineData& data, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& slices, std::int64_t from) {
    std::optional<std::pair<std::uint32_t, std::uint32_t>> first, after;
    const auto start = [&](const auto& s) { return data.lanes[s.first].start[s.second]; };
    for (const auto& s : slices) {
        if (!first || start(s) < start(*first))
            first = s;
        if (data.lanes[s.first].endOf(s.second) > from && (!after || start(s) < start(*after)))
            after = s;
    }
    return after ? after : first;
}

std::optional<double> counterMaximum(const TimelineCounter& counter) {
    const auto it = std::max_element(counter.value.begin(), counter.value.end());
    return it == counter.value.end() ? std::nullopt : std::optional(*it);
}

} // namespace nabla::views

// The arena of a plan as blocks in offset x step, what is alive at a step, and which part of it is on screen. No Qt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "views/theme/operator_kind.h"
#include "views/view_state.h"

namespace nabla::views {

/// One place in the arena; values that share it (views, in-place results) are one block.
struct MemoryBlock {
    std::int64_t offset = 0, bytes = 0;
    std::uint32_t firstStep = 0, lastStep = 0; ///< both included
    std::string name;                          ///< of the node that makes it, else of the value
    OperatorKind kind = OperatorKind::Unknown;
    bool gradient = false;                     ///< made in the backward pass
    std::vector<engine::ValueId> values;       ///< the root first
    std::vector<engine::NodeId> producers;     ///< of `values`; none where there is no node
    bool aliveAt(std::uint32_t step) const { return firstStep <= step && step <= lastStep; }
};

/// Steps of one phase without a break.
struct PhaseSpan {
    engine::Phase phase = engine::Phase::Forward;
    std::uint32_t firstStep = 0, lastStep = 0;
};

struct MemoryMap {
    std::vector<MemoryBlock> blocks; ///< by first step, then offset
    std::vector<PhaseSpan> phases;
    std::uint32_t steps = 0, peakStep = 0;
    std::int64_t arenaBytes = 0, lowerBoundBytes = 0;
    std::int64_t heapSlots = 0, outputBytes = 0, packedBytes = 0; ///< what lies outside the arena

    /// Indices of the blocks alive at a step, largest first.
    std::vector<std::size_t> aliveAt(std::uint32_t step) const;
    std::int64_t liveBytes(std::uint32_t step) const;
    std::optional<std::size_t> blockOf(engine::ValueId value) const;
    /// Every block that holds an output of the node.
    std::vector<std::size_t> blocksOf(engine::NodeId node) const;
};

/// Nothing to show: an empty map with 0 steps.
MemoryMap memoryMap(const engine::Plan& plan);

struct MapRect {
    double x = 0, y = 0, width = 0, height = 0;
    bool contains(double px, double py) const { return px >= x && px < x + width && py >= y && py < y + height; }
};

/// Which steps and bytes the picture shows, and where; steps go right, offsets go up.
class MemoryWindow {
public:
    void setMap(std::uint32_t steps, std::int64_t bytes);
    void setArea(const MapRect& area) { m_area = area; }
    const MapRect& area() const { return m_area; }
    void fit();
    /// Keeps what is under (x, y) where it is; a factor above 1 comes nearer.
    void zoom(double factorX, double factorY, double x, double y);
    void pan(double dx, double dy);
    /// Shows a block with room around it.
    void zoomTo(const MemoryBlock& block);
    /// Moves so that the block is in view; false when it was already.
    bool reveal(const MemoryBlock& block);

    double xOf(double step) const { return m_area.x + (step - m_step0) / (m_step1 - m_step0) * m_area.width; }
    double yOf(double bytes) const { return m_area.y + m_area.height - (bytes - m_byte0) / (m_byte1 - m_byte0) * m_area.height; }
    double stepAt(double x) const { return m_step0 + (x - m_area.x) / m_area.width * (m_step1 - m_step0); }
    double byteAt(double y) const { return m_byte0 + (m_area.y + m_area.height - y) / m_area.height * (m_byte1 - m_byte0); }
    MapRect rectOf(const MemoryBlock& block) const;
    double step0() const { return m_step0; }
    double step1() const { return m_step1; }
    double byte0() const { return m_byte0; }
    double byte1() const { return m_byte1; }

private:
    MapRect m_area{0, 0, 1, 1};
    double m_steps = 1, m_bytes = 1; ///< of the whole map, with a little air above
    double m_step0 = 0, m_step1 = 1, m_byte0 = 0, m_byte1 = 1;
    void clamp();
};

/// Even distances for axis marks: 1, 2 or 5 times a power of ten; for bytes a power of two.
double niceStep(double span, int marks);
double niceBytes(double span, int marks);

} // namespace nabla::views

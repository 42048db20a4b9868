// Blocks from a plan's slots, and the window on them.
#include "views/memory_map/memory_map_view_model.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace nabla::views {

using namespace engine;

namespace {

/// A backward node may stand in a plan that does not mark phases: what it is a gradient of says it too.
Phase phaseOf(const PlanStep& step) {
    if (step.phase == Phase::Forward && step.graphNode && step.graphNode->gradientOf)
        return Phase::Backward;
    return step.phase == Phase::None ? Phase::Forward : step.phase;
}

void nameBlock(MemoryBlock& block, const Plan& plan, const PlanSlot& slot) {
    const Node* node = plan.graph.producer(slot.value);
    const Value* value = plan.graph.value(slot.value);
    if (node) {
        block.kind = operatorKind(node->opType, node->domain);
        block.name = node->name.empty() ? node->opType + " #" + std::to_string(node->id.value) : node->name;
        block.gradient = static_cast<bool>(node->gradientOf);
    } else {
        block.kind = OperatorKind::Constant;
        block.name = value ? value->name : "#" + std::to_string(slot.value.value);
    }
}

std::vector<PhaseSpan> phaseSpans(const Plan& plan) {
    std::vector<PhaseSpan> spans;
    for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
        const Phase phase = phaseOf(plan.steps[i]);
        if (spans.empty() || spans.back().phase != phase)
            spans.push_back({phase, i, i});
        else
            spans.back().lastStep = i;
    }
    return spans;
}

} // namespace

MemoryMap memoryMap(const Plan& plan) {
    MemoryMap map;
    map.steps = static_cast<std::uint32_t>(plan.steps.size());
    map.peakStep = plan.arena.peakStep;
    map.arenaBytes = plan.arena.arenaBytes;
    map.lowerBoundBytes = plan.arena.lowerBoundBytes;
    map.heapSlots = plan.heapSlots;
    map.outputBytes = plan.outputBytes;
    map.packedBytes = plan.packedBytes;
    map.phases = phaseSpans(plan);
    std::unordered_map<std::uint32_t, std::size_t> blockOfRoot;
    for (std::uint32_t i = 0; i < plan.slotTable.size(); ++i) {
        const PlanSlot& slot = plan.slotTable[i];
        if (slot.place != PlanSlot::Place::Arena || slot.bytes == 0)
            continue;
        const std::uint32_t root = slot.aliasOf == kNoSlot ? i : slot.aliasOf;
        const auto [it, isNew] = blockOfRoot.try_emplace(root, map.blocks.size());
        if (isNew) {
            map.blocks.push_back({slot.offset, slot.bytes, slot.firstStep, slot.lastStep, {}, {}, false, {}, {}});
            nameBlock(map.blocks.back(), plan, plan.slotTable[root]);
        }
        MemoryBlock& block = map.blocks[it->second];
        block.bytes = std::max(block.bytes, slot.bytes);
        block.firstStep = std::min(block.firstStep, slot.firstStep);
        block.lastStep = std::max(block.lastStep, slot.lastStep);
        const Node* node = plan.graph.producer(slot.value);
        block.values.push_back(slot.value);
        block.producers.push_back(node ? node->id : NodeId{});
    }
    std::sort(map.blocks.begin(), map.blocks.end(), [](const MemoryBlock& a, const MemoryBlock& b) {
        return a.firstStep != b.firstStep ? a.firstStep < b.firstStep : a.offset < b.offset;
    });
    return map;
}

std::vector<std::size_t> MemoryMap::aliveAt(std::uint32_t step) const {
    std::vector<std::size_t> alive;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].aliveAt(step))
            alive.push_back(i);
    }
    std::stable_sort(alive.begin(), alive.end(), [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    return alive;
}

std::int64_t MemoryMap::liveBytes(std::uint32_t step) const {
    std::int64_t sum = 0;
    for (const MemoryBlock& block : blocks)
        sum += block.aliveAt(step) ? block.bytes : 0;
    return sum;
}

std::optional<std::size_t> MemoryMap::blockOf(ValueId value) const {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (std::find(blocks[i].values.begin(), blocks[i].values.end(), value) != blocks[i].values.end())
            return i;
    }
    return std::nullopt;
}

std::vector<std::size_t> MemoryMap::blocksOf(NodeId node) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; node && i < blocks.size(); ++i) {
        if (std::find(blocks[i].producers.begin(), blocks[i].producers.end(), node) != blocks[i].producers.end())
            found.push_back(i);
    }
    return found;
}

void MemoryWindow::setMap(std::uint32_t steps, std::int64_t bytes) {
    m_steps = std::max(1.0, static_cast<double>(steps));
    m_bytes = std::max(1.0, static_cast<double>(bytes)) * 1.04;
    fit();
}

void MemoryWindow::fit() {
    m_step0 = m_byte0 = 0;
    m_step1 = m_steps;
    m_byte1 = m_bytes;
}

void MemoryWindow::zoom(double factorX, double factorY, double x, double y) {
    const double step = stepAt(x), byte = byteAt(y);
    // Nearer than half a step or 16 bytes there is nothing more to see.
    const double steps = std::clamp((m_step1 - m_step0) / factorX, std::min(0.5, m_steps), m_steps);
    const double bytes = std::clamp((m_byte1 - m_byte0) / factorY, std::min(16.0, m_bytes), m_bytes);
    const double partX = (step - m_step0) / (m_step1 - m_step0), partY = (byte - m_byte0) / (m_byte1 - m_byte0);
    m_step0 = step - partX * steps;
    m_step1 = m_step0 + steps;
    m_byte0 = byte - partY * bytes;
    m_byte1 = m_byte0 + bytes;
    clamp();
}

void MemoryWindow::pan(double dx, double dy) {
    const double steps = dx / m_area.width * (m_step1 - m_step0), bytes = dy / m_area.height * (m_byte1 - m_byte0);
    m_step0 -= steps;
    m_step1 -= steps;
    m_byte0 += bytes;
    m_byte1 += bytes;
    clamp();
}

void MemoryWindow::clamp() {
    const auto into = [](double& low, double& high, double most) {
        const double span = std::min(high - low, most);
        low = std::clamp(low, 0.0, most - span);
        high = low + span;
    };
    into(m_step0, m_step1, m_steps);
    into(m_byte0, m_byte1, m_bytes);
}

void MemoryWindow::zoomTo(const MemoryBlock& block) {
    const double steps = block.lastStep + 1.0 - block.firstStep;
    m_step0 = block.firstStep - steps * 0.2;
    m_step1 = block.lastStep + 1 + steps * 0.2;
    m_byte0 = static_cast<double>(block.offset) - static_cast<double>(block.bytes);
    m_byte1 = static_cast<double>(block.offset) + 2 * static_cast<double>(block.bytes);
    clamp();
}

bool MemoryWindow::reveal(const MemoryBlock& block) {
    const double low = static_cast<double>(block.offset), high = low + static_cast<double>(block.bytes);
    const bool stepsSeen = block.firstStep < m_step1 && block.lastStep + 1 > m_step0;
    const bool bytesSeen = low < m_byte1 && high > m_byte0;
    if (stepsSeen && bytesSeen)
        return false;
    const double dx = (m_step0 + m_step1) / 2 - (block.firstStep + block.lastStep + 1) / 2.0;
    const double dy = (m_byte0 + m_byte1) / 2 - (low + high) / 2;
    if (!stepsSeen) {
        m_step0 -= dx;
        m_step1 -= dx;
    }
    if (!bytesSeen) {
        m_byte0 -= dy;
        m_byte1 -= dy;
    }
    clamp();
    return true;
}

MapRect MemoryWindow::rectOf(const MemoryBlock& block) const {
    const double left = xOf(block.firstStep), right = xOf(block.lastStep + 1.0);
    const double top = yOf(static_cast<double>(block.offset + block.bytes)), bottom = yOf(static_cast<double>(block.offset));
    return {left, top, right - left, bottom - top};
}

double niceStep(double span, int marks) {
    const double raw = std::max(span / std::max(1, marks), 1.0);
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double m : {1.0, 2.0, 5.0}) {
        if (m * power >= raw)
            return m * power;
    }
    return 10 * power;
}

double niceBytes(double span, int marks) {
    return std::exp2(std::ceil(std::log2(std::max(span / std::max(1, marks), 1.0))));
}

} // namespace nabla::views

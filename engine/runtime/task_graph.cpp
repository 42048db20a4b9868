// Edges of data and of memory, found in one sweep over the plan's order.
#include "engine/runtime/task_graph.h"

#include <algorithm>

#include "engine/analysis/cost.h"

namespace nabla::engine {

namespace {

constexpr std::int64_t kWorthFlops = 2'000'000;     // some 20 us on one core: a task costs about one
constexpr double kWorthParallelism = 1.15;          // all work over the longest chain

class Builder {
public:
    explicit Builder(const Plan& plan) : m_plan(plan), m_users(plan.slotTable.size()) {
        m_graph.successors.resize(plan.steps.size());
        m_graph.waitsFor.assign(plan.steps.size(), 0);
        m_graph.reads.assign(plan.slotTable.size(), 0);
        m_lastSuccessor.assign(plan.steps.size(), kNoSlot);
        m_producer.assign(plan.slotTable.size(), kNoSlot);
    }

    TaskGraph build() {
        for (std::uint32_t s = 0; s < m_plan.steps.size(); ++s) {
            const PlanStep& step = m_plan.steps[s];
            std::vector<std::uint32_t> read;
            for (const auto* list : {&step.inputs, &step.captures}) {
                for (const std::uint32_t slot : *list) {
                    if (slot != kNoSlot && std::find(read.begin(), read.end(), slot) == read.end())
                        read.push_back(slot);
                }
            }
            for (const std::uint32_t slot : read) {
                ++m_graph.reads[slot];
                addEdge(m_producer[slot], s);
            }
            for (const std::uint32_t slot : step.outputs) {
                if (slot != kNoSlot)
                    write(slot, s);
            }
            for (const std::uint32_t slot : read)
                use(rootOf(slot), s);
        }
        m_graph.worthIt = isWorthIt();
        return std::move(m_graph);
    }

private:
    std::uint32_t rootOf(std::uint32_t slot) const { return m_plan.slotTable[slot].aliasOf == kNoSlot ? slot : m_plan.slotTable[slot].aliasOf; }

    void addEdge(std::uint32_t from, std::uint32_t to) {
        if (from == kNoSlot || from == to || m_lastSuccessor[from] == to)
            return;
        m_lastSuccessor[from] = to; // edges to one step are added together
        m_graph.successors[from].push_back(to);
        ++m_graph.waitsFor[to];
    }

    void use(std::uint32_t root, std::uint32_t s) {
        if (m_users[root].empty() || m_users[root].back() != s)
            m_users[root].push_back(s);
    }

    void write(std::uint32_t slot, std::uint32_t s) {
        const PlanSlot& planned = m_plan.slotTable[slot];
        const std::uint32_t root = rootOf(slot);
        m_producer[slot] = s;
        if (planned.share != PlanSlot::Share::View) { // a view writes nothing
            for (const std::uint32_t user : m_users[root])
                addEdge(user, s);
            m_users[root].clear();
            if (root == slot && planned.place == PlanSlot::Place::Arena && planned.bytes > 0)
                occupy(root, s);
        }
        use(root, s);
    }

    /// The set that begins here waits for every set that lay in its way; those that it covers whole are forgotten.
    void occupy(std::uint32_t root, std::uint32_t s) {
        const std::int64_t begin = m_plan.slotTable[root].offset, end = begin + m_plan.slotTable[root].bytes;
        std::erase_if(m_occupants, [&](std::uint32_t other) {
            const std::int64_t otherBegin = m_plan.slotTable[other].offset, otherEnd = otherBegin + m_plan.slotTable[other].bytes;
            if (otherEnd <= begin || end <= otherBegin)
                return false;
            for (const std::uint32_t user : m_users[other])
                addEdge(user, s);
            return begin <= otherBegin && otherEnd <= end;
        });
        m_occupants.push_back(root);
    }

    bool isWorthIt() const {
        const auto costs = cost(m_plan.graph);
        std::vector<std::int64_t> chain(m_plan.steps.size(), 0);
        std::int64_t total = 0, longest = 0;
        for (std::uint32_t s = 0; s < m_plan.steps.size(); ++s) {
            const auto it = costs->nodes.find(m_plan.steps[s].node);
            const std::int64_t flops = it == costs->nodes.end() ? 0 : std::max<std::int64_t>(0, it->second.flops);
            total += flops;
            chain[s] += flops;
            longest = std::max(longest, chain[s]);
            for (const std::uint32_t next : m_graph.successors[s])
                chain[next] = std::max(chain[next], chain[s]);
        }
        return total > kWorthFlops && static_cast<double>(total) > kWorthParallelism * static_cast<double>(longest);
    }

    const Plan& m_plan;
    TaskGraph m_graph;
    std::vector<std::uint32_t> m_lastSuccessor, m_producer;
    std::vector<std::vector<std::uint32_t>> m_users; // per first slot of a set
    std::vector<std::uint32_t> m_occupants;          // first slots of the sets that lie in the arena now
};

} // namespace

TaskGraph buildTaskGraph(const Plan& plan) { return Builder(plan).build(); }

} // namespace nabla::engine

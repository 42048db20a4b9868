// Edges of data and of memory, found in one sweep over the plan's order.
#include "engine/runtime/task_graph.h"

#include <algorithm>

namespace nabla::engine {

namespace {

class Builder {
public:
    explicit Builder(const Plan& plan)
        : m_plan(plan)
        , m_users(plan.slotTable.size()) {
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
        return std::move(m_graph);
    }

private:
    std::uint32_t rootOf(std::uint32_t slot) const {
        return m_plan.slotTable[slot].aliasOf == kNoSlot ? slot : m_plan.slotTable[slot].aliasOf;
    }

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
            const std::int64_t otherBegin = m_plan.slotTable[other].offset,
                               otherEnd = otherBegin + m_plan.slotTable[other].bytes;
            if (otherEnd <= begin || end <= otherBegin)
                return false;
            for (const std::uint32_t user : m_users[other])
                addEdge(user, s);
            return begin <= otherBegin && otherEnd <= end;
        });
        m_occupants.push_back(root);
    }

    const Plan& m_plan;
    TaskGraph m_graph;
    std::vector<std::uint32_t> m_lastSuccessor, m_producer;
    std::vector<std::vector<std::uint32_t>> m_users; // per first slot of a set
    std::vector<std::uint32_t> m_occupants; // first slots of the sets that lie in the arena now
};

} // namespace

TaskGraph buildTaskGraph(const Plan& plan) {
    return Builder(plan).build();
}

} // namespace nabla::engine

// Building a forest checks everything once, so that evaluation need not.
#include "engine/ops/tree_forest.h"

#include <algorithm>

#include "engine/base/error.h"

namespace nabla::engine {

namespace {

constexpr std::int64_t kMostItems = 1LL << 30; // nodes and leaves are numbered by 32 bits, with a bit to spare

/// Positions of the branches in the order of a walk from the roots; -1 for those nobody reaches.
struct WalkOrder {
    std::vector<std::int32_t> place;
    std::vector<std::int64_t> order;
};

template <typename T> Result<WalkOrder> walk(const ForestParts<T>& parts) {
    enum class State : std::uint8_t { New, Open, Done };
    WalkOrder out;
    out.place.assign(parts.branches.size(), -1);
    std::vector<State> state(parts.branches.size(), State::New);
    std::vector<std::pair<std::int64_t, int>> path; // a branch and how many of its children are done
    const auto enter = [&](std::int64_t from, std::int64_t to) -> Result<void> {
        const auto inside = to < 0 ? ~to < static_cast<std::int64_t>(parts.leaves.size()) : to < static_cast<std::int64_t>(parts.branches.size());
        if (!inside)
            return runError("node {} leads to {} {}, there are {}", from, to < 0 ? "leaf" : "node", to < 0 ? ~to : to, to < 0 ? parts.leaves.size() : parts.branches.size());
        if (to < 0 || state[static_cast<std::size_t>(to)] == State::Done)
            return {};
        if (state[static_cast<std::size_t>(to)] == State::Open)
            return runError("node {} leads back to node {}: a tree has no cycles", from, to);
        state[static_cast<std::size_t>(to)] = State::Open;
        out.place[static_cast<std::size_t>(to)] = static_cast<std::int32_t>(out.order.size());
        out.order.push_back(to);
        path.emplace_back(to, 0);
        return {};
    };
    for (std::size_t t = 0; t < parts.roots.size(); ++t) {
        NABLA_CHECK(enter(-1, parts.roots[t]).in(fmt::format("root {}", t)));
        while (!path.empty()) {
            const auto [at, done] = path.back();
            if (done == 2) {
                state[static_cast<std::size_t>(at)] = State::Done;
                path.pop_back();
                continue;
            }
            ++path.back().second;
            const auto& branch = parts.branches[static_cast<std::size_t>(at)];
            NABLA_CHECK(enter(at, done == 0 ? branch.ifFalse : branch.ifTrue));
        }
    }
    if (parts.refuseUnreached && out.order.size() != parts.branches.size()) {
        const auto first = std::find(out.place.begin(), out.place.end(), -1) - out.place.begin();
        return runError("branch {} of {} is reached from no root: it lies on a cycle", first, parts.branches.size());
    }
    return out;
}

} // namespace

template <typename T> Result<Forest<T>> Forest<T>::make(const ForestParts<T>& parts, std::int64_t targets) {
    if (static_cast<std::int64_t>(parts.branches.size()) > kMostItems || static_cast<std::int64_t>(parts.leaves.size()) > kMostItems)
        return runError("{} nodes and {} leaves are more than {}", parts.branches.size(), parts.leaves.size(), kMostItems);
    NABLA_TRY(const WalkOrder walked, walk(parts));
    Forest f;
    f.m_targets = targets;
    f.m_memberSets = parts.memberSets;
    for (auto& set : f.m_memberSets)
        std::sort(set.begin(), set.end());
    const auto placed = [&](std::int64_t at) { return at < 0 ? static_cast<std::int32_t>(at) : walked.place[static_cast<std::size_t>(at)]; };
    for (const std::int64_t at : walked.order) {
        const auto& branch = parts.branches[static_cast<std::size_t>(at)];
        if (branch.feature < 0 || branch.feature >= INT32_MAX)
            return runError("node {} looks at feature {}", at, branch.feature);
        f.m_features = std::max(f.m_features, branch.feature + 1);
        f.m_nodes.push_back({branch.threshold, static_cast<std::uint32_t>(branch.feature) | (branch.missingIsTrue ? kMissingIsTrue : 0U),
            {placed(branch.ifFalse), placed(branch.ifTrue)}});
        f.m_modes.push_back(branch.mode);
        f.m_members.push_back(branch.members);
        f.m_oneMode = f.m_oneMode && branch.mode == f.m_modes.front();
    }
    for (const std::int64_t root : parts.roots)
        f.m_roots.push_back(placed(root));
    f.m_firstVote.push_back(0);
    for (std::size_t leaf = 0; leaf < parts.leaves.size(); ++leaf) {
        for (const auto& vote : parts.leaves[leaf]) {
            if (vote.target < 0 || vote.target >= targets)
                return runError("leaf {} votes for target {} of {}", leaf, vote.target, targets);
            f.m_votes.push_back(vote);
        }
        f.m_firstVote.push_back(static_cast<std::int32_t>(f.m_votes.size()));
    }
    return f;
}

template <typename T> template <BranchMode mode> std::int32_t Forest<T>::step(const Node& n, const T* row) const {
    const T v = row[n.feature & ~kMissingIsTrue];
    bool yes = false;
    switch (mode) {
    case BranchMode::Leq: yes = v <= n.threshold; break;
    case BranchMode::Lt: yes = v < n.threshold; break;
    case BranchMode::Gte: yes = v >= n.threshold; break;
    case BranchMode::Gt: yes = v > n.threshold; break;
    case BranchMode::Eq: yes = v == n.threshold; break;
    case BranchMode::Neq: yes = v != n.threshold; break;
    case BranchMode::Member: break;
    }
    return n.next[static_cast<int>(yes) | (static_cast<int>(v != v) & static_cast<int>(n.feature >> 31))]; // no branch to mispredict
}

template <typename T> std::int32_t Forest<T>::mixedStep(std::int32_t at, const T* row) const {
    const auto i = static_cast<std::size_t>(at);
    const Node& n = m_nodes[i];
    switch (m_modes[i]) {
    case BranchMode::Leq: return step<BranchMode::Leq>(n, row);
    case BranchMode::Lt: return step<BranchMode::Lt>(n, row);
    case BranchMode::Gte: return step<BranchMode::Gte>(n, row);
    case BranchMode::Gt: return step<BranchMode::Gt>(n, row);
    case BranchMode::Eq: return step<BranchMode::Eq>(n, row);
    case BranchMode::Neq: return step<BranchMode::Neq>(n, row);
    case BranchMode::Member: break;
    }
    const T v = row[n.feature & ~kMissingIsTrue];
    const auto& set = m_memberSets[static_cast<std::size_t>(m_members[i])];
    const bool yes = v != v ? (n.feature & kMissingIsTrue) != 0 : std::binary_search(set.begin(), set.end(), v);
    return n.next[yes ? 1 : 0];
}

/// Several rows go down the tree side by side: each step waits for memory, and the waits overlap.
template <typename T>
template <typename Step>
void Forest<T>::walkTree(std::int32_t root, const T* x, std::int64_t rows, std::int64_t columns, std::int32_t* leaf, Step&& next) const {
    constexpr std::int64_t kSide = 16;
    std::int64_t r = 0;
    for (; r + kSide <= rows; r += kSide) {
        std::int32_t at[kSide];
        std::fill_n(at, kSide, root);
        const T* const first = x + r * columns;
        for (std::int32_t all = root; all >= 0;) { // below zero once every row has its leaf
            all = -1;
            for (std::int64_t k = 0; k < kSide; ++k) {
                const std::int32_t here = at[k], there = next(here < 0 ? root : here, first + k * columns);
                at[k] = here < 0 ? here : there;
                all &= at[k];
            }
        }
        for (std::int64_t k = 0; k < kSide; ++k)
            leaf[r + k] = ~at[k];
    }
    for (; r < rows; ++r) {
        std::int32_t at = root;
        while (at >= 0)
            at = next(at, x + r * columns);
        leaf[r] = ~at;
    }
}

template <typename T> void Forest<T>::leavesOf(std::int32_t root, const T* x, std::int64_t rows, std::int64_t columns, std::int32_t* leaf) const {
    const auto uniform = [&]<BranchMode mode>() {
        walkTree(root, x, rows, columns, leaf, [this](std::int32_t at, const T* row) { return step<mode>(m_nodes[static_cast<std::size_t>(at)], row); });
    };
    const BranchMode mode = m_oneMode && !m_modes.empty() ? m_modes.front() : BranchMode::Member;
    if (mode == BranchMode::Leq)
        uniform.template operator()<BranchMode::Leq>();
    else if (mode == BranchMode::Lt)
        uniform.template operator()<BranchMode::Lt>();
    else
        walkTree(root, x, rows, columns, leaf, [this](std::int32_t at, const T* row) { return mixedStep(at, row); });
}

template <typename T> void Forest<T>::evaluate(const T* x, std::int64_t rows, std::int64_t columns, TreeAggregate aggregate, ForestScores<T>& out) const {
    const auto cells = static_cast<std::size_t>(rows * m_targets);
    out.values.assign(cells, T{0});
    out.voted.assign(cells, 0);
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(rows));
    for (const std::int32_t root : m_roots) {
        leavesOf(root, x, rows, columns, leaf.data());
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto which = static_cast<std::size_t>(leaf[static_cast<std::size_t>(r)]);
            for (std::int32_t v = m_firstVote[which]; v < m_firstVote[which + 1]; ++v) {
                const auto& vote = m_votes[static_cast<std::size_t>(v)];
                const auto cell = static_cast<std::size_t>(r * m_targets + vote.target);
                T& value = out.values[cell];
                if (aggregate == TreeAggregate::Min)
                    value = out.voted[cell] != 0 ? std::min(value, vote.weight) : vote.weight;
                else if (aggregate == TreeAggregate::Max)
                    value = out.voted[cell] != 0 ? std::max(value, vote.weight) : vote.weight;
                else
                    value += vote.weight;
                out.voted[cell] = 1;
            }
        }
    }
    if (aggregate == TreeAggregate::Average && !m_roots.empty()) {
        for (T& value : out.values)
            value /= static_cast<T>(m_roots.size());
    }
}

template class Forest<float>;
template class Forest<double>;

} // namespace nabla::engine

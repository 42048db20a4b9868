// A forest of decision trees as one compact array, and its evaluation over many rows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/thread_pool.h"

namespace nabla::engine {

enum class BranchMode : std::uint8_t { Leq, Lt, Gte, Gt, Eq, Neq, Member };
enum class TreeAggregate : std::uint8_t { Average, Sum, Min, Max };

/// What a forest is built from: nodes and leaves by number. T is what inputs and thresholds are compared in: float, or double.
template <typename T> struct ForestParts {
    struct Branch {
        BranchMode mode = BranchMode::Leq;
        bool missingIsTrue = false;
        std::int64_t feature = 0;
        T threshold = 0;
        std::int32_t members = 0;           ///< Member: which of memberSets
        std::int64_t ifTrue = 0, ifFalse = 0; ///< a branch; a leaf when it is below zero: ~leaf
    };
    struct Vote {
        std::int32_t target = 0;
        T weight = 0;
    };
    std::vector<Branch> branches;
    std::vector<std::vector<Vote>> leaves;
    std::vector<std::vector<T>> memberSets;
    std::vector<std::int64_t> roots; ///< as ifTrue
    bool refuseUnreached = false;    ///< a branch that no root leads to is an error
};

/// Sums, averages or bounds of what the trees say, for one block of rows.
template <typename T> struct ForestScores {
    std::vector<T> values;           ///< [rows, targets]
    std::vector<std::uint8_t> voted; ///< whether any leaf spoke for the target
};

template <typename T> class Forest {
public:
    /// Errors: children that lie outside, a path that comes back to itself, targets and features out of range.
    static Result<Forest> make(const ForestParts<T>& parts, std::int64_t targets);

    std::int64_t targets() const { return m_targets; }
    std::int64_t features() const { return m_features; } ///< columns that the input must have at least
    std::int64_t treeCount() const { return static_cast<std::int64_t>(m_roots.size()); }
    std::int64_t bytes() const { return static_cast<std::int64_t>(m_nodes.size() * sizeof(Node) + m_votes.size() * sizeof(typename ForestParts<T>::Vote)); }

    /// Adds up `rows` rows of `columns` features.
    void evaluate(const T* x, std::int64_t rows, std::int64_t columns, TreeAggregate aggregate, ForestScores<T>& out) const;

private:
    // A node names its feature with the top bit saying where NaN goes. Nodes of one tree lie together in the order of a walk.
    static constexpr std::uint32_t kMissingIsTrue = 1U << 31;
    struct Node {
        T threshold;
        std::uint32_t feature;
        std::int32_t next[2]; ///< if false, if true; ~leaf below zero
    };
    template <BranchMode mode> std::int32_t step(const Node& n, const T* row) const;
    std::int32_t mixedStep(std::int32_t at, const T* row) const;
    template <typename Step> void walkTree(std::int32_t root, const T* x, std::int64_t rows, std::int64_t columns, std::int32_t* leaf, Step&& next) const;
    void leavesOf(std::int32_t root, const T* x, std::int64_t rows, std::int64_t columns, std::int32_t* leaf) const;

    std::vector<Node> m_nodes;
    std::vector<BranchMode> m_modes;       ///< by node
    std::vector<std::int32_t> m_members;   ///< by node
    std::vector<std::vector<T>> m_memberSets; ///< sorted
    bool m_oneMode = true;
    std::vector<std::int32_t> m_roots;
    std::vector<std::int32_t> m_firstVote; ///< leaves + 1
    std::vector<typename ForestParts<T>::Vote> m_votes;
    std::int64_t m_targets = 0, m_features = 0;
};

extern template class Forest<float>;
extern template class Forest<double>;

} // namespace nabla::engine

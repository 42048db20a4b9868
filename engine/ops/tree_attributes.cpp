// Attributes of the tree operators into forests: the lists by node of versions 1 and 3, the split lists of version 5.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "engine/ops/tree_model.h"

namespace nabla::engine {

namespace {

/// The numbers of `name`, else of the tensor `name_as_tensor`; the two must not both be there.
Result<std::vector<double>> numbers(const Node& node, const std::string& name) {
    const std::vector<float> floats = node.floatsAttribute(name);
    const TensorPtr tensor = node.tensorAttribute(name + "_as_tensor");
    if (tensor && !floats.empty())
        return runError("{} and {}_as_tensor are both there", name, name);
    if (!tensor)
        return std::vector<double>(floats.begin(), floats.end());
    if (!isFloat(tensor->dtype()))
        return runError("{}_as_tensor is {}", name, nabla::engine::name(tensor->dtype()));
    std::vector<double> out;
    for (std::int64_t i = 0; i < tensor->elementCount(); ++i)
        out.push_back(tensor->asDouble(i));
    return out;
}

/// Lists that describe one thing have one length; `optional` ones may be empty.
Result<void> sameLength(std::string_view first, std::size_t wanted, std::string_view name, std::size_t length, bool optional = false) {
    if (length != wanted && !(optional && length == 0))
        return runError("{} has {} entries, {} has {}", name, length, first, wanted);
    return {};
}

struct NodeKey {
    std::int64_t tree, node;
    friend bool operator==(const NodeKey&, const NodeKey&) = default;
};
struct NodeKeyHash {
    std::size_t operator()(const NodeKey& k) const { return std::hash<std::int64_t>{}(k.tree) * 1'000'003 ^ std::hash<std::int64_t>{}(k.node); }
};

/// Versions 1 and 3: one entry a node, leaves among them, and votes that name their leaf.
template <typename T> class ListReader {
public:
    /// `votes`: "class" or "target", the prefix of the four lists of votes.
    ListReader(const Node& node, std::string votes)
        : m_trees(node.intsAttribute("nodes_treeids")), m_ids(node.intsAttribute("nodes_nodeids")), m_node(node), m_votes(std::move(votes)) { }

    Result<ForestParts<T>> read() {
        NABLA_CHECK(readLists());
        NABLA_CHECK(numberNodes());
        NABLA_CHECK(connect());
        NABLA_CHECK(findRoots());
        NABLA_CHECK(readVotes());
        m_parts.refuseUnreached = true; // with one root a tree, that is a cycle beside it
        return std::move(m_parts);
    }
    bool allPositive() const { return m_allPositive; }
    bool onlyClass(std::int32_t which) const { return m_onlyClass == which; }

private:
    Result<void> readLists() {
        m_features = m_node.intsAttribute("nodes_featureids");
        m_true = m_node.intsAttribute("nodes_truenodeids");
        m_false = m_node.intsAttribute("nodes_falsenodeids");
        m_missing = m_node.intsAttribute("nodes_missing_value_tracks_true");
        m_modes = m_node.stringsAttribute("nodes_modes");
        NABLA_TRY(m_values, numbers(m_node, "nodes_values"));
        const std::size_t count = m_trees.size();
        NABLA_CHECK(sameLength("nodes_treeids", count, "nodes_nodeids", m_ids.size()));
        NABLA_CHECK(sameLength("nodes_treeids", count, "nodes_featureids", m_features.size()));
        NABLA_CHECK(sameLength("nodes_treeids", count, "nodes_truenodeids", m_true.size()));
        NABLA_CHECK(sameLength("nodes_treeids", count, "nodes_falsenodeids", m_false.size()));
        NABLA_CHECK(sameLength("nodes_treeids", count, "nodes_modes", m_modes.size()));
        NABLA_CHECK(sameLength("nodes_treeids", count, "nodes_values", m_values.size()));
        return sameLength("nodes_treeids", count, "nodes_missing_value_tracks_true", m_missing.size(), true);
    }

    std::string where(std::size_t i) const { return fmt::format("tree {}, node {}", m_trees[i], m_ids[i]); }

    /// Gives every entry its branch or leaf number.
    Result<void> numberNodes() {
        constexpr std::array<std::string_view, 6> kModes{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
        for (std::size_t i = 0; i < m_trees.size(); ++i) {
            std::int64_t number = 0;
            if (m_modes[i] == "LEAF") {
                number = ~static_cast<std::int64_t>(m_parts.leaves.size());
                m_parts.leaves.emplace_back();
            } else {
                const auto mode = std::find(kModes.begin(), kModes.end(), m_modes[i]);
                if (mode == kModes.end())
                    return runError("{}: nodes_modes is \"{}\"", where(i), m_modes[i].substr(0, 100));
                number = static_cast<std::int64_t>(m_parts.branches.size());
                m_parts.branches.push_back({static_cast<BranchMode>(mode - kModes.begin()), !m_missing.empty() && m_missing[i] != 0, m_features[i], static_cast<T>(m_values[i]), 0, 0, 0});
                m_entryOf.push_back(i);
            }
            if (!m_numberOf.emplace(NodeKey{m_trees[i], m_ids[i]}, number).second)
                return runError("{} stands twice", where(i));
        }
        return {};
    }

    Result<void> connect() {
        for (std::size_t b = 0; b < m_parts.branches.size(); ++b) {
            const std::size_t i = m_entryOf[b];
            for (const bool side : {false, true}) {
                const std::int64_t child = side ? m_true[i] : m_false[i];
                const auto it = m_numberOf.find({m_trees[i], child});
                if (it == m_numberOf.end())
                    return runError("{}: its {} node {} is not in the tree", where(i), side ? "true" : "false", child);
                (side ? m_parts.branches[b].ifTrue : m_parts.branches[b].ifFalse) = it->second;
                m_children.insert({m_trees[i], child});
            }
        }
        return {};
    }

    /// The root of a tree is the node that is nobody's child. Trees count in the order in which the lists name them.
    Result<void> findRoots() {
        std::unordered_map<std::int64_t, std::size_t> treeAt;
        std::vector<std::optional<std::size_t>> roots;
        for (std::size_t i = 0; i < m_trees.size(); ++i) {
            const auto [it, isNew] = treeAt.try_emplace(m_trees[i], roots.size());
            if (isNew)
                roots.emplace_back();
            if (m_children.contains({m_trees[i], m_ids[i]}))
                continue;
            if (auto& root = roots[it->second]; root)
                return runError("tree {} has two roots, nodes {} and {}", m_trees[i], m_ids[*root], m_ids[i]);
            roots[it->second] = i;
        }
        for (const auto& [tree, at] : treeAt) {
            if (!roots[at])
                return runError("tree {} has no root: every node is a child of another, a cycle", tree);
        }
        for (const auto& root : roots)
            m_parts.roots.push_back(m_numberOf.at({m_trees[*root], m_ids[*root]}));
        return {};
    }

    Result<void> readVotes() {
        const auto trees = m_node.intsAttribute(m_votes + "_treeids"), nodes = m_node.intsAttribute(m_votes + "_nodeids"), ids = m_node.intsAttribute(m_votes + "_ids");
        NABLA_TRY(const std::vector<double> weights, numbers(m_node, m_votes + "_weights"));
        NABLA_CHECK(sameLength(m_votes + "_treeids", trees.size(), m_votes + "_nodeids", nodes.size()));
        NABLA_CHECK(sameLength(m_votes + "_treeids", trees.size(), m_votes + "_ids", ids.size()));
        NABLA_CHECK(sameLength(m_votes + "_treeids", trees.size(), m_votes + "_weights", weights.size()));
        for (std::size_t i = 0; i < trees.size(); ++i) {
            const auto it = m_numberOf.find({trees[i], nodes[i]});
            if (it == m_numberOf.end())
                return runError("{}_nodeids[{}]: tree {} has no node {}", m_votes, i, trees[i], nodes[i]);
            if (ids[i] < 0 || ids[i] > INT32_MAX)
                return runError("{}_ids[{}] is {}", m_votes, i, ids[i]);
            const auto id = static_cast<std::int32_t>(ids[i]);
            m_onlyClass = i == 0 || m_onlyClass == id ? id : -1;
            m_allPositive = m_allPositive && weights[i] >= 0;
            if (it->second < 0) // converters write weights for branches too; nothing ends there
                m_parts.leaves[static_cast<std::size_t>(~it->second)].push_back({id, static_cast<T>(weights[i])});
        }
        return {};
    }

    std::vector<std::int64_t> m_trees, m_ids, m_features, m_true, m_false, m_missing;
    std::vector<std::string> m_modes;
    std::vector<double> m_values;
    std::vector<std::size_t> m_entryOf; ///< of each branch
    std::unordered_map<NodeKey, std::int64_t, NodeKeyHash> m_numberOf;
    std::unordered_set<NodeKey, NodeKeyHash> m_children;
    ForestParts<T> m_parts;
    const Node& m_node;
    std::string m_votes;
    bool m_allPositive = true;
    std::int32_t m_onlyClass = -1;
};

Result<TreeAggregate> aggregateNamed(const std::string& text) {
    constexpr std::array<std::string_view, 4> kNames{"AVERAGE", "SUM", "MIN", "MAX"};
    const auto it = std::find(kNames.begin(), kNames.end(), text);
    if (it == kNames.end())
        return runError("aggregate_function is \"{}\", wants AVERAGE, SUM, MIN or MAX", text.substr(0, 100));
    return static_cast<TreeAggregate>(it - kNames.begin());
}

constexpr std::int64_t kMostTargets = 1 << 24;
Result<std::int64_t> targetCount(const Node& node) {
    const std::int64_t targets = node.intAttribute("n_targets", 1);
    if (targets < 1 || targets > kMostTargets)
        return runError("n_targets is {}", targets);
    return targets;
}

template <typename T> Result<TreeModel> readRegressor(const Node& node) {
    NABLA_TRY(const std::int64_t targets, targetCount(node));
    NABLA_TRY(const ForestParts<T> parts, ListReader<T>(node, "target").read());
    NABLA_TRY(Forest<T> forest, Forest<T>::make(parts, targets));
    TreeModel model{.forest = std::move(forest), .labels = {}};
    NABLA_TRY(model.aggregate, aggregateNamed(node.stringAttribute("aggregate_function", "SUM")));
    NABLA_TRY(model.transform, postTransform(node.stringAttribute("post_transform", "NONE")));
    NABLA_TRY(model.base, numbers(node, "base_values"));
    NABLA_CHECK(sameLength("n_targets", static_cast<std::size_t>(targets), "base_values", model.base.size(), true));
    return model;
}

template <typename T> Result<TreeModel> readClassifier(const Node& node) {
    NABLA_TRY(ClassLabels labels, ClassLabels::read(node, "classlabels_int64s"));
    ListReader<T> reader(node, "class");
    NABLA_TRY(const ForestParts<T> parts, reader.read());
    NABLA_TRY(Forest<T> forest, Forest<T>::make(parts, static_cast<std::int64_t>(labels.count())));
    TreeModel model{.forest = std::move(forest), .labels = std::move(labels)};
    NABLA_TRY(model.transform, postTransform(node.stringAttribute("post_transform", "NONE")));
    NABLA_TRY(model.base, numbers(node, "base_values"));
    model.oneWeightBinary = model.labels.count() == 2 && reader.onlyClass(0);
    model.positiveWeights = reader.allPositive();
    if (!(model.oneWeightBinary && model.base.size() == 1))
        NABLA_CHECK(sameLength("the class labels", model.labels.count(), "base_values", model.base.size(), true));
    return model;
}

// ---- version 5 ----

Result<std::vector<double>> tensorNumbers(const Node& node, const std::string& name, bool required) {
    const TensorPtr tensor = node.tensorAttribute(name);
    if (!tensor && required)
        return runError("{} is missing", name);
    std::vector<double> out;
    for (std::int64_t i = 0; tensor && i < tensor->elementCount(); ++i)
        out.push_back(tensor->asDouble(i));
    return out;
}

/// Values up to each NaN are one set.
template <typename T> std::vector<std::vector<T>> memberSets(const std::vector<double>& values) {
    std::vector<std::vector<T>> sets;
    bool open = false;
    for (const double v : values) {
        if (!open)
            sets.emplace_back();
        open = !std::isnan(v);
        if (open)
            sets.back().push_back(static_cast<T>(v));
    }
    return sets;
}

template <typename T> Result<ForestParts<T>> readSplitLists(const Node& node) {
    const auto features = node.intsAttribute("nodes_featureids"), whenTrue = node.intsAttribute("nodes_truenodeids"), whenFalse = node.intsAttribute("nodes_falsenodeids"),
               trueLeafs = node.intsAttribute("nodes_trueleafs"), falseLeafs = node.intsAttribute("nodes_falseleafs"), missing = node.intsAttribute("nodes_missing_value_tracks_true"),
               targets = node.intsAttribute("leaf_targetids");
    NABLA_TRY(const auto modes, tensorNumbers(node, "nodes_modes", true));
    NABLA_TRY(const auto splits, tensorNumbers(node, "nodes_splits", true));
    NABLA_TRY(const auto weights, tensorNumbers(node, "leaf_weights", true));
    NABLA_TRY(const auto members, tensorNumbers(node, "membership_values", false));
    const std::size_t count = features.size();
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_truenodeids", whenTrue.size()));
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_falsenodeids", whenFalse.size()));
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_trueleafs", trueLeafs.size()));
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_falseleafs", falseLeafs.size()));
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_modes", modes.size()));
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_splits", splits.size()));
    NABLA_CHECK(sameLength("nodes_featureids", count, "nodes_missing_value_tracks_true", missing.size(), true));
    NABLA_CHECK(sameLength("leaf_targetids", targets.size(), "leaf_weights", weights.size()));
    ForestParts<T> parts;
    parts.memberSets = memberSets<T>(members);
    std::size_t memberNodes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::array<std::int64_t, 2> children{whenTrue[i], whenFalse[i]};
        if (children[0] < 0 || children[1] < 0)
            return runError("node {} leads to {} and {}", i, children[0], children[1]);
        if (!(modes[i] >= 0 && modes[i] <= 6))
            return runError("node {}: nodes_modes is {}", i, modes[i]);
        const auto mode = static_cast<BranchMode>(modes[i]);
        const auto set = mode == BranchMode::Member ? memberNodes++ : 0;
        parts.branches.push_back({mode, !missing.empty() && missing[i] != 0, features[i], static_cast<T>(splits[i]), static_cast<std::int32_t>(set),
            trueLeafs[i] != 0 ? ~children[0] : children[0], falseLeafs[i] != 0 ? ~children[1] : children[1]});
    }
    if (memberNodes != parts.memberSets.size())
        return runError("membership_values holds {} sets for {} BRANCH_MEMBER nodes", parts.memberSets.size(), memberNodes);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] < 0 || targets[i] > INT32_MAX)
            return runError("leaf_targetids[{}] is {}", i, targets[i]);
        parts.leaves.push_back({{static_cast<std::int32_t>(targets[i]), static_cast<T>(weights[i])}});
    }
    for (const std::int64_t root : node.intsAttribute("tree_roots")) {
        if (root < 0 || root >= static_cast<std::int64_t>(count))
            return runError("tree_roots has {}, there are {} nodes", root, count);
        parts.roots.push_back(root);
    }
    return parts;
}

template <typename T> Result<TreeModel> readEnsemble(const Node& node) {
    NABLA_TRY(const std::int64_t targets, targetCount(node));
    NABLA_TRY(const ForestParts<T> parts, readSplitLists<T>(node));
    NABLA_TRY(Forest<T> forest, Forest<T>::make(parts, targets));
    TreeModel model{.forest = std::move(forest), .labels = {}};
    const std::int64_t aggregate = node.intAttribute("aggregate_function", 1), transform = node.intAttribute("post_transform", 0);
    if (aggregate < 0 || aggregate > 3)
        return runError("aggregate_function is {}, wants 0 to 3", aggregate);
    if (transform < 0 || transform > 4)
        return runError("post_transform is {}, wants 0 to 4", transform);
    model.aggregate = static_cast<TreeAggregate>(aggregate);
    model.transform = static_cast<PostTransform>(transform); // the enum counts as the standard does
    return model;
}

template <typename T> Result<TreeModel> readAny(const Node& node) {
    if (node.opType == "TreeEnsemble")
        return readEnsemble<T>(node);
    return node.opType == "TreeEnsembleClassifier" ? readClassifier<T>(node) : readRegressor<T>(node);
}

} // namespace

Result<TreeModel> readTreeModel(const Node& node, DType input) { return input == DType::Float64 ? readAny<double>(node) : readAny<float>(node); }

} // namespace nabla::engine

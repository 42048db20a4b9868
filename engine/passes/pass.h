// What a pass is, and what it reports.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/analysis/types.h"
#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// One application of one rule.
struct Rewrite {
    std::string rule;
    std::vector<NodeId> removed, added;
    std::string reason; ///< why it is right here: "bn1 is the only reader of conv1"
};
/// A place where a rule nearly applied, with the predicate that failed.
struct NearMiss {
    std::string rule;
    NodeId node;
    std::string predicate;
};

/// What a graph state costs. Absent = not measured or not known.
struct GraphPrice {
    std::int64_t nodes = 0;
    std::optional<std::int64_t> flops, bytesMoved, peakBytes, lowerBoundBytes;
    std::optional<double> medianMs;
};
/// Largest difference of one output, before against after, on the same inputs, judged in double.
struct OutputDifference {
    std::string output;
    double largest = 0, relativeToLargestEntry = 0;
};

/// Prices and checks states; app/document implements it over plan and runtime. Without one, prices read "not measured".
class PassJudge {
public:
    virtual ~PassJudge() = default;
    virtual Result<GraphPrice> price(const Graph& graph) = 0;
    virtual Result<std::vector<OutputDifference>> compare(const Graph& before, const Graph& after) = 0;
};

/// Handed to a pass. No state outlives the call.
class PassContext {
public:
    explicit PassContext(std::string passName) : m_pass(std::move(passName)) { }

    void record(std::string rule, std::vector<NodeId> removed, std::vector<NodeId> added, std::string reason);
    void nearMiss(std::string rule, NodeId node, std::string predicate);
    /// `pass/rule` for Node::createdBy, shared.
    std::shared_ptr<const std::string> createdBy(std::string_view rule);
    DimBindings dims;
    JobControl job;
    std::int64_t foldLimitBytes = 16 << 20; ///< results above this are not folded

    const std::vector<Rewrite>& rewrites() const { return m_rewrites; }
    const std::vector<NearMiss>& nearMisses() const { return m_nearMisses; }

private:
    std::string m_pass;
    std::vector<Rewrite> m_rewrites;
    std::vector<NearMiss> m_nearMisses;
    std::set<std::pair<std::string, NodeId>> m_seenMisses;
    std::map<std::string, std::shared_ptr<const std::string>> m_createdBy;
};

using PassFunction = Result<Graph> (*)(const Graph&, PassContext&);

struct PassDef {
    std::string_view name;     ///< kebab-case, as typed on the command line: `fold-batch-norm`
    std::string_view title;    ///< for people: "Fold batch normalization"
    std::string_view summary;
    PassFunction run;
    bool onByDefault = true;
    bool changesValues = false; ///< may change numbers beyond rounding (fast math): off by default and marked
};

/// All passes in pipeline order (registry.cpp), and one by name (null: none).
std::span<const PassDef> allPasses();
const PassDef* findPass(std::string_view name);

/// One pass of a run of the pipeline, as history and reports show it.
struct PassRecord {
    std::string pass;
    Graph before, after;       ///< the same state when nothing changed
    std::vector<Rewrite> rewrites;
    std::vector<NearMiss> nearMisses;
    double milliseconds = 0;
    std::optional<GraphPrice> priceBefore, priceAfter;
    std::optional<std::vector<OutputDifference>> differences;
    std::optional<std::string> error; ///< the pass failed: `after` is `before`
    bool changed() const { return !before.sameStateAs(after); }
};

struct PipelineOptions {
    std::vector<std::string> only, without; ///< pass names; `only` empty = all that are on by default
    DimBindings dims;
    PassJudge* judge = nullptr;
    bool verifyValues = false;              ///< ask the judge to compare each changed state
    JobControl job;
    std::function<void(const PassRecord&)> onRecord; ///< as each pass ends
};

/// Runs the pipeline. Errors (Usage): a pass nobody knows. (Run): the graph cannot be legalized.
Result<std::vector<PassRecord>> runPasses(const Graph& graph, const PipelineOptions& options);

/// The first legalization: old operator versions lifted to the newest, model functions kept. Runs, grad and passes begin with it.
Result<Graph> legalizeOnnx(const Graph& graph, PassContext& context);
/// legalizeOnnx with a context of its own, memoised per graph state.
Result<Graph> legalized(const Graph& graph);

} // namespace nabla::engine

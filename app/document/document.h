// Document: one opened model with its history of graph states. What the window shows and the command line works on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/autodiff/grad.h"
#include "engine/graph/model.h"
#include "engine/passes/pass.h"

namespace nabla::app {

using engine::Result;

/// One state of the history. Immutable once added; graphs share their nodes, so a state costs what it changed.
struct HistoryState {
    enum class Kind : std::uint8_t { Imported, Legalized, Pass, Gradient, Trained };

    std::uint32_t id = 0;
    std::uint32_t parent = 0; ///< 0 = none
    Kind kind = Kind::Imported;
    std::string title;        ///< "Imported", "fold-batch-norm", "gradient of loss"
    std::string subtitle;     ///< "onnx, opset 17, 69 nodes", "-20 nodes"
    engine::Graph graph;
    std::optional<engine::PassRecord> pass;          ///< states made by a pass
    std::shared_ptr<const engine::JointGraph> joint; ///< states made by differentiation
};
using HistoryStatePtr = std::shared_ptr<const HistoryState>;

/// Opened file plus history tree. Copyable value: the window hands a copy to a job and takes states back.
class Document {
public:
    /// Reads the file and makes the first state, or all states of a saved session. Errors: those of openModel and openSession.
    static Result<Document> open(const std::filesystem::path& path, const engine::JobControl& job = {});
    /// A document over a graph that did not come from a file (tests, extracted parts).
    static Document over(engine::Graph graph);
    /// A saved history, at least one state; they get their ids in this order. A `chosen` that is none of them is the first.
    static Document restored(std::filesystem::path path, std::vector<HistoryState> states, std::uint32_t chosen);

    const std::filesystem::path& path() const { return m_path; }
    const std::vector<HistoryStatePtr>& states() const { return m_states; }
    HistoryStatePtr state(std::uint32_t id) const; ///< null: no such state
    HistoryStatePtr imported() const { return m_states.front(); }
    /// The state that commands work on: the imported one, or the one that was shown when the session was saved.
    HistoryStatePtr chosen() const { return state(m_chosen); }

    /// Appends a state and gives it its id.
    HistoryStatePtr add(HistoryState state);

private:
    std::filesystem::path m_path;
    std::vector<HistoryStatePtr> m_states;
    std::uint32_t m_chosen = 1;
};

/// States of a pipeline run over `from`, not yet added: one per pass that changed something, each the parent of the next.
struct OptimiseOptions {
    engine::PipelineOptions pipeline;
    bool price = true; ///< price every changed state (planned peak, FLOPs, bytes)
};
Result<std::vector<engine::PassRecord>> optimise(const engine::Graph& from, const OptimiseOptions& options);
/// Turns pass records into states chained from `parent`; unchanged passes give none.
std::vector<HistoryState> statesOf(const std::vector<engine::PassRecord>& records);

/// The gradient state of a graph: legalizes it, then grad(). `of` and `wrt` by name; empty = the defaults of grad().
Result<HistoryState> differentiate(const engine::Graph& from, const std::vector<std::string>& of, const std::vector<std::string>& wrt,
    engine::GradOptions::Cotangents cotangents, const engine::JobControl& job = {});
/// Outputs of this graph by name as ids. Errors (Usage): a name that is no value, with the nearest names.
Result<std::vector<engine::ValueId>> valuesByName(const engine::Graph& graph, const std::vector<std::string>& names);

} // namespace nabla::app

// Rows of NABLA_STATE and one of NABLA_VIEW to and from a Document.
#include "app/document/session_file.h"

#include <nlohmann/json.hpp>

#include "app/document/state_blob.h"
#include "profiler/store/document_store.h"
#include "profiler/store/recording.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr const char* kViewKey = "document";

std::string passId(const HistoryState& state) {
    switch (state.kind) {
    case HistoryState::Kind::Imported: return "imported";
    case HistoryState::Kind::Legalized: return "legalized";
    case HistoryState::Kind::Gradient: return "gradient";
    case HistoryState::Kind::Trained: return "trained";
    case HistoryState::Kind::Pass: break;
    }
    return state.pass ? state.pass->pass : "pass";
}

std::string viewText(const SessionView& view) {
    const nlohmann::json all = {{"version", 1}, {"state", view.state}, {"selection", {{"node", view.node.value}, {"value", view.value.value}}}};
    return all.dump();
}

/// What is not there or no number is 0: a selection that is lost is no reason not to open.
std::uint32_t numberAt(const nlohmann::json& in, const char* key) {
    const auto it = in.is_object() ? in.find(key) : in.end();
    if (!in.is_object() || it == in.end() || !it->is_number_unsigned())
        return 0;
    const auto number = it->get<std::uint64_t>();
    return number <= kMostId ? static_cast<std::uint32_t>(number) : 0;
}

SessionView viewFrom(const std::optional<std::string>& text) {
    SessionView out;
    const nlohmann::json all = nlohmann::json::parse(text.value_or("{}"), nullptr, false);
    out.state = numberAt(all, "state");
    if (all.is_object() && all.contains("selection")) {
        out.node = {numberAt(all["selection"], "node")};
        out.value = {numberAt(all["selection"], "value")};
    }
    return out;
}

Result<HistoryState> stateFrom(const profiler::StateRow& row, std::size_t expectedId, StateReader& reader) {
    if (row.id != static_cast<std::int64_t>(expectedId))
        return readError("its number must be {}", expectedId);
    const std::int64_t parent = row.parentId.value_or(0);
    if (parent < 0 || parent >= row.id)
        return readError("its parent {} does not come before it", parent);
    NABLA_TRY(HistoryState state, reader.read(row.graph));
    state.parent = static_cast<std::uint32_t>(parent);
    return state;
}

} // namespace

Result<void> saveSession(const Document& document, const SessionView& view, const std::filesystem::path& path, const JobControl& job,
    std::span<const TrainingPtr> trainings) {
    const SessionFolder folder(path.parent_path());
    StateWriter writer(folder, job);
    std::vector<profiler::StateRow> rows;
    for (const HistoryStatePtr& state : document.states()) {
        job.say("writing states", static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(document.states().size()));
        profiler::StateRow row;
        row.id = state->id;
        if (state->parent)
            row.parentId = state->parent;
        row.passId = passId(*state);
        NABLA_TRY(row.graph, writer.write(*state, document.state(state->parent).get()).in(fmt::format("{}: state {}", path.string(), state->id)));
        rows.push_back(std::move(row));
    }
    // A new file takes its zero of time from its first row: the trainings, which have times, come first.
    std::error_code error;
    const bool isNew = !std::filesystem::exists(path, error);
    const auto write = [&]() -> Result<void> {
        for (const TrainingPtr& training : trainings)
            NABLA_CHECK(saveTraining(path, *training, job));
        const profiler::ViewRow views[] = {{kViewKey, viewText(view)}};
        return profiler::saveDocument(path, rows, views);
    };
    const Result<void> written = write();
    if (!written && isNew)
        std::filesystem::remove(path, error);
    return written;
}

Result<std::optional<OpenedSession>> openSession(const std::filesystem::path& path, const JobControl& job) {
    NABLA_TRY(const profiler::Recording file, profiler::Recording::open(path, job));
    NABLA_TRY(const auto rows, file.loadStates().in(path.string()));
    if (rows.empty())
        return std::optional<OpenedSession>();
    SessionFolder folder(path.parent_path());
    StateReader reader(folder, job);
    std::vector<HistoryState> states;
    for (const profiler::StateRow& row : rows) {
        job.say("reading states", static_cast<std::int64_t>(states.size()), static_cast<std::int64_t>(rows.size()));
        NABLA_TRY(HistoryState state, stateFrom(row, states.size() + 1, reader).in(fmt::format("{}: state {}", path.string(), row.id)));
        states.push_back(std::move(state));
    }
    reader.finish();
    NABLA_TRY(const auto text, file.loadView(kViewKey).in(path.string()));
    NABLA_TRY(const std::int64_t events, file.count(profiler::SliceSource::OpEvent).in(path.string()));
    OpenedSession out;
    NABLA_TRY(out.trainings, loadTrainings(path, job).in(path.string()));
    out.view = viewFrom(text);
    out.document = Document::restored(path, std::move(states), out.view.state);
    out.hasRuns = events > 0;
    return std::optional(std::move(out));
}

} // namespace nabla::app

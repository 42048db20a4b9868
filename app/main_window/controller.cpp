// Opening, showing, optimising, differentiating and recording.
#include "app/main_window/controller.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <fmt/format.h>

#include "app/document/recording.h"
#include "app/document/sample_inputs.h"
#include "engine/analysis/cost.h"
#include "engine/analysis/topology.h"
#include "engine/exporters/exporter.h"
#include "profiler/analysis/trace_summary.h"

namespace nabla::app {

using namespace nabla::engine;
using views::Changes;

/// What is computed of a graph before views show it.
struct Controller::Analysed {
    std::shared_ptr<const TypeMap> types;
    std::shared_ptr<const GraphCost> cost;
    std::shared_ptr<const views::ScopeTree> scopes;
    std::shared_ptr<const Plan> plan;
    std::vector<Diagnostic> problems;
};

Controller::Controller(QObject* parent) : QObject(parent) { }
Controller::~Controller() { m_jobs.cancel(); }

void Controller::publish(const Changes& changes) { Q_EMIT stateChanged(m_state, changes); }

void Controller::open(const QString& path) {
    m_jobs.start<Document>(tr("Opening %1").arg(QFileInfo(path).fileName()),
        [file = path.toStdString()](const JobControl& job) { return Document::open(file, job); },
        [this, path](Result<Document> document) {
            if (!document) {
                Q_EMIT failed(tr("%1 could not be opened").arg(QFileInfo(path).fileName()), document.error());
                return;
            }
            replaceDocument([this, path, made = std::move(*document)] {
                adopt(made, path);
                showGraph(m_document->imported(), 0);
                Q_EMIT opened(path);
            });
        });
}

void Controller::refreshHistory() {
    m_state.history.clear();
    for (const HistoryStatePtr& state : m_document->states()) {
        views::HistoryEntry entry;
        entry.id = state->id;
        entry.parent = state->parent;
        entry.kind = static_cast<views::HistoryEntry::Kind>(state->kind);
        entry.title = state->title;
        entry.subtitle = state->subtitle;
        if (state->pass)
            entry.pass = std::shared_ptr<const PassRecord>(state, &*state->pass);
        m_state.history.push_back(std::move(entry));
    }
}

void Controller::showGraph(const HistoryStatePtr& state, std::uint32_t compared) {
    const std::uint32_t generation = ++m_generation;
    m_state.currentState = state->id;
    m_state.comparedState = compared;
    m_state.gradientOf.clear();
    if (state->joint)
        m_state.gradientOf.insert(state->joint->gradientOf.begin(), state->joint->gradientOf.end());
    if (m_stepperState != state->id) { // stepping belongs to one state
        m_state.step.reset();
        m_state.values.reset();
        m_state.stats.clear();
        m_state.trouble.reset();
    }
    m_jobs.start<Analysed>(tr("Reading shapes"),
        [state](const JobControl& job) -> Result<Analysed> {
            Analysed out;
            const DimBindings dims = sampleBindings(state->graph);
            job.say("inferring shapes");
            out.types = types(state->graph, dims);
            out.scopes = std::make_shared<const views::ScopeTree>(views::scopeTree(state->graph));
            out.problems = problems(state->graph);
            out.problems.insert(out.problems.end(), out.types->diagnostics.begin(), out.types->diagnostics.end());
            NABLA_CHECK(job.check());
            job.say("counting work");
            out.cost = cost(state->graph, dims);
            PlanOptions options;
            options.dims = dims;
            // A model that cannot be planned (unknown operator) is shown all the same; the memory map then says why there is none.
            if (const auto newest = legalized(state->graph)) {
                if (auto plan = estimatePlan(*newest, options))
                    out.plan = *plan;
            }
            return out;
        },
        [this, state, generation](Result<Analysed> analysed) {
            if (generation != m_generation)
                return;
            if (!analysed) {
                Q_EMIT failed(tr("The graph could not be shown"), analysed.error());
                return;
            }
            m_state.bodies.clear();
            m_state.mainGraph = m_state.graph = state->graph;
            applyAnalysis(*analysed);
        });
}

void Controller::applyAnalysis(const Analysed& analysed) {
    m_state.types = analysed.types;
    m_state.cost = analysed.cost;
    m_state.scopes = analysed.scopes;
    m_state.plan = analysed.plan;
    m_state.problems = analysed.problems;
    if (!m_state.graph.node(m_state.selection.node))
        m_state.selection.node = {};
    if (!m_state.graph.value(m_state.selection.value))
        m_state.selection.value = {};
    publish(Changes::all());
}

void Controller::showState(std::uint32_t id) {
    if (!m_document || (id == m_state.currentState && m_state.comparedState == 0))
        return;
    if (const auto state = m_document->state(id))
        showGraph(state, 0);
}

void Controller::compare(std::uint32_t before, std::uint32_t after) {
    if (!m_document || !m_document->state(before) || !m_document->state(after))
        return;
    showGraph(m_document->state(after), before);
}

void Controller::select(const views::Selection& selection) {
    if (selection == m_state.selection)
        return;
    const bool here = selection.node ? m_state.graph.node(selection.node) != nullptr : !selection.value || m_state.graph.value(selection.value) != nullptr;
    if (!here) {
        if (auto path = pathTo(m_state.main(), selection)) {
            showBodies(std::move(*path), selection);
            return;
        }
    }
    m_state.selection = selection;
    Changes changes;
    changes.selection = true;
    publish(changes);
}

void Controller::toggleBreakpoint(NodeId node) {
    if (!node)
        return;
    if (!m_state.breakpoints.erase(node))
        m_state.breakpoints.insert(node);
    Changes changes;
    changes.step = true;
    publish(changes);
}

void Controller::optimise() {
    if (!m_document)
        return;
    const HistoryStatePtr from = m_document->state(m_state.currentState);
    m_jobs.start<std::vector<PassRecord>>(tr("Optimising"),
        [from](const JobControl& job) {
            OptimiseOptions options;
            options.pipeline.job = job;
            options.pipeline.dims = sampleBindings(from->graph);
            options.pipeline.verifyValues = true;
            return app::optimise(from->graph, options);
        },
        [this, from](Result<std::vector<PassRecord>> records) {
            if (!records) {
                Q_EMIT failed(tr("The passes could not run"), records.error());
                return;
            }
            std::uint32_t parent = from->id;
            for (HistoryState& state : statesOf(*records)) {
                state.parent = parent;
                parent = m_document->add(std::move(state))->id;
            }
            refreshHistory();
            if (parent == from->id) {
                publish({.history = true});
                Q_EMIT done(tr("No pass found anything to change"));
                return;
            }
            showGraph(m_document->state(parent), 0);
            Q_EMIT done(tr("Optimised: %1 nodes before, %2 after").arg(from->graph.nodeCount()).arg(m_document->state(parent)->graph.nodeCount()));
        });
}

std::vector<std::string> lossOutputs(const Graph& graph) {
    const auto typeMap = types(graph);
    std::vector<std::string> scalars;
    for (const ValueId id : graph.outputs()) {
        const Value* value = graph.value(id);
        const ValueType& type = typeMap->of(id);
        if (!isDifferentiable(type.elementType))
            continue;
        if (value->name == "loss")
            return {value->name};
        if (type.shape && type.shape->empty())
            scalars.push_back(value->name);
    }
    return scalars.size() == 1 ? scalars : std::vector<std::string>{};
}

void Controller::differentiate() {
    if (m_document)
        differentiateBy(lossOutputs(m_document->state(m_state.currentState)->graph), {});
}

void Controller::differentiateBy(const std::vector<std::string>& of, const std::vector<std::string>& wrt) {
    if (!m_document)
        return;
    HistoryStatePtr from = m_document->state(m_state.currentState);
    if (from->joint) {
        Q_EMIT done(tr("This state is a gradient already; choose the state to differentiate in the history"));
        return;
    }
    m_jobs.start<HistoryState>(tr("Differentiating"),
        [from, of, wrt](const JobControl& job) { return app::differentiate(from->graph, of, wrt, GradOptions::Cotangents::Ones, job); },
        [this, from](Result<HistoryState> state) {
            if (!state) {
                Q_EMIT failed(tr("The model could not be differentiated"), state.error());
                return;
            }
            state->parent = from->id;
            const auto added = m_document->add(std::move(*state));
            refreshHistory();
            showGraph(added, 0);
            Q_EMIT done(tr("Backward graph added: %1").arg(QString::fromStdString(added->subtitle)));
        });
}

namespace {

struct Recorded {
    profiler::TimelineData timeline;
    std::unordered_map<NodeId, std::int64_t> medianNs;
    std::shared_ptr<const Plan> plan;
    std::string title;
};

Result<Recorded> readRecording(const std::string& path, const JobControl& job) {
    NABLA_TRY(const profiler::Recording recording, profiler::Recording::open(path, job));
    Recorded out;
    NABLA_TRY(out.timeline, profiler::buildTimeline(recording, job));
    NABLA_TRY(const auto times, profiler::nodeTimes(recording, {}, job));
    for (const auto& each : times)
        out.medianNs[NodeId{static_cast<std::uint32_t>(each.nodeId)}] = each.medianNs;
    NABLA_TRY(const auto runs, recording.runs());
    out.title = fmt::format("{} \u00b7 {} slices", std::filesystem::path(path).filename().string(), out.timeline.slices());
    return out;
}

} // namespace

void Controller::record(int runs) {
    if (!m_document)
        return;
    const HistoryStatePtr state = m_document->state(m_state.currentState);
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + "/recordings";
    QDir().mkpath(folder);
    const QString path = QStringLiteral("%1/%2-%3.nabla").arg(folder, QFileInfo(QString::fromStdString(m_state.documentTitle)).completeBaseName()).arg(QDateTime::currentDateTime().toString("yyyyMMdd-HHmmss-zzz"));
    m_jobs.start<Recorded>(tr("Recording %1 runs").arg(runs),
        [state, runs, path = path.toStdString()](const JobControl& job) -> Result<Recorded> {
            NABLA_TRY(const Graph graph, legalized(state->graph));
            NABLA_TRY(const NamedValues values, sampleInputs(graph));
            const SessionOptions options;
            NABLA_TRY(const auto session, Session::create(graph, options));
            RecordOptions recordOptions;
            recordOptions.runs = runs;
            recordOptions.job = job;
            NABLA_TRY([[maybe_unused]] const auto report, app::record(*session, options, values, path, recordOptions));
            NABLA_TRY(Recorded out, readRecording(path, job));
            NABLA_TRY(out.plan, session->plan(values));
            return out;
        },
        [this, path](Result<Recorded> recorded) {
            if (!recorded) {
                Q_EMIT failed(tr("The recording failed"), recorded.error());
                return;
            }
            m_recordingPath = path;
            m_state.timeline = std::make_shared<const profiler::TimelineData>(std::move(recorded->timeline));
            m_state.medianNs = std::move(recorded->medianNs);
            m_state.plan = recorded->plan;
            m_state.recordingTitle = recorded->title;
            publish({.plan = true, .timeline = true});
            Q_EMIT done(tr("Recorded: %1").arg(QString::fromStdString(recorded->title)));
        });
}

void Controller::openRecording(const QString& path) {
    m_jobs.start<Recorded>(tr("Opening %1").arg(QFileInfo(path).fileName()),
        [file = path.toStdString()](const JobControl& job) { return readRecording(file, job); },
        [this, path](Result<Recorded> recorded) {
            if (!recorded) {
                Q_EMIT failed(tr("%1 could not be opened").arg(QFileInfo(path).fileName()), recorded.error());
                return;
            }
            m_recordingPath = path;
            if (!m_document)
                m_state.documentTitle = QFileInfo(path).fileName().toStdString();
            m_state.timeline = std::make_shared<const profiler::TimelineData>(std::move(recorded->timeline));
            m_state.medianNs = std::move(recorded->medianNs);
            m_state.recordingTitle = recorded->title;
            publish({.timeline = true});
            Q_EMIT opened(path);
        });
}

void Controller::saveAs(const QString& path) {
    if (!m_document)
        return;
    const HistoryStatePtr state = m_document->state(m_state.currentState);
    m_jobs.start<int>(tr("Saving"),
        [state, file = path.toStdString()](const JobControl& job) -> Result<int> {
            ExportOptions options;
            options.job = job;
            NABLA_CHECK(saveOnnx(state->graph, file, options));
            return 0;
        },
        [this, path](Result<int> saved) {
            if (!saved)
                Q_EMIT failed(tr("The model could not be saved"), saved.error());
            else
                Q_EMIT done(tr("Saved as %1").arg(path));
        });
}

} // namespace nabla::app

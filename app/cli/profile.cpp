// profile FILE -o R.nabla: records a number of runs.
#include <fmt/format.h>

#include "app/cli/execution_options.h"
#include "app/cli/verbs.h"
#include "app/document/recording.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct ProfileOptions : ExecutionOptions {
    std::string output, device = "cpu";
    RecordOptions record;
    bool grad = false;
};

Result<void> profile(ProfileOptions options, Context& context) {
    if (options.device != "cpu")
        return usageError("--device {}: only cpu can be recorded; see `nablascope devices`", options.device);
    NABLA_TRY(const SessionOptions sessionOptions, options.session());
    NABLA_TRY(Graph graph, options.open(context));
    NABLA_TRY(const NamedValues inputs, options.values(graph));
    if (options.grad) {
        NABLA_TRY(const HistoryState state, differentiate(graph, {}, {}, GradOptions::Cotangents::Ones, context.job));
        graph = state.graph;
    }
    NABLA_TRY(const auto session, Session::create(graph, sessionOptions).in(options.file));
    options.record.job = context.job;
    NABLA_TRY(const profiler::RecordingReport report, record(*session, sessionOptions, inputs, options.output, options.record));
    if (context.json) {
        context.printJson(nlohmann::json{{"schema", 1}, {"file", options.output}, {"run_id", report.runId}, {"iterations", report.iterations},
            {"events", report.events}, {"dropped", report.dropped}, {"refusal", report.refusal}});
    } else {
        context.print(fmt::format("{}: {} runs, {} slices, {} dropped{}", options.output, report.iterations, report.events, report.dropped,
            report.refusal.empty() ? "" : ", stopped early: " + report.refusal));
    }
    return {};
}

} // namespace

void addProfile(::CLI::App& app, Context& context) {
    auto options = std::make_shared<ProfileOptions>();
    auto* verb = app.add_subcommand("profile", "record runs into a .nabla file");
    addExecution(*verb, *options);
    verb->add_option("-n,--runs", options->record.runs, "runs to record")->check(::CLI::Range(1, 1'000'000))->capture_default_str();
    verb->add_option("--warmup", options->record.warmup, "runs before recording")->check(::CLI::Range(0, 10'000))->capture_default_str();
    verb->add_option("--device", options->device, "cpu")->capture_default_str();
    verb->add_flag("--grad", options->grad, "forward and backward");
    verb->add_option("--label", options->record.label, "a name for the run");
    verb->add_option("-o,--output", options->output, "recording to write or append to")->required();
    verb->callback([options, &context] {
        if (auto result = profile(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli

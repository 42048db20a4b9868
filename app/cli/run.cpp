// run FILE: executes a model and prints, stores or checks its outputs.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/execution_options.h"
#include "app/cli/find_nonfinite.h"
#include "app/cli/verbs.h"
#include "app/document/compare.h"
#include "app/document/sample_inputs.h"
#include "app/document/values_io.h"
#include "engine/tensor/half_range.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct RunOptions : ExecutionOptions {
    std::string outputs, expected;
    double rtol = 1e-3, atol = 1e-7;
    bool ofMax = false, findNonFinite = false;
};

nlohmann::json valueJson(const std::string& name, const RuntimeValue& value) {
    nlohmann::json out = {{"name", name}};
    if (!value.isTensor()) {
        out["kind"] = value.sequence() ? "sequence" : value.optional() ? "optional" : value.map() ? "map" : "absent";
        out["preview"] = previewText(value);
        return out;
    }
    const Tensor& t = value.tensor();
    out["dtype"] = nabla::engine::name(t.dtype());
    out["shape"] = t.shape();
    nlohmann::json head = nlohmann::json::array();
    for (std::int64_t i = 0; i < std::min<std::int64_t>(t.elementCount(), 8); ++i)
        head.push_back(t.asText(i));
    out["first"] = head;
    if (halfRange(t.dtype())) {
        const HalfCounts counts = halfCounts(t);
        out["saturated"] = counts.saturated;
        out["subnormal"] = counts.subnormal;
    }
    return out;
}

/// The first output that differs, as an Error of kind Check; prints every figure.
Result<void> check(const RunOptions& options, const Graph& graph, const NamedValues& outputs, const std::vector<std::string>& order, Context& context) {
    NABLA_TRY(const NamedValues expected, readValues(options.expected, graph, Side::Outputs));
    nlohmann::json report = nlohmann::json::array();
    std::optional<Error> first;
    std::vector<std::string> others;
    for (const std::string& name : order) {
        const auto it = expected.find(name);
        if (it == expected.end()) {
            others.push_back(name);
            continue;
        }
        const auto difference = compareValues(it->second, outputs.at(name), {options.rtol, options.atol, options.ofMax});
        const std::string text = difference ? difference->text : difference.error().message();
        report.push_back({{"output", name}, {"equal", difference && text.empty()}, {"text", text},
            {"largest", difference ? nlohmann::json(difference->largest) : nlohmann::json(nullptr)},
            {"largest_of_max", difference ? nlohmann::json(difference->largestOfMax) : nlohmann::json(nullptr)}});
        if (!context.json && difference)
            context.print(fmt::format("{}: {} (largest difference {:.3g}, {:.3g} of the largest entry)", name, text.empty() ? "equal within tolerance" : text, difference->largest, difference->largestOfMax));
        if (!text.empty() && !first)
            first = Error{ErrorKind::Check, fmt::format("output \"{}\" {}{}{}", name, difference ? "differs: " : "", text,
                difference && !options.ofMax && difference->largestOfMax <= options.rtol ? "; with --of-max, which measures by the largest entry, it is equal" : "")};
    }
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"equal", !first.has_value()}, {"outputs", report}, {"not_compared", others}});
    if (report.empty())
        return usageError("{}: holds none of the outputs {}", options.expected, fmt::join(order, ", "));
    if (!others.empty())
        context.say(fmt::format("not compared, since {} holds none: {}", options.expected, fmt::join(others, ", ")));
    if (first && !context.json)
        return *first;
    if (first) // the report is the one object on stdout
        context.exitCode = exitCodeOf(first->kind());
    return {};
}

/// What ran out of numbers in a half type; empty when nothing did.
std::string halfText(const Tensor& tensor) {
    const HalfCounts counts = halfCounts(tensor);
    std::string out;
    if (counts.saturated > 0)
        out += fmt::format("; {:.3g} % at the largest number, {:g}", 100 * counts.saturatedShare(), halfRange(tensor.dtype())->largest);
    if (counts.subnormal > 0)
        out += fmt::format("; {:.3g} % below the smallest normal number", 100 * counts.subnormalShare());
    return out;
}

Result<void> runModel(const RunOptions& options, Context& context) {
    NABLA_TRY(const SessionOptions sessionOptions, options.session());
    NABLA_TRY(const Graph graph, options.open(context));
    NABLA_TRY(const NamedValues inputs, options.values(graph));
    if (options.inputs.empty() && !graph.inputs().empty()) {
        NABLA_TRY(const DimBindings bound, options.dims.bindings());
        const std::string open = openSizes(graph, bound);
        context.say(fmt::format("inputs are made up from seed {}{}; --inputs gives real ones", options.seed,
            open.empty() ? "" : fmt::format(", with sizes that are left open as 1 ({}: --dim NAME=SIZE)", open)));
    }
    if (options.findNonFinite) {
        if (!options.outputs.empty() || !options.expected.empty())
            return usageError("--find-nonfinite looks at every value and stores or compares none: not with --outputs or --expected");
        return findNonFinite(graph, inputs, sessionOptions, context).in(options.file);
    }
    NABLA_TRY(const auto session, Session::create(graph, sessionOptions).in(options.file));
    NABLA_TRY(const NamedValues outputs, session->run(inputs, context.job).in(options.file));
    const std::vector<std::string> order = session->outputNames();
    if (!options.outputs.empty()) {
        NABLA_CHECK(writeValues(options.outputs, outputs, order));
        context.say("outputs written to " + options.outputs);
    }
    if (!options.expected.empty())
        return check(options, graph, outputs, order, context);
    nlohmann::json list = nlohmann::json::array();
    for (const std::string& name : order) {
        const RuntimeValue& value = outputs.at(name);
        if (context.json)
            list.push_back(valueJson(name, value));
        else if (value.isTensor())
            context.print(fmt::format("{}: {}{}  {}{}", name, nabla::engine::name(value.tensor().dtype()), toString(value.tensor().shape()), previewText(value), halfText(value.tensor())));
        else
            context.print(fmt::format("{}: {}  {}", name,
                value.sequence()   ? fmt::format("sequence of {}", value.sequence()->elements.size())
                    : value.map() ? fmt::format("map of {}", value.map()->keys.elementCount())
                                  : "optional",
                previewText(value)));
    }
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"seed", options.seed}, {"executor", options.executor}, {"outputs", list}});
    return {};
}

} // namespace

void addRun(::CLI::App& app, Context& context) {
    auto options = std::make_shared<RunOptions>();
    auto* verb = app.add_subcommand("run", "run a model; --expected compares the outputs");
    addExecution(*verb, *options);
    verb->add_option("--outputs", options->outputs, "write the outputs to an .npz, or a folder of output_K.pb");
    verb->add_option("--expected", options->expected, "compare with these outputs (.npz or folder); exit 1 when one differs");
    verb->add_option("--rtol", options->rtol, "relative tolerance")->capture_default_str();
    verb->add_option("--atol", options->atol, "absolute tolerance")->capture_default_str();
    verb->add_flag("--of-max", options->ofMax, "--rtol is a share of the output's largest entry");
    verb->add_flag("--find-nonfinite", options->findNonFinite, "tell where NaN and infinities are born and what led to them, and what float16 and bfloat16 values saturated or flushed to zero; exit 1 when something is not finite");
    verb->callback([options, &context] {
        if (auto result = runModel(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli

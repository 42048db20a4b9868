// grad FILE: gradients by the joint graph, optionally checked, stored, or saved as a model.
#include <cmath>

#include <fmt/format.h>

#include "app/cli/directional.h"
#include "app/cli/execution_options.h"
#include "app/cli/verbs.h"
#include "app/document/compare.h"
#include "app/document/document.h"
#include "app/document/gradient_check.h"
#include "app/document/values_io.h"
#include "engine/exporters/exporter.h"
#include "engine/tensor/element.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct GradVerbOptions : ExecutionOptions {
    std::vector<std::string> of, wrt;
    std::string mode = "reverse", cotangents, direction, outputs, grads, save;
    std::int64_t opset = 0;
    double rtol = 1e-3, atol = 1e-7;
    bool ofMax = false, check = false;
};

/// Values for the extra inputs of the joint graph: read, else ones of the output's shape (which a forward run tells).
Result<void> addCotangents(const GradVerbOptions& options, const Graph& forward, const JointGraph& joint, NamedValues& inputs, Context& context) {
    NamedValues given;
    if (!options.cotangents.empty()) {
        NABLA_TRY(given, readValues(options.cotangents, forward, Side::OutputCotangents));
    }
    NABLA_TRY(SessionOptions sessionOptions, options.session());
    std::optional<NamedValues> outputs;
    for (const auto& [output, extra] : joint.cotangentInput) {
        const std::string& name = joint.graph.value(output)->name;
        const std::string& extraName = joint.graph.value(extra)->name;
        if (const auto it = given.find(name); it != given.end()) {
            inputs[extraName] = it->second;
            continue;
        }
        if (!outputs) {
            NABLA_TRY(const auto plain, Session::create(forward, sessionOptions));
            NABLA_TRY(outputs, plain->run(inputs, context.job));
        }
        const Tensor& shape = outputs->at(name).tensor();
        NABLA_TRY(Tensor ones, Tensor::make(shape.dtype(), shape.shape()));
        const double each = given.empty() ? 1.0 : 0.0; // a file of cotangents names those that count
        for (std::int64_t i = 0; i < ones.elementCount(); ++i)
            writeDouble(ones.dtype(), ones.mutableRaw(), i, each);
        inputs[extraName] = RuntimeValue(ones);
    }
    return {};
}

Result<void> compareGradients(const GradVerbOptions& options, const Graph& forward, const NamedValues& gradients, Context& context) {
    NABLA_TRY(const NamedValues expected, readValues(options.grads, forward, Side::Gradients));
    std::optional<Error> first;
    std::size_t compared = 0;
    for (const auto& [name, gradient] : gradients) {
        const auto it = expected.find(name);
        if (it == expected.end())
            continue;
        ++compared;
        const auto difference = compareValues(it->second, gradient, {options.rtol, options.atol, options.ofMax});
        const std::string text = difference ? difference->text : difference.error().message();
        if (difference)
            context.say(fmt::format("{}: largest difference {:.3g}, {:.3g} of the largest entry", name, difference->largest, difference->largestOfMax));
        if (!text.empty() && !first)
            first = Error{ErrorKind::Check, fmt::format("gradient of \"{}\": {}", name, text)};
    }
    if (compared == 0)
        return usageError("{}: holds no gradient of this model", options.grads);
    if (first)
        return *first;
    context.say(fmt::format("{} gradients equal within tolerance", compared));
    return {};
}

void printGradients(const NamedValues& gradients, const JointGraph& joint, Context& context) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, value] : gradients) {
        const Tensor& t = value.tensor();
        double sum = 0;
        for (std::int64_t i = 0; i < t.elementCount(); ++i)
            sum += t.asDouble(i) * t.asDouble(i);
        if (context.json)
            list.push_back({{"name", name}, {"dtype", nabla::engine::name(t.dtype())}, {"shape", t.shape()}, {"l2", std::sqrt(sum)}});
        else
            context.print(fmt::format("{}: {}{}  norm {:.6g}", name, nabla::engine::name(t.dtype()), toString(t.shape()), std::sqrt(sum)));
    }
    nlohmann::json notes = nlohmann::json::array();
    for (const Diagnostic& note : joint.notes) {
        notes.push_back(note.message);
        context.say("note: " + note.message);
    }
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"gradients", list}, {"notes", notes}});
}

Result<void> alongDirection(const GradVerbOptions& options, Context& context) {
    if (!options.cotangents.empty() || !options.grads.empty() || options.check)
        return usageError("--cotangents, --grads and --check belong to --mode reverse");
    const auto mode = options.mode == "hvp" ? DirectionalMode::Hvp : DirectionalMode::Forward;
    return directionalDerivatives(options, {mode, options.of, options.wrt, options.direction, options.outputs, options.save, options.opset}, context);
}

Result<void> gradient(const GradVerbOptions& options, Context& context) {
    if (options.mode != "reverse")
        return alongDirection(options, context);
    if (!options.direction.empty())
        return usageError("--direction belongs to --mode forward and --mode hvp");
    NABLA_TRY(const SessionOptions sessionOptions, options.session());
    NABLA_TRY(const Graph forward, options.open(context));
    NABLA_TRY(const HistoryState state, differentiate(forward, options.of, options.wrt, GradOptions::Cotangents::Inputs, context.job));
    const JointGraph& joint = *state.joint;
    if (!options.save.empty()) {
        ExportOptions exportOptions;
        exportOptions.opset = options.opset;
        NABLA_CHECK(saveOnnx(joint.graph, options.save, exportOptions));
        context.say("joint graph written to " + options.save);
    }
    NABLA_TRY(const auto session, Session::create(joint.graph, sessionOptions).in(options.file));
    NABLA_TRY(NamedValues inputs, options.values(forward));
    NABLA_CHECK(addCotangents(options, forward, joint, inputs, context));
    NABLA_TRY(const NamedValues results, session->run(inputs, context.job).in(options.file));
    NamedValues gradients;
    std::vector<std::string> order;
    for (const ValueId id : joint.wrt) {
        const std::string& name = joint.graph.value(id)->name;
        gradients[name] = results.at(joint.graph.value(joint.gradientOf.at(id))->name);
        order.push_back(name);
    }
    if (!options.outputs.empty())
        NABLA_CHECK(writeValues(options.outputs, gradients, order));
    if (!options.grads.empty())
        NABLA_CHECK(compareGradients(options, forward, gradients, context));
    if (options.check) {
        NABLA_TRY(const GradientCheck checked, checkGradients(forward, joint, inputs, context.job));
        context.say(checked.text);
        if (!checked.passed)
            return Error{ErrorKind::Check, checked.text};
    }
    printGradients(gradients, joint, context);
    return {};
}

} // namespace

void addGrad(::CLI::App& app, Context& context) {
    auto options = std::make_shared<GradVerbOptions>();
    auto* verb = app.add_subcommand("grad", "gradients of outputs with respect to inputs and weights");
    addExecution(*verb, *options);
    verb->add_option("--of", options->of, "outputs to differentiate (default: every float output)")->delimiter(',');
    verb->add_option("--wrt", options->wrt, "values to differentiate by (default: float inputs and weights)")->delimiter(',');
    verb->add_option("--mode", options->mode, "reverse: gradients; forward: Jacobian times direction; hvp: Hessian times direction")
        ->check(::CLI::IsMember({"reverse", "forward", "hvp"}))->capture_default_str();
    verb->add_option("--direction", options->direction, "direction of --mode forward and hvp, by the value's name (.npz or folder; default: ones)");
    verb->add_option("--cotangents", options->cotangents, "cotangents of the outputs (.npz or folder; default: ones)");
    verb->add_option("--outputs", options->outputs, "write the gradients, by the value's name");
    verb->add_option("--grads", options->grads, "compare with these gradients; exit 1 when one differs");
    verb->add_option("--rtol", options->rtol, "relative tolerance of --grads")->capture_default_str();
    verb->add_option("--atol", options->atol, "absolute tolerance of --grads")->capture_default_str();
    verb->add_flag("--of-max", options->ofMax, "--rtol is a share of the gradient's largest entry");
    verb->add_option("--save", options->save, "write the joint forward and backward graph as ONNX");
    verb->add_option("--opset", options->opset, "opset of --save");
    verb->add_flag("--check", options->check, "compare with central differences in double");
    verb->callback([options, &context] {
        if (auto result = gradient(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli

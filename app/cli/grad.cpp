// grad FILE: gradients by the joint graph, optionally checked, stored, or saved as a model.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/derivative_output.h"
#include "app/cli/directional.h"
#include "app/cli/execution_options.h"
#include "app/cli/jacobian.h"
#include "app/cli/save_model.h"
#include "app/cli/verbs.h"
#include "app/document/compare.h"
#include "app/document/document.h"
#include "app/document/gradient_check.h"
#include "app/document/gradient_trouble.h"
#include "app/document/values_io.h"
#include "engine/graph/graph_editor.h"
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
    for (const auto& [name, cotangent] : given) {
        const bool isUsed = std::any_of(joint.cotangentInput.begin(), joint.cotangentInput.end(),
            [&, &wanted = name](const auto& entry) { return joint.graph.value(entry.first)->name == wanted; });
        if (!isUsed)
            return usageError("{}: holds a cotangent of \"{}\", which is not differentiated: name it in --of", options.cotangents, name);
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
            GraphEditor editor(forward); // a value inside may be differentiated, too
            std::vector<ValueId> wanted;
            for (const auto& [value, input] : joint.cotangentInput)
                wanted.push_back(value);
            editor.setOutputs(std::move(wanted));
            NABLA_TRY(const auto plain, Session::create(editor.finish(), sessionOptions));
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

/// A cotangent of another shape would broadcast and pass for the right one.
Result<void> checkShapes(const JointGraph& joint, const NamedValues& inputs, const NamedValues& results) {
    for (const auto& [output, extra] : joint.cotangentInput) {
        const std::string& name = joint.graph.value(output)->name;
        const auto made = results.find(name);
        const Tensor& cotangent = inputs.at(joint.graph.value(extra)->name).tensor();
        if (made != results.end() && made->second.tensor().shape() != cotangent.shape())
            return usageError("cotangent of \"{}\" is {}, and the output is {}", name, toString(cotangent.shape()), toString(made->second.tensor().shape()));
    }
    return {};
}

/// What to differentiate by: as asked; with --grads alone, the defaults and whatever else the file expects.
Result<std::vector<std::string>> namesOfWrt(const GradVerbOptions& options, const Graph& forward, const NamedValues& expected) {
    if (!options.wrt.empty() || expected.empty())
        return options.wrt;
    std::vector<std::string> names;
    std::set<std::string> taken;
    for (const ValueId value : defaultWrt(forward)) {
        if (taken.insert(forward.value(value)->name).second)
            names.push_back(forward.value(value)->name);
    }
    for (const auto& [name, value] : expected) {
        if (taken.insert(name).second)
            names.push_back(name);
    }
    return names;
}

/// The file and the gradients must name each other: a check that leaves one out would say nothing about it.
Result<void> matchExpected(const GradVerbOptions& options, const NamedValues& expected) {
    if (expected.empty())
        return usageError("{}: holds no gradient of this model", options.grads);
    for (const auto& [name, value] : expected) {
        if (!options.wrt.empty() && std::find(options.wrt.begin(), options.wrt.end(), name) == options.wrt.end())
            return usageError("{}: expects a gradient of \"{}\", which is not asked for: name it in --wrt, or leave --wrt out", options.grads, name);
    }
    for (const std::string& name : options.wrt) {
        if (!expected.contains(name))
            return usageError("{}: holds no gradient of \"{}\", which --wrt asks for", options.grads, name);
    }
    return {};
}

Result<void> compareGradients(const GradVerbOptions& options, const NamedValues& expected, const NamedValues& gradients, Context& context) {
    std::optional<Error> first;
    for (const auto& [name, value] : expected) {
        const auto it = gradients.find(name);
        if (it == gradients.end())
            return Error{ErrorKind::Check, fmt::format("{}: expects a gradient of \"{}\", which was not computed", options.grads, name)};
        const auto difference = compareValues(value, it->second, {options.rtol, options.atol, options.ofMax});
        const std::string text = difference ? difference->text : difference.error().message();
        if (difference)
            context.say(fmt::format("{}: largest difference {:.3g}, {:.3g} of the largest entry", name, difference->largest, difference->largestOfMax));
        if (!text.empty() && !first)
            first = Error{ErrorKind::Check, fmt::format("gradient of \"{}\": {}", name, text)};
    }
    std::vector<std::string> others;
    for (const auto& [name, gradient] : gradients) {
        if (!expected.contains(name))
            others.push_back(name);
    }
    if (!others.empty())
        context.say(fmt::format("not compared, since {} holds none: {}", options.grads, fmt::join(others, ", ")));
    if (first)
        return *first;
    context.say(fmt::format("{} gradients equal within tolerance", expected.size()));
    return {};
}

Result<void> alongDirection(const GradVerbOptions& options, Context& context) {
    if (!options.cotangents.empty() || !options.grads.empty() || options.check)
        return usageError("--cotangents, --grads and --check belong to --mode reverse");
    const auto mode = options.mode == "hvp" ? DirectionalMode::Hvp : DirectionalMode::Forward;
    return directionalDerivatives(options, {mode, options.of, options.wrt, options.direction, options.outputs, options.save, options.opset}, context);
}

Result<void> matrices(const GradVerbOptions& options, Context& context) {
    if (!options.cotangents.empty() || !options.grads.empty() || !options.direction.empty() || options.check)
        return usageError("--cotangents, --grads and --check belong to --mode reverse, --direction to forward and hvp");
    const auto mode = options.mode == "hessian" ? MatrixMode::Hessian : MatrixMode::Jacobian;
    return derivativeMatrices(options, {mode, options.of, options.wrt, options.outputs, options.save, options.opset}, context);
}

Result<void> gradient(const GradVerbOptions& options, Context& context) {
    if (options.mode == "jacobian" || options.mode == "hessian")
        return matrices(options, context);
    if (options.mode != "reverse")
        return alongDirection(options, context);
    if (!options.direction.empty())
        return usageError("--direction belongs to --mode forward and --mode hvp");
    NABLA_TRY(const SessionOptions sessionOptions, options.session());
    NABLA_TRY(const Graph forward, options.open(context));
    NamedValues expected;
    if (!options.grads.empty()) {
        NABLA_TRY(expected, readValues(options.grads, forward, Side::Gradients));
        NABLA_CHECK(matchExpected(options, expected));
    }
    NABLA_TRY(const std::vector<std::string> wrt, namesOfWrt(options, forward, expected));
    NABLA_TRY(const HistoryState state, differentiate(forward, options.of, wrt, GradOptions::Cotangents::Inputs, context.job));
    const JointGraph& joint = *state.joint;
    if (!options.save.empty()) {
        NABLA_CHECK(saveModel(joint.graph, options.save, options.opset, context));
        context.say("joint graph written to " + options.save);
    }
    NABLA_TRY(const auto session, Session::create(joint.graph, sessionOptions).in(options.file));
    NABLA_TRY(NamedValues inputs, options.values(forward));
    NABLA_CHECK(addCotangents(options, forward, joint, inputs, context));
    NABLA_TRY(const NamedValues results, session->run(inputs, context.job).in(options.file));
    NABLA_CHECK(checkShapes(joint, inputs, results));
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
        NABLA_CHECK(compareGradients(options, expected, gradients, context));
    if (options.check) {
        NABLA_TRY(const GradientCheck checked, checkGradients(forward, joint, inputs, context.job));
        context.say(checked.text);
        if (!checked.passed)
            return Error{ErrorKind::Check, checked.text};
    }
    std::vector<Diagnostic> notes = joint.notes;
    NABLA_TRY(const std::vector<Diagnostic> warnings, gradientTrouble(joint, inputs, results, sessionOptions, context.job));
    notes.insert(notes.end(), warnings.begin(), warnings.end());
    printDerivatives(order, gradients, options.mode, "gradients", notes, context);
    return {};
}

} // namespace

void addGrad(::CLI::App& app, Context& context) {
    auto options = std::make_shared<GradVerbOptions>();
    auto* verb = app.add_subcommand("grad", "gradients of outputs with respect to inputs and weights");
    addExecution(*verb, *options);
    verb->add_option("--of", options->of, "outputs to differentiate (default: every float output)")->delimiter(',');
    verb->add_option("--wrt", options->wrt, "values to differentiate by (default: float inputs and weights)")->delimiter(',');
    verb->add_option("--mode", options->mode, "reverse: gradients; forward: Jacobian times direction; hvp: Hessian times direction; jacobian, hessian: whole")
        ->check(::CLI::IsMember({"reverse", "forward", "hvp", "jacobian", "hessian"}))->capture_default_str();
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

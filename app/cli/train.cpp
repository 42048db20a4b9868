// train FILE --data D.npz: trains, records loss and statistics, saves the trained model.
#include <cmath>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "app/document/document.h"
#include "app/document/training.h"
#include "engine/exporters/exporter.h"
#include "engine/importers/values/npz.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct TrainVerbOptions {
    std::string file, data, loss, optimizer = "adam", decay, schedule = "constant", order = "shuffled";
    std::string record, state, resume, saveGraph, output;
    std::int64_t steps = 0, epochs = 0, batch = 32, statisticsEvery = 1;
    double clipNorm = 0, clipValue = 0;
    std::optional<double> epsilon, rate;
    bool trainLayers = false;
    TrainerOptions trainer;
};

Result<void> readLoss(const TrainVerbOptions& options, LossSpec& loss) {
    const std::size_t colon = options.loss.find(':');
    const std::string kind = options.loss.substr(0, colon);
    if (kind == "cross-entropy" || kind == "mse") {
        loss.kind = kind == "mse" ? LossSpec::Kind::MeanSquare : LossSpec::Kind::CrossEntropy;
        loss.output = colon == std::string::npos ? "" : options.loss.substr(colon + 1);
    } else {
        loss.output = options.loss;
    }
    return {};
}

Result<void> readSchedule(const std::string& word, ScheduleSpec& schedule) {
    if (word == "constant")
        schedule.kind = ScheduleSpec::Kind::Constant;
    else if (word == "step")
        schedule.kind = ScheduleSpec::Kind::Step;
    else if (word == "cosine")
        schedule.kind = ScheduleSpec::Kind::Cosine;
    else if (word == "linear")
        schedule.kind = ScheduleSpec::Kind::Linear;
    else
        return usageError("--schedule {}: must be constant, step, cosine or linear", word);
    return {};
}

Result<TrainerOptions> trainerOptions(const TrainVerbOptions& options, Context& context) {
    TrainerOptions out = options.trainer;
    NABLA_CHECK(readLoss(options, out.loss));
    NABLA_TRY(out.optimizer.kind, optimizerFromName(options.optimizer));
    NABLA_CHECK(readSchedule(options.schedule, out.schedule));
    out.optimizer.epsilon = options.epsilon;
    if (options.decay == "coupled")
        out.optimizer.decay = OptimizerSpec::Decay::Coupled;
    else if (options.decay == "decoupled")
        out.optimizer.decay = OptimizerSpec::Decay::Decoupled;
    else if (!options.decay.empty())
        return usageError("--decay {}: must be coupled or decoupled", options.decay);
    if (options.clipNorm != 0 && options.clipValue != 0)
        return usageError("--clip and --clip-value exclude each other");
    if (options.clipNorm != 0)
        out.clip = {ClipSpec::Kind::Norm, options.clipNorm};
    if (options.clipValue != 0)
        out.clip = {ClipSpec::Kind::Value, options.clipValue};
    out.layers = options.trainLayers ? LayerMode::Training : LayerMode::AsInFile;
    out.learningRate = options.rate.value_or(1e-3);
    out.job = context.job;
    return out;
}

/// What is told of the run: the loss curve, and of the last step the weights.
struct Curve {
    std::vector<double> losses;
    std::optional<StepReport> last;
};

nlohmann::json numberOrText(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value)); }

void printResult(const TrainVerbOptions& options, const Trainer& trainer, const Curve& curve, Context& context) {
    const std::int64_t done = trainer.stepsDone();
    if (!context.json) {
        for (const ParameterReport& p : curve.last ? curve.last->parameters : std::vector<ParameterReport>{}) {
            context.print(fmt::format("{}: norm {:.4g}, gradient {:.4g}, update/weight {:.3g}, zero {:.1f} %, dead {:.1f} %", p.name, p.weight.l2,
                p.gradient.l2, p.updateToWeight(), 100 * p.gradient.zeroShare(), 100 * p.deadShare()));
        }
        if (!curve.losses.empty())
            context.print(fmt::format("{} steps, loss {:.6g} to {:.6g}", done, curve.losses.front(), curve.losses.back()));
        return;
    }
    nlohmann::json losses = nlohmann::json::array(), weights = nlohmann::json::array();
    for (const double loss : curve.losses)
        losses.push_back(numberOrText(loss));
    for (const ParameterReport& p : curve.last ? curve.last->parameters : std::vector<ParameterReport>{}) {
        weights.push_back({{"name", p.name}, {"l2", numberOrText(p.weight.l2)}, {"gradient_l2", numberOrText(p.gradient.l2)},
            {"update_to_weight", numberOrText(p.updateToWeight())}, {"zero_share", p.gradient.zeroShare()}, {"dead_share", p.deadShare()},
            {"not_finite", p.gradient.nan + p.gradient.inf}});
    }
    context.printJson(nlohmann::json{{"schema", 1}, {"steps", done}, {"losses", losses}, {"parameters", weights}, {"notes", trainer.graph().notes},
        {"output", options.output}, {"recording", options.record}});
}

/// Steps until the end, an interruption or an error; whatever it is, what was reached is stored.
Result<Curve> runSteps(const TrainVerbOptions& options, Trainer& trainer, const Batches& batches, std::int64_t steps, Context& context) {
    std::unique_ptr<TrainRecording> recording;
    if (!options.record.empty()) {
        NABLA_TRY(const NamedValues batch, batches.at(trainer.stepsDone()));
        NABLA_TRY(recording, TrainRecording::start(options.record, trainer, batch, "train"));
    }
    Curve curve;
    TrainRun run;
    run.steps = steps;
    run.statisticsEvery = options.statisticsEvery;
    run.job = context.job;
    run.observer = recording ? recording->observer() : nullptr;
    const std::int64_t telling = std::max<std::int64_t>(1, steps / 20);
    run.onStep = [&](const StepReport& report) {
        curve.losses.push_back(report.loss);
        if (recording)
            recording->add(report);
        if (report.step % telling == 0 || report.step + 1 == steps)
            context.say(fmt::format("step {}: loss {:.6g}, gradient norm {:.4g}, rate {:.4g}, {:.1f} ms", report.step, report.loss, report.gradientNorm, report.rate, report.milliseconds));
        curve.last = report;
    };
    const Result<void> ended = train(trainer, batches, run);
    if (recording) {
        NABLA_TRY(const profiler::RecordingReport report, recording->stop());
        context.say(fmt::format("{}: {} steps, {} slices, {} dropped{}", options.record, report.iterations, report.events, report.dropped,
            report.refusal.empty() ? "" : ", stopped early: " + report.refusal));
    }
    if (!options.state.empty())
        NABLA_CHECK(saveTrainState(options.state, trainer.state()));
    if (!ended)
        return ended.error();
    return curve;
}

Result<void> trainModel(const TrainVerbOptions& options, Context& context) {
    if ((options.steps > 0) == (options.epochs > 0))
        return usageError("give --steps or --epochs, one of them");
    NABLA_TRY(const TrainerOptions trainerOpts, trainerOptions(options, context));
    NABLA_TRY(const NamedTensors data, readNpz(options.data));
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    const Graph& imported = document.imported()->graph;
    NABLA_TRY(const Graph forward, legalized(imported).in(options.file));
    NABLA_TRY(const auto trainer, Trainer::create(forward, trainerOpts).in(options.file));
    for (const std::string& note : trainer->graph().notes)
        context.say("note: " + note);
    if (!options.saveGraph.empty())
        NABLA_CHECK(saveOnnx(trainer->graph().graph, options.saveGraph));
    const BatchOrder order = options.order == "file" ? BatchOrder::InFile : BatchOrder::Shuffled;
    NABLA_TRY(const Batches batches, Batches::make(data, trainer->graph().dataInputs, options.batch, order, trainerOpts.seed).in(options.data));
    if (options.epochs > std::int64_t{1} << 40 || options.steps > std::int64_t{1} << 40)
        return usageError("more than 2^40 steps or epochs");
    const std::int64_t steps = options.steps > 0 ? options.steps : options.epochs * batches.perEpoch();
    if (!options.resume.empty()) {
        NABLA_TRY(const TrainState state, loadTrainState(options.resume));
        NABLA_CHECK(trainer->restore(state).in(options.resume));
        if (options.rate)
            trainer->setLearningRate(*options.rate);
        if (trainer->stepsDone() >= steps)
            context.say(fmt::format("nothing to do: the saved state is at step {}, and {} steps are wanted in all", trainer->stepsDone(), steps));
    }
    NABLA_TRY(const Curve curve, runSteps(options, *trainer, batches, steps, context));
    if (!options.output.empty()) {
        NABLA_TRY(const Graph trained, trainedModel(imported, forward, *trainer));
        NABLA_CHECK(saveOnnx(trained, options.output));
    }
    printResult(options, *trainer, curve, context);
    return {};
}

void addOptimizer(::CLI::App& verb, TrainVerbOptions& o) {
    OptimizerSpec& spec = o.trainer.optimizer;
    ScheduleSpec& schedule = o.trainer.schedule;
    verb.add_option("--optimizer", o.optimizer, "sgd, momentum, nesterov, adam, adamw or adagrad; formulas of torch.optim")->capture_default_str();
    verb.add_option("--lr", o.rate, "learning rate (default 0.001; with --resume the saved one)");
    verb.add_option("--momentum", spec.momentum, "of momentum and nesterov")->capture_default_str();
    verb.add_option("--beta1", spec.beta1, "of adam and adamw")->capture_default_str();
    verb.add_option("--beta2", spec.beta2, "of adam and adamw")->capture_default_str();
    verb.add_option("--epsilon", o.epsilon, "added to the denominator (default 1e-8, adagrad 1e-10)");
    verb.add_option("--weight-decay", spec.weightDecay, "strength of weight decay")->capture_default_str();
    verb.add_option("--decay", o.decay, "coupled or decoupled (default: adamw decoupled, others coupled)");
    verb.add_option("--clip", o.clipNorm, "largest norm of all gradients together");
    verb.add_option("--clip-value", o.clipValue, "largest size of a gradient's element");
    verb.add_option("--schedule", o.schedule, "constant, step, cosine or linear, over the learning rate")->capture_default_str();
    verb.add_option("--warmup", schedule.warmup, "steps over which the rate rises first")->capture_default_str();
    verb.add_option("--schedule-every", schedule.every, "step: steps between falls")->capture_default_str();
    verb.add_option("--schedule-gamma", schedule.gamma, "step: factor of a fall")->capture_default_str();
    verb.add_option("--schedule-length", schedule.length, "cosine, linear: steps until the end")->capture_default_str();
    verb.add_option("--schedule-end", schedule.end, "cosine, linear: share of the rate at the end")->capture_default_str();
}

} // namespace

void addTrain(::CLI::App& app, Context& context) {
    auto o = std::make_shared<TrainVerbOptions>();
    auto* verb = app.add_subcommand("train", "train the weights of a model on arrays of an .npz");
    verb->add_option("FILE", o->file, "model file")->required();
    verb->add_option("--data", o->data, "arrays by the names of the inputs, one row an example (.npz)")->required();
    verb->add_option("--loss", o->loss, "an output with one element, cross-entropy[:OUTPUT] or mse[:OUTPUT] (default: output `loss`)");
    verb->add_option("--target", o->trainer.loss.target, "array that cross-entropy and mse compare with")->capture_default_str();
    verb->add_option("--class-axis", o->trainer.loss.classAxis, "axis of the classes for cross-entropy")->capture_default_str();
    verb->add_option("--steps", o->steps, "steps to do in all, those before --resume counted")->check(::CLI::NonNegativeNumber);
    verb->add_option("--epochs", o->epochs, "the same in passes over the data")->check(::CLI::NonNegativeNumber);
    verb->add_option("--batch", o->batch, "rows a step; 0: the whole arrays every step")->capture_default_str();
    verb->add_option("--order", o->order, "shuffled, or file: as the rows lie")->check(::CLI::IsMember({"shuffled", "file"}))->capture_default_str();
    verb->add_option("--seed", o->trainer.seed, "of the shuffling and of random operators")->capture_default_str();
    verb->add_option("--train", o->trainer.parameters, "weights to train (default: all)")->delimiter(',');
    verb->add_option("--freeze", o->trainer.frozen, "weights to leave as they are")->delimiter(',');
    verb->add_flag("--train-layers", o->trainLayers, "BatchNormalization and Dropout in training form (default: as in the file)");
    verb->add_flag("--double", o->trainer.inDouble, "hold every float tensor as float64");
    verb->add_option("--threads", o->trainer.threads, "threads, 0 = one per core")->capture_default_str();
    addOptimizer(*verb, *o);
    verb->add_option("--record", o->record, "recording to write or append to (.nabla)");
    verb->add_option("--statistics-every", o->statisticsEvery, "statistics every so many steps, 0: never")->check(::CLI::NonNegativeNumber)->capture_default_str();
    verb->add_option("--state", o->state, "write the state for --resume here, also when interrupted (.npz)");
    verb->add_option("--resume", o->resume, "go on from a state that --state wrote");
    verb->add_option("--save-graph", o->saveGraph, "write the graph of a whole step as ONNX");
    verb->add_option("-o,--output,--save", o->output, "write the trained model as ONNX");
    verb->callback([o, &context] {
        if (auto result = trainModel(*o, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli

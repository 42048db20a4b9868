// Training against PyTorch in double (tests/data/training), bit-equal resuming, running statistics, refusals.
#include <cmath>
#include <thread>

#include <QtTest>

#include "engine/schema/text_form.h"
#include "engine/tensor/element.h"
#include "engine/training/trainer.h"
#include "model_case.h"

using namespace nabla::engine;

namespace {

std::string data(const std::string& file) { return std::string(NABLA_TEST_DATA) + "/training/" + file; }
std::string sample(const std::string& name) { return std::string(NABLA_SAMPLE_MODELS) + "/" + name + "/model.onnx"; }

Graph parsed(std::string_view text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *legalized(*graph);
}

constexpr auto kLeastSquares = R"(g (double[n,3] x, double[n] y) => (double loss) <double[3] w = {0, 0, 0}> {
    p = MatMul (x, w) d = Sub (p, y) s = Mul (d, d) loss = ReduceMean <keepdims = 0> (s) })";

struct Case {
    const char* name;
    TrainerOptions options;
};

std::vector<Case> cases() {
    std::vector<Case> list;
    const auto add = [&](const char* name, OptimizerKind kind, auto&& change) {
        TrainerOptions options;
        options.optimizer.kind = kind;
        options.learningRate = 0.05;
        options.threads = 1;
        change(options);
        list.push_back({name, std::move(options)});
    };
    const auto decays = [](TrainerOptions& o) { o.optimizer.weightDecay = 0.1; };
    add("sgd", OptimizerKind::Sgd, [](TrainerOptions&) { });
    add("sgd_decay", OptimizerKind::Sgd, decays);
    add("momentum", OptimizerKind::Momentum, decays);
    add("nesterov", OptimizerKind::Nesterov, [](TrainerOptions&) { });
    add("adam", OptimizerKind::Adam, decays);
    add("adamw", OptimizerKind::AdamW, decays);
    add("adagrad", OptimizerKind::Adagrad, [&](TrainerOptions& o) { decays(o), o.optimizer.rateDecay = 0.1; });
    add("clip_norm", OptimizerKind::Sgd, [](TrainerOptions& o) { o.clip = {ClipSpec::Kind::Norm, 0.5}; });
    add("clip_value", OptimizerKind::Sgd, [](TrainerOptions& o) { o.clip = {ClipSpec::Kind::Value, 0.3}; });
    const auto schedule = [&](const char* name, ScheduleSpec spec) {
        add(name, OptimizerKind::Sgd, [&](TrainerOptions& o) { o.schedule = spec; });
    };
    schedule("step", {.kind = ScheduleSpec::Kind::Step, .every = 3, .gamma = 0.5});
    schedule("cosine", {.kind = ScheduleSpec::Kind::Cosine, .length = 8, .end = 0.1});
    schedule("linear", {.kind = ScheduleSpec::Kind::Linear, .length = 8, .end = 0.2});
    schedule("warmup", {.kind = ScheduleSpec::Kind::Cosine, .warmup = 4, .length = 8});
    return list;
}

double largestDifference(const Tensor& got, const Tensor& expected, std::int64_t offset, std::int64_t stride, std::int64_t count) {
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i)
        largest = std::max(largest, std::abs(got.asDouble(i * stride) - expected.asDouble(offset + i)));
    return largest;
}

double largestEntry(const Tensor& tensor) {
    double largest = 0;
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
        largest = std::max(largest, std::abs(tensor.asDouble(i)));
    return largest;
}

TrainerOptions dropoutRun() {
    TrainerOptions options;
    options.optimizer.kind = OptimizerKind::AdamW;
    options.layers = LayerMode::Training;
    options.schedule = {.kind = ScheduleSpec::Kind::Cosine, .warmup = 2, .length = 6};
    options.clip = {ClipSpec::Kind::Norm, 1};
    options.seed = 9;
    options.threads = 1;
    return options;
}

} // namespace

class TrainingTest : public QObject {
    Q_OBJECT
private slots:
    void optimizersEqualTorch_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void optimizersEqualTorch() {
        QFETCH(int, index);
        const Case each = cases()[static_cast<std::size_t>(index)];
        const NamedTensors stored = arrays(data("optimizers.npz"));
        const Graph graph = *withWeights(parsed(kLeastSquares), {{"w", stored.at("w")}});
        auto trainer = Trainer::create(graph, each.options);
        QVERIFY2(trainer, trainer ? "" : trainer.error().message().c_str());
        const Tensor& after = stored.at(std::string("after:") + each.name);
        const auto rates = stored.find(std::string("rate:") + each.name);
        for (std::int64_t step = 0; step < after.dim(0); ++step) {
            const auto report = (*trainer)->step(asInputs({{"x", stored.at("x")}, {"y", stored.at("y")}}), Statistics::Skip);
            QVERIFY2(report, report ? "" : report.error().message().c_str());
            // A dozen roundings a step, in double.
            QVERIFY(largestDifference((*trainer)->weights().at("w"), after, step * 3, 1, 3) < 1e-12);
            if (rates != stored.end())
                QVERIFY(std::abs(report->rate - rates->second.asDouble(step)) < 1e-15);
        }
    }

    void samplesEqualTorch_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("optimizer");
        for (const char* model : {"digits_cnn", "tiny_gpt"}) {
            for (const char* optimizer : {"momentum", "adamw"})
                QTest::addRow("%s, %s", model, optimizer) << model << optimizer;
        }
    }
    void samplesEqualTorch() {
        QFETCH(QString, model);
        QFETCH(QString, optimizer);
        TrainerOptions options;
        options.inDouble = true;
        options.threads = 1;
        options.learningRate = 1e-3;
        options.optimizer.kind = *optimizerFromName(optimizer.toStdString());
        options.optimizer.weightDecay = optimizer == "momentum" ? 1e-3 : 0.01;
        auto trainer = Trainer::create(legalGraph(sample(model.toStdString())), options);
        QVERIFY2(trainer, trainer ? "" : trainer.error().message().c_str());
        const auto batches = Batches::make(arrays(data("data_" + model.toStdString() + ".npz")), (*trainer)->graph().dataInputs, 8, BatchOrder::InFile, 0);
        QVERIFY2(batches, batches ? "" : batches.error().message().c_str());
        const NamedTensors expected = arrays(data(model.toStdString() + "_" + optimizer.toStdString() + ".npz"));
        TrainRun run;
        run.steps = 20;
        run.onStep = [&](const StepReport& report) {
            const double loss = expected.at("losses").asDouble(report.step);
            QVERIFY(std::abs(report.loss - loss) <= 1e-8 * std::abs(loss));
        };
        const auto done = train(**trainer, *batches, run);
        QVERIFY2(done, done ? "" : done.error().message().c_str());
        const auto weights = (*trainer)->weights();
        QCOMPARE(weights.size(), static_cast<std::size_t>(std::count_if(expected.begin(), expected.end(), [](const auto& e) { return e.first.starts_with("norm:"); })));
        for (const auto& [name, weight] : weights) {
            const Tensor& slice = expected.at(name);
            const std::int64_t stride = (weight.elementCount() + 1199) / 1200;
            QVERIFY2(largestDifference(weight, slice, 0, stride, slice.elementCount()) <= 1e-6 * largestEntry(slice), name.c_str());
            const double norm = expected.at("norm:" + name).asDouble(0);
            QVERIFY2(std::abs(statisticsOf(weight).l2 - norm) <= 1e-6 * norm, name.c_str());
        }
    }

    // No tolerance: Dropout, shuffling, warm-up, moments and the step counter all go on where they were.
    void resumedRunIsBitEqual() {
        const Graph graph = legalGraph(sample("digits_mlp"));
        const NamedTensors rows = arrays(data("data_digits_cnn.npz"));
        const auto runTo = [&](Trainer& trainer, std::int64_t steps) {
            const auto batches = Batches::make(rows, trainer.graph().dataInputs, 16, BatchOrder::Shuffled, 4);
            return train(trainer, *batches, {.steps = steps});
        };
        auto whole = Trainer::create(graph, dropoutRun()), first = Trainer::create(graph, dropoutRun()), second = Trainer::create(graph, dropoutRun());
        QVERIFY(whole && first && second);
        QVERIFY(runTo(**whole, 9) && runTo(**first, 4));
        QVERIFY((*second)->restore((*first)->state()));
        QVERIFY(runTo(**second, 9));
        const TrainState a = (*whole)->state(), b = (*second)->state();
        QCOMPARE(a.step, b.step);
        for (const auto& [name, tensor] : a.values)
            QVERIFY2(std::memcmp(tensor.raw(), b.values.at(name).raw(), static_cast<std::size_t>(tensor.bytes())) == 0, name.c_str());
    }

    // ONNX BatchNormalization-15: running = running * momentum + batch * (1 - momentum); mean of {1, 3} is 2, population variance 1.
    void runningStatisticsFollow() {
        const Graph graph = parsed(R"(g (double[n,1] x) => (double loss) <double[1] s = {1}, double[1] b = {0}, double[1] mean = {0}, double[1] var = {1}> {
            y, m, v = BatchNormalization <training_mode = 1, momentum = 0.5> (x, s, b, mean, var) loss = ReduceMean <keepdims = 0> (y) })");
        auto trainer = Trainer::create(graph, {});
        QVERIFY2(trainer, trainer ? "" : trainer.error().message().c_str());
        QCOMPARE((*trainer)->graph().parameters.size(), std::size_t{2}); // s and b, not the statistics
        QVERIFY((*trainer)->step(asInputs({{"x", Tensor::of<double>({2, 1}, {1, 3})}}), Statistics::Collect));
        QCOMPARE((*trainer)->weights().at("mean").asDouble(0), 1.0);
        QCOMPARE((*trainer)->weights().at("var").asDouble(0), 1.0);
    }

    // Every input of the hidden unit is positive, its weights are negative: it never fires, its gradient is exactly zero.
    void deadUnitIsCounted() {
        const Graph graph = parsed(R"(g (float[n,1] x) => (float loss) <float[1,2] w = {-1, 1}> {
            h = MatMul (x, w) r = Relu (h) loss = ReduceMean <keepdims = 0> (r) })");
        auto trainer = Trainer::create(graph, {});
        QVERIFY(trainer);
        const auto report = (*trainer)->step(asInputs({{"x", Tensor::of<float>({2, 1}, {1, 3})}}), Statistics::Collect);
        QVERIFY(report);
        QCOMPARE(report->parameters.front().deadShare(), 0.5);
        QCOMPARE(report->parameters.front().gradient.zeroShare(), 0.5);
        QCOMPARE(report->gradientNorm, 1.0); // (1 + 3) / 4: the mean is over two rows of two units
    }

    void gateHoldsAndRateChanges() {
        auto trainer = Trainer::create(legalGraph(sample("digits_mlp")), {});
        QVERIFY(trainer);
        const auto batches = Batches::make(arrays(data("data_digits_cnn.npz")), (*trainer)->graph().dataInputs, 8, BatchOrder::Shuffled, 0);
        TrainGate gate;
        gate.pause();
        std::stop_source stop;
        std::vector<double> rates;
        TrainRun run;
        run.steps = 1000;
        run.gate = &gate;
        run.job.stop = stop.get_token();
        run.onStep = [&](const StepReport& report) { rates.push_back(report.rate); };
        Result<void> ended;
        std::jthread worker([&] { ended = train(**trainer, *batches, run); });
        gate.stepOnce();
        QTRY_COMPARE((*trainer)->stepsDone(), std::int64_t{1});
        (*trainer)->setLearningRate(0.25);
        gate.stepOnce();
        QTRY_COMPARE((*trainer)->stepsDone(), std::int64_t{2});
        stop.request_stop();
        worker.join();
        QVERIFY(!ended && ended.error().kind() == ErrorKind::Cancelled);
        QCOMPARE(rates, (std::vector<double>{1e-3, 0.25}));
    }

    void refusals() {
        const Graph graph = parsed(kLeastSquares);
        const auto messageOf = [&](TrainerOptions options) {
            const auto made = Trainer::create(graph, options);
            return made ? QString() : QString::fromStdString(made.error().message());
        };
        TrainerOptions options;
        options.parameters = {"nobody"};
        QVERIFY(messageOf(options).contains("\"nobody\" is no float weight"));
        options = {};
        options.loss.output = "p"; // [n]: judged when it runs
        auto trainer = Trainer::create(graph, options);
        const NamedTensors rows = {{"x", Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6})}, {"y", Tensor::of<double>({2}, {1, 2})}};
        QVERIFY(trainer);
        const auto report = (*trainer)->step(asInputs(rows), Statistics::Skip);
        QVERIFY(!report && report.error().message().find("one element") != std::string::npos);
        options = {};
        options.learningRate = NAN;
        QVERIFY(messageOf(options).contains("learning rate"));
        options = {};
        options.optimizer.beta2 = 1;
        QVERIFY(messageOf(options).contains("beta2"));
        options = {};
        options.frozen = {"w"};
        QVERIFY(messageOf(options).contains("no float weight"));
        const auto unequal = Batches::make({{"x", Tensor::of<float>({2}, {1, 2})}, {"y", Tensor::of<float>({3}, {1, 2, 3})}}, {"x", "y"}, 1, BatchOrder::InFile, 0);
        QVERIFY(!unequal && unequal.error().message().find("has 3") != std::string::npos);
    }

    // 10 rows in batches of 4: each epoch has every row once, in an order of its own.
    void everyRowOnceAnEpoch() {
        const auto batches = Batches::make({{"x", Tensor::of<float>({10}, std::vector<float>(10))}}, {"x"}, 4, BatchOrder::Shuffled, 1);
        QCOMPARE(batches->perEpoch(), std::int64_t{3});
        std::vector<std::vector<std::int64_t>> epochs(2);
        for (std::int64_t step = 0; step < 6; ++step) {
            for (const std::int64_t row : batches->rowsAt(step))
                epochs[static_cast<std::size_t>(step / 3)].push_back(row);
        }
        QVERIFY(epochs[0] != epochs[1]);
        for (auto& epoch : epochs) {
            std::sort(epoch.begin(), epoch.end());
            QCOMPARE(epoch, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
        }
    }
};

QTEST_GUILESS_MAIN(TrainingTest)
#include "tst_training.moc"

// Trainings in a .nabla file: written from a window's state and read again; read from what a recorded training wrote.
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <fstream>
#include <limits>

#include "app/document/document.h"
#include "app/document/training.h"
#include "app/document/training_log.h"
#include "engine/importers/values/npz.h"
#include "profiler/store/recording.h"
#include "tests/support/must.h"

using namespace nabla::engine;
using namespace nabla::app;
using nabla::tests::must;
using nabla::views::TrainingCell;
using nabla::views::TrainingState;
using nabla::views::TrainingStep;

namespace {

constexpr std::int64_t kNow = 1'750'000'000'000'000'000; // some moment, ns since 1970

TrainingState made() {
    TrainingState out;
    out.weights = {"W", "b"};
    out.values = {ValueId{7}, ValueId{9}};
    out.title = "adam, batch 4";
    for (std::int64_t i = 0; i < 3; ++i) {
        auto step = std::make_shared<TrainingStep>();
        step->step = i;
        step->loss = i == 2 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / static_cast<double>(i + 3);
        step->rate = 0.1 / static_cast<double>(i + 1);
        step->gradientNorm = std::sqrt(static_cast<double>(i + 2));
        step->milliseconds = 2;
        step->endUtcNs = kNow + i * 5'000'000;
        TrainingCell cell;
        cell.gradient = {10, 1, 2, 3, -4.5, 6.25, 0.5, 1.5, 8.125, {}};
        cell.gradient.histogram[31] = 7;
        cell.weight = {10, 0, 0, 0, -1, 1, 0, 0.5, 2, {}};
        cell.updateL2 = 0.25;
        cell.units = 5;
        cell.deadUnits = 2;
        if (i != 1) // without statistics
            step->cells = {cell, TrainingCell{}};
        out.steps.push_back(std::move(step));
    }
    return out;
}

} // namespace

class TestTrainingLog : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path file(const char* name) const { return std::filesystem::path(m_folder.path().toStdString()) / name; }

private Q_SLOTS:
    void whatWasSavedIsRead() {
        const TrainingState saved = made();
        must(saveTraining(file("a.nabla"), saved));
        must(saveTraining(file("a.nabla"), saved)); // a second run in the same file
        const auto runs = must(loadTrainings(file("a.nabla")));
        QCOMPARE(runs.size(), std::size_t{2});
        for (const TrainingPtr& run : runs) {
            QCOMPARE(run->title, saved.title);
            QCOMPARE(run->weights, saved.weights);
            QVERIFY(run->values == saved.values);
            QCOMPARE(run->phase, TrainingState::Phase::Ended);
            QCOMPARE(run->steps.size(), std::size_t{3});
            QCOMPARE(run->steps[0]->loss, 1.0 / 3);
            QVERIFY(std::isnan(run->steps[2]->loss));
            QVERIFY(run->steps[1]->cells.empty());
            for (std::size_t i = 0; i < 3; ++i) {
                QCOMPARE(run->steps[i]->rate, saved.steps[i]->rate);
                QCOMPARE(run->steps[i]->gradientNorm, saved.steps[i]->gradientNorm);
                QCOMPARE(run->steps[i]->endUtcNs, saved.steps[i]->endUtcNs);
                QCOMPARE(run->steps[i]->milliseconds, 2.0);
            }
            const TrainingCell &a = run->steps[2]->cells.at(0), &b = saved.steps[2]->cells[0];
            QVERIFY(a.gradient.count == 10 && a.gradient.nan == 1 && a.gradient.inf == 2 && a.gradient.zero == 3 && a.gradient.min == -4.5 && a.gradient.max == 6.25);
            QVERIFY(a.gradient.mean == 0.5 && a.gradient.std == 1.5 && a.gradient.l2 == 8.125 && a.gradient.histogram == b.gradient.histogram);
            QVERIFY(a.updateRatio() == 0.125 && a.deadShare() == 0.4 && a.weight.l2 == 2);
        }
    }

    void nothingToSaveMakesNoFile() {
        must(saveTraining(file("none.nabla"), TrainingState{}));
        QVERIFY(!std::filesystem::exists(file("none.nabla")));
    }

    /// What the command `train --record` writes has the same numbers as the reports it was given.
    void recordedTrainingIsRead() {
        const Graph graph = must(legalized(must(Document::open(NABLA_SAMPLE_MODELS "/digits_mlp/model.onnx")).imported()->graph));
        TrainerOptions options;
        options.optimizer.kind = OptimizerKind::Sgd;
        options.learningRate = 0.01;
        const auto trainer = must(Trainer::create(graph, options));
        NamedTensors data = must(readNpz(NABLA_SAMPLE_MODELS "/digits_mlp/inputs.npz"));
        const Batches batches = must(Batches::make(std::move(data), trainer->graph().dataInputs, 0, BatchOrder::InFile, 0));
        std::vector<StepReport> reports;
        {
            const auto recording = must(TrainRecording::start(file("cli.nabla"), *trainer, must(batches.at(0)), "train"));
            TrainRun run;
            run.steps = 4;
            run.statisticsEvery = 1;
            run.observer = recording->observer();
            run.onStep = [&](const StepReport& report) {
                recording->add(report);
                reports.push_back(report);
            };
            must(train(*trainer, batches, run));
            must(recording->stop());
        }
        const auto runs = must(loadTrainings(file("cli.nabla")));
        QCOMPARE(runs.size(), std::size_t{1});
        const TrainingState& read = *runs.front();
        QCOMPARE(read.steps.size(), reports.size());
        QCOMPARE(read.weights.size(), reports.front().parameters.size());
        for (std::size_t i = 0; i < reports.size(); ++i) {
            QCOMPARE(read.steps[i]->loss, reports[i].loss);
            QCOMPARE(read.steps[i]->gradientNorm, reports[i].gradientNorm);
            QCOMPARE(read.steps[i]->rate, 0.01);
            for (std::size_t w = 0; w < read.weights.size(); ++w) {
                const ParameterReport& report = reports[i].parameters[w];
                QCOMPARE(read.values[w].value, report.value.value);
                QCOMPARE(read.weights[w], report.name);
                QCOMPARE(read.steps[i]->cells[w].gradient.l2, report.gradient.l2);
                QCOMPARE(read.steps[i]->cells[w].updateRatio(), report.updateToWeight());
                QCOMPARE(read.steps[i]->cells[w].deadUnits, report.unitNorms.zero);
            }
        }
    }

    void aFileOfSomebodyElseIsRefused() {
        const auto path = file("text.nabla");
        std::ofstream(path) << "this is no recording";
        QVERIFY(!loadTrainings(path).has_value());
        QVERIFY(!saveTraining(path, made()).has_value());
        QCOMPARE(std::filesystem::file_size(path), std::uintmax_t{20});
    }
};

QTEST_APPLESS_MAIN(TestTrainingLog)
#include "tst_training_log.moc"

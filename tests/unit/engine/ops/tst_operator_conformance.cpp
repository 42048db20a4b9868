// The ONNX project's node tests (PyPI onnx 1.23.2, written by scripts/make_onnx_tests.py), on reference kernels alone.
#include <QtTest>

#include "engine/ops/op_def.h"
#include "mini_evaluator.h"
#include "onnx_case.h"

namespace fs = std::filesystem;
using namespace nabla;

class OperatorConformance : public QObject {
    Q_OBJECT
private slots:
    void nodeTest_data();
    void nodeTest();
    void everyRowFitsItsSchema();
};

namespace {

/// Tests whose expected output is one random draw.
bool isRandom(const std::string& test) {
    return test.find("bernoulli") != std::string::npos || test.find("training_dropout") != std::string::npos;
}

bool allHaveKernels(const fs::path& folder) {
    const auto operators = tests::operatorsOf(folder / "model.onnx");
    for (const auto& [name, domain] : operators) {
        const engine::OpDef* op = engine::findOp(name, domain);
        if (!op || !op->run.run() || op->run.isControlFlow())
            return false;
    }
    return !operators.empty();
}

} // namespace

void OperatorConformance::nodeTest_data() {
    QTest::addColumn<QString>("folder");
    const fs::path root = fs::path(NABLA_ONNX_TESTS) / "node";
    std::vector<fs::path> folders;
    if (fs::exists(root)) {
        for (const auto& entry : fs::directory_iterator(root))
            folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
        const std::string test = folder.filename().string();
        if (!isRandom(test) && allHaveKernels(folder))
            QTest::newRow(test.c_str()) << QString::fromStdString(folder.string());
    }
    if (folders.empty())
        QTest::newRow("none") << QString();
}

void OperatorConformance::nodeTest() {
    QFETCH(QString, folder);
    QVERIFY2(!folder.isEmpty(), "no node tests under " NABLA_ONNX_TESTS "; scripts/make_onnx_tests.py writes them");
    const tests::OnnxCase c = tests::readOnnxCase(folder.toStdString());
    if (!c.unusable.empty())
        QSKIP(c.unusable.c_str());
    QVERIFY(!c.sets.empty());
    for (const tests::CaseData& set : c.sets) {
        const auto graph = tests::upgradeAll(c.graph, set.inputs);
        QVERIFY2(graph.has_value(), graph ? "" : graph.error().message().c_str());
        const auto outputs = tests::evaluate(*graph, set.inputs);
        QVERIFY2(outputs.has_value(), outputs ? "" : outputs.error().message().c_str());
        for (std::size_t i = 0; i < set.outputs.size(); ++i) {
            if (set.outputs[i].absent())
                continue;
            const std::string wrong = tests::difference((*outputs)[i].tensor(), set.outputs[i].tensor(), c.rtol, c.atol);
            QVERIFY2(wrong.empty(), fmt::format("output {}: {}", i, wrong).c_str());
        }
    }
}

void OperatorConformance::everyRowFitsItsSchema() {
    QVERIFY(!engine::allOps().empty());
    for (const engine::OpDef* op : engine::allOps()) {
        const engine::OperatorSchema* schema = engine::findSchema(op->name, op->domain, engine::newestOpset(op->domain));
        QVERIFY2(schema, std::string(op->name).c_str());
        QVERIFY2(schema->sinceVersion == op->since, fmt::format("{}: row for {}, schema is {}", op->name, op->since, schema->sinceVersion).c_str());
        QVERIFY(!op->source.empty());
        std::int64_t last = 0;
        for (const engine::Upgrade& upgrade : op->upgrades) {
            QVERIFY2(upgrade.through > last && upgrade.through <= op->since, std::string(op->name).c_str());
            last = upgrade.through;
        }
    }
}

QTEST_APPLESS_MAIN(OperatorConformance)
#include "tst_operator_conformance.moc"

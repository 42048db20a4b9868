// Every case of ONNX's backend tests and every gradient case, judged against the list of cases known not to pass.
#include <QtTest>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/document/conformance.h"

namespace fs = std::filesystem;
using nabla::app::CaseResult;

namespace {

struct Lines {
    std::map<std::string, std::string> notes; ///< name -> text after '#'
    bool readable = false;
};

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Lines `name # note`; lines without a name are comments.
Lines readLines(const char* path) {
    Lines out;
    std::ifstream file(path);
    out.readable = bool(file);
    for (std::string line; std::getline(file, line);) {
        const auto hash = line.find('#');
        if (const std::string name = trimmed(line.substr(0, hash)); !name.empty())
            out.notes[name] = hash == std::string::npos ? std::string() : trimmed(line.substr(hash + 1));
    }
    return out;
}

/// `outcome: text`, as the list of known cases writes it. What follows the first colon of a failure may hold numbers that
/// differ from machine to machine, so that only the outcome and the start of the text are compared.
std::string described(const CaseResult& result) {
    return (result.outcome == CaseResult::Outcome::Skipped ? "skipped: " : "failed: ") + result.text;
}

/// Every way in which the cases below `root` differ from what is listed.
std::vector<std::string> surprises(const fs::path& root, const std::optional<Lines>& wanted, bool reference, std::size_t& ran) {
    const Lines known = readLines(NABLA_KNOWN);
    std::vector<std::string> out;
    if (!known.readable)
        return {std::string(NABLA_KNOWN) + " cannot be read"};
    std::set<std::string> seen;
    for (const fs::path& folder : nabla::app::conformanceCases(root)) {
        const std::string name = folder.parent_path().filename().string() + "/" + folder.filename().string();
        if (wanted && !wanted->notes.contains(name))
            continue;
        seen.insert(name);
        const bool random = wanted && wanted->notes.at(name).find("random") != std::string::npos;
        const CaseResult result = nabla::app::runConformanceCase(folder, {.shapesOnly = random, .referenceKernels = reference, .job = {}, .results = {}});
        ++ran;
        const auto listed = known.notes.find(name);
        if (result.outcome == CaseResult::Outcome::Passed) {
            if (listed != known.notes.end())
                out.push_back(name + " passes: remove it from known.txt");
        } else if (listed == known.notes.end()) {
            out.push_back(name + " " + described(result));
        } else if (listed->second.empty() || !described(result).starts_with(listed->second)) {
            out.push_back(name + " " + described(result) + " (known.txt says \"" + listed->second + "\")");
        }
    }
    if (wanted)
        for (const auto& [name, note] : wanted->notes)
            if (!seen.contains(name))
                out.push_back(name + " is in the list of tests but not in " + root.string());
    return out;
}

} // namespace

class ConformanceTest : public QObject {
    Q_OBJECT

private slots:
    void onnxTests();
    void gradientCases();
    void oldVersions();
    void learnedModels();
    void visionOperators();
    void contribOperators();
    void differentialCases();
    void outputsAreWrittenWithoutExpectedOnes();

private:
    void judge(const fs::path& root, const std::optional<Lines>& wanted, std::size_t count);
};

/// With the kernels that are chosen, and with the reference kernels alone.
void ConformanceTest::judge(const fs::path& root, const std::optional<Lines>& wanted, std::size_t count) {
    for (const bool reference : {false, true}) {
        std::size_t ran = 0;
        const auto found = surprises(root, wanted, reference, ran);
        for (const std::string& text : found)
            qWarning("%s%s", reference ? "reference kernels: " : "", text.c_str());
        QCOMPARE(found.size(), std::size_t(0));
        QCOMPARE(ran, count);
    }
}

/// Source of the values: the package onnx 1.23.2, by scripts/make_onnx_tests.py. 1,529 is the number of lines of the list.
void ConformanceTest::onnxTests() {
    if (!fs::exists(NABLA_ONNX_TESTS))
        QSKIP("build/onnx-tests is not there: scripts/make_onnx_tests.py writes it");
    const Lines wanted = readLines(NABLA_TEST_DATA "/onnx/onnx_tests.txt");
    QVERIFY(wanted.readable);
    judge(NABLA_ONNX_TESTS, wanted, 1529);
}

/// Source of the values: autograd of torch 2.15 in double (tests/data/grad/README.md).
void ConformanceTest::gradientCases() {
    judge(NABLA_TEST_DATA "/grad", std::nullopt, 182);
}

/// Source of the values: onnxruntime 1.32, and formulas in PyTorch where it has no CPU kernel (tests/data/contrib/README.md).
void ConformanceTest::contribOperators() {
    judge(NABLA_TEST_DATA "/contrib", std::nullopt, 187);
}

/// Source of the values: worked out by hand from the words of each version, and onnxruntime 1.32 where it loads it (tests/data/opsets/README.md).
void ConformanceTest::oldVersions() {
    judge(NABLA_TEST_DATA "/opsets", std::nullopt, 234);
}

/// Source of the values: onnxruntime 1.32.0 (tests/data/ml/README.md).
void ConformanceTest::learnedModels() {
    judge(NABLA_TEST_DATA "/ml", std::nullopt, 174);
}

/// What scripts/differential.py relies on: a case without output_K.pb fails, unless our outputs are to be written; then it needs only run.
void ConformanceTest::outputsAreWrittenWithoutExpectedOnes() {
    const QTemporaryDir folder;
    const fs::path from = NABLA_TEST_DATA "/differential/nonzero_scalar", to = fs::path(folder.path().toStdString()) / "case";
    const fs::path results = fs::path(folder.path().toStdString()) / "results";
    fs::create_directories(to / "test_data_set_0");
    fs::copy_file(from / "model.onnx", to / "model.onnx");
    fs::copy_file(from / "test_data_set_0/input_0.pb", to / "test_data_set_0/input_0.pb");
    QVERIFY(nabla::app::runConformanceCase(to).outcome == CaseResult::Outcome::Failed);
    const CaseResult written = nabla::app::runConformanceCase(to, {.shapesOnly = false, .referenceKernels = false, .job = {}, .results = results});
    QVERIFY2(written.outcome == CaseResult::Outcome::Passed, written.text.c_str());
    QVERIFY(fs::exists(results / "case/test_data_set_0/output_0.pb"));
}

/// Source of the values: tests/data/differential/README.md names it for each case.
void ConformanceTest::differentialCases() {
    judge(NABLA_TEST_DATA "/differential", std::nullopt, 31);
}

/// Source of the values: onnxruntime, torch, ImageMagick (tests/data/vision/README.md).
void ConformanceTest::visionOperators() {
    judge(NABLA_TEST_DATA "/vision", std::nullopt, 59);
}

QTEST_GUILESS_MAIN(ConformanceTest)
#include "tst_conformance.moc"

// Passes against text files: tests/passes/<pass>/<what>.case holds a line of intent, the graph before, the graph after,
// and what must be said.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <QTest>

#include "engine/passes/pass.h"
#include "engine/passes/report.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"
#include "tests/passes/canonical_text.h"

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

/// Sections begin with `--- before`, `--- after`, `--- rules` (one a line, in order of first use), `--- near miss`
/// (`rule: part of the predicate`).
struct PassCase {
    std::string intent, before, after;
    std::vector<std::string> rules, nearMisses;
};

std::string trimmed(const std::string& text) {
    const auto from = text.find_first_not_of(" \n\t");
    return from == std::string::npos ? std::string() : text.substr(from, text.find_last_not_of(" \n\t") - from + 1);
}

PassCase read(const fs::path& file) {
    std::ifstream in(file);
    std::map<std::string, std::string> sections;
    std::string section = "intent", line;
    while (std::getline(in, line)) {
        if (line.starts_with("--- "))
            section = trimmed(line.substr(4));
        else
            sections[section] += line + '\n';
    }
    PassCase result{trimmed(sections["intent"]), trimmed(sections["before"]), trimmed(sections["after"]), {}, {}};
    const auto lines = [&](const std::string& name, std::vector<std::string>& out) {
        std::istringstream text(sections[name]);
        while (std::getline(text, line)) {
            if (!trimmed(line).empty())
                out.push_back(trimmed(line));
        }
    };
    lines("rules", result.rules);
    lines("near miss", result.nearMisses);
    return result;
}

/// Largest difference of any element, both run in double on the same generated inputs; a text when they cannot be
/// compared.
std::string compareByRunning(const Graph& before, const Graph& after) {
    SessionOptions options;
    options.mode = ExecutorMode::Eager;
    options.optimisedKernels = false;
    options.threads = 1;
    const auto first = Session::create(before, options), second = Session::create(after, options);
    if (!first || !second)
        return (first ? second : first).error().message();
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto inputs = generateInputs(before, seed, {{"N", 3}, {"M", 2}});
        if (!inputs)
            return inputs.error().message();
        const auto a = (*first)->run(*inputs), b = (*second)->run(*inputs);
        if (!a || !b)
            return (a ? b : a).error().message();
        if (a->size() != b->size())
            return fmt::format("{} outputs before, {} after", a->size(), b->size());
        for (const auto& [name, value] : *a) {
            if (!b->contains(name))
                return fmt::format("output \"{}\" is gone", name);
            const Tensor &x = value.tensor(), &y = b->at(name).tensor();
            if (x.shape() != y.shape() || x.dtype() != y.dtype())
                return fmt::format("output \"{}\": {} {} before, {} {} after", name, nabla::engine::name(x.dtype()),
                    toString(x.shape()), nabla::engine::name(y.dtype()), toString(y.shape()));
            for (std::int64_t i = 0; i < x.elementCount(); ++i) {
                const double p = x.asDouble(i), q = y.asDouble(i);
                if (!(std::abs(p - q) <= 1e-5 * std::max(1.0, std::abs(p))) && !(std::isnan(p) && std::isnan(q))
                    && p != q)
                    return fmt::format("output \"{}\" element {}: {} before, {} after", name, i, p, q);
            }
        }
    }
    return {};
}

} // namespace

class TstPassCases : public QObject {
    Q_OBJECT

private slots:
    void graphBecomes_data() {
        QTest::addColumn<QString>("pass");
        QTest::addColumn<QString>("file");
        std::vector<fs::path> files;
        for (const auto& entry : fs::recursive_directory_iterator(NABLA_PASS_CASES)) {
            if (entry.path().extension() == ".case")
                files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
        for (const fs::path& file : files) {
            const std::string pass = file.parent_path().filename().string();
            QTest::newRow((pass + "/" + file.stem().string()).c_str())
                << QString::fromStdString(pass) << QString::fromStdString(file.string());
        }
    }

    void graphBecomes() {
        QFETCH(QString, pass);
        QFETCH(QString, file);
        const PassCase test = read(file.toStdString());
        QVERIFY2(!test.intent.empty(), "a case begins with a line of intent");
        const PassDef* def = findPass(pass.toStdString());
        QVERIFY2(def, "the folder is called like a pass");
        const auto before = parseGraphText(test.before);
        QVERIFY2(before, before ? "" : before.error().message().c_str());
        PassContext context{pass.toStdString()};
        const auto result = def->run(*before, context);
        if (test.after.starts_with("error: ")) {
            QVERIFY2(!result, "the pass must refuse");
            QVERIFY2(result.error().message().find(test.after.substr(7)) != std::string::npos,
                result.error().message().c_str());
            return;
        }
        QVERIFY2(result, result ? "" : result.error().message().c_str());
        if (test.after == "unchanged") {
            QVERIFY2(result->sameStateAs(*before), nabla::tests::canonicalText(*result).c_str());
            QVERIFY(context.rewrites().empty());
        } else {
            const auto expected = parseGraphText(test.after);
            QVERIFY2(expected, expected ? "" : expected.error().message().c_str());
            QVERIFY(!result->sameStateAs(*before));
            QCOMPARE(QString::fromStdString(nabla::tests::canonicalText(*result)),
                QString::fromStdString(nabla::tests::canonicalText(*expected)));
        }
        checkSaid(test, context);
        if (!def->changesValues && test.after != "unchanged") {
            const std::string wrong = compareByRunning(*before, *result);
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }

    /// Each pass has a case where it does something and one where it must not.
    void everyPassHasBothKindsOfCases() {
        for (const PassDef& pass : allPasses()) {
            bool changes = false, leaves = false;
            const fs::path folder = fs::path(NABLA_PASS_CASES) / pass.name;
            QVERIFY2(fs::is_directory(folder), folder.c_str());
            for (const auto& entry : fs::directory_iterator(folder)) {
                const bool unchanged = read(entry.path()).after == "unchanged";
                changes = changes || !unchanged;
                leaves = leaves || unchanged;
            }
            QVERIFY2(changes && leaves, std::string(pass.name).c_str());
        }
    }

private:
    static void checkSaid(const PassCase& test, const PassContext& context) {
        if (!test.rules.empty()) {
            std::vector<std::string> used;
            for (const Rewrite& rewrite : context.rewrites()) {
                QVERIFY2(!rewrite.reason.empty(), rewrite.rule.c_str());
                if (std::find(used.begin(), used.end(), rewrite.rule) == used.end())
                    used.push_back(rewrite.rule);
            }
            QCOMPARE(used, test.rules);
        }
        for (const std::string& wanted : test.nearMisses) {
            const auto colon = wanted.find(": ");
            const bool there
                = std::any_of(context.nearMisses().begin(), context.nearMisses().end(), [&](const NearMiss& miss) {
                      return miss.rule == wanted.substr(0, colon)
                          && miss.predicate.find(wanted.substr(colon + 2)) != std::string::npos;
                  });
            QVERIFY2(there, wanted.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(TstPassCases)
#include "tst_pass_cases.moc"

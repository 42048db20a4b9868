// One case at a time; a case that cannot be judged says why.
#include "app/document/conformance.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/document/compare.h"
#include "app/document/document.h"
#include "app/document/values_io.h"
#include "engine/ops/op_def.h"
#include "engine/runtime/session.h"

namespace nabla::app {

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

void collectMissing(const Graph& graph, const FunctionMap& functions, std::set<std::string>& out, int depth) {
    graph.forEachNode([&](const Node& node) {
        for (const auto& [name, body] : node.bodies())
            collectMissing(*body, functions, out, depth);
        const auto function = functions.find(functionKey(node.domain, node.opType, node.overload));
        if (function != functions.end()) {
            if (depth < 32) // functions that call themselves are refused elsewhere
                collectMissing(*function->second->body, functions, out, depth + 1);
            return;
        }
        if (findOp(node.opType, node.domain))
            return;
        out.insert(node.domain.empty() ? node.opType : fmt::format("{}.{}", node.domain, node.opType));
    });
}

Tolerance readTolerance(const fs::path& folder) {
    Tolerance out;
    std::ifstream file(folder / "tol.json");
    if (!file)
        return out;
    const auto json = nlohmann::json::parse(file, nullptr, false);
    if (json.is_object()) {
        out.rtol = json.value("rtol", out.rtol);
        out.atol = json.value("atol", out.atol);
    }
    return out;
}

std::vector<fs::path> dataSets(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
            out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

bool hasPrefix(const fs::path& folder, std::string_view prefix) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().filename().string().starts_with(prefix))
            return true;
    }
    return false;
}

/// Shape and type only: the expected output is one random draw.
std::string compareForm(const RuntimeValue& expected, const RuntimeValue& actual) {
    if (!expected.isTensor() || !actual.isTensor())
        return "is no tensor";
    const Tensor &e = expected.tensor(), &a = actual.tensor();
    if (e.dtype() != a.dtype() || e.shape() != a.shape())
        return fmt::format("is {}{}, expected {}{}", name(a.dtype()), toString(a.shape()), name(e.dtype()), toString(e.shape()));
    return {};
}

struct CaseRun {
    fs::path folder;
    Graph graph; // legalized
    Tolerance tolerance;
    const CaseOptions& wanted;

    Result<void> outputs(const fs::path& set) const {
        SessionOptions options;
        options.optimisedKernels = !wanted.referenceKernels;
        NABLA_TRY(const auto session, Session::create(graph, options));
        NABLA_TRY(const NamedValues inputs, readValues(set, graph, Side::Inputs));
        NABLA_TRY(const NamedValues expected, readValues(set, graph, Side::Outputs));
        if (expected.empty() && wanted.results.empty())
            return Error{ErrorKind::Check, fmt::format("{}: no output_K.pb to compare with", set.filename().string())};
        NABLA_TRY(const NamedValues actual, session->run(inputs, wanted.job));
        if (!wanted.results.empty()) {
            std::vector<std::string> order;
            for (const ValueId id : graph.outputs())
                order.push_back(graph.value(id)->name);
            NABLA_CHECK(writeValues(wanted.results / folder.filename() / set.filename(), actual, order));
        }
        for (const auto& [name, value] : expected) {
            if (wanted.shapesOnly) {
                if (const std::string text = compareForm(value, actual.at(name)); !text.empty())
                    return Error{ErrorKind::Check, fmt::format("output \"{}\" {}", name, text)};
                continue;
            }
            NABLA_TRY(const ValueDifference d, compareValues(value, actual.at(name), tolerance).in(fmt::format("output \"{}\"", name)));
            if (!d.text.empty())
                return Error{ErrorKind::Check, fmt::format("output \"{}\": {}", name, d.text)};
        }
        return {};
    }

    /// Gradients in double: grad_output_J feeds output J, absent ones are zero; grad_input_J is expected.
    Result<void> gradients(const fs::path& set) const {
        NABLA_TRY(const NamedValues cotangents, readValues(set, graph, Side::OutputCotangents));
        NABLA_TRY(const NamedValues expected, readValues(set, graph, Side::Gradients));
        NABLA_TRY(NamedValues inputs, readValues(set, graph, Side::Inputs));
        if (cotangents.empty() || expected.empty())
            return Error{ErrorKind::Check, fmt::format("{}: no {} to check gradients with", set.filename().string(), expected.empty() ? "grad_input_K.pb" : "grad_output_K.pb")};
        std::vector<std::string> of, wrt;
        for (const auto& [name, value] : cotangents)
            of.push_back(name);
        for (const auto& [name, value] : expected)
            wrt.push_back(name);
        NABLA_TRY(const HistoryState state, differentiate(graph, of, wrt, GradOptions::Cotangents::Inputs, wanted.job));
        SessionOptions options;
        options.inDouble = true;
        options.optimisedKernels = false;
        NABLA_TRY(const auto session, Session::create(state.graph, options));
        for (const auto& [output, extra] : state.joint->cotangentInput)
            inputs[state.graph.value(extra)->name] = cotangents.at(state.graph.value(output)->name);
        NABLA_TRY(const NamedValues results, session->run(inputs, wanted.job));
        for (const ValueId id : state.joint->wrt) {
            const std::string& name = state.graph.value(id)->name;
            const RuntimeValue& actual = results.at(state.graph.value(state.joint->gradientOf.at(id))->name);
            NABLA_TRY(const ValueDifference d, compareValues(expected.at(name), actual, tolerance).in(fmt::format("gradient of \"{}\"", name)));
            if (!d.text.empty())
                return Error{ErrorKind::Check, fmt::format("gradient of \"{}\": {}", name, d.text)};
        }
        return {};
    }
};

} // namespace

std::vector<std::string> missingOperators(const Graph& graph) {
    std::set<std::string> out;
    collectMissing(graph, graph.functions(), out, 0);
    return {out.begin(), out.end()};
}

std::vector<fs::path> conformanceCases(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code error;
    if (fs::exists(folder / "model.onnx", error))
        out.push_back(folder);
    for (fs::recursive_directory_iterator it(folder, error), end; it != end; it.increment(error)) {
        if (it->is_directory(error) && fs::exists(it->path() / "model.onnx", error))
            out.push_back(it->path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

CaseResult runConformanceCase(const fs::path& folder, const CaseOptions& options) {
    CaseResult out;
    out.name = folder.filename().string();
    const auto end = [&](CaseResult::Outcome outcome, std::string text) {
        out.outcome = outcome;
        out.text = std::move(text);
        return out;
    };
    const auto document = Document::open(folder / "model.onnx", options.job);
    if (!document)
        return end(CaseResult::Outcome::Failed, document.error().message());
    const auto graph = legalized(document->imported()->graph);
    if (!graph)
        return end(CaseResult::Outcome::Failed, graph.error().message());
    if (const auto missing = missingOperators(*graph); !missing.empty())
        return end(CaseResult::Outcome::Skipped, fmt::format("operator not there: {}", fmt::join(missing, ", ")));
    const CaseRun run{folder, *graph, readTolerance(folder), options};
    const auto sets = dataSets(folder);
    if (sets.empty())
        return end(CaseResult::Outcome::Failed, "no test_data_set_K in the folder");
    for (const fs::path& set : sets) {
        if (auto result = run.outputs(set); !result)
            return end(CaseResult::Outcome::Failed, result.error().message());
        if (hasPrefix(set, "grad_output_") || hasPrefix(set, "grad_input_")) {
            if (auto result = run.gradients(set); !result)
                return end(CaseResult::Outcome::Failed, result.error().message());
        }
    }
    return out;
}

} // namespace nabla::app

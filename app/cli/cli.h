// The headless twin: what every verb shares.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "engine/analysis/types.h"
#include "engine/base/stop.h"

namespace nabla::app::cli {

/// Exit codes of DESIGN 7; a contract.
enum ExitCode : int { kDone = 0, kCheckFailed = 1, kWrongUse = 2, kCannotRead = 3, kCannotRun = 4, kInterrupted = 130 };
int exitCodeOf(engine::ErrorKind kind);

/// What a verb's callback is given: where to print and how to stop.
class Context {
public:
    bool json = false;
    engine::JobControl job;   ///< stops on SIGINT
    int exitCode = kDone;

    /// A result on stdout: text as it is but with control characters of names made harmless, or the JSON object.
    void print(std::string_view text) const;
    void printJson(const nlohmann::json& object) const;
    /// A message on stderr.
    void say(std::string_view text) const;
    /// Says the error (as JSON on stdout too when --json) and sets the exit code.
    void fail(const engine::Error& error);
};

/// Registers a verb's options; its callback runs when the verb was chosen.
using Verb = void (*)(::CLI::App& app, Context& context);
/// The list of all verbs (verbs.cpp).
std::vector<std::pair<std::string_view, Verb>> verbs();

/// Runs the command line. `argv[1]` must be a verb or an option such as --help.
int run(int argc, char** argv);
/// Whether argv[1] asks for the command line rather than the window.
bool wanted(int argc, char** argv);

/// Control characters, escapes and direction overrides replaced by \xNN or \u{NNNN}; UTF-8 kept; invalid bytes as \xNN.
std::string harmless(std::string_view text);

// Options that several verbs have.
struct DimOptions {
    std::vector<std::string> texts; ///< `batch=8`
    engine::Result<engine::DimBindings> bindings() const;
};
void addDims(::CLI::App& verb, DimOptions& dims);
/// Errors (Usage): a name that no input of the graph has a dimension of; the names there are.
engine::Result<void> checkDims(const engine::Graph& graph, const engine::DimBindings& dims);

} // namespace nabla::app::cli

// Parsing, printing and exit codes. Verbs live in files of their own.
#include "app/cli/cli.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/analysis/input_shapes.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

std::atomic<bool> g_interrupted{false}; // set by the signal handler, which may touch nothing else

/// Turns SIGINT into a stop request for the running job.
class InterruptWatch {
public:
    InterruptWatch() {
        std::signal(SIGINT, [](int) { g_interrupted.store(true); });
        m_thread = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                if (g_interrupted.load())
                    m_source.request_stop();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
    }
    std::stop_token token() const { return m_source.get_token(); }

private:
    std::stop_source m_source;
    std::jthread m_thread;
};

} // namespace

int exitCodeOf(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::Read: return kCannotRead;
    case ErrorKind::Run: return kCannotRun;
    case ErrorKind::Usage: return kWrongUse;
    case ErrorKind::Cancelled: return kInterrupted;
    case ErrorKind::Check: return kCheckFailed;
    }
    return kCannotRun;
}

std::string harmless(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    std::size_t i = 0;
    while (i < text.size()) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7f)) {
            out += text[i++];
            continue;
        }
        const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
        std::uint32_t code = length == 4 ? byte & 0x07U : length == 3 ? byte & 0x0fU : byte & 0x1fU;
        bool valid = length > 0 && i + length <= text.size();
        for (std::size_t k = 1; valid && k < length; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            valid = (next & 0xc0U) == 0x80U;
            code = code << 6 | (next & 0x3fU);
        }
        if (!valid) {
            out += fmt::format("\\x{:02x}", byte);
            ++i;
            continue;
        }
        const bool override = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f || code < 0xa0;
        if (override)
            out += fmt::format("\\u{{{:04x}}}", code);
        else
            out.append(text.substr(i, length));
        i += length;
    }
    return out;
}

void Context::print(std::string_view text) const {
    const std::string clean = harmless(text);
    std::fwrite(clean.data(), 1, clean.size(), stdout);
    if (!clean.empty() && clean.back() != '\n')
        std::fputc('\n', stdout);
}

void Context::printJson(const nlohmann::json& object) const {
    const std::string text = object.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
}

void Context::say(std::string_view text) const { std::fprintf(stderr, "%s\n", harmless(text).c_str()); }

void Context::fail(const Error& error) {
    exitCode = exitCodeOf(error.kind());
    if (json)
        printJson(nlohmann::json{{"schema", 1}, {"error", error.message()}, {"exit", exitCode}});
    say("nablascope: " + error.message());
}

Result<DimBindings> DimOptions::bindings() const {
    DimBindings out;
    for (const std::string& text : texts) {
        const std::size_t equals = text.rfind('=');
        std::int64_t value = 0;
        const char* last = text.data() + text.size();
        if (equals == std::string::npos || equals == 0)
            return usageError("--dim wants NAME=SIZE, not \"{}\"", text);
        if (const auto [stop, error] = std::from_chars(text.data() + equals + 1, last, value); error != std::errc{} || stop != last || value < 0)
            return usageError("--dim {}: the size must be a whole number of 0 or more", text);
        out[text.substr(0, equals)] = value;
    }
    return out;
}

void addDims(::CLI::App& verb, DimOptions& dims) {
    verb.add_option("--dim", dims.texts, "fix a symbolic dimension: NAME=SIZE (repeatable)")->expected(1)->take_all();
}

Result<void> checkDims(const Graph& graph, const DimBindings& dims) {
    std::set<std::string> names;
    for (const SymbolicShape& shape : namedInputShapes(graph)) {
        for (const Dim& dim : shape) {
            for (const std::string& atom : dim.atoms())
                names.insert(atom);
        }
    }
    for (const auto& [name, size] : dims) {
        if (!names.contains(name))
            return usageError("--dim {}: no input has a dimension of this name; there are: {}", name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    return {};
}

bool wanted(int argc, char** argv) {
    if (argc < 2)
        return false;
    const std::string_view first = argv[1];
    if (first == "--help" || first == "-h" || first == "--version")
        return true;
    for (const auto& [name, verb] : verbs()) {
        if (first == name)
            return true;
    }
    return false;
}

int run(int argc, char** argv) {
    ::CLI::App app{"Nablascope: open, run, differentiate, optimise and time machine-learning models.\nWithout a verb it opens the window on the files given.", "nablascope"};
    app.set_version_flag("--version", NABLA_VERSION);
    app.require_subcommand(0, 1);
    app.fallthrough(false);
    const InterruptWatch interrupt;
    Context context;
    context.job.stop = interrupt.token();
    for (const auto& [name, verb] : verbs())
        verb(app, context);
    for (::CLI::App* sub : app.get_subcommands([](::CLI::App*) { return true; }))
        sub->add_flag("--json", context.json, "print one JSON object");
    try {
        app.parse(argc, argv);
    } catch (const ::CLI::ParseError& e) {
        const int code = app.exit(e);
        return code == 0 ? kDone : kWrongUse;
    } catch (const std::bad_alloc&) {
        context.fail(runError("out of memory"));
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
        context.say("nablascope: the result could not be written to stdout");
        return kCannotRead;
    }
    return context.exitCode;
}

} // namespace nabla::app::cli

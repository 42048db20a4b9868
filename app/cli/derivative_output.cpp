// Arrays as shape and norm.
#include "app/cli/derivative_output.h"

#include <cmath>

#include <fmt/format.h>

namespace nabla::app::cli {

using namespace nabla::engine;

void printDerivatives(const std::vector<std::string>& order, const NamedValues& values, std::string_view mode, std::string_view key,
    const std::vector<Diagnostic>& notes, Context& context) {
    nlohmann::json list = nlohmann::json::array(), messages = nlohmann::json::array();
    for (const std::string& name : order) {
        const Tensor& t = values.at(name).tensor();
        double sum = 0;
        for (std::int64_t i = 0; i < t.elementCount(); ++i)
            sum += t.asDouble(i) * t.asDouble(i);
        if (context.json)
            list.push_back({{"name", name}, {"dtype", nabla::engine::name(t.dtype())}, {"shape", t.shape()}, {"l2", std::sqrt(sum)}});
        else
            context.print(fmt::format("{}: {}{}  norm {:.6g}", name, nabla::engine::name(t.dtype()), toString(t.shape()), std::sqrt(sum)));
    }
    for (const Diagnostic& note : notes) {
        const bool warns = note.severity != Diagnostic::Severity::Info;
        messages.push_back(note.message);
        context.say((warns ? "warning: " : "note: ") + note.message);
    }
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"mode", mode}, {key, list}, {"notes", messages}});
}

} // namespace nabla::app::cli

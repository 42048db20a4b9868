// What every mode of `grad` prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/cli/cli.h"
#include "engine/runtime/session.h"

namespace nabla::app::cli {

/// One line an array (`name: float32[2,3]  norm 0.5`) on stdout, the notes on stderr; with --json one object, the arrays under `key`.
void printDerivatives(const std::vector<std::string>& order, const engine::NamedValues& values, std::string_view mode, std::string_view key,
    const std::vector<engine::Diagnostic>& notes, Context& context);

} // namespace nabla::app::cli

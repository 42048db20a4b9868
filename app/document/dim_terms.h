// A dimension as a list of terms, for files: Dim itself shows its polynomial only as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/dim.h"

namespace nabla::app {

/// `factor * atoms[0] * atoms[1] …`; no atoms = the constant term.
struct DimTerm {
    std::int64_t factor = 0;
    std::vector<std::string> atoms;
};

/// Terms whose sum is `dim`, which is not unknown; nothing when its text has too many readings (names full of signs).
std::optional<std::vector<DimTerm>> dimTerms(const engine::Dim& dim);
/// Their sum; unknown when a factor overflows.
engine::Dim dimFromTerms(const std::vector<DimTerm>& terms);

} // namespace nabla::app

// Records of a pipeline run as JSON, as a text table and as one self-contained HTML page: the command line and the window show the same.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/passes/pass.h"

namespace nabla::engine {

/// `{"schema": 1, "model": …, "passes": [{pass, title, changed, milliseconds, changes_values, error, rewrites: [...], near_misses: [...],
/// before: {nodes, flops, bytes_moved, peak_bytes, lower_bound_bytes, median_ms}, after: {...}, delta: {...}, differences: [...]}], "total": {...}}`.
/// What was not measured is null.
nlohmann::json reportJson(const std::vector<PassRecord>& records, const std::string& model);
/// One line per pass: Δ nodes, Δ FLOPs, Δ bytes moved, Δ planned peak, measured time, largest difference; `-` = not measured.
std::string reportText(const std::vector<PassRecord>& records);
/// The table with every rewrite and near miss under its pass; no script, no file besides itself.
std::string reportHtml(const std::vector<PassRecord>& records, const std::string& model);

} // namespace nabla::engine

// A recording as Chrome trace JSON, for chrome://tracing, Perfetto's viewer and scripts.
#pragma once

#include <filesystem>

#include "profiler/store/recording.h"

namespace nabla::profiler {

/// Writes every slice with usable times as a complete event ("X"); ts and dur in microseconds with three decimals, so
/// that nanoseconds survive. Written aside and renamed. Returns the number of events. Errors: of reading; disk;
/// Cancelled.
Result<std::int64_t> exportChromeTrace(
    const Recording& recording, const std::filesystem::path& target, const engine::JobControl& job = {});

} // namespace nabla::profiler

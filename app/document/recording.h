// Recording executions of a session into a .nabla file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/document/document.h"
#include "engine/runtime/session.h"
#include "profiler/cpu/cpu_recorder.h"

namespace nabla::app {

/// What a recording knows of the plan that runs: the nodes in execution order, their origins, values, kernel names.
profiler::RecordingMeta recordingMeta(const engine::Plan& plan, const engine::SessionOptions& options, const std::string& label);

struct RecordOptions {
    int runs = 100;
    int warmup = 3;
    std::string label;
    engine::JobControl job;
};
/// Runs `session` on `inputs` runs times while recording to `path`. Errors: of running; of writing.
engine::Result<profiler::RecordingReport> record(engine::Session& session, const engine::SessionOptions& sessionOptions, const engine::NamedValues& inputs,
    const std::filesystem::path& path, const RecordOptions& options);

} // namespace nabla::app

// Tells by content what sort of recording a file is, before anything opens it.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.h"

namespace nabla::profiler {

enum class FileKind {
    Sqlite, ///< ours, an Nsight Systems export or something else; its tables decide
    Empty, ///< no bytes, or a trace that lists no event
    ChromeTrace,
    KinetoTrace,
    OnnxRuntimeProfile,
    TorchMemoryTimeline,
    TorchExecutionTrace,
    PickledSnapshot,
    PerfettoTrace,
    XSpace,
    NvprofSession,
    NsysReport,
    GzipTrace,
    Unknown,
};

/// Reads at most the first 64 KiB of a regular file. Errors (Read): missing, not a regular file, not readable.
engine::Result<FileKind> fileKind(const std::filesystem::path& path);

/// "Kineto trace", "Perfetto trace", ... : what the file is called in messages.
const char* fileKindName(FileKind kind);

/// Why a file of this kind does not open, in words: `Kineto trace: not read yet`.
std::string refusalOf(FileKind kind);

} // namespace nabla::profiler

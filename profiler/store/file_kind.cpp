// First bytes and tell-tale words of the trace formats around.
#include "profiler/store/file_kind.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

namespace nabla::profiler {

namespace {

constexpr std::size_t kHeadBytes = 64 * 1024;

bool has(std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
}

/// A whole, well-formed trace whose list of events is empty.
bool isEmptyTrace(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_array())
        return json.empty();
    if (!json.is_object())
        return false;
    const auto events = json.find("traceEvents");
    return events != json.end() && events->is_array() && events->empty();
}

/// nlohmann's parser recurses only on its heap stack, but a deep file is never an empty trace: count first.
bool isShallow(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; }) < 1000;
}

FileKind jsonKind(std::string_view head, bool whole) {
    if (whole && isShallow(head) && isEmptyTrace(head))
        return FileKind::Empty;
    if (has(head, "\"baseTimeNanoseconds\"") || has(head, "\"cpu_op\"") || has(head, "\"deviceProperties\"")
        || has(head, "\"External id\"") || has(head, "\"external id\""))
        return FileKind::KinetoTrace;
    if (has(head, "model_loading_") || has(head, "session_initialization"))
        return FileKind::OnnxRuntimeProfile;
    if (has(head, "\"traceEvents\"") || (has(head, "\"ph\"") && has(head, "\"ts\"")))
        return FileKind::ChromeTrace;
    if (has(head, "\"schema\"") && has(head, "\"nodes\""))
        return FileKind::TorchExecutionTrace;
    if (head.starts_with("[["))
        return FileKind::TorchMemoryTimeline;
    return FileKind::Unknown;
}

/// The first bytes of what a gzip file holds; empty when it is damaged. `whole`: nothing follows them.
std::string inflateHead(std::string_view compressed, bool& whole) {
    std::string head(kHeadBytes, '\0');
    z_stream stream{};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) // 16: with a gzip header
        return {};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream.avail_in = static_cast<uInt>(compressed.size());
    stream.next_out = reinterpret_cast<Bytef*>(head.data());
    stream.avail_out = static_cast<uInt>(head.size());
    const int code = inflate(&stream, Z_SYNC_FLUSH);
    whole = code == Z_STREAM_END;
    head.resize(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? stream.total_out : 0);
    inflateEnd(&stream);
    return head;
}

FileKind kindOf(std::string_view head, bool whole, const std::filesystem::path& path) {
    if (head.empty())
        return FileKind::Empty;
    if (head.starts_with(std::string_view("SQLite format 3\0", 16)))
        return FileKind::Sqlite;
    if (head.starts_with("NVIDIA Tegra Profiler Report "))
        return FileKind::NsysReport;
    if (head.starts_with("\x1f\x8b")) {
        bool all = false;
        const std::string inside = inflateHead(head, all);
        const std::size_t first = inside.find_first_not_of(" \t\r\n");
        // Traces are JSON inside; a database or another archive in gzip is not looked into.
        if (first == std::string::npos || (inside[first] != '{' && inside[first] != '['))
            return FileKind::GzipTrace;
        const FileKind kind = jsonKind(std::string_view(inside).substr(first), all);
        return kind == FileKind::Unknown ? FileKind::GzipTrace : kind;
    }
    if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
        return FileKind::PickledSnapshot;
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (head[first] == '{' || head[first] == '['))
        return jsonKind(head.substr(first), whole);
    const std::string name = path.filename().string();
    // Both are protobuf: field 1, length-delimited.
    if (head[0] == '\x0a') {
        if (name.ends_with(".xplane.pb") || has(head.substr(0, 256), "/host:") || has(head.substr(0, 256), "/device:"))
            return FileKind::XSpace;
        if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace") || name.ends_with(".perfetto"))
            return FileKind::PerfettoTrace;
    }
    if (name.ends_with(".nvvp"))
        return FileKind::NvprofSession;
    return FileKind::Unknown;
}

} // namespace

engine::Result<FileKind> fileKind(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status))
        return engine::readError("{}: no such file", path.string());
    if (!std::filesystem::is_regular_file(status))
        return engine::readError("{}: is not a regular file", path.string());
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return engine::readError("{}: cannot be read (permission?)", path.string());
    std::string head(kHeadBytes, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(file.gcount()));
    return kindOf(head, head.size() < kHeadBytes, path);
}

const char* fileKindName(FileKind kind) {
    switch (kind) {
    case FileKind::Sqlite:
        return "SQLite database";
    case FileKind::Empty:
        return "empty file";
    case FileKind::ChromeTrace:
        return "Chrome trace";
    case FileKind::KinetoTrace:
        return "Kineto trace";
    case FileKind::OnnxRuntimeProfile:
        return "ONNX Runtime profile";
    case FileKind::TorchMemoryTimeline:
        return "PyTorch memory timeline";
    case FileKind::TorchExecutionTrace:
        return "PyTorch execution trace";
    case FileKind::PickledSnapshot:
        return "Python pickle (PyTorch memory snapshot)";
    case FileKind::PerfettoTrace:
        return "Perfetto trace";
    case FileKind::XSpace:
        return "XSpace (TensorFlow, JAX) trace";
    case FileKind::NvprofSession:
        return "nvprof recording";
    case FileKind::NsysReport:
        return "Nsight Systems report";
    case FileKind::GzipTrace:
        return "gzip-compressed trace";
    case FileKind::Unknown:
        return "file of unknown kind";
    }
    return "";
}

std::string refusalOf(FileKind kind) {
    if (kind == FileKind::NsysReport)
        return "Nsight Systems report (closed format): make an SQLite file of it with `nsys export --type sqlite FILE` "
               "and open that";
    if (kind == FileKind::Unknown)
        return "not a recording: not a database and not a known trace format";
    return fmt::format("{}: not read yet", fileKindName(kind));
}

} // namespace nabla::profiler

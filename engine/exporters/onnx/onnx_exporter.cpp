// In one message below 2 GiB (protobuf's limit), else with the weights in a file beside it.
#include <fstream>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "engine/base/write_file.h"
#include "engine/exporters/exporter.h"
#include "engine/exporters/onnx/opset_change.h"
#include "engine/schema/onnx_file/write_graph.h"

namespace nabla::engine {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMaxMessage = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kRoomForNodes = 64 << 20;
constexpr std::int64_t kPage = 4096;            // offsets that can be mapped
constexpr std::int64_t kSmallest = 1024;        // smaller tensors stay in the message

std::int64_t weightBytes(const Graph& graph) {
    std::int64_t sum = 0;
    graph.forEachValue([&](const Value& value) { sum += value.constant ? value.constant->bytes() : 0; });
    graph.forEachNode([&](const Node& node) {
        for (const Attribute& attribute : node.attributes) {
            if (const auto* tensor = std::get_if<TensorPtr>(&attribute.value); tensor && *tensor)
                sum += (*tensor)->bytes();
        }
        for (const auto& [name, body] : node.bodies())
            sum += weightBytes(*body);
    });
    return sum;
}

Result<OnnxWriteOptions> writeOptions(const Graph& graph, const ExportOptions& options) {
    OnnxWriteOptions out;
    out.typeOf = options.typeOf;
    if (options.opset != 0 && options.opset != graph.opset("")) {
        NABLA_CHECK(checkOpsetChange(graph, options.opset, options.typeOf));
        out.opset = options.opset;
    }
    return out;
}

/// The file beside the model, written tensor by tensor under another name and renamed at the end.
class WeightFile {
public:
    explicit WeightFile(fs::path path) : m_path(std::move(path)), m_aside(m_path.string() + ".part"), m_out(m_aside, std::ios::binary | std::ios::trunc) { }
    ~WeightFile() {
        std::error_code ignored;
        if (!m_done)
            fs::remove(m_aside, ignored);
    }
    WeightFile(const WeightFile&) = delete;
    WeightFile& operator=(const WeightFile&) = delete;

    std::optional<ExternalPlace> add(const Tensor& tensor) {
        if (tensor.bytes() < kSmallest)
            return std::nullopt;
        const std::int64_t padding = (kPage - m_size % kPage) % kPage;
        m_out.write(std::string(static_cast<std::size_t>(padding), '\0').data(), padding);
        ExternalPlace place{m_path.filename().string(), static_cast<std::uint64_t>(m_size + padding)};
        m_out.write(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
        m_size += padding + tensor.bytes();
        return place;
    }
    Result<void> finish() {
        m_out.close();
        std::error_code error;
        if (m_out.good())
            fs::rename(m_aside, m_path, error);
        if (!m_out.good() || error)
            return readError("{}: cannot write {} bytes of weights{}", m_path.string(), m_size, error ? ": " + error.message() : std::string());
        m_done = true;
        return {};
    }

private:
    fs::path m_path, m_aside;
    std::ofstream m_out;
    std::int64_t m_size = 0;
    bool m_done = false;
};

} // namespace

Result<std::string> exportOnnx(const Graph& graph, const ExportOptions& options) {
    NABLA_CHECK(options.job.check());
    if (const std::int64_t bytes = weightBytes(graph); bytes > kMaxMessage - kRoomForNodes)
        return runError("the weights take {} bytes, an ONNX message at most {}: the model has to be saved with its weights beside it", bytes, kMaxMessage);
    NABLA_TRY(const OnnxWriteOptions write, writeOptions(graph, options));
    NABLA_TRY(std::string bytes, writeOnnxModel(graph, write));
    if (static_cast<std::int64_t>(bytes.size()) > kMaxMessage)
        return runError("the model takes {} bytes, an ONNX message at most {}", bytes.size(), kMaxMessage);
    return bytes;
}

Result<void> saveOnnx(const Graph& graph, const fs::path& path, const ExportOptions& options) {
    const bool external = options.weightsBeside || weightBytes(graph) > kMaxMessage - kRoomForNodes;
    if (!external) {
        NABLA_TRY(const std::string bytes, exportOnnx(graph, options));
        return writeFile(path, bytes);
    }
    NABLA_TRY(OnnxWriteOptions write, writeOptions(graph, options));
    WeightFile weights(path.string() + ".data");
    write.external = [&](const Tensor& tensor) { return weights.add(tensor); };
    NABLA_TRY(const std::string bytes, writeOnnxModel(graph, write));
    NABLA_CHECK(weights.finish());
    return writeFile(path, bytes);
}

} // namespace nabla::engine

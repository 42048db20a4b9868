// Reads a mapped ONNX file; weights stay where they are.
#include "engine/importers/onnx/onnx_importer.h"

#include "engine/importers/onnx/external_data.h"
#include "engine/schema/onnx_file/read_graph.h"

namespace nabla::engine {

namespace {

constexpr std::string_view kExtensions[] = {".onnx", ".onnxmodel", ".pb"};

/// A ModelProto begins with a field it has: nearly always ir_version (tag 0x08, one byte of value).
int sniffOnnx(std::span<const std::byte> head, std::string_view fileName) {
    const bool named = fileName.ends_with(".onnx");
    if (head.size() < 2)
        return named ? 10 : 0;
    const auto first = std::to_integer<unsigned>(head[0]), second = std::to_integer<unsigned>(head[1]);
    if (first == 0x08 && second < 0x40)
        return named ? 95 : 60;
    const unsigned field = first >> 3U, wire = first & 7U;
    const bool plausible = (wire == 2 && (field == 2 || field == 3 || field == 4 || field == 6 || field == 7 || field == 8 || field == 14)) || (wire == 0 && field == 5);
    if (plausible)
        return named ? 80 : 20;
    return named ? 10 : 0;
}

Result<Model> loadOnnx(std::shared_ptr<const MappedFile> file, ImportContext& context) {
    const auto bytes = file->bytes();
    OnnxReadOptions options;
    options.source.owner = file;
    options.source.external = externalData(file->path().parent_path(), context.allowLinksOutsideFolder ? LinksOutside::Allow : LinksOutside::Refuse);
    options.ids = context.ids;
    options.path = file->path();
    options.job = context.job;
    NABLA_TRY(Graph graph, readOnnxModel({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options));
    return Model{std::move(graph), std::move(file)};
}

} // namespace

const ImporterDef kOnnxImporter = {.name = "ONNX", .extensions = kExtensions, .sniff = sniffOnnx, .load = loadOnnx};

} // namespace nabla::engine

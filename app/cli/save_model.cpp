#include "app/cli/save_model.h"

#include "engine/analysis/types.h"
#include "engine/exporters/exporter.h"

namespace nabla::app::cli {

using namespace nabla::engine;

Result<void> saveModel(const Graph& graph, const std::filesystem::path& path, std::int64_t opset, const Context& context) {
    ExportOptions options;
    options.opset = opset;
    options.typeOf = [graph](ValueId id) { return types(graph)->of(id); };
    options.job = context.job;
    return saveOnnx(graph, path, options);
}

} // namespace nabla::app::cli

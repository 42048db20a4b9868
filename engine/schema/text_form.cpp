// Text in: the library's parser, then the same reader as for files.
#include "engine/schema/text_form.h"

#include <memory>

#include <fmt/format.h>

#include "engine/schema/onnx_file/read_graph.h"
#include "engine/schema/schema.h"

#include "onnx/defs/parser.h"

namespace nabla::engine {

namespace {

constexpr std::int64_t kTextIrVersion = 10;

/// A model starts with `<`; anything else is a bare graph.
bool isModel(std::string_view text) {
    const auto start = text.find_first_not_of(" \t\r\n");
    return start != std::string_view::npos && text[start] == '<';
}

} // namespace

Result<Graph> parseGraphText(std::string_view text, IdSourcePtr ids) {
    onnx::ModelProto model;
    try {
        const std::string copy(text);
        onnx::OnnxParser parser(copy.c_str());
        if (isModel(text)) {
            if (const auto status = parser.Parse(model); !status.IsOK())
                return readError("{}", status.ErrorMessage());
        } else {
            if (const auto status = parser.Parse(*model.mutable_graph()); !status.IsOK())
                return readError("{}", status.ErrorMessage());
            model.set_ir_version(kTextIrVersion);
            auto& opset = *model.add_opset_import();
            opset.set_domain("");
            opset.set_version(newestOpset(""));
        }
        if (!parser.EndOfInput())
            return readError("text goes on after the end of the model");
    } catch (const std::exception& e) {
        return readError("{}", e.what());
    }
    auto bytes = std::make_shared<const std::string>(model.SerializeAsString());
    OnnxReadOptions options;
    options.source.owner = bytes;
    options.ids = std::move(ids);
    return readOnnxModel(*bytes, options);
}

} // namespace nabla::engine

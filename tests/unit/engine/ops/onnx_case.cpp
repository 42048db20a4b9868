// TensorProto and ModelProto to our values, for tests.
#include "onnx_case.h"

#include <cstring>
#include <fstream>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "engine/graph/graph_editor.h"
#include "engine/tensor/element.h"

#include "onnx/onnx_pb.h"

namespace nabla::tests {

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

template <typename Proto> bool parseFile(const fs::path& file, Proto& out) {
    std::ifstream in(file, std::ios::binary);
    return in && out.ParseFromIstream(&in);
}

void fillTyped(const onnx::TensorProto& proto, Tensor& t) {
    const DType type = t.dtype();
    std::byte* raw = t.mutableRaw();
    if (proto.has_raw_data()) {
        std::memcpy(raw, proto.raw_data().data(), std::min(proto.raw_data().size(), static_cast<std::size_t>(t.bytes())));
        return;
    }
    if (type == DType::String) {
        for (int i = 0; i < proto.string_data_size(); ++i)
            t.mutableData<std::string>()[static_cast<std::size_t>(i)] = proto.string_data(i);
    } else if (type == DType::Float32 || type == DType::Complex64) {
        std::memcpy(raw, proto.float_data().data(), static_cast<std::size_t>(t.bytes()));
    } else if (type == DType::Float64 || type == DType::Complex128) {
        std::memcpy(raw, proto.double_data().data(), static_cast<std::size_t>(t.bytes()));
    } else if (type == DType::Int64) {
        std::memcpy(raw, proto.int64_data().data(), static_cast<std::size_t>(t.bytes()));
    } else if (type == DType::UInt64 || type == DType::UInt32) {
        for (int i = 0; i < proto.uint64_data_size(); ++i)
            writeInt64(type, raw, i, static_cast<std::int64_t>(proto.uint64_data(i)));
    } else { // everything narrower lies in int32_data as bits; sub-byte types already packed into bytes
        const auto bytes = static_cast<std::size_t>(std::max(1, bitWidth(type) / 8));
        for (int i = 0; i < proto.int32_data_size() && (static_cast<std::size_t>(i) + 1) * bytes <= static_cast<std::size_t>(t.bytes()); ++i) {
            const std::int32_t bits = proto.int32_data(i);
            std::memcpy(raw + static_cast<std::size_t>(i) * bytes, &bits, bytes);
        }
    }
}

Tensor fromProto(const onnx::TensorProto& proto) {
    Shape shape(proto.dims().begin(), proto.dims().end());
    auto made = Tensor::make(static_cast<DType>(proto.data_type()), shape);
    if (!made)
        return {};
    if (made->elementCount() > 0)
        fillTyped(proto, *made);
    return *made;
}

std::optional<AttributeValue> fromAttribute(const onnx::AttributeProto& a) {
    switch (a.type()) {
    case onnx::AttributeProto::INT: return a.i();
    case onnx::AttributeProto::FLOAT: return a.f();
    case onnx::AttributeProto::STRING: return a.s();
    case onnx::AttributeProto::INTS: return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case onnx::AttributeProto::FLOATS: return std::vector<float>(a.floats().begin(), a.floats().end());
    case onnx::AttributeProto::STRINGS: return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case onnx::AttributeProto::TENSOR: return std::make_shared<const Tensor>(fromProto(a.t()));
    default: return std::nullopt;
    }
}

ValueType declaredType(const onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type())
        return {};
    const auto& tensor = info.type().tensor_type();
    std::optional<SymbolicShape> shape;
    if (tensor.has_shape()) {
        shape.emplace();
        for (const auto& dim : tensor.shape().dim())
            shape->push_back(dim.has_dim_value() ? Dim(dim.dim_value()) : dim.has_dim_param() && !dim.dim_param().empty() ? Dim::symbol(dim.dim_param()) : Dim());
    }
    return ValueType::tensor(static_cast<DType>(tensor.elem_type()), std::move(shape));
}

Graph buildGraph(const onnx::ModelProto& model, OnnxCase& out) {
    auto info = std::make_shared<ModelInfo>();
    for (const auto& opset : model.opset_import())
        info->opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
    GraphEditor editor = GraphEditor::empty(model.graph().name(), info, std::make_shared<IdSource>());
    std::unordered_map<std::string, ValueId> values;
    for (const auto& input : model.graph().input())
        values[input.name()] = editor.addInput(input.name(), declaredType(input));
    for (const auto& constant : model.graph().initializer()) {
        auto tensor = std::make_shared<const Tensor>(fromProto(constant));
        if (values.contains(constant.name()))
            editor.setDefault(values[constant.name()], std::move(tensor));
        else
            values[constant.name()] = editor.addInitializer(constant.name(), std::move(tensor));
    }
    const auto valueOf = [&](const std::string& name) {
        if (name.empty())
            return ValueId{};
        auto [it, isNew] = values.try_emplace(name);
        if (isNew)
            it->second = editor.declareValue(name);
        return it->second;
    };
    for (const auto& node : model.graph().node()) {
        NodeSpec spec;
        spec.opType = node.op_type();
        spec.domain = node.domain() == "ai.onnx" ? "" : node.domain();
        spec.name = node.name();
        for (const auto& input : node.input())
            spec.inputs.push_back(valueOf(input));
        for (const auto& a : node.attribute()) {
            if (auto value = fromAttribute(a))
                spec.attributes.push_back({a.name(), std::move(*value)});
            else
                out.unusable = "attribute " + a.name() + " is a body or a type";
        }
        std::vector<ValueId> outputs;
        for (const auto& output : node.output())
            outputs.push_back(valueOf(output));
        editor.addWithOutputs(std::move(spec), std::move(outputs));
    }
    std::vector<ValueId> outputs;
    for (const auto& output : model.graph().output())
        outputs.push_back(valueOf(output.name()));
    editor.setOutputs(std::move(outputs));
    return editor.finish();
}

std::vector<RuntimeValue> readValues(const fs::path& folder, const std::string& stem, const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos,
    OnnxCase& out) {
    std::vector<RuntimeValue> values;
    for (int i = 0; i < infos.size(); ++i) {
        const fs::path file = folder / (stem + "_" + std::to_string(i) + ".pb");
        if (!infos.Get(i).type().has_tensor_type()) {
            out.unusable = infos.Get(i).name() + " is no tensor";
            return values;
        }
        values.emplace_back(fs::exists(file) ? RuntimeValue(readTensorFile(file)) : RuntimeValue());
    }
    return values;
}

} // namespace

Tensor readTensorFile(const fs::path& file) {
    onnx::TensorProto proto;
    return parseFile(file, proto) ? fromProto(proto) : Tensor{};
}

std::vector<std::pair<std::string, std::string>> operatorsOf(const fs::path& modelFile) {
    onnx::ModelProto model;
    std::vector<std::pair<std::string, std::string>> out;
    if (parseFile(modelFile, model)) {
        for (const auto& node : model.graph().node())
            out.emplace_back(node.op_type(), node.domain() == "ai.onnx" ? "" : node.domain());
    }
    return out;
}

OnnxCase readOnnxCase(const fs::path& folder) {
    OnnxCase out;
    onnx::ModelProto model;
    if (!parseFile(folder / "model.onnx", model)) {
        out.unusable = "model.onnx does not parse";
        return out;
    }
    out.graph = buildGraph(model, out);
    for (int k = 0; fs::exists(folder / ("test_data_set_" + std::to_string(k))) && out.unusable.empty(); ++k) {
        const fs::path data = folder / ("test_data_set_" + std::to_string(k));
        CaseData set;
        set.inputs = readValues(data, "input", model.graph().input(), out);
        set.outputs = readValues(data, "output", model.graph().output(), out);
        out.sets.push_back(std::move(set));
    }
    if (std::ifstream tolerance(folder / "tol.json"); tolerance) {
        const nlohmann::json json = nlohmann::json::parse(tolerance, nullptr, false);
        out.rtol = json.value("rtol", out.rtol);
        out.atol = json.value("atol", out.atol);
    }
    return out;
}

} // namespace nabla::tests

// Conversions field by field; nothing here fails, since what comes in is already checked.
#include "engine/schema/proto_convert.h"

namespace nabla::engine {

namespace {

void toDimension(const Dim& dim, onnx::TensorShapeProto_Dimension& out, DimNames* names) {
    if (dim.isUnknown())
        return;
    if (const auto value = dim.constant()) {
        out.set_dim_value(*value);
        return;
    }
    std::string text = dim.text();
    if (names)
        names->emplace_back(text, dim);
    out.set_dim_param(std::move(text));
}

Dim fromDimension(const onnx::TensorShapeProto_Dimension& dim, const DimNames* names) {
    if (dim.has_dim_value())
        return dim.dim_value() >= 0 ? Dim(dim.dim_value()) : Dim::unknown();
    if (!dim.has_dim_param() || dim.dim_param().empty())
        return Dim::unknown();
    if (names) {
        for (const auto& [text, expression] : *names) {
            if (text == dim.dim_param())
                return expression;
        }
    }
    return Dim::symbol(dim.dim_param());
}

std::optional<SymbolicShape> fromShape(bool has, const onnx::TensorShapeProto& shape, const DimNames* names) {
    if (!has)
        return std::nullopt;
    SymbolicShape out;
    out.reserve(static_cast<std::size_t>(shape.dim_size()));
    for (const auto& dim : shape.dim())
        out.push_back(fromDimension(dim, names));
    return out;
}

DType fromElementType(int type) { return type >= 0 && type <= kLastDType ? static_cast<DType>(type) : DType::Undefined; }

} // namespace

void toShapeProto(const SymbolicShape& shape, onnx::TensorShapeProto& out, DimNames* names) {
    for (const Dim& dim : shape)
        toDimension(dim, *out.add_dim(), names);
}

void toTypeProto(const ValueType& type, onnx::TypeProto& out, DimNames* names) {
    switch (type.kind) {
    case ValueType::Kind::Tensor:
        out.mutable_tensor_type()->set_elem_type(static_cast<int>(type.elementType));
        if (type.shape)
            toShapeProto(*type.shape, *out.mutable_tensor_type()->mutable_shape(), names);
        return;
    case ValueType::Kind::SparseTensor:
        out.mutable_sparse_tensor_type()->set_elem_type(static_cast<int>(type.elementType));
        if (type.shape)
            toShapeProto(*type.shape, *out.mutable_sparse_tensor_type()->mutable_shape(), names);
        return;
    case ValueType::Kind::Sequence:
        out.mutable_sequence_type();
        if (type.element)
            toTypeProto(*type.element, *out.mutable_sequence_type()->mutable_elem_type(), names);
        return;
    case ValueType::Kind::Optional:
        out.mutable_optional_type();
        if (type.element)
            toTypeProto(*type.element, *out.mutable_optional_type()->mutable_elem_type(), names);
        return;
    case ValueType::Kind::Map:
        out.mutable_map_type()->set_key_type(static_cast<int>(type.elementType));
        if (type.element)
            toTypeProto(*type.element, *out.mutable_map_type()->mutable_value_type(), names);
        return;
    case ValueType::Kind::Opaque: out.mutable_opaque_type(); return;
    case ValueType::Kind::Unknown: return;
    }
}

ValueType fromTypeProto(const onnx::TypeProto& type, const DimNames* names) {
    ValueType out;
    const auto inner = [&](ValueType::Kind kind, bool has, const onnx::TypeProto& element) {
        out.kind = kind;
        out.element = has ? std::make_shared<const ValueType>(fromTypeProto(element, names)) : nullptr;
    };
    switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
        out.elementType = fromElementType(type.tensor_type().elem_type());
        out.shape = fromShape(type.tensor_type().has_shape(), type.tensor_type().shape(), names);
        if (out.elementType != DType::Undefined || out.shape)
            out.kind = ValueType::Kind::Tensor;
        return out;
    case onnx::TypeProto::kSparseTensorType:
        out.kind = ValueType::Kind::SparseTensor;
        out.elementType = fromElementType(type.sparse_tensor_type().elem_type());
        out.shape = fromShape(type.sparse_tensor_type().has_shape(), type.sparse_tensor_type().shape(), names);
        return out;
    case onnx::TypeProto::kSequenceType: inner(ValueType::Kind::Sequence, type.sequence_type().has_elem_type(), type.sequence_type().elem_type()); return out;
    case onnx::TypeProto::kOptionalType: inner(ValueType::Kind::Optional, type.optional_type().has_elem_type(), type.optional_type().elem_type()); return out;
    case onnx::TypeProto::kMapType:
        inner(ValueType::Kind::Map, type.map_type().has_value_type(), type.map_type().value_type());
        out.elementType = fromElementType(type.map_type().key_type());
        return out;
    case onnx::TypeProto::kOpaqueType: out.kind = ValueType::Kind::Opaque; return out;
    default: return out;
    }
}

void toTensorProto(const Tensor& tensor, onnx::TensorProto& out, std::int64_t maxElements) {
    out.set_data_type(static_cast<int>(tensor.dtype()));
    for (const std::int64_t dim : tensor.shape())
        out.add_dims(dim);
    if (tensor.elementCount() > maxElements)
        return;
    if (tensor.dtype() == DType::String) {
        for (const std::string& text : tensor.data<std::string>())
            out.add_string_data(text);
    } else {
        out.set_raw_data(tensor.raw(), static_cast<std::size_t>(tensor.bytes()));
    }
}

namespace {

/// Some inference functions count the inputs and outputs of a body themselves (FlexAttention).
void writeSignature(const GraphPtr& graph, onnx::GraphProto& out) {
    if (!graph)
        return;
    const auto write = [&](ValueId id, onnx::ValueInfoProto& info) {
        const Value& value = *graph->value(id);
        info.set_name(value.name);
        if (value.declared.kind != ValueType::Kind::Unknown)
            toTypeProto(value.declared, *info.mutable_type());
    };
    for (const ValueId id : graph->inputs())
        write(id, *out.add_input());
    for (const ValueId id : graph->outputs())
        write(id, *out.add_output());
}

/// One overload per kind of attribute value.
struct AttributeWriter {
    onnx::AttributeProto& out;
    std::int64_t maxElements;

    void operator()(std::int64_t v) const { out.set_type(onnx::AttributeProto::INT), out.set_i(v); }
    void operator()(float v) const { out.set_type(onnx::AttributeProto::FLOAT), out.set_f(v); }
    void operator()(const std::string& v) const { out.set_type(onnx::AttributeProto::STRING), out.set_s(v); }
    void operator()(const TensorPtr& v) const {
        out.set_type(onnx::AttributeProto::TENSOR);
        if (v)
            toTensorProto(*v, *out.mutable_t(), maxElements);
    }
    void operator()(const GraphPtr& v) const {
        out.set_type(onnx::AttributeProto::GRAPH);
        writeSignature(v, *out.mutable_g());
    }
    void operator()(const SparseTensorPtr& v) const {
        out.set_type(onnx::AttributeProto::SPARSE_TENSOR);
        if (!v)
            return;
        auto& sparse = *out.mutable_sparse_tensor();
        toTensorProto(*v->values, *sparse.mutable_values(), maxElements);
        toTensorProto(*v->indices, *sparse.mutable_indices(), maxElements);
        for (const std::int64_t dim : v->shape)
            sparse.add_dims(dim);
    }
    void operator()(const ValueType& v) const { out.set_type(onnx::AttributeProto::TYPE_PROTO), toTypeProto(v, *out.mutable_tp()); }
    void operator()(const std::vector<std::int64_t>& v) const { out.set_type(onnx::AttributeProto::INTS), out.mutable_ints()->Add(v.begin(), v.end()); }
    void operator()(const std::vector<float>& v) const { out.set_type(onnx::AttributeProto::FLOATS), out.mutable_floats()->Add(v.begin(), v.end()); }
    void operator()(const std::vector<std::string>& v) const { out.set_type(onnx::AttributeProto::STRINGS), out.mutable_strings()->Add(v.begin(), v.end()); }
    void operator()(const std::vector<TensorPtr>& v) const {
        out.set_type(onnx::AttributeProto::TENSORS);
        for (const TensorPtr& tensor : v)
            toTensorProto(*tensor, *out.add_tensors(), maxElements);
    }
    void operator()(const std::vector<GraphPtr>& v) const {
        out.set_type(onnx::AttributeProto::GRAPHS);
        for (const GraphPtr& graph : v)
            writeSignature(graph, *out.add_graphs());
    }
    void operator()(const std::vector<ValueType>& v) const {
        out.set_type(onnx::AttributeProto::TYPE_PROTOS);
        for (const ValueType& type : v)
            toTypeProto(type, *out.add_type_protos());
    }
    void operator()(const AttributeReference& v) const {
        out.set_ref_attr_name(v.name);
        out.set_type(static_cast<onnx::AttributeProto::AttributeType>(v.kind));
    }
};

} // namespace

void toAttributeProto(const Attribute& attribute, onnx::AttributeProto& out, std::int64_t maxElements) {
    out.set_name(attribute.name);
    std::visit(AttributeWriter{out, maxElements}, attribute.value);
}

std::optional<AttributeValue> fromAttributeProto(const onnx::AttributeProto& a) {
    switch (a.type()) {
    case onnx::AttributeProto::INT: return a.i();
    case onnx::AttributeProto::FLOAT: return a.f();
    case onnx::AttributeProto::STRING: return a.s();
    case onnx::AttributeProto::INTS: return std::vector<std::int64_t>(a.ints().begin(), a.ints().end());
    case onnx::AttributeProto::FLOATS: return std::vector<float>(a.floats().begin(), a.floats().end());
    case onnx::AttributeProto::STRINGS: return std::vector<std::string>(a.strings().begin(), a.strings().end());
    default: return std::nullopt;
    }
}

} // namespace nabla::engine

// Field numbers from onnx-ml.proto and onnx-data.proto of ONNX 1.23.
#include "engine/importers/onnx/tensor_file.h"

#include <protozero/pbf_writer.hpp>

#include "engine/base/mapped_file.h"
#include "engine/schema/onnx_file/read_tensor.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

constexpr int kMaxDepth = 20; // sequences of optionals of sequences

/// Element 0 of a tensor to place `i` of one of the same type that takes whole bytes.
void copyElement(Tensor& to, std::int64_t i, const Tensor& from) {
    if (to.dtype() == DType::String) {
        to.mutableData<std::string>()[static_cast<std::size_t>(i)] = from.data<std::string>()[0];
    } else if (isInteger(to.dtype()) || to.dtype() == DType::Bool) {
        writeInt64(to.dtype(), to.mutableRaw(), i, from.asInt64(0));
    } else {
        writeDouble(to.dtype(), to.mutableRaw(), i, from.asDouble(0));
    }
}

struct Reader {
    WireStatus& status;
    TensorSource source;

    Result<RuntimeValue> tensor(std::string_view bytes) {
        const ParsedTensor parsed = parseTensor(bytes, status);
        NABLA_CHECK(status.result());
        NABLA_TRY(ReadTensor read, readTensor(parsed, status, source));
        NABLA_CHECK(status.result());
        return RuntimeValue(std::move(read.tensor));
    }

    /// MapProto: key_type 2, keys 3 (int64), string_keys 4, values 5 (SequenceProto of scalars).
    Result<RuntimeValue> map(std::string_view bytes, int depth) {
        std::vector<std::int64_t> keys;
        std::vector<std::string> texts;
        RuntimeValue values(std::make_shared<const RuntimeSequence>());
        std::int64_t keyType = 0;
        WireReader reader(bytes, status);
        while (reader.next()) {
            switch (reader.field()) {
            case 2: keyType = reader.int64(); break;
            case 3: reader.forEachVarint([&](std::uint64_t key) { keys.push_back(static_cast<std::int64_t>(key)); }); break;
            case 4: texts.emplace_back(reader.bytes()); break;
            case 5: {
                NABLA_TRY(values, sequence(reader.bytes(), depth + 1));
                break;
            }
            default: break;
            }
        }
        NABLA_CHECK(status.result());
        const auto& elements = values.sequence()->elements;
        const bool strings = keyType == static_cast<std::int64_t>(DType::String);
        if (!strings && keyType != static_cast<std::int64_t>(DType::Int64))
            return readError("map keys of type {} are not supported: they are int64 or string", keyType);
        if (elements.size() != (strings ? texts.size() : keys.size()))
            return readError("a map has {} keys and {} values", strings ? texts.size() : keys.size(), elements.size());
        std::vector<Tensor> scalars;
        for (const RuntimeValue& element : elements) {
            const Tensor& scalar = element.tensor();
            if (scalar.elementCount() != 1 || (!scalars.empty() && scalar.dtype() != scalars.front().dtype()))
                return readError("the values of a map are scalars of one type, value {} is {}{}", scalars.size(), name(scalar.dtype()), toString(scalar.shape()));
            scalars.push_back(scalar);
        }
        const auto count = static_cast<std::int64_t>(scalars.size());
        NABLA_TRY(Tensor joined, Tensor::make(scalars.empty() ? DType::Float32 : scalars.front().dtype(), {count}));
        for (std::int64_t i = 0; i < count; ++i)
            copyElement(joined, i, scalars[static_cast<std::size_t>(i)]);
        return RuntimeValue(std::make_shared<const RuntimeMap>(
            RuntimeMap{strings ? Tensor::of<std::string>({count}, texts) : Tensor::of<std::int64_t>({count}, keys), std::move(joined)}));
    }

    /// SequenceProto: elem_type 2, tensor_values 3, sequence_values 5, map_values 6, optional_values 7.
    Result<RuntimeValue> sequence(std::string_view bytes, int depth) {
        if (depth > kMaxDepth)
            return readError("sequences nested deeper than {}", kMaxDepth);
        auto out = std::make_shared<RuntimeSequence>();
        WireReader reader(bytes, status);
        while (reader.next()) {
            Result<RuntimeValue> element = RuntimeValue();
            switch (reader.field()) {
            case 3: element = tensor(reader.bytes()); break;
            case 5: element = sequence(reader.bytes(), depth + 1); break;
            case 6: element = map(reader.bytes(), depth + 1); break;
            case 7: element = optional(reader.bytes(), depth + 1); break;
            default: continue;
            }
            if (!element)
                return element.error();
            if (element->isTensor())
                out->elementType = element->tensor().dtype();
            out->elements.push_back(std::move(*element));
        }
        NABLA_CHECK(status.result());
        return RuntimeValue(std::shared_ptr<const RuntimeSequence>(std::move(out)));
    }

    /// OptionalProto: tensor_value 3, sequence_value 5, map_value 6, optional_value 7.
    Result<RuntimeValue> optional(std::string_view bytes, int depth) {
        if (depth > kMaxDepth)
            return readError("optionals nested deeper than {}", kMaxDepth);
        auto out = std::make_shared<RuntimeOptional>();
        WireReader reader(bytes, status);
        while (reader.next()) {
            Result<RuntimeValue> value = RuntimeValue();
            switch (reader.field()) {
            case 3: value = tensor(reader.bytes()); break;
            case 5: value = sequence(reader.bytes(), depth + 1); break;
            case 6: value = map(reader.bytes(), depth + 1); break;
            case 7: value = optional(reader.bytes(), depth + 1); break;
            default: continue;
            }
            if (!value)
                return value.error();
            out->value = std::move(*value);
            out->hasValue = true;
        }
        NABLA_CHECK(status.result());
        return RuntimeValue(std::shared_ptr<const RuntimeOptional>(std::move(out)));
    }
};

/// TensorProto: dims 1, data_type 2, string_data 6, name 8, raw_data 9.
std::string tensorBytes(const Tensor& tensor, const std::string& name) {
    std::string out;
    protozero::pbf_writer writer(out);
    const auto& shape = tensor.shape();
    writer.add_packed_int64(1, shape.begin(), shape.end());
    writer.add_int32(2, static_cast<std::int32_t>(tensor.dtype()));
    if (tensor.dtype() == DType::String) {
        for (const std::string& text : tensor.data<std::string>())
            writer.add_bytes(6, text);
    }
    if (!name.empty())
        writer.add_string(8, name);
    if (tensor.dtype() != DType::String)
        writer.add_bytes(9, reinterpret_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes()));
    return out;
}

/// MapProto; its values as a SequenceProto of scalars.
std::string mapBytes(const RuntimeMap& map) {
    std::string out, values;
    protozero::pbf_writer writer(out), sequence(values);
    writer.add_int32(2, static_cast<std::int32_t>(map.keys.dtype()));
    if (map.keys.dtype() == DType::String) {
        for (const std::string& key : map.keys.data<std::string>())
            writer.add_bytes(4, key);
    } else {
        const auto keys = map.keys.toInt64s();
        writer.add_packed_int64(3, keys.begin(), keys.end());
    }
    sequence.add_int32(2, 1); // SequenceProto.DataType.TENSOR
    for (std::int64_t i = 0; i < map.values.elementCount(); ++i) {
        Tensor scalar = *Tensor::make(map.values.dtype(), {});
        if (map.values.dtype() == DType::String)
            scalar.mutableData<std::string>()[0] = map.values.data<std::string>()[static_cast<std::size_t>(i)];
        else if (isInteger(map.values.dtype()) || map.values.dtype() == DType::Bool)
            writeInt64(scalar.dtype(), scalar.mutableRaw(), 0, map.values.asInt64(i));
        else
            writeDouble(scalar.dtype(), scalar.mutableRaw(), 0, map.values.asDouble(i));
        sequence.add_bytes(3, tensorBytes(scalar, {}));
    }
    writer.add_message(5, values);
    return out;
}

} // namespace

Result<RuntimeValue> readValueFile(const std::filesystem::path& path, const ValueType& type) {
    NABLA_TRY(const auto file, MappedFile::open(path));
    const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    WireStatus status(bytes);
    Reader reader{status, {file, {}}};
    if (type.kind == ValueType::Kind::Sequence)
        return reader.sequence(bytes, 0).in(path.string());
    if (type.kind == ValueType::Kind::Optional)
        return reader.optional(bytes, 0).in(path.string());
    if (type.kind == ValueType::Kind::Map)
        return reader.map(bytes, 0).in(path.string());
    return reader.tensor(bytes).in(path.string());
}

std::string valueBytes(const RuntimeValue& value, const std::string& name) {
    if (value.isTensor())
        return tensorBytes(value.tensor(), name);
    std::string out;
    protozero::pbf_writer writer(out);
    const auto kindOf = [](const RuntimeValue& element) { return element.isTensor() ? 1 : element.sequence() ? 3 : element.map() ? 4 : 5; };
    // SequenceProto and OptionalProto: 1 is the name, 2 the kind of the elements, and the elements stand in the field two above their kind.
    const auto addHead = [&](int kind) {
        if (!name.empty())
            writer.add_string(1, name);
        writer.add_int32(2, kind);
    };
    const auto addElement = [&](const RuntimeValue& element) {
        writer.add_bytes(static_cast<protozero::pbf_tag_type>(kindOf(element) + 2), valueBytes(element, {}));
    };
    if (const auto* sequence = value.sequence()) {
        addHead(sequence->elements.empty() ? 1 : kindOf(sequence->elements.front()));
        for (const RuntimeValue& element : sequence->elements)
            addElement(element);
    } else if (const auto* optional = value.optional(); optional && optional->hasValue) {
        addHead(kindOf(optional->value));
        addElement(optional->value);
    } else if (const auto* map = value.map()) {
        out = mapBytes(*map);
    }
    return out;
}

} // namespace nabla::engine

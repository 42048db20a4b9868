// Field numbers from onnx-ml.proto and onnx-data.proto of ONNX 1.23.
#include "engine/importers/onnx/tensor_file.h"

#include <protozero/pbf_writer.hpp>

#include "engine/base/mapped_file.h"
#include "engine/schema/onnx_file/read_tensor.h"

namespace nabla::engine {

namespace {

constexpr int kMaxDepth = 20; // sequences of optionals of sequences

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

    /// SequenceProto: elem_type 2, tensor_values 3, sequence_values 5, optional_values 7.
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

    /// OptionalProto: tensor_value 3, sequence_value 5, optional_value 7.
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
    return reader.tensor(bytes).in(path.string());
}

std::string valueBytes(const RuntimeValue& value, const std::string& name) {
    if (value.isTensor())
        return tensorBytes(value.tensor(), name);
    std::string out;
    protozero::pbf_writer writer(out);
    const auto addElement = [&](const RuntimeValue& element) {
        writer.add_bytes(element.isTensor() ? 3 : element.sequence() ? 5 : 7, valueBytes(element, {}));
    };
    if (const auto* sequence = value.sequence()) {
        for (const RuntimeValue& element : sequence->elements)
            addElement(element);
    } else if (const auto* optional = value.optional(); optional && optional->hasValue) {
        addElement(optional->value);
    }
    return out;
}

} // namespace nabla::engine

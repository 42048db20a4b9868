// Every size is checked against the bytes that are there before anything is allocated.
#include "engine/schema/onnx_file/read_tensor.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "engine/tensor/element.h"
#include "engine/tensor/file_elements.h"

namespace nabla::engine {

namespace {

constexpr std::size_t kCopyAtOnce = 64 << 10;

constexpr std::uint32_t kFloatData = 4, kInt32Data = 5, kStringData = 6, kInt64Data = 7, kDoubleData = 10, kUint64Data = 11;

std::string_view fieldName(std::uint32_t field) {
    switch (field) {
    case kFloatData: return "float_data";
    case kInt32Data: return "int32_data";
    case kStringData: return "string_data";
    case kInt64Data: return "int64_data";
    case kDoubleData: return "double_data";
    default: return "uint64_data";
    }
}

std::uint32_t typedField(DType type) {
    switch (type) {
    case DType::Float32:
    case DType::Complex64: return kFloatData;
    case DType::Float64:
    case DType::Complex128: return kDoubleData;
    case DType::Int64: return kInt64Data;
    case DType::UInt32:
    case DType::UInt64: return kUint64Data;
    case DType::String: return kStringData;
    default: return kInt32Data;
    }
}

std::size_t alignmentOf(DType type) {
    const int bits = isComplex(type) ? bitWidth(type) / 2 : bitWidth(type);
    return bits < 8 ? 1 : static_cast<std::size_t>(bits) / 8;
}

std::string where(const ParsedTensor& parsed) {
    return parsed.name.empty() ? "tensor" : fmt::format("tensor \"{}\"", parsed.name.substr(0, 200));
}

/// A tensor over bytes of the file; `data` holds exactly what dtype and shape need.
Tensor placeBytes(DType dtype, Shape shape, const std::byte* data, std::size_t size, std::shared_ptr<const void> owner) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % alignmentOf(dtype) == 0;
    // A bool that is neither 0 nor 1 may not be looked at as a bool.
    const bool normal = dtype != DType::Bool || std::all_of(data, data + size, [](std::byte b) { return b <= std::byte{1}; });
    if (aligned && normal)
        return Tensor::view(dtype, std::move(shape), data, std::move(owner));
    if (normal && size > kCopyAtOnce)
        return Tensor::lazy(dtype, std::move(shape), FileElements{data, size, std::move(owner)});
    auto made = Tensor::make(dtype, shape);
    if (!made) // over the memory limit, though it lies in the file: then let whoever reads it pay
        return Tensor::lazy(dtype, std::move(shape), FileElements{data, size, std::move(owner)});
    if (normal && size > 0)
        std::memcpy(made->mutableRaw(), data, size);
    else
        std::transform(data, data + size, made->mutableRaw(), [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
    return *std::move(made);
}

/// Bytes of float_data or double_data, which lie packed in the file like raw_data unless a writer put one value to a field.
Result<Tensor> readFixed(const ParsedTensor& parsed, WireStatus& status, DType dtype, std::size_t width, std::uint32_t field, const TensorSource& source) {
    const auto needed = static_cast<std::size_t>(storageBytes(dtype, elementCount(parsed.dims)));
    std::string_view first;
    std::string joined;
    std::size_t total = 0, chunks = 0;
    const auto add = [&](std::string_view chunk) {
        total += chunk.size();
        if (++chunks == 1) {
            first = chunk;
            return;
        }
        if (chunks == 2)
            joined = first;
        joined += chunk;
    };
    WireReader r(parsed.bytes, status);
    std::string scalars;
    while (r.next()) {
        if (r.field() != field)
            continue;
        if (r.type() == WireType::Length) {
            add(r.bytes());
        } else if (width == 4) {
            const float value = r.float32();
            scalars.append(reinterpret_cast<const char*>(&value), width);
        } else {
            const double value = r.float64();
            scalars.append(reinterpret_cast<const char*>(&value), width);
        }
    }
    if (!scalars.empty())
        add(scalars);
    NABLA_CHECK(status.result());
    if (total != needed)
        return readError("{}: {} holds {} bytes, shape {} of {} needs {}", where(parsed), fieldName(field), total, toString(parsed.dims), name(dtype), needed);
    if (chunks == 1 && scalars.empty())
        return placeBytes(dtype, parsed.dims, reinterpret_cast<const std::byte*>(first.data()), total, source.owner);
    NABLA_TRY(Tensor tensor, Tensor::make(dtype, parsed.dims));
    const std::string_view all = chunks > 1 ? std::string_view(joined) : first;
    if (!all.empty())
        std::memcpy(tensor.mutableRaw(), all.data(), all.size());
    return tensor;
}

/// int32_data, int64_data, uint64_data: one varint an element (a byte of packed elements for the 4- and 2-bit types).
Result<Tensor> readVarints(const ParsedTensor& parsed, WireStatus& status, DType dtype, std::uint32_t field) {
    const std::int64_t count = elementCount(parsed.dims);
    const bool six = bitWidth(dtype) == 6;
    const bool packed = bitWidth(dtype) < 8 && !six;
    const std::int64_t entries = packed ? storageBytes(dtype, count) : count;
    if (entries > static_cast<std::int64_t>(parsed.bytes.size()))
        return readError("{}: shape {} needs {} elements, more than its {} bytes of data hold", where(parsed), toString(parsed.dims), count, parsed.bytes.size());
    NABLA_TRY(Tensor tensor, Tensor::make(dtype, parsed.dims));
    std::byte* const out = tensor.mutableRaw();
    const std::size_t width = packed || six ? 1 : static_cast<std::size_t>(bitWidth(dtype)) / 8;
    std::int64_t found = 0;
    WireReader r(parsed.bytes, status);
    while (r.next()) {
        if (r.field() != field)
            continue;
        r.forEachVarint([&](std::uint64_t value) {
            if (dtype == DType::Bool)
                value = value != 0;
            if (six && found < entries)
                writePacked(6, out, found, static_cast<std::uint8_t>(value & 0x3f));
            else if (found < entries)
                std::memcpy(out + static_cast<std::size_t>(found) * width, &value, width); // the low bytes: the host is little endian, as the file
            ++found;
        });
    }
    NABLA_CHECK(status.result());
    if (found != entries)
        return readError("{}: {} holds {} elements, shape {} of {} needs {}", where(parsed), fieldName(field), found, toString(parsed.dims), name(dtype), entries);
    return tensor;
}

Result<Tensor> readStrings(const ParsedTensor& parsed, WireStatus& status) {
    const std::int64_t count = elementCount(parsed.dims);
    std::vector<std::string> strings;
    WireReader r(parsed.bytes, status);
    while (r.next()) {
        if (r.field() == kStringData)
            strings.emplace_back(r.bytes());
    }
    NABLA_CHECK(status.result());
    if (static_cast<std::int64_t>(strings.size()) != count)
        return readError("{}: string_data holds {} elements, shape {} needs {}", where(parsed), strings.size(), toString(parsed.dims), count);
    return Tensor::of<std::string>(parsed.dims, strings);
}

Result<std::uint64_t> parseNumber(std::string_view text, const ParsedTensor& parsed, std::string_view key) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return readError("{}: external data {} \"{}\" is no whole number in range", where(parsed), key, text.substr(0, 80));
    return value;
}

Result<void> readExternal(const ParsedTensor& parsed, std::uint64_t needed, const TensorSource& source, ReadTensor& out) {
    ExternalReference reference;
    reference.bytes = needed;
    for (const auto& [key, value] : parsed.externalData) {
        if (key == "location") {
            reference.location = value;
        } else if (key == "offset") {
            NABLA_TRY(reference.offset, parseNumber(value, parsed, key));
        } else if (key == "length") {
            NABLA_TRY(reference.length, parseNumber(value, parsed, key));
        }
    }
    if (!source.external)
        return readError("{}: external data is not allowed here", where(parsed));
    auto bytes = source.external(reference).in(where(parsed));
    if (!bytes)
        return bytes.error();
    out.missing = bytes->missing;
    if (out.missing.empty())
        out.tensor = placeBytes(out.dtype, out.shape, bytes->data, static_cast<std::size_t>(needed), bytes->owner);
    else
        out.missing = fmt::format("{}: {}", where(parsed), out.missing);
    return {};
}

Result<void> checkFields(const ParsedTensor& parsed, DType dtype) {
    const std::uint32_t wanted = typedField(dtype);
    for (std::uint32_t field = kFloatData; field <= kUint64Data; ++field) {
        if (!(parsed.typedFields >> field & 1U))
            continue;
        if (!parsed.raw.empty())
            return readError("{}: both raw_data and {} are there", where(parsed), fieldName(field));
        if (field != wanted)
            return readError("{}: {} in a tensor of {}, whose elements stand in {}", where(parsed), fieldName(field), name(dtype), fieldName(wanted));
    }
    if (dtype == DType::String && (parsed.hasRaw || parsed.external))
        return readError("{}: a string tensor must not use {}", where(parsed), parsed.hasRaw ? "raw_data" : "external data");
    return {};
}

} // namespace

Result<ReadTensor> readTensor(const ParsedTensor& parsed, WireStatus& status, const TensorSource& source) {
    NABLA_CHECK(status.result());
    if (parsed.dataType <= 0 || parsed.dataType > kLastDType)
        return readError("{}: element type {} is not known", where(parsed), parsed.dataType);
    ReadTensor out;
    out.dtype = static_cast<DType>(parsed.dataType);
    out.shape = parsed.dims;
    if (auto ok = checkShape(parsed.dims).in(where(parsed)); !ok)
        return ok.error();
    const std::int64_t count = elementCount(parsed.dims);
    NABLA_CHECK(checkFields(parsed, out.dtype));
    const auto needed = static_cast<std::uint64_t>(storageBytes(out.dtype, count));
    if (parsed.external) {
        NABLA_CHECK(readExternal(parsed, needed, source, out));
        return out;
    }
    const std::uint32_t field = typedField(out.dtype);
    if (parsed.hasRaw && !(parsed.typedFields >> field & 1U)) {
        if (parsed.raw.size() != needed)
            return readError("{}: raw_data holds {} bytes, shape {} of {} needs {}", where(parsed), parsed.raw.size(), toString(parsed.dims), name(out.dtype), needed);
        out.tensor = placeBytes(out.dtype, parsed.dims, reinterpret_cast<const std::byte*>(parsed.raw.data()), parsed.raw.size(), source.owner);
        return out;
    }
    switch (field) {
    case kFloatData: {
        NABLA_TRY(out.tensor, readFixed(parsed, status, out.dtype, 4, field, source));
        break;
    }
    case kDoubleData: {
        NABLA_TRY(out.tensor, readFixed(parsed, status, out.dtype, 8, field, source));
        break;
    }
    case kStringData: {
        NABLA_TRY(out.tensor, readStrings(parsed, status));
        break;
    }
    default: {
        NABLA_TRY(out.tensor, readVarints(parsed, status, out.dtype, field));
        break;
    }
    }
    return out;
}

Result<SparseTensorPtr> readSparseTensor(std::string_view bytes, WireStatus& status, const TensorSource& source) {
    auto sparse = std::make_shared<SparseTensor>();
    const auto tensorOf = [&](std::string_view message) -> Result<TensorPtr> {
        NABLA_TRY(ReadTensor read, readTensor(parseTensor(message, status), status, source));
        if (!read.missing.empty())
            return readError("{}", read.missing);
        return std::make_shared<const Tensor>(std::move(read.tensor));
    };
    WireReader r(bytes, status);
    while (r.next()) {
        if (r.field() == 1) {
            NABLA_TRY(sparse->values, tensorOf(r.bytes()));
        } else if (r.field() == 2) {
            NABLA_TRY(sparse->indices, tensorOf(r.bytes()));
        } else if (r.field() == 3) {
            r.forEachVarint([&](std::uint64_t dim) { sparse->shape.push_back(static_cast<std::int64_t>(dim)); });
        }
    }
    NABLA_CHECK(status.result());
    if (!sparse->values || !sparse->indices)
        return readError("sparse tensor without {}", sparse->values ? "indices" : "values");
    NABLA_CHECK(checkShape(sparse->shape));
    const std::int64_t count = sparse->values->elementCount();
    const auto& indices = *sparse->indices;
    const bool flat = indices.shape() == Shape{count};
    const bool matrix = indices.shape() == Shape{count, static_cast<std::int64_t>(sparse->shape.size())};
    if (indices.dtype() != DType::Int64 || sparse->values->rank() != 1 || (!flat && !matrix))
        return readError("sparse tensor of shape {}: indices {} {} do not fit {} values", toString(sparse->shape), name(indices.dtype()), toString(indices.shape()), count);
    return SparseTensorPtr(std::move(sparse));
}

Result<Tensor> densify(const SparseTensor& sparse) {
    NABLA_TRY(Tensor dense, Tensor::make(sparse.values->dtype(), sparse.shape));
    const std::vector<std::int64_t> strides = rowMajorStrides(sparse.shape);
    const auto indices = sparse.indices->data<std::int64_t>();
    const bool matrix = sparse.indices->rank() == 2;
    const std::size_t rank = sparse.shape.size();
    const int bits = bitWidth(dense.dtype());
    for (std::int64_t k = 0; k < sparse.values->elementCount(); ++k) {
        std::int64_t at = 0;
        for (std::size_t d = 0; matrix && d < rank; ++d) {
            const std::int64_t index = indices[static_cast<std::size_t>(k) * rank + d];
            if (index < 0 || index >= sparse.shape[d])
                return readError("sparse tensor of shape {}: index {} is out of range", toString(sparse.shape), index);
            at += index * strides[d];
        }
        if (!matrix)
            at = indices[static_cast<std::size_t>(k)];
        if (at < 0 || at >= dense.elementCount())
            return readError("sparse tensor of shape {}: index {} is out of range", toString(sparse.shape), at);
        if (dense.dtype() == DType::String)
            dense.mutableData<std::string>()[static_cast<std::size_t>(at)] = sparse.values->data<std::string>()[static_cast<std::size_t>(k)];
        else if (bits < 8)
            writePacked(bits, dense.mutableRaw(), at, readPacked(bits, sparse.values->raw(), k));
        else
            std::memcpy(dense.mutableRaw() + at * bits / 8, sparse.values->raw() + k * bits / 8, static_cast<std::size_t>(bits) / 8);
    }
    return dense;
}

} // namespace nabla::engine

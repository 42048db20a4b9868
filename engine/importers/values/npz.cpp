// The NPY header is a Python dictionary literal of three known keys; libzip does the archive.
#include "engine/importers/values/npz.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include <zip.h>

#include "engine/base/mapped_file.h"
#include "engine/base/write_file.h"

namespace nabla::engine {

namespace {

constexpr std::uint64_t kMaxEntryBytes = std::uint64_t{16} << 30;

struct NpyHeader {
    std::string descr;
    bool fortran = false;
    Shape shape;
    std::size_t dataOffset = 0;
};

/// The text behind `'key':` up to the next top-level comma or brace.
Result<std::string_view> field(std::string_view header, std::string_view key) {
    const std::size_t at = header.find("'" + std::string(key) + "'");
    const std::size_t colon = at == std::string_view::npos ? at : header.find(':', at);
    if (colon == std::string_view::npos)
        return readError("NPY header lacks '{}'", key);
    std::string_view rest = header.substr(colon + 1);
    int depth = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        depth += rest[i] == '(' || rest[i] == '[' ? 1 : rest[i] == ')' || rest[i] == ']' ? -1 : 0;
        if (depth <= 0 && (rest[i] == ',' || rest[i] == '}') )
            return rest.substr(0, i);
    }
    return readError("NPY header ends within '{}'", key);
}

Result<NpyHeader> parseHeader(std::span<const std::byte> bytes) {
    if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
        return readError("not an NPY array: its first bytes are not \\x93NUMPY");
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
    const std::size_t wide = byte(6) >= 2 ? 4 : 2;
    if (bytes.size() < 8 + wide)
        return readError("NPY header is truncated");
    const std::size_t length = byte(8) | byte(9) << 8 | (wide == 4 ? byte(10) << 16 | byte(11) << 24 : 0);
    if (bytes.size() - 8 - wide < length)
        return readError("NPY header of {} bytes is truncated", length);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8 + wide, length);
    NpyHeader out;
    out.dataOffset = 8 + wide + length;
    NABLA_TRY(std::string_view descr, field(text, "descr"));
    const std::size_t open = descr.find('\''), close = descr.rfind('\'');
    if (open == std::string_view::npos || close <= open || descr.find('[') != std::string_view::npos)
        return readError("NPY element type {} is not a plain one", descr);
    out.descr = descr.substr(open + 1, close - open - 1);
    NABLA_TRY(const std::string_view order, field(text, "fortran_order"));
    out.fortran = order.find("True") != std::string_view::npos;
    NABLA_TRY(const std::string_view shape, field(text, "shape"));
    for (std::size_t i = 0; i < shape.size();) {
        if (shape[i] < '0' || shape[i] > '9') {
            if (shape[i] == '-')
                return readError("negative dimension in the NPY shape {}", shape);
            ++i;
            continue;
        }
        std::int64_t dim = 0;
        const auto [end, error] = std::from_chars(shape.data() + i, shape.data() + shape.size(), dim);
        if (error != std::errc{})
            return readError("dimension too large in the NPY shape {}", shape);
        out.shape.push_back(dim);
        i = static_cast<std::size_t>(end - shape.data());
    }
    NABLA_CHECK(checkShape(out.shape));
    return out;
}

DType numericType(char kind, std::size_t size) {
    struct Row {
        char kind;
        std::size_t size;
        DType type;
    };
    static constexpr Row kRows[] = {{'b', 1, DType::Bool}, {'i', 1, DType::Int8}, {'i', 2, DType::Int16}, {'i', 4, DType::Int32}, {'i', 8, DType::Int64},
        {'u', 1, DType::UInt8}, {'u', 2, DType::UInt16}, {'u', 4, DType::UInt32}, {'u', 8, DType::UInt64}, {'f', 2, DType::Float16}, {'f', 4, DType::Float32},
        {'f', 8, DType::Float64}, {'c', 8, DType::Complex64}, {'c', 16, DType::Complex128}};
    for (const Row& row : kRows) {
        if (row.kind == kind && row.size == size)
            return row.type;
    }
    return DType::Undefined;
}

void appendUtf8(std::string& out, std::uint32_t code) {
    if (code < 0x80)
        out += static_cast<char>(code);
    else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | (code >> 18 & 0x7));
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

/// Element of a fixed-width string array: bytes, or UTF-32 code points, without the padding of zeros.
std::string fixedString(const std::byte* data, std::size_t width, bool unicode, bool swap) {
    std::string out;
    if (!unicode) {
        out.assign(reinterpret_cast<const char*>(data), width);
        out.resize(out.find_last_not_of('\0') + 1);
        return out;
    }
    for (std::size_t i = 0; i < width; ++i) {
        std::uint32_t code = 0;
        std::memcpy(&code, data + 4 * i, 4);
        if (swap)
            code = __builtin_bswap32(code);
        if (code == 0)
            break;
        appendUtf8(out, code);
    }
    return out;
}

/// Index in Fortran order of the element at row-major position `index`.
std::int64_t fortranIndex(const Shape& shape, std::int64_t index) {
    std::vector<std::int64_t> position(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
        position[i] = index % shape[i];
        index /= shape[i];
    }
    std::int64_t out = 0, stride = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        out += position[i] * stride;
        stride *= shape[i];
    }
    return out;
}

} // namespace

Result<Tensor> readNpy(std::span<const std::byte> bytes) {
    NABLA_TRY(const NpyHeader header, parseHeader(bytes));
    const std::string& descr = header.descr;
    const bool hasOrder = !descr.empty() && (descr[0] == '<' || descr[0] == '>' || descr[0] == '|' || descr[0] == '=');
    const bool swap = descr.starts_with('>');
    const std::string_view type = std::string_view(descr).substr(hasOrder ? 1 : 0);
    std::size_t size = 0;
    if (type.size() < 2 || std::from_chars(type.data() + 1, type.data() + type.size(), size).ec != std::errc{} || size > (1U << 24))
        return readError("NPY element type '{}' is not known", descr.substr(0, 40));
    const char kind = type[0];
    const bool text = kind == 'S' || kind == 'U';
    const DType dtype = text ? DType::String : numericType(kind, size);
    if (dtype == DType::Undefined)
        return readError("NPY element type '{}' is not supported", descr.substr(0, 40));
    const std::size_t width = kind == 'U' ? 4 * size : size;
    const std::int64_t count = elementCount(header.shape);
    const std::size_t available = bytes.size() - header.dataOffset;
    if (width != 0 && static_cast<std::uint64_t>(count) != available / width)
        return readError("NPY data has {} bytes, shape {} of '{}' needs {}", available, toString(header.shape), descr.substr(0, 40), static_cast<std::uint64_t>(count) * width);
    NABLA_TRY(Tensor tensor, Tensor::make(dtype, header.shape));
    const std::byte* data = bytes.data() + header.dataOffset;
    const std::size_t unit = kind == 'c' ? size / 2 : size; // what a byte swap reverses
    for (std::int64_t i = 0; i < count; ++i) {
        const auto from = static_cast<std::size_t>(header.fortran ? fortranIndex(header.shape, i) : i);
        if (text) {
            tensor.mutableData<std::string>()[static_cast<std::size_t>(i)] = fixedString(data + from * width, size, kind == 'U', swap);
            continue;
        }
        if (!header.fortran && !swap) {
            std::memcpy(tensor.mutableRaw(), data, static_cast<std::size_t>(count) * width);
            break;
        }
        std::byte* to = tensor.mutableRaw() + static_cast<std::size_t>(i) * width;
        std::memcpy(to, data + from * width, width);
        for (std::size_t part = 0; swap && part < width; part += unit)
            std::reverse(to + part, to + part + unit);
    }
    return tensor;
}

Result<NamedTensors> readNpz(const std::filesystem::path& path) {
    NABLA_TRY(const auto file, MappedFile::open(path));
    const auto bytes = file->bytes();
    NamedTensors out;
    if (bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0) {
        NABLA_TRY(out[path.stem().string()], readNpy(bytes).in(path.string()));
        return out;
    }
    zip_error_t error{};
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(source ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr, &zip_discard);
    if (!archive) {
        if (source)
            zip_source_free(source);
        return readError("{}: not an .npz archive: {}", path.string(), zip_error_strerror(&error));
    }
    const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
    for (zip_int64_t i = 0; i < entries; ++i) {
        zip_stat_t info{};
        if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE))
            return readError("{}: entry {} cannot be read", path.string(), i);
        std::string name = info.name;
        if (!name.ends_with(".npy"))
            continue;
        if (info.size > kMaxEntryBytes || info.size > static_cast<std::uint64_t>(Tensor::maxTensorBytes()))
            return readError("{}: {} is too large: {} bytes", path.string(), name, info.size);
        const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> entry(zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0), &zip_fclose);
        std::vector<std::byte> data(info.size);
        if (!entry || zip_fread(entry.get(), data.data(), data.size()) != static_cast<zip_int64_t>(data.size()))
            return readError("{}: {} is damaged", path.string(), name);
        name.resize(name.size() - 4);
        NABLA_TRY(out[name], readNpy(data).in(path.string() + ": " + name));
    }
    return out;
}

namespace {

/// NumPy's name of the element type; empty when it has none.
std::string npyType(DType type) {
    switch (type) {
    case DType::Bool: return "|b1";
    case DType::Int8: return "|i1";
    case DType::UInt8: return "|u1";
    case DType::Int16: return "<i2";
    case DType::UInt16: return "<u2";
    case DType::Int32: return "<i4";
    case DType::UInt32: return "<u4";
    case DType::Int64: return "<i8";
    case DType::UInt64: return "<u8";
    case DType::Float16: return "<f2";
    case DType::Float32: return "<f4";
    case DType::Float64: return "<f8";
    case DType::Complex64: return "<c8";
    case DType::Complex128: return "<c16";
    default: return "";
    }
}

std::vector<std::uint32_t> codePoints(const std::string& text) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        std::uint32_t code = length == 1 ? byte : byte & (0xffU >> (length + 1));
        for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
            code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
        out.push_back(code);
        i += length;
    }
    return out;
}

Result<std::string> npyBytes(Tensor tensor) {
    std::string type = npyType(tensor.dtype());
    std::string data;
    if (tensor.dtype() == DType::String) {
        std::vector<std::vector<std::uint32_t>> texts;
        std::size_t width = 1;
        for (const std::string& each : tensor.data<std::string>()) {
            texts.push_back(codePoints(each));
            width = std::max(width, texts.back().size());
        }
        type = fmt::format("<U{}", width);
        for (auto& each : texts) {
            each.resize(width);
            data.append(reinterpret_cast<const char*>(each.data()), width * 4);
        }
    } else {
        if (type.empty()) {
            const DType wide = isFloat(tensor.dtype()) ? DType::Float32 : tensor.dtype() == DType::UInt4 || tensor.dtype() == DType::UInt2 ? DType::UInt8 : DType::Int8;
            NABLA_TRY(tensor, castTensor(tensor, wide));
            type = npyType(wide);
        }
        data.assign(reinterpret_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes()));
    }
    std::string shape = "(";
    for (const std::int64_t dim : tensor.shape())
        shape += fmt::format("{},", dim);
    shape += ")";
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
    header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    std::string out = "\x93NUMPY";
    out += '\x01';
    out += '\0';
    out += static_cast<char>(header.size() & 0xff);
    out += static_cast<char>(header.size() >> 8);
    return out + header + data;
}

} // namespace

Result<void> writeNpz(const std::filesystem::path& path, const NamedTensors& arrays) {
    zip_error_t error{};
    zip_source_t* buffer = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (!buffer)
        return readError("cannot write {}: {}", path.string(), zip_error_strerror(&error));
    zip_source_keep(buffer); // read back after zip_close
    const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> keeper(buffer, &zip_source_free);
    zip_t* archive = zip_open_from_source(buffer, ZIP_TRUNCATE, &error);
    if (!archive)
        return readError("cannot write {}: {}", path.string(), zip_error_strerror(&error));
    std::vector<std::string> blobs;
    blobs.reserve(arrays.size());
    for (const auto& [name, tensor] : arrays) {
        auto blob = npyBytes(tensor);
        if (!blob) {
            zip_discard(archive);
            return blob.error();
        }
        blobs.push_back(std::move(*blob));
        zip_source_t* source = zip_source_buffer(archive, blobs.back().data(), blobs.back().size(), 0);
        const zip_int64_t index = zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE);
        if (index < 0 || zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0) {
            zip_discard(archive);
            return readError("cannot write {}: array \"{}\" does not fit the archive", path.string(), name);
        }
    }
    if (zip_close(archive) != 0) {
        const std::string why = zip_strerror(archive);
        zip_discard(archive);
        return readError("cannot write {}: {}", path.string(), why);
    }
    zip_stat_t info{};
    zip_source_stat(buffer, &info);
    std::string bytes(info.size, '\0');
    if (zip_source_open(buffer) != 0 || zip_source_read(buffer, bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size()))
        return readError("cannot write {}: the archive cannot be read back", path.string());
    zip_source_close(buffer);
    return writeFile(path, bytes);
}

} // namespace nabla::engine

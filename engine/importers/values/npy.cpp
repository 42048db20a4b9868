// The .npy format, version 1 to 3 (numpy/lib/format.py): magic, header length, a Python dict as text, elements.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "engine/importers/values/npz.h"

namespace nabla::engine {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxStringLength = 1 << 20;

struct Header {
    std::string descr;
    bool fortran = false;
    Shape shape;
    std::size_t dataBegin = 0;
};

/// The text after `'key':` up to what ends the value.
std::optional<std::string_view> valueOf(std::string_view header, std::string_view key) {
    const std::size_t at = header.find(fmt::format("'{}'", key));
    if (at == std::string_view::npos)
        return std::nullopt;
    const std::size_t colon = header.find(':', at + key.size());
    if (colon == std::string_view::npos)
        return std::nullopt;
    const std::size_t start = header.find_first_not_of(' ', colon + 1);
    return start == std::string_view::npos ? std::nullopt : std::optional(header.substr(start));
}

Result<Shape> parseShape(std::string_view text) {
    if (text.empty() || text[0] != '(')
        return readError("the shape in the .npy header is no tuple");
    const std::size_t close = text.find(')');
    Shape shape;
    std::string_view rest = text.substr(1, close == std::string_view::npos ? 0 : close - 1);
    while (true) {
        const std::size_t start = rest.find_first_not_of(" ,");
        if (start == std::string_view::npos)
            break;
        rest.remove_prefix(start);
        std::int64_t dim = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
        if (error != std::errc())
            return readError("the shape in the .npy header is not made of whole numbers in range");
        shape.push_back(dim);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        if (rest.starts_with('L'))
            rest.remove_prefix(1);
    }
    NABLA_CHECK(checkShape(shape));
    return shape;
}

Result<Header> parseHeader(std::string_view bytes) {
    if (!bytes.starts_with(kMagic) || bytes.size() < 10)
        return readError("not a .npy file: it does not start with \\x93NUMPY");
    const auto major = static_cast<unsigned char>(bytes[6]);
    if (major < 1 || major > 3)
        return readError(".npy format version {} is not known", major);
    const std::size_t lengthBytes = major == 1 ? 2 : 4;
    if (bytes.size() < 8 + lengthBytes)
        return readError("the .npy file is truncated in its header");
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + 8, lengthBytes);
    Header header;
    header.dataBegin = 8 + lengthBytes + length;
    if (header.dataBegin > bytes.size())
        return readError("the .npy file is truncated: its header takes {} bytes, the file has {}", length, bytes.size());
    const std::string_view text = bytes.substr(8 + lengthBytes, length);
    const auto descr = valueOf(text, "descr"), order = valueOf(text, "fortran_order"), shape = valueOf(text, "shape");
    if (!descr || !order || !shape)
        return readError("the .npy header lacks descr, fortran_order or shape");
    if (descr->empty() || ((*descr)[0] != '\'' && (*descr)[0] != '"'))
        return readError("structured NumPy arrays are not read");
    const std::size_t close = descr->find((*descr)[0], 1);
    if (close == std::string_view::npos)
        return readError("the .npy header is broken: descr does not end");
    header.descr = std::string(descr->substr(1, close - 1));
    header.fortran = order->starts_with("True");
    NABLA_TRY(header.shape, parseShape(*shape));
    return header;
}

struct ElementForm {
    DType type = DType::Undefined;
    std::size_t width = 0;
    bool swap = false;
    char strings = 0; ///< 'U' or 'S'
};

Result<ElementForm> parseDescr(const std::string& descr) {
    ElementForm form;
    if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
        return readError("the element type \"{}\" of the .npy file is not known", descr.substr(0, 80));
    const char kind = descr[1];
    const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), form.width);
    if (error != std::errc() || end != descr.data() + descr.size())
        return readError("the element type \"{}\" of the .npy file is not known", descr.substr(0, 80));
    form.swap = descr[0] == '>' && form.width > 1;
    if (kind == 'O')
        return readError("an array of Python objects is not read: unpickling could run code");
    if (kind == 'U' || kind == 'S') {
        if (form.width > kMaxStringLength)
            return readError("strings of {} characters are too large", form.width);
        form.strings = kind;
        form.type = DType::String;
        return form;
    }
    static constexpr struct {
        char kind;
        std::size_t width;
        DType type;
    } kTypes[] = {{'b', 1, DType::Bool}, {'i', 1, DType::Int8}, {'i', 2, DType::Int16}, {'i', 4, DType::Int32}, {'i', 8, DType::Int64}, {'u', 1, DType::UInt8},
        {'u', 2, DType::UInt16}, {'u', 4, DType::UInt32}, {'u', 8, DType::UInt64}, {'f', 2, DType::Float16}, {'f', 4, DType::Float32}, {'f', 8, DType::Float64},
        {'c', 8, DType::Complex64}, {'c', 16, DType::Complex128}};
    for (const auto& row : kTypes) {
        if (row.kind == kind && row.width == form.width)
            form.type = row.type;
    }
    if (form.type == DType::Undefined)
        return readError("the element type \"{}\" of the .npy file is not known", descr.substr(0, 80));
    return form;
}

void appendUtf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6U);
        out += static_cast<char>(0x80 | (code & 0x3FU));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12U);
        out += static_cast<char>(0x80 | (code >> 6U & 0x3FU));
        out += static_cast<char>(0x80 | (code & 0x3FU));
    } else {
        out += static_cast<char>(0xF0 | (code >> 18U & 7U));
        out += static_cast<char>(0x80 | (code >> 12U & 0x3FU));
        out += static_cast<char>(0x80 | (code >> 6U & 0x3FU));
        out += static_cast<char>(0x80 | (code & 0x3FU));
    }
}

/// Fixed width, padded with zeros at the end.
std::string readString(const char* from, const ElementForm& form) {
    std::string out;
    if (form.strings == 'S') {
        out.assign(from, form.width);
        out.erase(out.find_last_not_of('\0') + 1);
        return out;
    }
    std::size_t length = form.width;
    const auto codeAt = [&](std::size_t i) {
        std::uint32_t code = 0;
        std::memcpy(&code, from + 4 * i, 4);
        return form.swap ? __builtin_bswap32(code) : code;
    };
    while (length > 0 && codeAt(length - 1) == 0)
        --length;
    for (std::size_t i = 0; i < length; ++i)
        appendUtf8(out, codeAt(i));
    return out;
}

/// Where element `index` of the row-major result lies in a column-major file.
std::size_t fortranIndex(std::size_t index, const Shape& shape) {
    std::size_t at = 0;
    std::vector<std::size_t> place(shape.size());
    for (std::size_t d = shape.size(); d-- > 0;) {
        place[d] = index % static_cast<std::size_t>(shape[d]);
        index /= static_cast<std::size_t>(shape[d]);
    }
    for (std::size_t d = shape.size(); d-- > 0;)
        at = at * static_cast<std::size_t>(shape[d]) + place[d];
    return at;
}

std::vector<std::uint32_t> decodeUtf8(std::string_view text) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        std::uint32_t code = length == 1 ? byte : byte & (0xFFU >> (length + 1));
        for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
            code = code << 6U | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
        out.push_back(code);
        i += length;
    }
    return out;
}

std::string headerText(std::string_view descr, const Shape& shape) {
    std::string dims;
    for (const std::int64_t dim : shape)
        dims += fmt::format("{},", dim);
    std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
    text += std::string(63 - (10 + text.size()) % 64, ' ') + '\n'; // elements begin on a multiple of 64
    std::string out(kMagic);
    out += '\1';
    out += '\0';
    out += static_cast<char>(text.size() & 0xFFU);
    out += static_cast<char>(text.size() >> 8U);
    return out + text;
}

std::string_view descrOf(DType type) {
    switch (type) {
    case DType::Bool: return "|b1";
    case DType::Int8: return "|i1";
    case DType::Int16: return "<i2";
    case DType::Int32: return "<i4";
    case DType::Int64: return "<i8";
    case DType::UInt8: return "|u1";
    case DType::UInt16: return "<u2";
    case DType::UInt32: return "<u4";
    case DType::UInt64: return "<u8";
    case DType::Float16: return "<f2";
    case DType::Float32: return "<f4";
    case DType::Float64: return "<f8";
    case DType::Complex64: return "<c8";
    case DType::Complex128: return "<c16";
    default: return "";
    }
}

} // namespace

Result<Tensor> readNpy(std::span<const std::byte> file) {
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    NABLA_TRY(const Header header, parseHeader(bytes));
    NABLA_TRY(const ElementForm form, parseDescr(header.descr));
    const auto count = static_cast<std::size_t>(elementCount(header.shape));
    const std::size_t width = form.strings == 'U' ? form.width * 4 : form.width;
    const std::size_t there = bytes.size() - header.dataBegin;
    if (width > 0 ? there / width < count || there != count * width : there != 0)
        return readError("the .npy file holds {} bytes of elements, shape {} of {} needs {} elements of {} bytes", there, toString(header.shape), header.descr, count, width);
    NABLA_TRY(Tensor tensor, Tensor::make(form.type, header.shape));
    const char* const data = bytes.data() + header.dataBegin;
    const bool permuted = header.fortran && header.shape.size() > 1;
    if (form.strings == 0 && !permuted && !form.swap && form.type != DType::Bool) {
        if (there > 0)
            std::memcpy(tensor.mutableRaw(), data, there);
        return tensor;
    }
    const std::size_t part = isComplex(form.type) ? width / 2 : width;
    for (std::size_t i = 0; i < count; ++i) {
        const char* const from = data + (permuted ? fortranIndex(i, header.shape) : i) * width;
        if (form.strings != 0) {
            tensor.mutableData<std::string>()[i] = readString(from, form);
            continue;
        }
        char* const to = reinterpret_cast<char*>(tensor.mutableRaw()) + i * width;
        std::memcpy(to, from, width);
        if (form.type == DType::Bool)
            *to = *to != 0;
        for (std::size_t p = 0; form.swap && p < width; p += part)
            std::reverse(to + p, to + p + part);
    }
    return tensor;
}

Result<std::string> formatNpy(const Tensor& tensor) {
    if (descrOf(tensor.dtype()).empty() && tensor.dtype() != DType::String) {
        const bool isUnsigned = tensor.dtype() == DType::UInt4 || tensor.dtype() == DType::UInt2;
        NABLA_TRY(const Tensor wide, castTensor(tensor, nabla::engine::isFloat(tensor.dtype()) ? DType::Float32 : isUnsigned ? DType::UInt8 : DType::Int8));
        return formatNpy(wide);
    }
    if (tensor.dtype() != DType::String) {
        std::string out = headerText(descrOf(tensor.dtype()), tensor.shape());
        out.append(reinterpret_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes()));
        return out;
    }
    std::size_t longest = 1;
    std::vector<std::vector<std::uint32_t>> strings;
    for (const std::string& text : tensor.data<std::string>()) {
        strings.push_back(decodeUtf8(text));
        longest = std::max(longest, strings.back().size());
    }
    if (longest > kMaxStringLength)
        return readError("a string of {} characters is too large for a .npy file", longest);
    std::string out = headerText(fmt::format("<U{}", longest), tensor.shape());
    for (auto& codes : strings) {
        codes.resize(longest, 0);
        out.append(reinterpret_cast<const char*>(codes.data()), longest * 4);
    }
    return out;
}

} // namespace nabla::engine

// Which importer reads a file: by content first, by name second; and what a file is when none can.
#include "engine/importers/importer.h"

#include <algorithm>
#include <cctype>

#include "engine/importers/onnx/onnx_importer.h"

namespace nabla::engine {

namespace {

constexpr std::size_t kHeadBytes = 4096;

std::string_view textOf(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool startsWithIgnoringCase(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) { return std::tolower(static_cast<unsigned char>(b)) == a; });
}

/// What people often have in place of a model; empty when it is none of these.
std::string_view wellKnown(std::string_view head) {
    if (head.starts_with("version https://git-lfs"))
        return "a Git LFS pointer, not the file itself: fetch it with `git lfs pull`";
    const auto start = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    const std::string_view text = start == std::string_view::npos ? std::string_view{} : head.substr(start);
    if (startsWithIgnoringCase(text, "<!doctype html") || startsWithIgnoringCase(text, "<html") || startsWithIgnoringCase(text, "<head"))
        return "a web page (HTML), not an ONNX model: the download went wrong";
    if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06"))
        return "a zip archive, not an ONNX model";
    if (head.starts_with("\x1F\x8B"))
        return "gzip-compressed, not an ONNX model: unpack it first";
    if (head.starts_with("SQLite format 3"))
        return "an SQLite database, not a model";
    if (head.starts_with("\x89PNG") || head.starts_with("\xFF\xD8\xFF"))
        return "a picture, not a model";
    if (head.starts_with("%PDF"))
        return "a PDF document, not a model";
    if (head.starts_with("\x7F""ELF"))
        return "a program, not a model";
    if (head.starts_with("\x93NUMPY"))
        return "a NumPy array, not a model";
    if (startsWithIgnoringCase(text, "<?xml") || startsWithIgnoringCase(text, "<error"))
        return "an XML document, not an ONNX model";
    return {};
}

/// Text all through: printable ASCII and white space.
bool isPlainText(std::string_view head) {
    return !head.empty() && std::all_of(head.begin(), head.end(), [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return (u >= 0x20 && u < 0x7F) || u == '\n' || u == '\r' || u == '\t';
    });
}

constexpr const ImporterDef* kImporters[] = {&kOnnxImporter};

} // namespace

std::span<const ImporterDef> allImporters() {
    static const std::vector<ImporterDef> all = [] {
        std::vector<ImporterDef> list;
        for (const ImporterDef* importer : kImporters)
            list.push_back(*importer);
        return list;
    }();
    return all;
}

Result<Model> openModel(const std::filesystem::path& path, ImportContext& context) {
    const std::string name = path.filename().string();
    NABLA_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
    const auto bytes = file->bytes();
    if (bytes.empty())
        return readError("{}: the file is empty (0 bytes)", name);
    const auto head = bytes.first(std::min(bytes.size(), kHeadBytes));
    if (const std::string_view what = wellKnown(textOf(head)); !what.empty())
        return readError("{}: this is {}", name, what);
    const ImporterDef* best = nullptr;
    int sure = 0;
    for (const ImporterDef& importer : allImporters()) {
        if (const int now = importer.sniff(head, name); now > sure) {
            best = &importer;
            sure = now;
        }
    }
    if (isPlainText(textOf(head)) && sure < 50)
        return readError("{}: this is plain text, not an ONNX model", name);
    if (!best)
        return readError("{}: not a file of a known format (known: ONNX)", name);
    if (!context.ids)
        context.ids = std::make_shared<IdSource>();
    return best->load(std::move(file), context).in(name);
}

} // namespace nabla::engine

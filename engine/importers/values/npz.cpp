// The zip around .npy files, by libzip. Sizes are checked before anything is unpacked.
#include "engine/importers/values/npz.h"

#include <memory>

#include <fmt/format.h>
#include <zip.h>

#include "engine/base/mapped_file.h"
#include "engine/base/write_file.h"

namespace nabla::engine {

namespace {

constexpr std::uint64_t kBestRatio = 1100; // deflate packs at most 1032 : 1
constexpr std::int64_t kMaxEntries = 100'000;

struct CloseZip {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Zip = std::unique_ptr<zip_t, CloseZip>;

std::string words(zip_error_t& error) {
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    return text;
}

Result<std::string> unpack(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat) {
    const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen_index(archive, index, 0));
    if (!entry)
        return readError("cannot be unpacked: {}", zip_strerror(archive));
    std::string bytes(stat.size, '\0');
    std::uint64_t done = 0;
    while (done < stat.size) {
        const zip_int64_t got = zip_fread(entry.get(), bytes.data() + done, stat.size - done);
        if (got <= 0)
            return readError("cannot be unpacked: {} of {} bytes are there", done, stat.size);
        done += static_cast<std::uint64_t>(got);
    }
    char more = 0; // reading to the end is what checks the sum
    if (zip_fread(entry.get(), &more, 1) != 0)
        return readError("is damaged: its checksum or its size is wrong");
    return bytes;
}

Result<Tensor> readEntry(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat) {
    if (stat.encryption_method != ZIP_EM_NONE)
        return readError("is encrypted");
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
        return readError("is compressed by method {}, which NumPy does not write", stat.comp_method);
    if (stat.size > static_cast<std::uint64_t>(Tensor::maxTensorBytes()) || (stat.size > (1 << 20) && stat.size / kBestRatio > stat.comp_size))
        return readError("declares {} bytes unpacked from {}: too large", stat.size, stat.comp_size);
    NABLA_TRY(const std::string bytes, unpack(archive, index, stat));
    return readNpy(std::as_bytes(std::span(bytes)));
}

Result<NamedTensors> readArchive(std::span<const std::byte> bytes) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (!source)
        return readError("cannot be read as a zip: {}", words(error));
    const Zip archive(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (!archive) {
        zip_source_free(source);
        return readError("not a .npz file: {}", words(error));
    }
    const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
    if (count > kMaxEntries)
        return readError("the zip holds {} entries, at most {} are read", count, kMaxEntries);
    NamedTensors tensors;
    for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
        zip_stat_t stat;
        constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
        if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
            return readError("entry {} of the zip cannot be read", i);
        std::string name = stat.name;
        if (!name.ends_with(".npy"))
            return readError("entry \"{}\" of the zip is not a .npy file", name.substr(0, 200));
        name.resize(name.size() - 4);
        auto tensor = readEntry(archive.get(), i, stat).in(fmt::format("\"{}\"", name.substr(0, 200)));
        if (!tensor)
            return tensor.error();
        if (!tensors.emplace(name, *std::move(tensor)).second)
            return readError("the zip holds \"{}\" twice", name.substr(0, 200));
    }
    return tensors;
}

} // namespace

Result<NamedTensors> readNpz(const std::filesystem::path& path) {
    const std::string where = path.filename().string();
    NABLA_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
    const auto bytes = file->bytes();
    if (bytes.empty())
        return readError("{}: the file is empty (0 bytes)", where);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.starts_with("\x93NUMPY")) {
        auto tensor = readNpy(bytes).in(where);
        if (!tensor)
            return tensor.error();
        return NamedTensors{{path.stem().string(), *std::move(tensor)}};
    }
    if (!text.starts_with("PK"))
        return readError("{}: neither a .npz nor a .npy file", where);
    return readArchive(bytes).in(where);
}

Result<void> writeNpz(const std::filesystem::path& path, const NamedTensors& tensors) {
    if (tensors.empty()) // libzip writes no archive at all then; this is the end record of an empty one
        return writeFile(path, std::string("PK\5\6") + std::string(18, '\0'));
    std::vector<std::string> kept; // libzip reads the buffers when the archive is closed
    kept.reserve(tensors.size());
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (!target)
        return readError("{}: {}", path.string(), words(error));
    zip_source_keep(target); // read back after the archive is closed
    const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> freeTarget(target, zip_source_free);
    Zip archive(zip_open_from_source(target, ZIP_TRUNCATE | ZIP_CREATE, &error));
    if (!archive)
        return readError("{}: {}", path.string(), words(error));
    for (const auto& [name, tensor] : tensors) {
        NABLA_TRY(std::string bytes, formatNpy(tensor));
        kept.push_back(std::move(bytes));
        zip_source_t* source = zip_source_buffer(archive.get(), kept.back().data(), kept.back().size(), 0);
        if (!source || zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) < 0) {
            zip_source_free(source);
            return readError("{}: \"{}\": {}", path.string(), name.substr(0, 200), zip_strerror(archive.get()));
        }
    }
    if (zip_close(archive.get()) != 0)
        return readError("{}: {}", path.string(), zip_strerror(archive.get()));
    static_cast<void>(archive.release()); // closed
    if (zip_source_open(target) != 0)
        return readError("{}: {}", path.string(), zip_error_strerror(zip_source_error(target)));
    zip_source_seek(target, 0, SEEK_END);
    std::string bytes(static_cast<std::size_t>(zip_source_tell(target)), '\0');
    zip_source_seek(target, 0, SEEK_SET);
    const bool whole = zip_source_read(target, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size());
    zip_source_close(target);
    if (!whole)
        return readError("{}: the archive cannot be read back", path.string());
    return writeFile(path, bytes);
}

} // namespace nabla::engine

// The rules of onnx/docs/ExternalData.md, and what attacks on them have taught (CVE-2022-25882, CVE-2024-27318).
#include "engine/importers/onnx/external_data.h"

#include <map>

#include <fmt/format.h>

#include "engine/base/mapped_file.h"

namespace nabla::engine {

namespace fs = std::filesystem;

namespace {

std::string shown(std::string_view text) { return text.size() <= 200 ? std::string(text) : fmt::format("{}…", text.substr(0, 200)); }

Error refused(std::string_view location, std::string_view why) {
    return readError("external data location \"{}\" is not allowed: {}", shown(location), why);
}

/// What can be seen from the text alone.
Result<void> checkText(std::string_view location) {
    if (location.empty())
        return refused(location, "it is empty");
    if (location.find('\0') != std::string_view::npos)
        return refused(location.substr(0, location.find('\0')), "it holds a NUL byte");
    if (location.find('\\') != std::string_view::npos)
        return refused(location, "it holds a backslash");
    if (location.find(':') != std::string_view::npos)
        return refused(location, "it is a URL or names a drive, not a path in the model's folder");
    if (location.front() == '/')
        return refused(location, "it is an absolute path, outside the model's folder");
    for (const fs::path& part : fs::path(location)) {
        if (part == "..")
            return refused(location, "it leads outside the model's folder");
    }
    return {};
}

bool isInside(const fs::path& path, const fs::path& folder) {
    const auto mismatch = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return mismatch.first == folder.end();
}

class Files {
public:
    Files(fs::path folder, LinksOutside links) : m_folder(std::move(folder)), m_links(links) { }

    Result<ExternalBytes> resolve(const ExternalReference& reference) {
        NABLA_TRY(const File* file, open(reference.location));
        ExternalBytes out;
        if (!file->missing.empty()) {
            out.missing = file->missing;
            return out;
        }
        const auto bytes = file->mapped->bytes();
        const std::string name = shown(reference.location);
        const std::uint64_t wanted = reference.length.value_or(reference.bytes);
        if (reference.offset > bytes.size())
            out.missing = fmt::format("external data in \"{}\": offset {} is out of range, past the end of the file of {} bytes", name, reference.offset, bytes.size());
        else if (reference.bytes > bytes.size() - reference.offset)
            out.missing = fmt::format("external data file \"{}\" is too short: offset {} and length {} need more than its size of {} bytes", name, reference.offset, reference.bytes, bytes.size());
        else if (wanted != reference.bytes)
            out.missing = fmt::format("external data in \"{}\": length {} differs from the size of {} bytes that its shape needs", name, wanted, reference.bytes);
        else
            out.data = bytes.data() + reference.offset;
        out.owner = file->mapped;
        return out;
    }

private:
    struct File {
        std::shared_ptr<const MappedFile> mapped;
        std::string missing;
    };

    Result<const File*> open(std::string_view location) {
        const std::string key(location);
        if (const auto it = m_files.find(key); it != m_files.end())
            return &it->second;
        NABLA_CHECK(checkText(location));
        NABLA_TRY(File file, map(location));
        return &m_files.emplace(key, std::move(file)).first->second;
    }

    Result<File> map(std::string_view location) const {
        std::error_code error;
        const fs::path folder = fs::canonical(m_folder.empty() ? fs::path(".") : m_folder, error);
        const fs::path path = folder / location;
        const fs::path target = fs::weakly_canonical(path, error);
        if (error)
            return refused(location, error.message());
        if (m_links == LinksOutside::Refuse && !isInside(target, folder))
            return refused(location, fmt::format("it is a link to {}, outside the model's folder; links that leave it must be allowed first", target.string()));
        const fs::file_status status = fs::status(target, error);
        File file;
        if (status.type() == fs::file_type::not_found) {
            file.missing = fmt::format("external data file \"{}\" is missing: {} not found", shown(location), path.string());
            return file;
        }
        if (status.type() != fs::file_type::regular)
            return refused(location, fs::is_directory(status) ? "it is a directory, not a file" : "it is not a regular file");
        NABLA_TRY(file.mapped, MappedFile::open(target).in(fmt::format("external data file \"{}\"", shown(location))));
        return file;
    }

    fs::path m_folder;
    LinksOutside m_links;
    std::map<std::string, File> m_files;
};

} // namespace

ExternalResolver externalData(fs::path folder, LinksOutside links) {
    return [files = std::make_shared<Files>(std::move(folder), links)](const ExternalReference& reference) { return files->resolve(reference); };
}

} // namespace nabla::engine

// Opening a model file of any registered format.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "engine/base/stop.h"
#include "engine/graph/model.h"

namespace nabla::engine {

struct ImportContext {
    JobControl job;
    IdSourcePtr ids;                 ///< of the document; made when null
    bool allowLinksOutsideFolder = false; ///< external data behind links that leave the model's folder
};

/// How sure a format is from the first bytes and the name: 0 = no, 100 = certain.
using SniffFunction = int (*)(std::span<const std::byte> head, std::string_view fileName);
using LoadFunction = Result<Model> (*)(std::shared_ptr<const MappedFile> file, ImportContext& context);

struct ImporterDef {
    std::string_view name;
    std::span<const std::string_view> extensions;
    SniffFunction sniff;
    LoadFunction load;
};
std::span<const ImporterDef> allImporters();

/// Maps the file, picks the format by content before name, reads it faithfully. Errors (Read) say what the file is instead when it is
/// something well known (HTML page, Git LFS pointer, zip, empty).
Result<Model> openModel(const std::filesystem::path& path, ImportContext& context);

} // namespace nabla::engine

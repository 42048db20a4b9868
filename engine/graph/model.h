// Model: a main graph with its file. Opening a file gives one.
#pragma once

#include <memory>

#include "engine/base/mapped_file.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// The file stays mapped as long as a tensor of the graph points into it (each tensor owns its share); `file` is for facts only.
struct Model {
    Graph graph;
    std::shared_ptr<const MappedFile> file;
};

} // namespace nabla::engine

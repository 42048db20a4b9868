// Tensors whose elements lie in a mapped file, and where in it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/base/mapped_file.h"
#include "engine/tensor/tensor.h"

namespace nabla::engine {

/// What Tensor::lazy is given for elements that lie unaligned in a file: a copy of them, made when they are first read. The tensor keeps
/// `owner`, so the file stays mapped as long as the tensor lives, and remembers where they lie.
struct FileElements {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<const void> owner;
    void operator()(std::byte* out) const;
};

/// Where the elements of a tensor lie: bytes() of them from `offset` on.
struct FilePlace {
    std::shared_ptr<const MappedFile> file;
    std::size_t offset = 0;
};
/// Nothing when the elements were made in memory.
std::optional<FilePlace> filePlace(const Tensor& tensor);

/// The tensor whose elements lie at `offset`. Promised by the caller: the shape is checked, the bytes are in the file, and bools are 0 or 1.
Tensor tensorInFile(DType dtype, Shape shape, const std::shared_ptr<const MappedFile>& file, std::size_t offset);

} // namespace nabla::engine

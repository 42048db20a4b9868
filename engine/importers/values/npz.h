// NumPy's .npy and .npz: arrays by name, in and out.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "engine/base/result.h"
#include "engine/tensor/tensor.h"

namespace nabla::engine {

using NamedTensors = std::map<std::string, Tensor>;

/// The bytes of one .npy file, format versions 1 to 3 (numpy/lib/format.py). Types: bool, whole numbers, f16, f32, f64, complex, fixed-width
/// unicode and byte strings; either byte order, either element order. Errors (Read): not a .npy file, Python objects, sizes that disagree.
Result<Tensor> readNpy(std::span<const std::byte> bytes);
/// Types without a NumPy counterpart are widened, exactly: bfloat16 and the small floats to float32, packed integers to int8 or uint8.
/// Strings become fixed-width unicode. Errors (Read): a string with more than 2^20 characters.
Result<std::string> formatNpy(const Tensor& tensor);

/// Every array of a .npz (stored or deflated), without the `.npy` of its entry; a bare .npy is called by its file name's stem. Errors (Read):
/// not such a file, an entry that is no array or damaged, one whose declared size is beyond what its bytes can unpack to or beyond the memory
/// limit, two entries of one name.
Result<NamedTensors> readNpz(const std::filesystem::path& path);
/// Deflated; written aside and renamed.
Result<void> writeNpz(const std::filesystem::path& path, const NamedTensors& tensors);

} // namespace nabla::engine

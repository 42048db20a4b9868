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

/// Every array of an .npz (stored or deflated), without the `.npy` of its entry; a bare .npy is called by its file name's stem.
/// Element types: bool, integers, f16/f32/f64, complex, byte and unicode strings, little or big endian, C or Fortran order.
/// Errors (Read): not such a file, damaged, an element type of Python objects, more data than the header says or less.
Result<NamedTensors> readNpz(const std::filesystem::path& path);
/// One array from the bytes of an .npy file. Source: NumPy's documentation of the NPY format, versions 1 to 3.
Result<Tensor> readNpy(std::span<const std::byte> bytes);

/// Stored, not compressed, written aside and renamed. Element types that NumPy lacks are widened: bfloat16 and the small floats to float32, the
/// packed integers to int8 or uint8. Strings become fixed-width unicode.
Result<void> writeNpz(const std::filesystem::path& path, const NamedTensors& arrays);

} // namespace nabla::engine

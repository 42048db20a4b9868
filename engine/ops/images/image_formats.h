// Encoded images as pixels: one function a format, behind which the libraries of these formats stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace nabla::engine {

/// The bytes of an encoded image.
using ImageBytes = std::span<const std::uint8_t>;
/// RGB, uint8 [height, width, 3]; none when the bytes cannot be decoded.
using DecodedImage = std::optional<Tensor>;

/// Images above this are refused before anything is allocated: a few bytes can claim any size. The number is Pillow's (twice MAX_IMAGE_PIXELS).
inline constexpr std::int64_t kMaxImagePixels = 178956970;

/// Room for an image. Errors (Run): it has more than kMaxImagePixels, or does not fit in a tensor.
Result<Tensor> makeImage(std::int64_t height, std::int64_t width);

Result<DecodedImage> decodeJpeg(ImageBytes bytes);
Result<DecodedImage> decodePng(ImageBytes bytes);
Result<DecodedImage> decodeWebp(ImageBytes bytes);
Result<DecodedImage> decodeJpeg2000(ImageBytes bytes);
Result<DecodedImage> decodeTiff(ImageBytes bytes);
Result<DecodedImage> decodeBmp(ImageBytes bytes);
Result<DecodedImage> decodePnm(ImageBytes bytes);

/// By the first bytes; none when no format begins so.
Result<DecodedImage> decodeImage(ImageBytes bytes);

/// Whether `bytes` begins with `start`.
bool startsWith(ImageBytes bytes, std::string_view start);

} // namespace nabla::engine

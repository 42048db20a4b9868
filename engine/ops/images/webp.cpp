// WebP by libwebp: still images, without alpha.
#include <webp/decode.h>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

Result<DecodedImage> decodeWebp(ImageBytes bytes) {
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
        return DecodedImage{};
    if (features.has_animation != 0)
        return runError("the WebP image is an animation, which is not decoded");
    NABLA_TRY(Tensor image, makeImage(features.height, features.width));
    const auto pixels = image.mutableData<std::uint8_t>();
    if (!WebPDecodeRGBInto(bytes.data(), bytes.size(), pixels.data(), pixels.size(), features.width * 3))
        return DecodedImage{};
    return DecodedImage{std::move(image)};
}

} // namespace nabla::engine

// ImageDecoder: the bytes of an image file as pixels.
#include "engine/ops/cost_rules.h"
#include "engine/ops/images/image_formats.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

/// One channel, with the weights of ITU-R BT.601 in 16 bits, as Pillow converts to "L".
Result<Tensor> grayOf(const Tensor& rgb) {
    NABLA_TRY(Tensor gray, Tensor::make(DType::UInt8, {rgb.dim(0), rgb.dim(1), 1}));
    const auto from = rgb.data<std::uint8_t>();
    auto to = gray.mutableData<std::uint8_t>();
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<std::uint8_t>((from[i * 3] * 19595U + from[i * 3 + 1] * 38470U + from[i * 3 + 2] * 7471U + 0x8000U) >> 16);
    return gray;
}

Result<void> runImageDecoder(const KernelContext& c) {
    NABLA_TRY(const Tensor encoded, needTensor(c, 0));
    if (encoded.dtype() != DType::UInt8 || encoded.rank() != 1)
        return runError("the encoded image is {} {}, a vector of uint8 is wanted", name(encoded.dtype()), toString(encoded.shape()));
    const std::string format = c.stringAttribute("pixel_format");
    if (format != "RGB" && format != "BGR" && format != "Grayscale")
        return runError("pixel_format is \"{}\", wants RGB, BGR or Grayscale", format);
    NABLA_TRY(DecodedImage decoded, decodeImage(encoded.data<std::uint8_t>()));
    Tensor image;
    if (decoded) {
        image = std::move(*decoded);
    } else { // the standard: an empty matrix
        NABLA_TRY(image, Tensor::make(DType::UInt8, {0, 0, 3}));
    }
    if (format == "Grayscale") {
        NABLA_TRY(image, grayOf(image));
    } else if (format == "BGR") {
        const auto pixels = image.mutableData<std::uint8_t>();
        for (std::size_t i = 0; i + 2 < pixels.size(); i += 3)
            std::swap(pixels[i], pixels[i + 2]);
    }
    c.setOutput(0, std::move(image));
    return {};
}

constexpr OpDef kOps[] = {
    {.name = "ImageDecoder", .since = 20, .source = "ONNX Operators.md, ImageDecoder-20", .run = runImageDecoder,
        .gradient = notDifferentiable("its input is the bytes of a file"), .flops = noFlops},
};

} // namespace

std::span<const OpDef> imageDecoderOps() { return kOps; }

} // namespace nabla::engine

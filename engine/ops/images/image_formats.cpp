// Which format the first bytes of an image speak of, and room for its pixels.
#include "engine/ops/images/image_formats.h"

#include <cstring>

namespace nabla::engine {

Result<Tensor> makeImage(std::int64_t height, std::int64_t width) {
    if (height < 1 || width < 1 || width > kMaxImagePixels / height)
        return runError("an image of {} x {} pixels is refused: at most {} are decoded", width, height, kMaxImagePixels);
    return Tensor::make(DType::UInt8, {height, width, 3});
}

bool startsWith(ImageBytes bytes, std::string_view start) {
    return bytes.size() >= start.size() && std::memcmp(bytes.data(), start.data(), start.size()) == 0;
}

Result<DecodedImage> decodeImage(ImageBytes bytes) {
    using namespace std::string_view_literals;
    if (startsWith(bytes, "\xff\xd8\xff"sv))
        return decodeJpeg(bytes);
    if (startsWith(bytes, "\x89PNG\r\n\x1a\n"sv))
        return decodePng(bytes);
    if (startsWith(bytes, "RIFF"sv) && bytes.size() > 12 && startsWith(bytes.subspan(8), "WEBP"sv))
        return decodeWebp(bytes);
    if (startsWith(bytes, "\0\0\0\x0cjP  \r\n\x87\n"sv) || startsWith(bytes, "\xff\x4f\xff\x51"sv))
        return decodeJpeg2000(bytes);
    if (startsWith(bytes, "II*\0"sv) || startsWith(bytes, "MM\0*"sv) || startsWith(bytes, "II+\0"sv) || startsWith(bytes, "MM\0+"sv))
        return decodeTiff(bytes);
    if (startsWith(bytes, "BM"sv))
        return decodeBmp(bytes);
    if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7')
        return decodePnm(bytes);
    return DecodedImage{};
}

} // namespace nabla::engine

// TIFF by libtiff: the first image of the file, through its own conversion to RGBA.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <tiffio.h>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

namespace {

struct Source {
    ImageBytes bytes;
    std::size_t at = 0;
};
tmsize_t readSource(thandle_t handle, void* to, tmsize_t count) {
    auto& s = *static_cast<Source*>(handle);
    const std::size_t left = s.at < s.bytes.size() ? s.bytes.size() - s.at : 0, take = std::min(left, static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
    if (take > 0)
        std::memcpy(to, s.bytes.data() + s.at, take);
    s.at += take;
    return static_cast<tmsize_t>(take);
}
tmsize_t refuseWrite(thandle_t, void*, tmsize_t) { return -1; }
toff_t seekSource(thandle_t handle, toff_t to, int whence) {
    auto& s = *static_cast<Source*>(handle);
    s.at = static_cast<std::size_t>(whence == SEEK_SET ? to : whence == SEEK_CUR ? s.at + to : s.bytes.size() + to);
    return s.at;
}
int closeSource(thandle_t) { return 0; }
toff_t sizeOfSource(thandle_t handle) { return static_cast<Source*>(handle)->bytes.size(); }
int onMessage(TIFF*, void*, const char*, const char*, va_list) { return 1; }

} // namespace

Result<DecodedImage> decodeTiff(ImageBytes bytes) {
    Source source{bytes, 0};
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
    if (!options)
        return runError("no memory for a TIFF decoder");
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tmsize_t{1} << 30);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), onMessage, nullptr);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), onMessage, nullptr);
    const std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(
        TIFFClientOpenExt("image", "rm", &source, readSource, refuseWrite, seekSource, closeSource, sizeOfSource, nullptr, nullptr, options.get()),
        [](TIFF* t) { if (t) TIFFClose(t); });
    std::uint32_t width = 0, height = 0;
    if (!tiff || !TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) || width == 0 || height == 0)
        return DecodedImage{};
    NABLA_TRY(Tensor image, makeImage(height, width));
    std::vector<std::uint32_t> raster(std::size_t{width} * height);
    if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1))
        return DecodedImage{};
    const auto pixels = image.mutableData<std::uint8_t>();
    for (std::size_t i = 0; i < raster.size(); ++i) {
        pixels[i * 3] = static_cast<std::uint8_t>(TIFFGetR(raster[i]));
        pixels[i * 3 + 1] = static_cast<std::uint8_t>(TIFFGetG(raster[i]));
        pixels[i * 3 + 2] = static_cast<std::uint8_t>(TIFFGetB(raster[i]));
    }
    return DecodedImage{std::move(image)};
}

} // namespace nabla::engine

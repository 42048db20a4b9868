// JPEG 2000 by OpenJPEG: files (JP2) and bare code streams, gray, RGB and sYCC, any precision.
#include <algorithm>
#include <cstring>
#include <memory>

#include <openjpeg.h>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

namespace {

std::uint64_t bigEndian(ImageBytes bytes, std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value = value << 8 | (at + i < bytes.size() ? bytes[at + i] : 0U);
    return value;
}

/// The code stream inside the boxes of a JP2 file; empty when there is none.
ImageBytes codeStream(ImageBytes bytes) {
    if (startsWith(bytes, "\xff\x4f"))
        return bytes;
    while (bytes.size() >= 8) {
        std::uint64_t length = bigEndian(bytes, 0, 4), header = 8;
        if (length == 1) {
            length = bigEndian(bytes, 8, 8);
            header = 16;
        }
        if (length == 0)
            length = bytes.size();
        if (length < header || length > bytes.size())
            return {};
        if (startsWith(bytes.subspan(4), "jp2c"))
            return bytes.subspan(header, length - header);
        bytes = bytes.subspan(length);
    }
    return {};
}

/// Reads the size marker before the library does, which sets tables up for every tile and component that it claims.
Result<bool> sizeIsPlausible(ImageBytes bytes) {
    const ImageBytes code = codeStream(bytes);
    if (code.size() < 44 || bigEndian(code, 0, 4) != 0xff4fff51)
        return false;
    const auto number = [&](std::size_t at) { return static_cast<std::int64_t>(bigEndian(code, at, 4)); };
    const std::int64_t width = number(8) - number(16), height = number(12) - number(20), tileWidth = number(24), tileHeight = number(28);
    const std::uint64_t components = bigEndian(code, 40, 2);
    if (width < 1 || height < 1 || tileWidth < 1 || tileHeight < 1 || components < 1)
        return false;
    if (width > kMaxImagePixels / height)
        return runError("an image of {} x {} pixels is refused: at most {} are decoded", width, height, kMaxImagePixels);
    constexpr std::int64_t kMaxTiles = 16384;
    const std::int64_t tiles = (number(8) / tileWidth + 1) * (number(12) / tileHeight + 1);
    if (components > 5 || tiles > kMaxTiles)
        return runError("a JPEG 2000 image of {} components in {} tiles is refused: at most 5 and {} are decoded", components, tiles, kMaxTiles);
    return true;
}

struct Source {
    ImageBytes bytes;
    std::size_t at = 0;
};
OPJ_SIZE_T readSource(void* to, OPJ_SIZE_T count, void* user) {
    auto& s = *static_cast<Source*>(user);
    const std::size_t take = std::min<std::size_t>(count, s.bytes.size() - s.at);
    if (take == 0)
        return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(to, s.bytes.data() + s.at, take);
    s.at += take;
    return take;
}
OPJ_BOOL seekSource(OPJ_OFF_T to, void* user) {
    auto& s = *static_cast<Source*>(user);
    if (to < 0 || static_cast<std::uint64_t>(to) > s.bytes.size())
        return OPJ_FALSE;
    s.at = static_cast<std::size_t>(to);
    return OPJ_TRUE;
}
OPJ_OFF_T skipSource(OPJ_OFF_T count, void* user) {
    auto& s = *static_cast<Source*>(user);
    const auto to = static_cast<OPJ_OFF_T>(s.at) + std::clamp<OPJ_OFF_T>(count, -(OPJ_OFF_T{1} << 40), OPJ_OFF_T{1} << 40);
    return seekSource(to, user) ? count : -1;
}

/// Component k at pixel (x, y) as 0 .. 255.
int sample(const opj_image_t& image, std::uint32_t k, std::int64_t x, std::int64_t y) {
    const opj_image_comp_t& c = image.comps[k];
    const std::int64_t column = std::min<std::int64_t>(x / std::max(1U, c.dx), c.w - 1), row = std::min<std::int64_t>(y / std::max(1U, c.dy), c.h - 1);
    std::int64_t value = c.data[row * c.w + column];
    if (c.sgnd)
        value += std::int64_t{1} << (c.prec - 1);
    const std::int64_t scaled = c.prec > 8 ? value >> (c.prec - 8) : c.prec == 8 ? value : value * 255 / ((std::int64_t{1} << c.prec) - 1);
    return static_cast<int>(std::clamp<std::int64_t>(scaled, 0, 255));
}

Result<DecodedImage> pixelsOf(const opj_image_t& image) {
    const std::uint32_t colours = image.numcomps >= 3 ? 3 : 1;
    for (std::uint32_t k = 0; k < colours; ++k) {
        if (!image.comps[k].data || image.comps[k].w == 0 || image.comps[k].h == 0 || image.comps[k].prec < 1 || image.comps[k].prec > 31)
            return DecodedImage{};
    }
    const std::int64_t width = std::int64_t{image.x1} - image.x0, height = std::int64_t{image.y1} - image.y0;
    NABLA_TRY(Tensor out, makeImage(height, width));
    std::uint8_t* to = out.mutableData<std::uint8_t>().data();
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x, to += 3) {
            int rgb[3];
            for (std::uint32_t k = 0; k < 3; ++k)
                rgb[k] = sample(image, colours == 3 ? k : 0, x, y);
            if (colours == 3 && image.color_space == OPJ_CLRSPC_SYCC) { // IEC 61966-2-1
                const double luma = rgb[0], blue = rgb[1] - 128, red = rgb[2] - 128;
                rgb[0] = static_cast<int>(luma + 1.402 * red + 0.5);
                rgb[1] = static_cast<int>(luma - 0.344136 * blue - 0.714136 * red + 0.5);
                rgb[2] = static_cast<int>(luma + 1.772 * blue + 0.5);
            }
            for (int k = 0; k < 3; ++k)
                to[k] = static_cast<std::uint8_t>(std::clamp(rgb[k], 0, 255));
        }
    }
    return DecodedImage{std::move(out)};
}

} // namespace

Result<DecodedImage> decodeJpeg2000(ImageBytes bytes) {
    NABLA_TRY(const bool plausible, sizeIsPlausible(bytes));
    if (!plausible)
        return DecodedImage{};
    Source source{bytes, 0};
    const std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)> stream(opj_stream_create(1 << 16, OPJ_TRUE), [](opj_stream_t* s) { opj_stream_destroy(s); });
    const std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)> codec(
        opj_create_decompress(startsWith(bytes, "\xff\x4f") ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), [](opj_codec_t* c) { opj_destroy_codec(c); });
    if (!stream || !codec)
        return runError("no memory for a JPEG 2000 decoder");
    opj_stream_set_user_data(stream.get(), &source, nullptr);
    opj_stream_set_user_data_length(stream.get(), bytes.size());
    opj_stream_set_read_function(stream.get(), readSource);
    opj_stream_set_seek_function(stream.get(), seekSource);
    opj_stream_set_skip_function(stream.get(), skipSource);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_image_t* made = nullptr;
    const bool read = opj_setup_decoder(codec.get(), &parameters) && opj_read_header(stream.get(), codec.get(), &made);
    const std::unique_ptr<opj_image_t, void (*)(opj_image_t*)> image(made, [](opj_image_t* i) { opj_image_destroy(i); });
    if (!read || !image || !opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get()) || image->numcomps < 1)
        return DecodedImage{};
    return pixelsOf(*image);
}

} // namespace nabla::engine

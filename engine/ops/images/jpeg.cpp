// JPEG by libjpeg-turbo: smooth chroma upsampling and the accurate integer DCT, its defaults, as Pillow uses it.
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

namespace {

/// libjpeg reports errors by a call that must not come back: it jumps.
struct ErrorJump {
    jpeg_error_mgr base;
    std::jmp_buf back;
};
[[noreturn]] void onError(j_common_ptr info) { std::longjmp(reinterpret_cast<ErrorJump*>(info->err)->back, 1); }
void onMessage(j_common_ptr) { }
void onWarning(j_common_ptr info, int level) {
    if (level < 0) // a corrupt or truncated stream
        ++info->err->num_warnings;
}

/// A progressive file of few bytes may have any number of scans, each over the whole image.
constexpr int kMaxScans = 500;
void onProgress(j_common_ptr info) {
    if (info->is_decompressor && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans)
        onError(info);
}

/// Owned outside of the functions that are jumped out of, so that everything is freed.
struct Decoder {
    jpeg_decompress_struct info{};
    ErrorJump errors{};
    jpeg_progress_mgr progress{};
    bool created = false;

    ~Decoder() {
        if (created)
            jpeg_destroy_decompress(&info);
    }
    bool readHeader(ImageBytes bytes) {
        info.err = jpeg_std_error(&errors.base);
        errors.base.error_exit = onError;
        errors.base.output_message = onMessage;
        errors.base.emit_message = onWarning;
        if (setjmp(errors.back) != 0)
            return false;
        jpeg_create_decompress(&info);
        created = true;
        progress.progress_monitor = onProgress;
        info.progress = &progress;
        jpeg_mem_src(&info, bytes.data(), static_cast<unsigned long>(bytes.size()));
        if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK)
            return false;
        const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
        info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
        return true;
    }
    /// rows: `height` rows of `stride` bytes.
    bool readRows(std::uint8_t* rows, std::size_t stride) {
        if (setjmp(errors.back) != 0)
            return false;
        jpeg_start_decompress(&info);
        while (info.output_scanline < info.output_height) {
            JSAMPROW row = rows + info.output_scanline * stride;
            jpeg_read_scanlines(&info, &row, 1);
        }
        jpeg_finish_decompress(&info);
        return true;
    }
};

} // namespace

Result<DecodedImage> decodeJpeg(ImageBytes bytes) {
    Decoder decoder;
    if (!decoder.readHeader(bytes))
        return DecodedImage{};
    const std::size_t width = decoder.info.image_width, height = decoder.info.image_height;
    NABLA_TRY(Tensor image, makeImage(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)));
    const auto pixels = image.mutableData<std::uint8_t>();
    if (decoder.info.out_color_space == JCS_RGB) {
        if (!decoder.readRows(pixels.data(), width * 3))
            return DecodedImage{};
        return DecodedImage{std::move(image)};
    }
    std::vector<std::uint8_t> inks(width * height * 4);
    if (!decoder.readRows(inks.data(), width * 4))
        return DecodedImage{};
    const bool inverted = decoder.info.saw_Adobe_marker != 0; // Adobe stores 255 minus the ink
    for (std::size_t i = 0; i < width * height; ++i) {
        const auto light = [&](std::size_t k) { return static_cast<unsigned>(inverted ? inks[i * 4 + k] : 255 - inks[i * 4 + k]); };
        for (std::size_t k = 0; k < 3; ++k)
            pixels[i * 3 + k] = static_cast<std::uint8_t>(light(k) * light(3) / 255);
    }
    return DecodedImage{std::move(image)};
}

} // namespace nabla::engine

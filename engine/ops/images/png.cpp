// PNG by libpng: every kind as 8-bit RGB, without alpha and without gamma.
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

namespace {

[[noreturn]] void onError(png_structp png, png_const_charp) { png_longjmp(png, 1); }
void onWarning(png_structp, png_const_charp) { }

struct Decoder {
    png_structp png = nullptr;
    png_infop info = nullptr;
    ImageBytes rest;

    explicit Decoder(ImageBytes bytes) : rest(bytes) {
        png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, onError, onWarning);
        info = png ? png_create_info_struct(png) : nullptr;
    }
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }

    static void read(png_structp from, png_bytep to, std::size_t count) {
        auto& self = *static_cast<Decoder*>(png_get_io_ptr(from));
        if (count > self.rest.size())
            png_error(from, "the file ends");
        std::memcpy(to, self.rest.data(), count);
        self.rest = self.rest.subspan(count);
    }
    bool readHeader() {
        if (!info || setjmp(png_jmpbuf(png)) != 0)
            return false;
        png_set_user_limits(png, 0x7fffffff, 0x7fffffff); // the size is checked before pixels are read
        png_set_chunk_malloc_max(png, 1 << 26);
        png_set_read_fn(png, this, read);
        png_read_info(png, info);
        png_set_expand(png); // palettes, fewer than 8 bits
        png_set_strip_16(png);
        png_set_strip_alpha(png);
        png_set_gray_to_rgb(png);
        png_set_interlace_handling(png);
        png_read_update_info(png, info);
        return true;
    }
    bool readRows(std::uint8_t* rows, std::size_t stride) {
        if (setjmp(png_jmpbuf(png)) != 0 || png_get_rowbytes(png, info) != stride)
            return false;
        const int passes = png_get_interlace_type(png, info) == PNG_INTERLACE_NONE ? 1 : 7;
        for (int pass = 0; pass < passes; ++pass) {
            for (png_uint_32 y = 0; y < png_get_image_height(png, info); ++y)
                png_read_row(png, rows + y * stride, nullptr);
        }
        return true;
    }
};

} // namespace

Result<DecodedImage> decodePng(ImageBytes bytes) {
    Decoder decoder(bytes);
    if (!decoder.readHeader())
        return DecodedImage{};
    const std::int64_t width = png_get_image_width(decoder.png, decoder.info), height = png_get_image_height(decoder.png, decoder.info);
    NABLA_TRY(Tensor image, makeImage(height, width));
    if (!decoder.readRows(image.mutableData<std::uint8_t>().data(), static_cast<std::size_t>(width) * 3))
        return DecodedImage{};
    return DecodedImage{std::move(image)};
}

} // namespace nabla::engine

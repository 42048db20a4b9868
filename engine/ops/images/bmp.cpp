// Windows bitmaps: 1, 4, 8, 16, 24 and 32 bits a pixel, with bit masks and run lengths. Source: Microsoft, "Bitmap Storage".
#include <algorithm>
#include <array>
#include <bit>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

namespace {

enum class Packing : std::uint32_t { Plain = 0, Runs8 = 1, Runs4 = 2, Masks = 3, MasksWithAlpha = 6 };

struct Bitmap {
    ImageBytes bytes;
    std::int64_t width = 0, height = 0, pixels = 0; ///< pixels: where they begin
    std::uint32_t bits = 0;
    Packing packing = Packing::Plain;
    bool topDown = false;
    std::array<std::uint32_t, 3> masks{};
    std::int64_t palette = 0, colours = 0, entry = 4; ///< where the palette begins, its entries, and bytes of each

    std::uint32_t number(std::int64_t at, int count) const {
        std::uint32_t value = 0;
        for (int i = 0; i < count; ++i) {
            const auto index = static_cast<std::size_t>(at + i);
            value |= (index < bytes.size() ? std::uint32_t{bytes[index]} : 0U) << (8 * i);
        }
        return value;
    }
    void put(std::uint8_t* to, std::uint32_t colour) const {
        for (int k = 0; k < 3; ++k) // blue, green, red; entries that the palette lacks are black
            to[k] = colour < colours ? static_cast<std::uint8_t>(number(palette + colour * entry + 2 - k, 1)) : std::uint8_t{0};
    }
};

bool readHeader(Bitmap& b) {
    if (b.bytes.size() < 26)
        return false;
    b.pixels = b.number(10, 4);
    const std::int64_t header = b.number(14, 4);
    const bool old = header == 12; // OS/2: 16-bit sizes, three bytes a palette entry
    if (!old && header < 40)
        return false;
    b.width = old ? b.number(18, 2) : static_cast<std::int32_t>(b.number(18, 4));
    b.height = old ? b.number(20, 2) : static_cast<std::int32_t>(b.number(22, 4));
    b.bits = b.number(old ? 24 : 28, 2);
    b.packing = old ? Packing::Plain : Packing{b.number(30, 4)};
    b.topDown = b.height < 0;
    b.height = b.topDown ? -b.height : b.height;
    b.palette = 14 + header;
    b.entry = old ? 3 : 4;
    b.masks = b.bits == 16 ? std::array{0x7c00U, 0x3e0U, 0x1fU} : std::array{0xff0000U, 0xff00U, 0xffU};
    if (b.packing == Packing::Masks || b.packing == Packing::MasksWithAlpha) {
        for (std::size_t k = 0; k < 3; ++k)
            b.masks[k] = b.number(54 + 4 * static_cast<std::int64_t>(k), 4);
    }
    if (b.bits <= 8) {
        const std::int64_t stated = old ? 0 : b.number(46, 4), most = std::int64_t{1} << b.bits;
        b.colours = stated == 0 ? most : std::min(stated, most);
    }
    const bool plainBits = b.bits == 1 || b.bits == 4 || b.bits == 8 || b.bits == 16 || b.bits == 24 || b.bits == 32;
    const bool fits = b.packing == Packing::Plain ? plainBits : b.packing == Packing::Runs8 ? b.bits == 8 : b.packing == Packing::Runs4 ? b.bits == 4
        : (b.packing == Packing::Masks || b.packing == Packing::MasksWithAlpha) && (b.bits == 16 || b.bits == 32);
    return fits && b.width > 0 && b.height > 0;
}

/// The bits of a mask, as 0 .. 255.
std::uint8_t channel(std::uint32_t value, std::uint32_t mask) {
    if (mask == 0)
        return 0;
    const int shift = std::countr_zero(mask);
    const std::uint64_t most = mask >> shift, part = (value & mask) >> shift;
    return static_cast<std::uint8_t>(part * 255 / most);
}

bool readPlain(const Bitmap& b, std::span<std::uint8_t> out) {
    const std::int64_t stride = (b.width * b.bits + 31) / 32 * 4;
    if (b.pixels + stride * (b.height - 1) + (b.width * b.bits + 7) / 8 > static_cast<std::int64_t>(b.bytes.size()))
        return false;
    for (std::int64_t y = 0; y < b.height; ++y) {
        const std::int64_t row = b.pixels + stride * (b.topDown ? y : b.height - 1 - y);
        for (std::int64_t x = 0; x < b.width; ++x) {
            std::uint8_t* const to = out.data() + (y * b.width + x) * 3;
            if (b.bits <= 8) {
                const std::int64_t bit = x * b.bits;
                const std::uint32_t packed = b.number(row + bit / 8, 1);
                b.put(to, packed >> (8 - b.bits - static_cast<std::uint32_t>(bit % 8)) & ((1U << b.bits) - 1));
            } else if (b.bits == 24) {
                for (int k = 0; k < 3; ++k)
                    to[k] = static_cast<std::uint8_t>(b.number(row + x * 3 + 2 - k, 1));
            } else {
                const std::uint32_t value = b.number(row + x * (b.bits / 8), static_cast<int>(b.bits / 8));
                for (std::size_t k = 0; k < 3; ++k)
                    to[k] = channel(value, b.masks[k]);
            }
        }
    }
    return true;
}

/// Run lengths: (count, colour) pairs; a count of 0 ends a row (0), the image (1), moves on (2) or copies that many pixels.
bool readRuns(const Bitmap& b, std::span<std::uint8_t> out) {
    for (std::int64_t i = 0; i < b.width * b.height; ++i)
        b.put(out.data() + i * 3, 0);
    std::int64_t x = 0, y = 0, at = b.pixels;
    const auto size = static_cast<std::int64_t>(b.bytes.size());
    const auto put = [&](std::uint32_t colour) {
        if (x < b.width && y < b.height)
            b.put(out.data() + ((b.topDown ? y : b.height - 1 - y) * b.width + x) * 3, colour);
        ++x;
    };
    while (at + 2 <= size) {
        const std::uint32_t count = b.number(at, 1), value = b.number(at + 1, 1);
        at += 2;
        if (count > 0) {
            for (std::uint32_t i = 0; i < count; ++i)
                put(b.bits == 8 ? value : i % 2 == 0 ? value >> 4 : value & 15);
        } else if (value == 0) {
            x = 0;
            ++y;
        } else if (value == 1) {
            return true;
        } else if (value == 2) {
            x += b.number(at, 1);
            y += b.number(at + 1, 1);
            at += 2;
        } else {
            for (std::uint32_t i = 0; i < value; ++i) {
                const std::uint32_t byte = b.number(at + (b.bits == 8 ? i : i / 2), 1);
                put(b.bits == 8 ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
            }
            const std::int64_t used = b.bits == 8 ? value : (value + 1) / 2;
            at += used + used % 2;
        }
    }
    return false;
}

} // namespace

Result<DecodedImage> decodeBmp(ImageBytes bytes) {
    Bitmap b;
    b.bytes = bytes;
    if (!readHeader(b))
        return DecodedImage{};
    NABLA_TRY(Tensor image, makeImage(b.height, b.width));
    const auto pixels = image.mutableData<std::uint8_t>();
    const bool runs = b.packing == Packing::Runs8 || b.packing == Packing::Runs4;
    if (!(runs ? readRuns(b, pixels) : readPlain(b, pixels)))
        return DecodedImage{};
    return DecodedImage{std::move(image)};
}

} // namespace nabla::engine

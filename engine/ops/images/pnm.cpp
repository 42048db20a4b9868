// The portable image formats of Netpbm: PBM, PGM and PPM as text (P1 to P3) and binary (P4 to P6), and PAM (P7).
#include <algorithm>
#include <string>

#include "engine/ops/images/image_formats.h"

namespace nabla::engine {

namespace {

struct Reader {
    ImageBytes bytes;
    std::size_t at = 2;

    static bool isSpace(std::uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }
    /// Past white space and comments.
    void skip() {
        while (at < bytes.size() && (isSpace(bytes[at]) || bytes[at] == '#')) {
            if (bytes[at] == '#') {
                while (at < bytes.size() && bytes[at] != '\n')
                    ++at;
            } else {
                ++at;
            }
        }
    }
    std::string word() {
        skip();
        std::string out;
        while (at < bytes.size() && !isSpace(bytes[at]) && out.size() < 32)
            out += static_cast<char>(bytes[at++]);
        return out;
    }
    /// A decimal number; -1 when there is none. `digits`: at most so many.
    std::int64_t number(int digits = 9) {
        skip();
        std::int64_t value = -1;
        for (; digits > 0 && at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9'; ++at, --digits)
            value = std::max<std::int64_t>(value, 0) * 10 + (bytes[at] - '0');
        return value;
    }
};

struct Header {
    std::int64_t width = -1, height = -1, most = 1, depth = 1;
    bool text = false, bitmap = false;
};

Header readPam(Reader& r) {
    Header h;
    for (std::string key = r.word(); !key.empty() && key != "ENDHDR"; key = r.word()) {
        if (key == "WIDTH")
            h.width = r.number();
        else if (key == "HEIGHT")
            h.height = r.number();
        else if (key == "DEPTH")
            h.depth = r.number();
        else if (key == "MAXVAL")
            h.most = r.number();
        else
            r.word(); // TUPLTYPE
    }
    return h;
}

Header readHeader(Reader& r, char kind) {
    if (kind == '7')
        return readPam(r);
    Header h;
    h.text = kind <= '3';
    h.bitmap = kind == '1' || kind == '4';
    h.depth = kind == '3' || kind == '6' ? 3 : 1;
    h.width = r.number();
    h.height = r.number();
    if (!h.bitmap)
        h.most = r.number();
    return h;
}

/// Sample after sample, -1 at the end of the file. Ones of a bitmap are black.
class Samples {
public:
    Samples(Reader& reader, const Header& header) : m_reader(reader), m_header(header) { }
    std::int64_t next(std::int64_t column) {
        if (m_header.text) {
            const std::int64_t value = m_reader.number(m_header.bitmap ? 1 : 9); // bits may stand without a space between them
            return m_header.bitmap && value >= 0 ? 1 - std::min<std::int64_t>(value, 1) : value;
        }
        const std::size_t size = m_header.most > 255 ? 2 : 1;
        const bool isNewByte = !m_header.bitmap || column % 8 == 0;
        if (isNewByte) {
            if (m_reader.at + size > m_reader.bytes.size())
                return -1;
            m_byte = m_reader.bytes[m_reader.at];
            if (size == 2)
                m_byte = m_byte << 8 | m_reader.bytes[m_reader.at + 1];
            m_reader.at += size;
        }
        return m_header.bitmap ? 1 - (m_byte >> (7 - column % 8) & 1) : m_byte;
    }

private:
    Reader& m_reader;
    const Header& m_header;
    std::int64_t m_byte = 0;
};

} // namespace

Result<DecodedImage> decodePnm(ImageBytes bytes) {
    Reader reader{bytes};
    const Header h = readHeader(reader, static_cast<char>(bytes[1]));
    if (h.width < 1 || h.height < 1 || h.most < 1 || h.most > 65535 || h.depth < 1 || h.depth > 4)
        return DecodedImage{};
    ++reader.at; // one white space before binary samples
    NABLA_TRY(Tensor image, makeImage(h.height, h.width));
    const auto pixels = image.mutableData<std::uint8_t>();
    Samples samples(reader, h);
    for (std::int64_t i = 0; i < h.width * h.height; ++i) {
        std::uint8_t values[4] = {};
        for (std::int64_t k = 0; k < h.depth; ++k) {
            const std::int64_t value = samples.next(i % h.width);
            if (value < 0)
                return DecodedImage{};
            values[k] = static_cast<std::uint8_t>((std::min(value, h.most) * 510 / h.most + 1) / 2); // to the nearest of 0 .. 255
        }
        for (std::int64_t k = 0; k < 3; ++k)
            pixels[static_cast<std::size_t>(i * 3 + k)] = values[h.depth >= 3 ? k : 0];
    }
    return DecodedImage{std::move(image)};
}

} // namespace nabla::engine

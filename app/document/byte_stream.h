// Bytes of our own versioned forms: little-endian, whole numbers as variable-length integers. The reader trusts nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace nabla::app {

class ByteWriter {
public:
    void u8(std::uint8_t value) { m_bytes.push_back(static_cast<std::byte>(value)); }
    void flag(bool value) { u8(value ? 1 : 0); }
    /// Seven bits a byte, low ones first; the top bit says that more follow.
    void number(std::uint64_t value) {
        while (value >= 0x80) {
            u8(static_cast<std::uint8_t>(value | 0x80));
            value >>= 7;
        }
        u8(static_cast<std::uint8_t>(value));
    }
    /// Small magnitudes of both signs stay short.
    void whole(std::int64_t value) {
        number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
    }
    void fixed32(std::uint32_t value) { raw(value); }
    void fixed64(std::uint64_t value) { raw(value); }
    void real(float value) { raw(std::bit_cast<std::uint32_t>(value)); }
    void real(double value) { raw(std::bit_cast<std::uint64_t>(value)); }
    void text(std::string_view value) {
        number(value.size());
        bytes(std::as_bytes(std::span(value)));
    }
    void bytes(std::span<const std::byte> value) { m_bytes.insert(m_bytes.end(), value.begin(), value.end()); }
    std::span<const std::byte> written() const { return m_bytes; }
    std::vector<std::byte> take() { return std::move(m_bytes); }

private:
    template <typename T> void raw(T value) {
        static_assert(std::endian::native == std::endian::little, "the form is little-endian");
        bytes(std::as_bytes(std::span(&value, 1)));
    }
    std::vector<std::byte> m_bytes;
};

/// Once something is wrong every read gives zeros and every count 0, so that decoders are written straight on and ask at the end.
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : m_bytes(bytes) { }

    bool ok() const { return !m_error; }
    /// The first one stays.
    void fail(engine::Error error) {
        if (!m_error)
            m_error = std::move(error);
    }
    /// Errors (Read): the first fault, with the byte it was found at.
    engine::Result<void> status() const {
        if (m_error)
            return *m_error;
        return {};
    }
    std::size_t position() const { return m_position; }
    std::size_t remaining() const { return m_bytes.size() - m_position; }

    std::uint8_t u8() {
        const auto one = bytes(1);
        return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one[0]);
    }
    /// A value below `end`: an enumerator, a flag.
    std::uint8_t below(std::uint8_t end, std::string_view what) {
        const std::uint8_t value = u8();
        if (value < end)
            return value;
        fail(engine::readError("byte {}: {} is {}, must be below {}", m_position, what, value, end));
        return 0;
    }
    bool flag() { return below(2, "a flag") == 1; }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; ok(); shift += 7) {
            const std::uint8_t byte = u8();
            if (shift > 63 || (shift == 63 && (byte & 0x7e) != 0)) {
                fail(engine::readError("byte {}: a number has more than 64 bits", m_position));
                break;
            }
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80)
                return ok() ? value : 0;
        }
        return 0;
    }
    std::int64_t whole() {
        const std::uint64_t value = number();
        return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
    }
    /// A number of entries that take at least `each` bytes: more than could be there is an error before anything is allocated.
    std::size_t count(std::string_view what, std::size_t each = 1) {
        const std::uint64_t value = number();
        if (value <= remaining() / each)
            return static_cast<std::size_t>(value);
        fail(engine::readError("byte {}: {} {} do not fit into the {} bytes that are left", m_position, value, what, remaining()));
        return 0;
    }
    std::uint32_t fixed32() { return raw<std::uint32_t>(); }
    std::uint64_t fixed64() { return raw<std::uint64_t>(); }
    float realFloat() { return std::bit_cast<float>(fixed32()); }
    double realDouble() { return std::bit_cast<double>(fixed64()); }
    std::string text() {
        const auto all = bytes(count("characters"));
        return {reinterpret_cast<const char*>(all.data()), all.size()};
    }
    /// Empty when they are not there.
    std::span<const std::byte> bytes(std::size_t size) {
        if (!ok())
            return {};
        if (size > remaining()) {
            fail(engine::readError("byte {}: ends here, {} more bytes are wanted", m_bytes.size(), size - remaining()));
            return {};
        }
        const auto out = m_bytes.subspan(m_position, size);
        m_position += size;
        return out;
    }

private:
    template <typename T> T raw() {
        T value{};
        if (const auto from = bytes(sizeof value); !from.empty())
            std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
    std::optional<engine::Error> m_error;
};

} // namespace nabla::app

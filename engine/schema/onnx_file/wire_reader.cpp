// Over protozero's varint decoder; its exceptions end here.
#include "engine/schema/onnx_file/wire_reader.h"

#include <cstring>

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace nabla::engine {

void WireStatus::failShort(const char* at, const char* end, std::string_view what, std::uint64_t wanted) {
    if (failed())
        return;
    if (end == fileEnd())
        m_fault = fmt::format("truncated: the file ends at byte {}, but {} at byte {} has a length of {} bytes", m_file.size(), what, offsetOf(at), wanted);
    else
        m_fault = fmt::format("corrupt at byte {}: {} of {} bytes runs past the end of the message around it at byte {}", offsetOf(at), what, wanted, offsetOf(end));
}

void WireStatus::failCorrupt(const char* at, std::string_view what) {
    if (!failed())
        m_fault = fmt::format("corrupt at byte {}: {}", offsetOf(at), what);
}

std::uint64_t WireReader::rawVarint() {
    const char* const start = m_at;
    try {
        return protozero::decode_varint(&m_at, m_end);
    } catch (const protozero::end_of_buffer_exception&) {
        if (m_end == m_status->fileEnd())
            m_status->failShort(start, m_end, "a number", static_cast<std::uint64_t>(m_end - start) + 1);
        else
            m_status->failCorrupt(start, "a number runs past the end of its message");
    } catch (const protozero::exception&) {
        m_status->failCorrupt(start, "a number of more than 64 bits");
    }
    m_at = m_end;
    return 0;
}

const char* WireReader::take(std::uint64_t count, std::string_view what) {
    const char* const start = m_at;
    if (count > static_cast<std::uint64_t>(m_end - m_at)) {
        m_status->failShort(start, m_end, what, count);
        m_at = m_end;
        return nullptr;
    }
    m_at += count;
    return start;
}

bool WireReader::next() {
    if (m_pending)
        skip();
    if (m_at == m_end || m_status->failed())
        return false;
    const char* const start = m_at;
    const std::uint64_t tag = rawVarint();
    if (m_status->failed())
        return false;
    m_field = static_cast<std::uint32_t>(tag >> 3U);
    const auto type = static_cast<unsigned>(tag & 7U);
    if (tag >> 32U || m_field == 0) {
        m_status->failCorrupt(start, fmt::format("not a field tag: {}", tag));
    } else if (type == 3 || type == 4) {
        m_status->failCorrupt(start, fmt::format("field {} is a group, which no ONNX file holds", m_field));
    } else if (type > 5) {
        m_status->failCorrupt(start, fmt::format("field {} has the unknown wire type {}", m_field, type));
    } else {
        m_type = static_cast<WireType>(type);
        m_pending = true;
    }
    return !m_status->failed();
}

void WireReader::skip() {
    switch (m_type) {
    case WireType::Varint: varint(); break;
    case WireType::Fixed64: m_pending = false, take(8, "a number"); break;
    case WireType::Fixed32: m_pending = false, take(4, "a number"); break;
    case WireType::Length: bytes(); break;
    }
}

bool WireReader::expect(WireType type, std::string_view what) {
    m_pending = false;
    if (m_status->failed())
        return false;
    if (m_type == type)
        return true;
    m_status->failCorrupt(m_at, fmt::format("field {} should be {}, its wire type is {}", m_field, what, static_cast<int>(m_type)));
    m_at = m_end;
    return false;
}

std::uint64_t WireReader::varint() { return expect(WireType::Varint, "a whole number") ? rawVarint() : 0; }

float WireReader::float32() {
    float value = 0;
    if (expect(WireType::Fixed32, "a float")) {
        if (const char* from = take(sizeof value, "a float"))
            std::memcpy(&value, from, sizeof value);
    }
    return value;
}

double WireReader::float64() {
    double value = 0;
    if (expect(WireType::Fixed64, "a double")) {
        if (const char* from = take(sizeof value, "a double"))
            std::memcpy(&value, from, sizeof value);
    }
    return value;
}

std::string_view WireReader::bytes() {
    if (!expect(WireType::Length, "a message or text"))
        return {m_end, 0};
    const std::uint64_t length = rawVarint();
    if (m_status->failed())
        return {m_end, 0};
    if (length > static_cast<std::uint64_t>(m_end - m_at)) {
        m_status->failShort(m_at, m_end, fmt::format("field {}", m_field), length);
        m_at = m_end;
        return {m_end, 0};
    }
    const char* const from = m_at;
    m_at += length;
    return {from, static_cast<std::size_t>(length)};
}

} // namespace nabla::engine

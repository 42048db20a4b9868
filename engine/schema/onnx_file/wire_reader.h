// WireReader: fields of a protobuf message in a mapped file, one after the other, without copying; the first fault stops every reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace nabla::engine {

/// The state that all readers of one file share: the first fault found and where it is.
class WireStatus {
public:
    explicit WireStatus(std::string_view file) : m_file(file) { }

    bool failed() const { return !m_fault.empty(); }
    /// `truncated at byte 5029: …` or `corrupt at byte 17: …`.
    Result<void> result() const {
        if (failed())
            return Error{ErrorKind::Read, m_fault};
        return {};
    }
    std::size_t offsetOf(const char* at) const { return static_cast<std::size_t>(at - m_file.data()); }
    const char* fileEnd() const { return m_file.data() + m_file.size(); }
    /// Something ends too early: the file when `end` is its end, else a message inside it.
    void failShort(const char* at, const char* end, std::string_view what, std::uint64_t wanted);
    void failCorrupt(const char* at, std::string_view what);

private:
    std::string_view m_file;
    std::string m_fault;
};

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

/// A field whose value nobody takes is skipped by the next next(). After a fault next() is false and values read as zero and empty.
class WireReader {
public:
    WireReader(std::string_view message, WireStatus& status) : m_at(message.data()), m_end(message.data() + message.size()), m_status(&status) { }

    bool next();
    std::uint32_t field() const { return m_field; }
    WireType type() const { return m_type; }
    WireStatus& status() const { return *m_status; }

    std::uint64_t varint();
    std::int64_t int64() { return static_cast<std::int64_t>(varint()); }
    std::int32_t int32() { return static_cast<std::int32_t>(varint()); }
    float float32();
    double float64();
    std::string_view bytes();
    WireReader message() { return {bytes(), *m_status}; }

    /// Calls f(uint64) for each entry of a repeated whole number, packed or not.
    template <typename F> void forEachVarint(F&& f) {
        if (m_type != WireType::Length) {
            f(varint());
            return;
        }
        WireReader packed(bytes(), *m_status);
        while (packed.m_at != packed.m_end && !m_status->failed())
            f(packed.rawVarint());
    }

private:
    bool expect(WireType type, std::string_view what);
    std::uint64_t rawVarint();
    const char* take(std::uint64_t count, std::string_view what);
    void skip();

    const char* m_at;
    const char* m_end;
    WireStatus* m_status;
    std::uint32_t m_field = 0;
    WireType m_type = WireType::Varint;
    bool m_pending = false;
};

} // namespace nabla::engine

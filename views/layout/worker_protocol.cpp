// Encoding and decoding of the layout worker's frames.
#include "views/layout/worker_protocol.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

namespace nabla::views {

using engine::readError;
using engine::Result;

namespace {

class Writer {
public:
    Writer() { u32(0); }
    void u8(std::uint8_t v) { m_bytes.push_back(static_cast<std::byte>(v)); }
    void u32(std::uint32_t v) {
        for (int shift = 0; shift < 32; shift += 8)
            m_bytes.push_back(static_cast<std::byte>(v >> shift & 0xff));
    }
    void i32(std::int32_t v) { u32(static_cast<std::uint32_t>(v)); }
    void f32(float v) { u32(std::bit_cast<std::uint32_t>(v)); }
    void count(std::size_t n) { u32(static_cast<std::uint32_t>(n)); }
    void point(Point p) {
        f32(p.x);
        f32(p.y);
    }
    void box(const Box& b) {
        point({b.x, b.y});
        point({b.width, b.height});
    }
    void text(std::string_view s) {
        count(s.size());
        for (const char c : s)
            u8(static_cast<std::uint8_t>(c));
    }
    Bytes finish() {
        const auto length = static_cast<std::uint32_t>(m_bytes.size() - 4);
        for (std::size_t i = 0; i < 4; ++i)
            m_bytes[i] = static_cast<std::byte>(length >> (8 * i) & 0xff);
        return std::move(m_bytes);
    }

private:
    Bytes m_bytes;
};

/// Reads on after the end give zeros and are remembered, so that a decoder checks once at the end.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes)
        : m_bytes(bytes) { }
    std::uint8_t u8() {
        if (m_at + 1 > m_bytes.size()) {
            m_short = true;
            return 0;
        }
        return static_cast<std::uint8_t>(m_bytes[m_at++]);
    }
    std::uint32_t u32() {
        if (m_bytes.size() - m_at < 4) {
            m_short = true;
            m_at = m_bytes.size();
            return 0;
        }
        std::uint32_t v = 0;
        for (int i = 3; i >= 0; --i)
            v = v << 8 | static_cast<std::uint32_t>(m_bytes[m_at + static_cast<std::size_t>(i)]);
        m_at += 4;
        return v;
    }
    std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
    float f32() { return std::bit_cast<float>(u32()); }
    Point point() {
        const float x = f32();
        return {x, f32()};
    }
    Box box() {
        const Point p = point();
        const Point s = point();
        return {p.x, p.y, s.x, s.y};
    }
    /// A count of things of `size` bytes each; 0 and an error when they cannot all be there.
    std::size_t count(std::size_t size, const char* what) {
        const std::size_t n = u32();
        if (n > (m_bytes.size() - m_at) / size) {
            if (m_error.empty())
                m_error = fmt::format("{} {} announced, {} bytes left", n, what, m_bytes.size() - m_at);
            return 0;
        }
        return n;
    }
    std::string text() {
        const std::size_t n = count(1, "characters");
        std::string s(n, '\0');
        std::memcpy(s.data(), m_bytes.data() + m_at, n);
        m_at += n;
        return s;
    }
    Result<void> finish(const char* what) const {
        if (!m_error.empty())
            return readError("{}: {}", what, m_error);
        if (m_short)
            return readError("{}: ends early, after {} bytes", what, m_bytes.size());
        if (m_at != m_bytes.size())
            return readError("{}: {} bytes too many", what, m_bytes.size() - m_at);
        return {};
    }

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_at = 0;
    bool m_short = false;
    std::string m_error;
};

constexpr float LayoutSpacing::*kSpacing[] = {&LayoutSpacing::nodeGap, &LayoutSpacing::rankGap, &LayoutSpacing::edgeGap,
    &LayoutSpacing::groupPadding, &LayoutSpacing::groupHeader, &LayoutSpacing::componentGap};

void writeLayout(Writer& w, const LayoutRequest& r) {
    for (const auto field : kSpacing)
        w.f32(r.spacing.*field);
    w.count(r.nodes.size());
    for (const LayoutNode& n : r.nodes) {
        w.point({n.width, n.height});
        w.i32(n.group);
        w.f32(n.previousX);
    }
    w.count(r.groups.size());
    for (const LayoutGroup& g : r.groups) {
        w.i32(g.parent);
        w.f32(g.minWidth);
    }
    w.count(r.edges.size());
    for (const LayoutEdge& e : r.edges) {
        for (const int v : {e.from, e.to, e.fromPort, e.toPort})
            w.i32(v);
        w.f32(e.labelHeight);
    }
}

void readLayout(Reader& in, LayoutRequest& r) {
    for (const auto field : kSpacing)
        r.spacing.*field = in.f32();
    r.nodes.resize(in.count(16, "nodes"));
    for (LayoutNode& n : r.nodes) {
        const Point size = in.point();
        n = {size.x, size.y, in.i32(), 0};
        n.previousX = in.f32();
    }
    r.groups.resize(in.count(8, "groups"));
    for (LayoutGroup& g : r.groups) {
        g.parent = in.i32();
        g.minWidth = in.f32();
    }
    r.edges.resize(in.count(20, "edges"));
    for (LayoutEdge& e : r.edges) {
        e.from = in.i32();
        e.to = in.i32();
        e.fromPort = in.i32();
        e.toPort = in.i32();
        e.labelHeight = in.f32();
    }
}

void readResult(Reader& in, LayoutResult& r) {
    r.nodes.resize(in.count(16, "node boxes"));
    for (Box& b : r.nodes)
        b = in.box();
    r.groups.resize(in.count(16, "group boxes"));
    for (Box& b : r.groups)
        b = in.box();
    r.points.resize(in.count(8, "points"));
    for (Point& p : r.points)
        p = in.point();
    r.firstPoint.resize(in.count(4, "edges"));
    for (std::uint32_t& f : r.firstPoint)
        f = in.u32();
    r.ports.resize(in.count(16, "ports"));
    for (LayoutPort& p : r.ports) {
        p.group = in.i32();
        p.edge = in.i32();
        p.at = in.point();
    }
    r.bounds = in.box();
}

/// What a painter relies on: routes lie within the points and are whole curves, numbers are finite.
Result<void> checkResult(const LayoutResult& r) {
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < r.firstPoint.size(); ++i) {
        const std::uint32_t f = r.firstPoint[i];
        if (f < last || f > r.points.size() || (i == 0 && f != 0))
            return readError("layout reply: edge {} starts at point {} of {}", i, f, r.points.size());
        if (i > 0 && f != last && (f - last) % 3 != 1)
            return readError("layout reply: edge {} has {} points, not 1 + 3k", i - 1, f - last);
        last = f;
    }
    if (last != r.points.size())
        return readError("layout reply: {} of {} points belong to an edge", last, r.points.size());
    for (const Point& p : r.points) {
        if (!std::isfinite(p.x) || !std::isfinite(p.y))
            return readError("layout reply: a point is not finite");
    }
    for (const auto* boxes : {&r.nodes, &r.groups}) {
        for (const Box& b : *boxes) {
            if (!std::isfinite(b.x + b.y + b.width + b.height))
                return readError("layout reply: a box is not finite");
        }
    }
    return {};
}

} // namespace

Bytes encodeRequest(const WorkerRequest& request) {
    Writer w;
    w.u32(request.id);
    w.u8(static_cast<std::uint8_t>(request.kind));
    if (request.kind == WorkerRequestKind::Layout)
        writeLayout(w, request.layout);
    return w.finish();
}

Result<WorkerRequest> decodeRequest(std::span<const std::byte> payload) {
    Reader in(payload);
    WorkerRequest r;
    r.id = in.u32();
    const std::uint8_t kind = in.u8();
    if (kind > static_cast<std::uint8_t>(WorkerRequestKind::Quit))
        return readError("layout request {}: kind {} is unknown", r.id, kind);
    r.kind = static_cast<WorkerRequestKind>(kind);
    if (r.kind == WorkerRequestKind::Layout)
        readLayout(in, r.layout);
    NABLA_CHECK(in.finish("layout request"));
    return r;
}

Bytes encodeReply(const WorkerReply& reply) {
    Writer w;
    w.u32(reply.id);
    w.i32(reply.code);
    w.u32(reply.microseconds);
    w.u32(reply.peakMemoryKib);
    if (reply.code != 0) {
        w.text(reply.message);
        return w.finish();
    }
    const LayoutResult& r = reply.result;
    w.count(r.nodes.size());
    for (const Box& b : r.nodes)
        w.box(b);
    w.count(r.groups.size());
    for (const Box& b : r.groups)
        w.box(b);
    w.count(r.points.size());
    for (const Point p : r.points)
        w.point(p);
    w.count(r.firstPoint.size());
    for (const std::uint32_t f : r.firstPoint)
        w.u32(f);
    w.count(r.ports.size());
    for (const LayoutPort& p : r.ports) {
        w.i32(p.group);
        w.i32(p.edge);
        w.point(p.at);
    }
    w.box(r.bounds);
    return w.finish();
}

Result<WorkerReply> decodeReply(std::span<const std::byte> payload) {
    Reader in(payload);
    WorkerReply r;
    r.id = in.u32();
    r.code = in.i32();
    r.microseconds = in.u32();
    r.peakMemoryKib = in.u32();
    if (r.code != 0)
        r.message = in.text();
    else
        readResult(in, r.result);
    NABLA_CHECK(in.finish("layout reply"));
    NABLA_CHECK(checkResult(r.result));
    return r;
}

void FrameReader::append(std::span<const std::byte> bytes) {
    if (m_start > m_buffer.size() / 2) {
        m_buffer.erase(m_buffer.begin(), m_buffer.begin() + static_cast<std::ptrdiff_t>(m_start));
        m_start = 0;
    }
    m_buffer.insert(m_buffer.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Bytes>> FrameReader::next() {
    const std::size_t there = m_buffer.size() - m_start;
    if (there < 4)
        return std::optional<Bytes>();
    const std::uint32_t length = Reader(std::span(m_buffer).subspan(m_start, 4)).u32();
    if (length > kMaxPayload)
        return readError("layout frame of {} bytes, more than {}", length, kMaxPayload);
    if (there - 4 < length)
        return std::optional<Bytes>();
    const auto begin = m_buffer.begin() + static_cast<std::ptrdiff_t>(m_start + 4);
    m_start += 4 + length;
    return std::optional<Bytes>(Bytes(begin, begin + length));
}

} // namespace nabla::views

// GroupQueryAttention of onnxruntime's domain: heads that share key and value, and a cache that is filled in place.
//
// The cache [B, kv heads, max(past length, total length), H] holds the past; the new keys of row b go to the positions from first[b] on:
//   first[b] = 0 when all of total_sequence_length is new, else seqlens_k[b] + 1 - sequence_length
#include "engine/ops/contrib/attention_core.h"

namespace nabla::engine {

namespace {

/// What the body is written from.
struct Call {
    std::int64_t heads = 0, kvHeads = 0, headSize = 0;
    ValueId q{}, k{}, v{};   ///< [B, heads, S, H]
    ValueId total{};         ///< total_sequence_length, int64 [1]
    ValueId first{};         ///< position of the first query, int64 [B]
    ValueId ends{};          ///< how many positions of the cache a row has in the end, int64 [B]
};

Result<void> refuseUnusual(ContribBody& b) {
    if (b.in(12) || b.in(13) || b.text("k_quant_type") != "NONE" || b.text("v_quant_type") != "NONE")
        return runError("a quantized cache is not supported");
    if (b.in(16))
        return runError("its input query_seqlens is not supported");
    if (b.integer("sliding_window_cache") != 0)
        return runError("sliding_window_cache {} is not supported", b.integer("sliding_window_cache"));
    if (b.wants(3))
        return runError("its output output_qk is not supported");
    if (b.integer("do_rotary") != 0 && (!b.in(7) || !b.in(8)))
        return runError("do_rotary wants cos_cache and sin_cache");
    return {};
}

Result<Call> readCall(ContribBody& b) {
    Call c{.heads = b.integer("num_heads"), .kvHeads = b.integer("kv_num_heads")};
    const std::int64_t width = b.rank(0) == 3 ? b.size(0, 2).value_or(0) : 0;
    constexpr std::int64_t kMost = 1 << 20;
    if (c.heads < 1 || c.kvHeads < 1 || c.heads > kMost || c.kvHeads > kMost || c.heads % c.kvHeads != 0)
        return runError("num_heads {} is no multiple of kv_num_heads {}", c.heads, c.kvHeads);
    const bool packed = !b.in(1);
    const std::int64_t across = packed ? c.heads + 2 * c.kvHeads : c.heads;
    if (width < 1 || width % across != 0)
        return runError("query wants [batch, sequence, width] with a known width that {} heads share", across);
    c.headSize = width / across;
    if (packed) {
        const auto parts = b.split(b.in(0), -1, {c.heads * c.headSize, c.kvHeads * c.headSize, c.kvHeads * c.headSize});
        c.q = splitHeads(b, parts[0], c.heads), c.k = splitHeads(b, parts[1], c.kvHeads), c.v = splitHeads(b, parts[2], c.kvHeads);
    } else {
        if (!b.in(2))
            return runError("it has a key and no value");
        c.q = splitHeads(b, b.in(0), c.heads), c.k = splitHeads(b, b.in(1), c.kvHeads), c.v = splitHeads(b, b.in(2), c.kvHeads);
    }
    c.total = b.reshape(b.cast(b.in(6), DType::Int64), {1});
    c.ends = b.add(b.reshape(b.cast(b.in(5), DType::Int64), {-1}), b.intScalar(1));
    const ValueId count = b.dim(b.in(0), 1);
    c.first = b.op("Where", {b.op("Equal", {count, c.total}), b.intScalar(0), b.sub(c.ends, count)});
    return c;
}

/// Heads normalized and turned, as asked.
void prepareHeads(ContribBody& b, Call& c) {
    const auto normalized = [&](ValueId x, std::size_t weight) {
        return b.op("RMSNormalization", {x, b.in(weight)}, {number("axis", -1), {"epsilon", b.real("qk_norm_epsilon")}});
    };
    if (b.in(14))
        c.q = normalized(c.q, 14);
    if (b.in(15))
        c.k = normalized(c.k, 15);
    if (b.integer("do_rotary") == 0)
        return;
    const ValueId queries = b.dim(c.q, 2);
    ValueId positions = b.op("Squeeze", {queryPositions(b, c.first, queries, true), b.ints({2})});
    if (b.in(9)) { // when all of it is new, only the first position counts, and all rows go on from there
        const ValueId first = b.op("Slice", {b.reshape(b.in(9), {-1}), b.ints({0}), b.ints({1})});
        positions = b.op("Where", {b.op("Equal", {queries, c.total}), b.add(positions, first), b.in(9)});
    }
    std::vector<Attribute> attributes{number("interleaved", b.integer("rotary_interleaved"))};
    if (const auto half = b.size(7, 1); half && 2 * *half != c.headSize)
        attributes.push_back(number("rotary_embedding_dim", 2 * *half));
    c.q = b.op("RotaryEmbedding", {c.q, b.in(7), b.in(8), positions}, attributes);
    c.k = b.op("RotaryEmbedding", {c.k, b.in(7), b.in(8), positions}, attributes);
}

/// The cache after this call.
ValueId cached(ContribBody& b, const Call& c, ValueId past, ValueId fresh, DType type) {
    const ValueId batch = b.dim(fresh, 0), sizes = b.ints({c.kvHeads});
    const auto zeros = [&](ValueId length) {
        return b.op("Expand", {b.scalar(type, 0), b.concat({batch, sizes, length, b.ints({c.headSize})}, 0)});
    };
    ValueId cache;
    if (past) {
        const ValueId missing = b.op("Max", {b.sub(c.total, b.dim(past, 2)), b.ints({0})});
        cache = b.concat({past, zeros(missing)}, 2);
    } else {
        cache = zeros(c.total);
    }
    return b.op("TensorScatter", {cache, fresh, c.first}, {number("axis", 2)});
}

/// [B, kv heads, T, H] with every head as often as queries share it, cut to the total length.
ValueId spread(ContribBody& b, const Call& c, ValueId cache) {
    const ValueId used = b.op("Slice", {cache, b.ints({0}), c.total, b.ints({2})});
    if (c.heads == c.kvHeads)
        return used;
    const ValueId wide = b.op("Expand", {b.unsqueeze(used, {2}), b.ints({1, 1, c.heads / c.kvHeads, 1, 1})});
    const ValueId shape = b.concat({b.dim(used, 0), b.ints({c.heads}), b.dim(used, 2), b.ints({c.headSize})}, 0);
    return b.op("Reshape", {wide, shape}, {number("allowzero", 1)});
}

/// Which keys each query sees, [B, 1, S, T].
ValueId allowed(ContribBody& b, const Call& c) {
    const ValueId key = b.unsqueeze(b.range(c.total), {0, 1});
    const ValueId query = queryPositions(b, c.first, b.dim(c.q, 2), true);
    ValueId seen;
    if (b.integer("causal") != 0)
        seen = b.op("LessOrEqual", {key, query});
    else
        seen = b.op("Less", {key, b.unsqueeze(c.ends, {1, 2})});
    if (const std::int64_t window = b.integer("local_window_size"); window >= 0)
        seen = b.op("And", {seen, b.op("Greater", {key, b.sub(query, b.intScalar(window))})});
    return b.unsqueeze(seen, {1});
}

ContribOutputs writeGroupQuery(ContribBody& b) {
    NABLA_CHECK(refuseUnusual(b));
    NABLA_TRY(Call c, readCall(b));
    prepareHeads(b, c);
    const ValueId keys = cached(b, c, b.in(3), c.k, b.type(0)), values = cached(b, c, b.in(4), c.v, b.type(0));
    AttentionCall call{.q = c.q, .k = spread(b, c, keys), .v = spread(b, c, values), .type = b.type(0)};
    call.scale = scaleOf(b, c.headSize);
    call.softCap = static_cast<double>(b.real("softcap"));
    call.bias = b.in(10);
    call.allowed = allowed(b, c);
    if (b.in(11))
        call.sink = b.reshape(b.in(11), {1, c.heads, 1, 1});
    else if (b.integer("smooth_softmax") > 0)
        call.sink = b.scalar(call.type, 0);
    return std::vector{attend(b, call).y, keys, values};
}

constexpr OpDef kOps[] = {
    {.name = "GroupQueryAttention", .domain = "com.microsoft", .since = 1, .source = "onnxruntime docs/ContribOperators.md", .run = expandBody(),
        .gradient = throughBody(), .flops = flopsOfBody(), .body = contribBody<writeGroupQuery>},
};

} // namespace

std::span<const OpDef> contribGroupQueryOps() { return kOps; }

} // namespace nabla::engine

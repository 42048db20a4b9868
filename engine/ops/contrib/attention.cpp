// Attention, QAttention, MultiHeadAttention and RotaryEmbedding of onnxruntime's domain.
#include "engine/ops/contrib/attention_core.h"

namespace nabla::engine {

namespace {

constexpr auto kDomain = "com.microsoft";
constexpr auto kSource = "onnxruntime docs/ContribOperators.md";

double filterOf(ContribBody& b) {
    const double stated = static_cast<double>(b.real("mask_filter_value"));
    return b.has("mask_filter_value") ? stated : -10000.0;
}

/// bool to numbers to add: 0 where true, the filter value elsewhere.
ValueId filtered(ContribBody& b, ValueId kept, DType type) { return b.op("Where", {kept, b.scalar(type, 0), b.scalar(type, filterOf(b))}); }

/// What a mask input adds to the scores [B, N, S, T]. `index` is the mask's position; `queries` and `keys` are the sizes S and T.
Result<ValueId> maskBias(ContribBody& b, std::size_t index, DType type, ValueId queries, ValueId keys, std::optional<std::int64_t> batch) {
    const ValueId mask = b.in(index);
    const auto above0 = [&](ValueId m) { return b.op("Greater", {m, b.scalar(DType::Int32, 0)}); };
    switch (b.rank(index)) {
    case 1: { // lengths, or ends and then starts
        const ValueId at = b.unsqueeze(b.cast(b.range(keys), DType::Int32), {0});
        const auto length = b.size(index, 0);
        if (!length || !batch)
            return runError("the sizes of the mask and of the batch are not known");
        const auto part = [&](std::int64_t from) { return b.unsqueeze(b.op("Slice", {mask, b.ints({from}), b.ints({from + *batch})}), {1}); };
        ValueId kept;
        if (*length == *batch || *length == 3 * *batch + 2)
            kept = b.op("Less", {at, part(0)});
        else if (*length == 2 * *batch)
            kept = b.op("And", {b.op("Less", {at, part(0)}), b.op("GreaterOrEqual", {at, part(*batch)})});
        else
            return runError("a mask of {} numbers does not fit a batch of {}", *length, *batch);
        return filtered(b, b.unsqueeze(kept, {1, 2}), type);
    }
    case 2: return filtered(b, b.unsqueeze(above0(mask), {1, 2}), type);
    case 3: return filtered(b, b.unsqueeze(above0(mask), {1}), type);
    case 4: { // [B, 1, M, M]: the rows of the queries, the columns of the keys
        const ValueId from = b.concat({b.sub(keys, queries), b.ints({0})}, 0), to = b.concat({keys, keys}, 0);
        return filtered(b, above0(b.op("Slice", {mask, from, to, b.ints({2, 3})})), type);
    }
    default: return runError("a mask of rank {} is not one that is known here", b.rank(index));
    }
}

/// Which keys a query may see when it sees none after itself: [1, 1, S, T].
ValueId causal(ContribBody& b, ValueId queries, ValueId keys) {
    const ValueId row = queryPositions(b, b.asScalar(b.sub(keys, queries)), queries, false);
    return b.unsqueeze(b.op("LessOrEqual", {b.unsqueeze(b.range(keys), {0}), row}), {0, 1});
}

/// Inputs by position, where the two operators have them.
struct SelfAttentionInputs {
    std::size_t mask, past, bias;
};

Result<void> refuseUnusual(ContribBody& b) {
    if (b.integer("do_rotary") != 0)
        return runError("do_rotary {} is not supported", b.integer("do_rotary"));
    if (b.integer("past_present_share_buffer") != 0)
        return runError("past_present_share_buffer {} is not supported: values do not share memory here", b.integer("past_present_share_buffer"));
    return {};
}

/// From the projection [B, S, q + k + v] on.
ContribOutputs selfAttention(ContribBody& b, ValueId projected, DType type, const std::vector<std::int64_t>& widths, const SelfAttentionInputs& at) {
    const std::int64_t heads = b.integer("num_heads");
    if (heads < 1 || widths[0] < 1 || widths[0] != widths[1] || widths[0] % heads != 0 || widths[2] % heads != 0)
        return runError("num_heads {} does not fit widths {}, {} and {} of Q, K and V", heads, widths[0], widths[1], widths[2]);
    const auto parts = b.split(projected, -1, widths);
    AttentionCall call{.q = splitHeads(b, parts[0], heads), .k = splitHeads(b, parts[1], heads), .v = splitHeads(b, parts[2], heads), .type = type};
    if (b.in(at.past)) {
        const auto past = b.splitEqually(b.in(at.past), 0, 2);
        call.k = b.concat({b.op("Squeeze", {past[0], b.ints({0})}), call.k}, 2);
        call.v = b.concat({b.op("Squeeze", {past[1], b.ints({0})}), call.v}, 2);
    }
    const ValueId queries = b.dim(call.q, 2), keys = b.dim(call.k, 2);
    if (b.in(at.mask)) {
        NABLA_TRY(call.bias, maskBias(b, at.mask, type, queries, keys, b.size(0, 0)));
    }
    if (b.in(at.bias))
        call.bias = call.bias ? b.add(call.bias, b.in(at.bias)) : b.in(at.bias);
    if (b.integer("unidirectional") != 0)
        call.allowed = causal(b, queries, keys);
    call.scale = scaleOf(b, widths[0] / heads);
    ValueId present;
    if (b.wants(1))
        present = b.concat({b.unsqueeze(call.k, {0}), b.unsqueeze(call.v, {0})}, 0);
    return std::vector{attend(b, call).y, present};
}

ContribOutputs writeAttention(ContribBody& b) {
    NABLA_CHECK(refuseUnusual(b));
    std::vector<std::int64_t> widths = b.integers("qkv_hidden_sizes");
    const auto width = b.size(1, 1);
    if (widths.empty() && width && *width % 3 == 0)
        widths.assign(3, *width / 3);
    if (widths.size() != 3 || widths[0] < 0 || widths[1] < 0 || widths[2] < 0)
        return runError("qkv_hidden_sizes wants three sizes, or weights of a known width that can be cut in three");
    ValueId projected = b.op("MatMul", {b.in(0), b.in(1)});
    if (b.in(2))
        projected = b.add(projected, b.in(2));
    return selfAttention(b, projected, b.type(0), widths, {.mask = 3, .past = 4, .bias = 5});
}

ContribOutputs writeQAttention(ContribBody& b) {
    NABLA_CHECK(refuseUnusual(b));
    const auto width = b.size(1, 1);
    if (!width || *width % 3 != 0)
        return runError("its weight wants a known width that can be cut in three");
    std::vector<ValueId> inputs{b.in(0), b.in(1)};
    const auto zero = [&](std::size_t i) { return b.rank(i) == 1 && b.size(i, 0) == 1 ? b.asScalar(b.in(i)) : b.in(i); };
    if (b.in(6) || b.in(7))
        inputs.push_back(b.in(6) ? zero(6) : b.scalar(b.type(0), 0));
    if (b.in(7))
        inputs.push_back(zero(7));
    const ValueId product = b.cast(b.op("MatMulInteger", std::move(inputs)), b.type(2));
    const ValueId projected = b.add(b.mul(product, b.mul(b.in(3), b.in(4))), b.in(2));
    return selfAttention(b, projected, b.type(2), std::vector<std::int64_t>(3, *width / 3), {.mask = 5, .past = 8, .bias = 99});
}

/// Query, key and value of MultiHeadAttention as [B, N, S, H], out of the layouts that it takes.
Result<void> headsOf(ContribBody& b, std::int64_t heads, AttentionCall& call) {
    std::vector<ValueId> bias(3);
    const auto cut = [&](ValueId packed, std::int64_t parts) { // [B, S, N, parts, H]
        std::vector<ValueId> out;
        for (const ValueId part : b.splitEqually(packed, 3, parts))
            out.push_back(b.reshape(part, {0, 0, -1}));
        return out;
    };
    if (b.in(3)) { // one vector: as wide as the query, the key and the value
        const ValueId width = b.rank(0) == 3 ? b.dim(b.in(0), 2) : b.mul(b.dim(b.in(0), 2), b.dim(b.in(0), 4));
        const ValueId rest = b.sub(b.dim(b.in(3), 0), b.add(width, width));
        bias = b.ops("Split", {b.in(3), b.concat({width, width, rest}, 0)}, 3, {number("axis", 0)});
    }
    const auto shaped = [&](ValueId x, std::size_t which) { return splitHeads(b, bias[which] ? b.add(x, bias[which]) : x, heads); };
    if (b.rank(0) == 5) {
        const auto parts = cut(b.in(0), 3);
        call.q = shaped(parts[0], 0), call.k = shaped(parts[1], 1), call.v = shaped(parts[2], 2);
        return {};
    }
    if (b.rank(0) != 3 || !b.in(1))
        return runError("query of rank {} without the key that belongs to it", b.rank(0));
    call.q = shaped(b.in(0), 0);
    if (b.rank(1) == 5) {
        const auto parts = cut(b.in(1), 2);
        call.k = shaped(parts[0], 1), call.v = shaped(parts[1], 2);
    } else if (b.rank(1) == 4 && b.in(2)) { // heads apart already, biases in them
        call.k = b.in(1), call.v = b.in(2);
    } else if (b.rank(1) == 3 && b.in(2)) {
        call.k = shaped(b.in(1), 1), call.v = shaped(b.in(2), 2);
    } else {
        return runError("key of rank {} without the value that belongs to it", b.rank(1));
    }
    return {};
}

ContribOutputs writeMultiHead(ContribBody& b) {
    const std::int64_t heads = b.integer("num_heads");
    const auto width = b.rank(0) == 5 ? b.size(0, 4) : b.size(0, b.rank(0) - 1);
    if (heads < 1 || !width || *width < 1 || (b.rank(0) == 3 && *width % heads != 0))
        return runError("num_heads {} does not fit the query, or its width is not known", heads);
    if (b.in(8) || b.in(9))
        return runError("a cache that past and present share (inputs past_sequence_length, cache_indirection) is not supported");
    AttentionCall call{.type = b.type(0)};
    NABLA_CHECK(headsOf(b, heads, call));
    if (b.in(6) && b.in(7)) {
        call.k = b.concat({b.in(6), call.k}, 2);
        call.v = b.concat({b.in(7), call.v}, 2);
    }
    const ValueId queries = b.dim(call.q, 2), keys = b.dim(call.k, 2);
    if (b.in(4)) {
        NABLA_TRY(call.bias, maskBias(b, 4, call.type, queries, keys, b.size(0, 0)));
    }
    if (b.in(5))
        call.bias = call.bias ? b.add(call.bias, b.in(5)) : b.in(5);
    if (b.integer("unidirectional") != 0)
        call.allowed = causal(b, queries, keys);
    call.scale = scaleOf(b, b.rank(0) == 5 ? *width : *width / heads);
    const AttentionResult result = attend(b, call);
    const auto kept = [&](std::size_t output, ValueId value) { return b.wants(output) ? b.op("Identity", {value}) : ValueId{}; };
    return std::vector{result.y, kept(1, call.k), kept(2, call.v), kept(3, result.scores)};
}

ContribOutputs writeRotary(ContribBody& b) {
    const std::size_t rank = b.rank(0);
    if (rank != 3 && rank != 4)
        return runError("its input has rank {}, it wants 3 or 4", rank);
    if (b.integer("is_packed_batching") != 0)
        return runError("is_packed_batching {} is not supported", b.integer("is_packed_batching"));
    ValueId positions = b.in(1);
    if (b.rank(1) != 2) { // one number: where the sequence begins
        const ValueId steps = b.add(b.range(b.dim(b.in(0), rank == 4 ? 2 : 1)), b.asScalar(b.in(1)));
        positions = b.op("Expand", {b.unsqueeze(steps, {0}), b.concat({b.dim(b.in(0), 0), b.ints({1})}, 0)});
    }
    std::vector<Attribute> attributes{number("interleaved", b.integer("interleaved"))};
    std::int64_t heads = b.integer("num_heads");
    if (const std::int64_t turned = b.integer("rotary_embedding_dim"); turned > 0)
        attributes.push_back(number("rotary_embedding_dim", turned));
    if (rank == 3 && heads == 0) {
        const auto width = b.size(0, 2), half = b.rank(2) == 2 ? b.size(2, 1) : std::nullopt;
        if (!width || !half || *half < 1 || *width % (2 * *half) != 0)
            return runError("num_heads is not stated and does not follow from the shapes");
        heads = *width / (2 * *half);
    }
    if (rank == 3)
        attributes.push_back(number("num_heads", heads));
    return std::vector{b.op("RotaryEmbedding", {b.in(0), b.in(2), b.in(3), positions}, std::move(attributes))};
}

template <ContribOutputs (*write)(ContribBody&)> constexpr OpDef row(std::string_view name) {
    return {.name = name, .domain = kDomain, .since = 1, .source = kSource, .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody(), .body = contribBody<write, Inner::Float>};
}

constexpr OpDef kOps[] = {
    row<writeAttention>("Attention"),
    row<writeQAttention>("QAttention"),
    row<writeMultiHead>("MultiHeadAttention"),
    row<writeRotary>("RotaryEmbedding"),
};

} // namespace

std::span<const OpDef> contribAttentionOps() { return kOps; }

} // namespace nabla::engine

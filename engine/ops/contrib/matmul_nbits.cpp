// MatMulNBits: weights of 2, 4 or 8 bits, several in a byte, unpacked with shifts and masks.
//
//   B [N, blocks, block_size * bits / 8] uint8; in a byte the lowest bits come first
//   scales [N, blocks];  zero_points [N, ceil(blocks * bits / 8)] uint8, packed like B, or [N, blocks] in the type of A
#include "engine/ops/contrib/contrib_body.h"
#include "engine/ops/cost_rules.h"

namespace nabla::engine {

namespace {

/// The numbers in the bytes of x along its last axis: [..., n] uint8 to [..., n, 8 / bits].
ValueId unpacked(ContribBody& b, ValueId x, std::int64_t bits) {
    if (bits == 8)
        return b.unsqueeze(x, {-1});
    std::vector<ValueId> parts;
    const ValueId mask = b.scalar(DType::UInt8, static_cast<double>((1 << bits) - 1));
    for (std::int64_t shift = 0; shift < 8; shift += bits) {
        const ValueId moved = shift == 0 ? x : b.op("BitShift", {x, b.scalar(DType::UInt8, static_cast<double>(shift))}, {{"direction", std::string("RIGHT")}});
        parts.push_back(b.unsqueeze(b.op("BitwiseAnd", {moved, mask}), {-1}));
    }
    return b.concat(std::move(parts), -1);
}

ContribOutputs writeMatMulNBits(ContribBody& b) {
    const std::int64_t n = b.integer("N"), k = b.integer("K"), block = b.integer("block_size"), bits = b.integer("bits");
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (n < 1 || k < 1 || n > kMost || k > kMost)
        return runError("N {} and K {} are no sizes of a matrix", n, k);
    if (block < 16 || (block & (block - 1)) != 0 || block > kMost)
        return runError("block_size {} is no power of two from 16 on", block);
    if (bits != 2 && bits != 4 && bits != 8)
        return runError("bits is {}, wants 2, 4 or 8", bits);
    if (b.in(4))
        return runError("its input g_idx is not supported");
    if (b.integer("weight_prepacked") != 0)
        return runError("weight_prepacked {}: the weights are in the layout of one device and cannot be read", b.integer("weight_prepacked"));
    const std::int64_t blocks = (k + block - 1) / block;
    const DType type = b.type(0);
    const ValueId packed = b.reshape(b.in(1), {n, blocks, block * bits / 8});
    const ValueId numbers = b.cast(b.reshape(unpacked(b, packed, bits), {n, blocks, block}), type);
    ValueId zero;
    if (!b.in(3)) {
        zero = b.scalar(type, static_cast<double>(1 << (bits - 1)));
    } else if (b.type(3) == DType::UInt8) {
        const ValueId all = b.reshape(unpacked(b, b.reshape(b.in(3), {n, -1}), bits), {n, -1});
        zero = b.cast(b.unsqueeze(b.op("Slice", {all, b.ints({0}), b.ints({blocks}), b.ints({1})}), {-1}), type);
    } else {
        zero = b.reshape(b.in(3), {n, blocks, 1});
    }
    const ValueId scaled = b.mul(b.sub(numbers, zero), b.reshape(b.in(2), {n, blocks, 1}));
    ValueId weights = b.reshape(scaled, {n, blocks * block});
    if (blocks * block != k)
        weights = b.op("Slice", {weights, b.ints({0}), b.ints({k}), b.ints({1})});
    const ValueId y = b.op("MatMul", {b.in(0), b.transpose(weights, {1, 0})});
    return std::vector{b.in(5) ? b.add(y, b.in(5)) : y};
}

/// The product, the bias, and a zero point and a scale for every weight.
std::int64_t nBitsFlops(const CostInputs& c) {
    const std::int64_t n = std::max<std::int64_t>(0, c.node.intAttribute("N", 0)), k = std::max<std::int64_t>(0, c.node.intAttribute("K", 0));
    const std::int64_t product = saturatedProduct({2, outputElements(c), k}), weights = saturatedProduct({2, n, k});
    return saturatedSum(saturatedSum(product, weights), hasInput(c, 5) ? outputElements(c) : 0);
}

constexpr OpDef kOps[] = {
    {.name = "MatMulNBits", .domain = "com.microsoft", .since = 1, .source = "onnxruntime docs/ContribOperators.md", .run = expandBody(),
        .gradient = throughBody(), .flops = nBitsFlops, .body = contribBody<writeMatMulNBits, Inner::Float>},
};

} // namespace

std::span<const OpDef> contribMatMulNBitsOps() { return kOps; }

} // namespace nabla::engine

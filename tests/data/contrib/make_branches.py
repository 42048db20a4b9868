#!/usr/bin/env python3
"""Writes the cases `branch_*`: layouts, masks, caches and activations that the cases of make_contrib.py leave out.

Where onnxruntime has a kernel for the CPU the outputs are its own (1.32). Where it has one for CUDA only they are computed here in double precision by PyTorch
from the documented formula (onnxruntime docs/ContribOperators.md), which stands beside each case.

usage: make_branches.py           (wants numpy, onnx, onnxruntime, torch)
"""
import pathlib
import shutil

import make_contrib as base
import numpy as np
import onnx
import torch
from make_contrib import F, I8, I32, U8, case, f, i8, s, u8
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
D = torch.float64


def t(array):
    return torch.from_numpy(np.asarray(array)).to(D)


def formula(name, op, inputs, results, **attributes):
    """A case whose outputs are `results`, tensors in double precision, stored in the type of input 0."""
    in_names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while in_names and not in_names[-1]:
        in_names.pop()
    out_names = [f"y{i}" if y is not None else "" for i, y in enumerate(results)]
    kind = inputs[0].dtype
    outputs = {n: y.numpy().astype(kind) for n, y in zip(out_names, results) if n}
    feeds = {n: x for n, x in zip(in_names, inputs) if n}
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feeds.items()]
    made = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(y.dtype), None) for n, y in outputs.items()]
    node = helper.make_node(op, in_names, out_names, domain="com.microsoft", **attributes)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], name, info, made), opset_imports=opsets, ir_version=8)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for prefix, values in (("input", feeds), ("output", outputs)):
        for i, (key, value) in enumerate(values.items()):
            (data / f"{prefix}_{i}.pb").write_bytes(numpy_helper.from_array(np.ascontiguousarray(value), key).SerializeToString())


# ---- formulas ----

def heads_of(x, heads):
    """[B, S, N * H] to [B, N, S, H]."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def attend(q, k, v, bias=None, allowed=None, scale=None):
    """softmax(scale * Q K^T + bias) V of [B, N, S, H]; what is not allowed has the weight 0. Returns [B, S, N * H] and the weights."""
    scores = q @ k.transpose(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -3.4e38)
    weights = torch.softmax(scores, -1)
    y = (weights @ v).transpose(1, 2)
    return y.reshape(y.shape[0], y.shape[1], -1), weights


def elementwise():
    x, bias, skip = f(2, 3, 8), f(8), f(2, 3, 8)
    formula("branch_biasadd", "BiasAdd", [x, bias, skip], [t(x) + t(bias) + t(skip)])
    # X + bias cut in two: left * Gelu(right)
    left, right = (t(x) + t(bias)).chunk(2, -1)
    formula("branch_biassplitgelu", "BiasSplitGelu", [x, bias], [left * torch.nn.functional.gelu(right)])
    # softmax over all axes from `axis` on together
    x, bias = f(2, 3, 4, 5), f(2, 1, 4, 5)
    sums = t(x) + t(bias)
    formula("branch_biassoftmax_last", "BiasSoftmax", [x, bias], [torch.softmax(sums, -1)], axis=-1, is_inner_broadcast=0)
    formula("branch_biassoftmax_inner", "BiasSoftmax", [x, bias], [torch.softmax(sums.reshape(2, 3, 20), -1).reshape(sums.shape)], axis=2, is_inner_broadcast=0)
    # is_inner_broadcast: the bias repeats inside a batch: [outer, 1.., inner] over [outer * repeats, inner]
    bias = f(1, 3, 4, 5)
    formula("branch_biassoftmax_outer", "BiasSoftmax", [x, bias], [torch.softmax((t(x) + t(bias)).reshape(2, 60), -1).reshape(x.shape)], axis=1, is_inner_broadcast=1)


def fused():
    x, w = f(1, 4, 5, 6), f(6, 2, 3, 3)
    case("branch_fusedconv_all", "FusedConv", [x, w, f(6), f(1, 6, 5, 6)], group=2, auto_pad="SAME_UPPER", activation="Sigmoid")
    case("branch_fusedconv_1d", "FusedConv", [f(2, 3, 7), f(4, 3, 3)], dilations=[2], pads=[1, 0], activation="Relu")
    case("branch_fusedconv_nothing", "FusedConv", [x, w], group=2)
    a, b, c = f(3, 4), f(4, 5), f(5)
    for name, more in {"elu": {"activation": "Elu", "activation_alpha": 0.7}, "hardsigmoid": {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.4},
                       "relu": {"activation": "Relu"}, "sigmoid": {"activation": "Sigmoid"}, "softplus": {"activation": "Softplus"}, "softsign": {"activation": "Softsign"},
                       "tanh": {"activation": "Tanh"}, "thresholded": {"activation": "ThresholdedRelu", "activation_alpha": 0.6}}.items():
        case("branch_fusedgemm_" + name, "FusedGemm", [a, b, c], beta=0.5, **more)
    case("branch_fusedgemm_a", "FusedGemm", [f(4, 3), b], transA=1, activation="Relu")
    case("branch_fusedmatmul_vector", "FusedMatMul", [f(4), f(2, 5, 4)], transB=1, alpha=2.0)
    case("branch_fusedmatmul_double", "FusedMatMul", [f(3, 4).astype(np.float64), f(4, 5).astype(np.float64)], alpha=-1.5)
    case("branch_dynamicpads_none", "ConvTransposeWithDynamicPads", [f(1, 4, 4, 3), f(4, 3, 3, 3), s([0, 0, 0, 0], np.int64)], strides=[2, 2], group=2, output_padding=[1, 1])
    case("branch_nhwcmaxpool_i8", "NhwcMaxPool", [i8(1, 7, 6, 2)], kernel_shape=[3, 2], ceil_mode=1, strides=[2, 2])
    case("branch_nhwcmaxpool_1d", "NhwcMaxPool", [u8(2, 9, 3)], kernel_shape=[3], dilations=[2], auto_pad="VALID")
    case("branch_inverse_double", "Inverse", [f(3, 3).astype(np.float64) + 2 * np.eye(3)])


def norms():
    x, skip, gamma, beta = f(2, 3, 8), f(2, 3, 8), f(8), f(8)
    case("branch_skiplayernorm_sum", "SkipLayerNormalization", [x, skip, gamma, beta], 4, skip=(1, 2))
    case("branch_skiplayernorm_rank2", "SkipLayerNormalization", [f(6, 8), f(6, 8), gamma, beta, f(8)])
    half = [v.astype(np.float16) for v in (x, skip, gamma, beta)]
    case("branch_skiplayernorm_half", "SkipLayerNormalization", half)
    case("branch_skipsimplified_broadcast", "SkipSimplifiedLayerNormalization", [x, f(1, 3, 8), gamma])
    case("branch_simplified_deviation", "SimplifiedLayerNormalization", [x, gamma], 2, domain="", axis=-1)
    case("branch_simplified_double", "SimplifiedLayerNormalization", [x.astype(np.float64), gamma.astype(np.float64)], domain="")
    ids = base.RNG.integers(0, 9, (2, 4)).astype(I32)
    case("branch_embed_sum", "EmbedLayerNormalization", [ids, None, f(9, 8), f(6, 8), None, gamma, beta], 3)


def group_norms():
    # y = gamma * (s - mean) / sqrt(variance + epsilon) + beta within each group of channels, s = x + skip + bias; SiLU after it. CUDA only.
    def normal(s_, gamma, beta, groups, silu, last):
        s_ = s_.permute(0, 3, 1, 2) if last else s_
        y = torch.nn.functional.group_norm(s_, groups, t(gamma), t(beta), 1e-5)
        y = torch.nn.functional.silu(y) if silu else y
        return y.permute(0, 2, 3, 1) if last else y

    x, gamma, beta, bias = f(2, 3, 4, 8), f(8), f(8), f(8)
    formula("branch_groupnorm", "GroupNorm", [x, gamma, beta], [normal(t(x), gamma, beta, 4, True, True)], groups=4, activation=1)
    first = f(2, 8, 3, 4)
    formula("branch_groupnorm_first", "GroupNorm", [first, gamma, beta], [normal(t(first), gamma, beta, 2, False, False)], groups=2, activation=0, channels_last=0)
    skip = f(2, 3, 4, 8)
    total = t(x) + t(skip) + t(bias)
    formula("branch_skipgroupnorm", "SkipGroupNorm", [x, gamma, beta, skip, bias], [normal(total, gamma, beta, 2, True, True), total], groups=2, activation=1)
    skip = f(2, 8)
    total = t(first) + t(skip)[:, :, None, None] + t(bias)[:, None, None]
    formula("branch_skipgroupnorm_first", "SkipGroupNorm", [first, gamma, beta, skip, bias], [normal(total, gamma, beta, 4, False, False), total],
            groups=4, activation=0, channels_last=0)
    skip = f(2, 1, 1, 8)
    total = t(x) + t(skip)
    formula("branch_skipgroupnorm_broadcast", "SkipGroupNorm", [x, gamma, beta, skip], [normal(total, gamma, beta, 8, False, True), None], groups=8, activation=0)


def attention():
    x, w, bias = f(2, 3, 8), f(8, 24), f(24)
    case("branch_attention_nobias", "Attention", [x, w, None], num_heads=2)
    # A mask of rank 4, [B, 1, M, M]: rows of the queries, columns of the keys; 0 adds the filter value. onnxruntime's CPU kernel refuses it.
    square = base.RNG.integers(0, 2, (2, 1, 6, 6)).astype(I32)
    q, k, v = (heads_of(part, 2) for part in (t(x) @ t(w) + t(bias)).chunk(3, -1))
    hidden = (1 - t(square)) * -10000
    formula("branch_attention_mask4", "Attention", [x, w, bias, square], [attend(q, k, v, hidden[:, :, :3, :3])[0]], num_heads=2)
    past = f(2, 2, 2, 2, 4)
    for name, mask in {"lengths": s([4, 5], I32), "ends_starts": s([4, 5, 1, 0], I32), "mask2": s([[1, 1, 0, 1, 1], [0, 1, 1, 1, 1]], I32),
                       "mask3": base.RNG.integers(0, 2, (2, 3, 5)).astype(I32)}.items():
        case("branch_attention_past_" + name, "Attention", [x, w, bias, mask, past], 2, num_heads=2)
    # onnxruntime's CPU kernel refuses a past together with a mask of rank 4 or a bias.
    k, v = torch.cat([t(past)[0], k], 2), torch.cat([t(past)[1], v], 2)
    both = torch.stack([k, v])
    formula("branch_attention_past_mask4", "Attention", [x, w, bias, square, past], [attend(q, k, v, hidden[:, :, 2:5, :5])[0], both], num_heads=2)
    more = f(2, 1, 3, 5)
    formula("branch_attention_past_bias", "Attention", [x, w, bias, None, past, more], [attend(q, k, v, t(more))[0], both], num_heads=2)
    # (3 * B + 2) numbers: lengths of the keys, then running sums of the lengths of queries and of keys
    seen = torch.arange(3)[None, None, None, :] < torch.tensor([2, 3]).reshape(2, 1, 1, 1)
    q, k, v = (heads_of(part, 2) for part in (t(x) @ t(w) + t(bias)).chunk(3, -1))
    formula("branch_attention_running_sums", "Attention", [x, w, bias, s([2, 3, 0, 3, 6, 0, 2, 5], I32)], [attend(q, k, v, allowed=seen)[0]], num_heads=2)
    case("branch_attention_mask_causal", "Attention", [x, w, bias, s([[1, 0, 1], [0, 1, 1]], I32)], num_heads=2, unidirectional=1)
    case("branch_attention_mask_bias", "Attention", [x, w, bias, s([2, 3], I32), None, f(1, 2, 3, 3)], num_heads=2, mask_filter_value=-5.0)
    case("branch_attention_present", "Attention", [x, w, bias], 2, num_heads=2)
    case("branch_attention_empty_past", "Attention", [x, w, bias, None, np.zeros((2, 2, 2, 0, 4), F)], 2, num_heads=2, unidirectional=1)
    weights = [u8(2, 3, 8), i8(8, 24), bias, s(0.02)]
    case("branch_qattention_columns", "QAttention", [*weights, (f(24) ** 2 * 0.01).astype(F), None, s(120, U8), i8(24)], num_heads=2)
    case("branch_qattention_past", "QAttention", [*weights, s(0.01), s([[1, 1, 1, 0, 1], [1, 1, 1, 1, 1]], I32), s(7, U8), s(0, I8), past], 2, num_heads=2, unidirectional=1)
    case("branch_qattention_u8", "QAttention", [u8(2, 3, 8), u8(8, 24), bias, s(0.02), s(0.01), None, s(120, U8), s(131, U8)], num_heads=2)


def multi_head():
    q, k, v, bias = f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), f(24)
    case("branch_mha_bias", "MultiHeadAttention", [q, k, v, bias], num_heads=2)
    case("branch_mha_value_width", "MultiHeadAttention", [q, k, f(2, 5, 6), f(22)], num_heads=2)
    case("branch_mha_causal_mask", "MultiHeadAttention", [q, f(2, 3, 8), f(2, 3, 8), None, s([[1, 1, 0], [0, 1, 1]], I32)], num_heads=2, unidirectional=1)
    case("branch_mha_mask3", "MultiHeadAttention", [q, k, v, None, base.RNG.integers(0, 2, (2, 3, 5)).astype(I32)], num_heads=2, mask_filter_value=-7.0)
    case("branch_mha_mask_bias", "MultiHeadAttention", [q, k, v, None, s([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]], I32), f(1, 1, 3, 5)], num_heads=2)
    new = f(2, 3, 8), f(2, 3, 8)
    past = f(2, 2, 4, 4), f(2, 2, 4, 4)
    case("branch_mha_past_mask", "MultiHeadAttention", [q, *new, None, s([[1] * 6 + [0], [0] + [1] * 6], I32), None, *past], 3, num_heads=2)
    case("branch_mha_past_bias", "MultiHeadAttention", [q, *new, bias, None, f(2, 2, 3, 7), *past], 3, num_heads=2)
    # The weights of the fourth output: onnxruntime's checker does not accept the output's type.
    y, weights = attend(heads_of(t(q), 2), heads_of(t(k), 2), heads_of(t(v), 2))
    formula("branch_mha_weights", "MultiHeadAttention", [q, k, v], [y, None, None, weights], num_heads=2)
    case("branch_mha_present", "MultiHeadAttention", [q, *new], 3, num_heads=2)
    case("branch_mha_one_step", "MultiHeadAttention", [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, None, *past], 3, num_heads=2, scale=0.25)
    # Packed: [B, S, N, 3, H] holds query, key and value of each head side by side, [B, T, N, 2, H] key and value.
    packed = f(2, 3, 2, 3, 4)
    parts = [t(packed)[:, :, :, i].transpose(1, 2) for i in range(3)]
    formula("branch_mha_packed", "MultiHeadAttention", [packed], [attend(*parts)[0]], num_heads=2)
    biases = [t(bias[8 * i:8 * i + 8]).reshape(1, 2, 1, 4) for i in range(3)]
    formula("branch_mha_packed_bias", "MultiHeadAttention", [packed, None, None, bias], [attend(*(p + b for p, b in zip(parts, biases)))[0]], num_heads=2)
    kv = f(2, 5, 2, 2, 4)
    key, value = (t(kv)[:, :, :, i].transpose(1, 2) for i in range(2))
    formula("branch_mha_packed_kv", "MultiHeadAttention", [q, kv], [attend(heads_of(t(q), 2), key, value)[0]], num_heads=2)
    # (3 * B + 2) numbers: lengths of the keys, then running sums of the lengths of queries and of keys
    lengths = s([5, 3, 0, 3, 6, 0, 5, 8], I32)
    seen = torch.arange(5)[None, None, None, :] < torch.tensor([5, 3]).reshape(2, 1, 1, 1)
    formula("branch_mha_running_sums", "MultiHeadAttention", [q, k, v, None, lengths], [attend(heads_of(t(q), 2), heads_of(t(k), 2), heads_of(t(v), 2), allowed=seen)[0]], num_heads=2)


def group_query():
    heads = dict(num_heads=4, kv_num_heads=2)
    q, k, v = f(2, 3, 64), f(2, 3, 32), f(2, 3, 32)
    empty = np.zeros((2, 2, 0, 16), F)
    cos, sin = f(12, 8), f(12, 8)
    prompt = [s([2, 2], I32), s(3, I32)]
    case("branch_gqa_interleaved", "GroupQueryAttention", [q, k, v, empty, empty, *prompt, cos, sin], 3, do_rotary=1, rotary_interleaved=1, **heads)
    case("branch_gqa_positions", "GroupQueryAttention", [q, k, v, empty, empty, *prompt, cos, sin, s([[0, 1, 2], [3, 4, 5]], np.int64)], 3, compared=1, do_rotary=1, **heads)
    case("branch_gqa_bias_prompt", "GroupQueryAttention", [q, k, v, empty, empty, *prompt, None, None, None, f(2, 1, 3, 3)], 3, compared=1, **heads)
    case("branch_gqa_same_heads", "GroupQueryAttention", [q, f(2, 3, 64), f(2, 3, 64), np.zeros((2, 4, 0, 16), F), np.zeros((2, 4, 0, 16), F), *prompt], 3, num_heads=4, kv_num_heads=4)
    case("branch_rotary_half", "RotaryEmbedding", [f(2, 3, 8).astype(np.float16), s([1], np.int64), f(9, 2).astype(np.float16), f(9, 2).astype(np.float16)])
    case("branch_rotary4", "RotaryEmbedding", [f(2, 2, 3, 8), s([[0, 1, 2], [4, 5, 6]], np.int64), f(9, 4), f(9, 4)], interleaved=1)
    case("branch_rotary3_partial", "RotaryEmbedding", [f(2, 3, 16), s([[0, 1, 2], [4, 5, 6]], np.int64), f(9, 2), f(9, 2)], num_heads=2, rotary_embedding_dim=4)


def quantized():
    z, o = s(128, U8), s(3, I8)
    case("branch_qmul_scalar", "QLinearMul", [i8(2, 3, 4), s(0.021), o, i8(), s(0.033), o, s(0.07), o])
    case("branch_qaveragepool_ceil", "QLinearAveragePool", [u8(1, 3, 5, 6), s(0.04), z, s(0.03), z], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    case("branch_qaveragepool_pads", "QLinearAveragePool", [u8(1, 3, 5, 6), s(0.04), z, s(0.03), z], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    case("branch_qaveragepool_auto", "QLinearAveragePool", [i8(1, 2, 7), s(0.04), o, s(0.03), o], kernel_shape=[3], auto_pad="SAME_LOWER", strides=[2])
    case("branch_qglobal_last", "QLinearGlobalAveragePool", [u8(2, 5, 6, 4), s(0.04), z, s(0.013), z], channels_last=1)
    case("branch_qsoftmax_flat", "QLinearSoftmax", [u8(2, 3, 4), s(0.04), z, s(1 / 256), s(0, U8)], axis=1, opset=12)
    case("branch_qsoftmax_middle", "QLinearSoftmax", [u8(2, 3, 4), s(0.04), z, s(1 / 256), s(0, U8)], axis=1, opset=13)
    case("branch_qconcat_three", "QLinearConcat", [s(0.05), z, u8(2, 3), s(0.05), z, u8(1, 3), s(0.1), s(7, U8), u8(3, 3), s(0.02), s(0, U8)], axis=0)
    case("branch_qwhere_broadcast", "QLinearWhere", [base.RNG.integers(0, 2, (1, 4)).astype(bool), u8(3, 1), s(0.02), z, u8(4), s(0.03), s(1, U8), s(0.04), s(9, U8)])
    case("branch_qgemm_a", "QGemm", [i8(4, 3), s(0.02), o, i8(4, 5), s(0.01), o, s([1, -2, 300, 4, 5], I32), s(0.05), o], transA=1)
    case("branch_qgemm_columns", "QGemm", [u8(3, 4), s(0.02), z, u8(4, 5), (f(5) ** 2 * 0.01 + 0.001).astype(F), u8(5), None, s(0.05), z])
    case("branch_dynamicmatmul_plain", "DynamicQuantizeMatMul", [f(3, 4), i8(4, 5), s(0.03)])
    case("branch_integertofloat_i8", "MatMulIntegerToFloat", [u8(2, 3, 4), i8(4, 5), s(0.03), s(0.02), s(100, U8), s(4, I8)])
    case("branch_quantize_u16", "QuantizeLinear", [f(3, 4), s(0.001), s(30000, np.uint16)])
    case("branch_quantize_nozero", "QuantizeLinear", [f(3, 4) ** 2, s(0.02)])
    case("branch_dequantize_i32", "DequantizeLinear", [base.RNG.integers(-1000, 1000, (3, 4)).astype(I32), s(0.02), s(0, I32)])
    case("branch_nbits_half", "MatMulNBits", [f(2, 32).astype(np.float16), u8(5, 2, 8), f(5, 2).astype(np.float16)], K=32, N=5, bits=4, block_size=16)
    case("branch_nbits_vector", "MatMulNBits", [f(32), u8(5, 1, 16), f(5)], K=32, N=5, bits=4, block_size=32)
    case("branch_nbits_accuracy", "MatMulNBits", [f(2, 64), u8(5, 2, 16), f(5, 2), u8(5, 1)], K=64, N=5, bits=4, block_size=32, accuracy_level=0)


def main():
    base.RNG = np.random.default_rng(18)
    failed = []

    def guarded(make):
        def one(name, *args, **kwargs):
            try:
                make(name, *args, **kwargs)
            except Exception as error:  # what onnxruntime does not run on the CPU has no expected value
                failed.append(f"{name}: {str(error).splitlines()[0][:200]}")
                shutil.rmtree(HERE / name, ignore_errors=True)
        return one

    globals()["case"] = guarded(case)
    for family in (elementwise, fused, norms, attention, multi_head, group_query, quantized, group_norms):
        family()
    for line in failed:
        print("no expected value:", line)
    print(sum(1 for p in HERE.glob("branch_*") if p.is_dir()), "cases")


if __name__ == "__main__":
    main()

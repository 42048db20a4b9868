#!/usr/bin/env python3
"""Writes the cases of this folder: one-node models of onnxruntime's own operators with onnxruntime's outputs (CPU), in the layout of ONNX's tests.

usage: make_contrib.py           (wants numpy, onnx, onnxruntime; the expected values here are those of onnxruntime 1.32)
"""
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
RNG = np.random.default_rng(4)
F, U8, I8, I32 = np.float32, np.uint8, np.int8, np.int32


def f(*shape):
    return RNG.standard_normal(shape).astype(F)


def u8(*shape):
    return RNG.integers(0, 256, shape).astype(U8)


def i8(*shape):
    return RNG.integers(-128, 128, shape).astype(I8)


def s(value, kind=F):
    return np.array(value, kind)


def case(name, op, inputs, outputs=1, domain="com.microsoft", skip=(), compared=None, **attributes):
    """`inputs`: arrays, None for an omitted one. `outputs`: how many; those in `skip` are not asked for, only the first `compared` are stored."""
    in_names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    while in_names and not in_names[-1]:
        in_names.pop()
    out_names = ["" if i in skip else f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, in_names, out_names, domain=domain, **attributes)
    feeds = {n: x for n, x in zip(in_names, inputs) if n}
    graph = helper.make_graph([node], name,
                              [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feeds.items()],
                              [onnx.ValueInfoProto(name=n) for n in out_names[:compared] if n])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, feeds)
    del graph.output[:], model.graph.output[:]
    for meta, value in zip(session.get_outputs(), results):
        model.graph.output.append(helper.make_tensor_value_info(meta.name, helper.np_dtype_to_tensor_dtype(value.dtype), None))
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for kind, values in (("input", feeds.values()), ("output", results)):
        for i, value in enumerate(values):
            names = list(feeds) if kind == "input" else [m.name for m in session.get_outputs()]
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(value), names[i]).SerializeToString())


def elementwise():
    case("gelu", "Gelu", [f(3, 4)])
    case("biasgelu", "BiasGelu", [f(2, 3, 4), f(4)])
    case("fastgelu", "FastGelu", [f(3, 4)])
    case("fastgelu_bias", "FastGelu", [f(3, 4), f(4)])
    case("quickgelu", "QuickGelu", [f(3, 4)], alpha=1.3)


def fused():
    x, w = f(1, 4, 5, 6), f(6, 2, 3, 3)
    for name, more in {"relu": {"activation": "Relu"}, "leaky": {"activation": "LeakyRelu", "activation_params": [0.2]},
                       "clip": {"activation": "Clip", "activation_params": [-0.5, 0.5]},
                       "hardsigmoid": {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]}, "tanh": {"activation": "Tanh"},
                       "sigmoid": {"activation": "Sigmoid"}}.items():
        case("fusedconv_" + name, "FusedConv", [x, w, f(6)], group=2, pads=[1, 0, 1, 0], strides=[2, 1], **more)
    case("fusedconv_sum", "FusedConv", [x, w, f(6), f(1, 6, 3, 4)], group=2, strides=[1, 1], activation="Relu")
    case("fusedgemm", "FusedGemm", [f(3, 4), f(5, 4), f(5)], transB=1, alpha=0.5, activation="LeakyRelu", activation_alpha=0.1)
    case("fusedmatmul", "FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], transA=1, transB=1, alpha=0.25)
    case("fusedmatmul_batch", "FusedMatMul", [f(3, 2, 4), f(4, 2, 5)], transBatchA=1, transBatchB=1)
    case("fusedmatmul_batch_both", "FusedMatMul", [f(3, 2, 6, 4), f(2, 6, 3, 5)], transBatchA=1, transA=1)
    case("transposematmul", "TransposeMatMul", [f(3, 4), f(5, 4)], transB=1, alpha=2.0)
    case("convtransposedynamicpads", "ConvTransposeWithDynamicPads", [f(1, 2, 4, 3), f(2, 3, 3, 3), s([1, 0, 1, 2], np.int64), f(3)], strides=[2, 1])
    case("nhwcmaxpool", "NhwcMaxPool", [u8(1, 6, 5, 3)], kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 0])
    case("inverse", "Inverse", [f(2, 4, 4)])


def norms():
    x, skip, gamma, beta, bias = f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)
    case("skiplayernorm", "SkipLayerNormalization", [x, skip, gamma, beta, bias], 4, skip=(1, 2), epsilon=1e-5)
    case("skiplayernorm_plain", "SkipLayerNormalization", [x, skip, gamma])
    case("skiplayernorm_broadcast", "SkipLayerNormalization", [x, f(3, 8), gamma, beta])
    case("skipsimplified", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], 4, skip=(1, 2), epsilon=1e-5)
    case("simplified", "SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-5)
    case("simplified_axis", "SimplifiedLayerNormalization", [x, f(3, 8)], domain="", axis=1)
    ids, segments = RNG.integers(0, 9, (2, 4)).astype(I32), RNG.integers(0, 2, (2, 4)).astype(I32)
    tables = [f(9, 8), f(6, 8), f(2, 8)]
    case("embed", "EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, s([[1, 1, 1, 0], [1, 1, 0, 0]], I32)], 3, epsilon=1e-5)
    case("embed_positions", "EmbedLayerNormalization", [ids, None, *tables[:2], None, gamma, beta, None, s([[3, 2, 1, 0]], I32)], 2)


def attention():
    x, w, bias = f(2, 3, 8), f(8, 24), f(24)
    case("attention", "Attention", [x, w, bias], num_heads=2)
    case("attention_causal", "Attention", [x, w, bias], num_heads=2, unidirectional=1)
    case("attention_lengths", "Attention", [x, w, bias, s([2, 3], I32)], num_heads=2)
    case("attention_ends_starts", "Attention", [x, w, bias, s([3, 2, 1, 0], I32)], num_heads=2)
    case("attention_mask2", "Attention", [x, w, bias, s([[1, 1, 0], [0, 1, 1]], I32)], num_heads=2, mask_filter_value=-3.0)
    case("attention_mask3", "Attention", [x, w, bias, RNG.integers(0, 2, (2, 3, 3)).astype(I32)], num_heads=2, scale=0.3)
    case("attention_past", "Attention", [x, w, bias, s(np.ones((2, 5)), I32), f(2, 2, 2, 2, 4)], 2, num_heads=2, unidirectional=1)
    case("attention_bias", "Attention", [x, w, bias, None, None, f(1, 2, 3, 3)], num_heads=2)
    case("attention_sizes", "Attention", [x, f(8, 22), f(22)], num_heads=2, qkv_hidden_sizes=[8, 8, 6])
    case("qattention", "QAttention", [u8(2, 3, 8), i8(8, 24), bias, s(0.02), s(0.01), s([2, 3], I32), s(120, U8), s(3, I8)], num_heads=2)
    q, k, v = f(2, 3, 8), f(2, 5, 8), f(2, 5, 8)
    case("mha", "MultiHeadAttention", [q, k, v], num_heads=2)
    case("mha_bias_mask", "MultiHeadAttention", [q, k, v, bias, s([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]], I32)], num_heads=2)
    case("mha_lengths", "MultiHeadAttention", [q, k, v, None, s([5, 2], I32)], num_heads=2)
    case("mha_attention_bias", "MultiHeadAttention", [q, k, v, None, None, f(2, 2, 3, 5)], num_heads=2, scale=0.5)
    case("mha_cross", "MultiHeadAttention", [q, f(2, 2, 5, 4), f(2, 2, 5, 4), s(np.concatenate([bias[:8], np.zeros(16)]))], num_heads=2)
    case("mha_past", "MultiHeadAttention", [q, f(2, 3, 8), f(2, 3, 8), None, None, None, f(2, 2, 4, 4), f(2, 2, 4, 4)], 3, num_heads=2, unidirectional=1)
    case("rotary3", "RotaryEmbedding", [f(2, 3, 8), s([[0, 1, 2], [4, 5, 6]], np.int64), f(9, 2), f(9, 2)])
    case("rotary3_offset_interleaved", "RotaryEmbedding", [f(2, 3, 8), s([2], np.int64), f(9, 2), f(9, 2)], interleaved=1)
    case("rotary4_partial", "RotaryEmbedding", [f(2, 2, 3, 8), s([[0, 1, 2], [4, 5, 6]], np.int64), f(9, 2), f(9, 2)], num_heads=2, rotary_embedding_dim=4)


def group_query():
    heads = dict(num_heads=4, kv_num_heads=2)
    q, k, v = f(2, 3, 64), f(2, 3, 32), f(2, 3, 32)
    cos, sin = f(12, 8), f(12, 8)
    empty = np.zeros((2, 2, 0, 16), F)
    prompt = [s([2, 2], I32), s(3, I32)]
    case("gqa_prompt", "GroupQueryAttention", [q, k, v, empty, empty, *prompt], 3, **heads)
    case("gqa_prompt_rotary", "GroupQueryAttention", [q, k, v, empty, empty, *prompt, cos, sin], 3, do_rotary=1, **heads)
    case("gqa_packed", "GroupQueryAttention", [f(2, 3, 128), None, None, empty, empty, *prompt, cos, sin], 3, do_rotary=1, rotary_interleaved=1, **heads)
    past = f(2, 2, 6, 16), f(2, 2, 6, 16)
    one = f(2, 1, 64), f(2, 1, 32), f(2, 1, 32)
    # Rows of 7 and 5 positions, this one's included. What lies behind the end of a row is not compared, so only the output is compared. onnxruntime
    # reads the caches from its outputs: without them its result is not defined.
    case("gqa_step", "GroupQueryAttention", [*one, *past, s([6, 4], I32), s(7, I32), cos, sin], 3, compared=1, do_rotary=1, **heads)
    case("gqa_step_even", "GroupQueryAttention", [*one, *past, s([6, 6], I32), s(7, I32)], 3, **heads)
    case("gqa_window", "GroupQueryAttention", [*one, *past, s([6, 6], I32), s(7, I32)], 3, compared=1, local_window_size=3, **heads)
    case("gqa_prompt_window", "GroupQueryAttention", [q, k, v, empty, empty, *prompt], 3, compared=1, local_window_size=2, **heads)
    case("gqa_softcap", "GroupQueryAttention", [*one, *past, s([6, 6], I32), s(7, I32)], 3, compared=1, softcap=0.7, scale=0.9, **heads)
    case("gqa_smooth", "GroupQueryAttention", [*one, *past, s([6, 6], I32), s(7, I32)], 3, compared=1, smooth_softmax=1, **heads)
    case("gqa_sink", "GroupQueryAttention", [*one, *past, s([6, 6], I32), s(7, I32), *[None] * 4, f(4)], 3, compared=1, **heads)
    case("gqa_bias", "GroupQueryAttention", [*one, *past, s([6, 6], I32), s(7, I32), *[None] * 3, f(1, 4, 1, 7)], 3, compared=1, **heads)
    case("gqa_chunk", "GroupQueryAttention", [f(1, 3, 64), f(1, 3, 32), f(1, 3, 32), f(1, 2, 4, 16), f(1, 2, 4, 16), s([6], I32), s(7, I32), cos, sin], 3,
         do_rotary=1, **heads)


def weights():
    for bits, k, n in ((4, 32, 5), (4, 40, 6), (8, 48, 3), (2, 32, 4)):
        blocks = (k + 15) // 16
        packed, scales, a = u8(n, blocks, 16 * bits // 8), f(n, blocks), f(2, 3, k)
        sizes = dict(K=k, N=n, bits=bits, block_size=16)
        case(f"matmulnbits_{bits}_{k}", "MatMulNBits", [a, packed, scales], **sizes)
        zeros = u8(n, (blocks * bits + 7) // 8)
        case(f"matmulnbits_{bits}_{k}_zeros", "MatMulNBits", [a, packed, scales, zeros, None, f(n)], **sizes)
    case("matmulnbits_4_float_zeros", "MatMulNBits", [f(2, 32), u8(3, 2, 8), f(3, 2), f(3, 2)], K=32, N=3, bits=4, block_size=16)


def quantized():
    for kind, values, zero in ((U8, u8, 128), (I8, i8, 3)):
        tag = "_u8" if kind is U8 else "_i8"
        z = s(zero, kind)
        case("qadd" + tag, "QLinearAdd", [values(3, 4), s(0.021), z, values(4), s(0.033), z, s(0.05), z])
        case("qmul" + tag, "QLinearMul", [values(3, 4), s(0.021), z, values(3, 1), s(0.033), z, s(0.07), z])
        case("qsigmoid" + tag, "QLinearSigmoid", [values(3, 4), s(0.04), z, s(0.0039), s(0, kind)])
        case("qleakyrelu" + tag, "QLinearLeakyRelu", [values(3, 4), s(0.04), z, s(0.03), z], alpha=0.1)
        case("qaveragepool" + tag, "QLinearAveragePool", [values(1, 3, 5, 6), s(0.04), z, s(0.03), z], kernel_shape=[2, 3], pads=[0, 1, 1, 0], strides=[2, 1])
        case("qglobalaveragepool" + tag, "QLinearGlobalAveragePool", [values(1, 4, 5, 6), s(0.04), z, s(0.013), z])
        case("qconcat" + tag, "QLinearConcat", [s(0.05), z, values(2, 3), s(0.031), z, values(2, 2), s(0.07), s(zero + 1, kind)], axis=1)
        case("qsoftmax" + tag, "QLinearSoftmax", [values(3, 6), s(0.04), z, s(1 / 256), s(0 if kind is U8 else -128, kind)], axis=-1, opset=13)
        case("qwhere" + tag, "QLinearWhere", [RNG.integers(0, 2, (3, 4)).astype(bool), values(3, 4), s(0.02), z, values(3, 4), s(0.03), z, s(0.04), z])
    case("qaveragepool_last", "QLinearAveragePool", [u8(1, 5, 6, 4), s(0.04), s(7, U8), s(0.03), s(9, U8)], kernel_shape=[2, 2], channels_last=1)
    case("qgemm_float", "QGemm", [u8(3, 4), s(0.02), s(120, U8), i8(5, 4), f(5) ** 2, np.zeros(5, I8), s([100, -50, 3, 0, 9], I32)], transB=1, alpha=0.5)
    case("qgemm", "QGemm", [u8(3, 4), s(0.02), s(120, U8), u8(4, 5), s(0.01), s(130, U8), None, s(0.05), s(100, U8)])
    case("dynamicquantizematmul", "DynamicQuantizeMatMul", [f(3, 4), u8(4, 5), s(0.03), s(128, U8), f(5)])
    case("dynamicquantizematmul_columns", "DynamicQuantizeMatMul", [f(2, 3, 4), i8(4, 5), f(5) ** 2, i8(5)])
    case("matmulintegertofloat", "MatMulIntegerToFloat", [u8(3, 4), u8(4, 5), s(0.03), f(5) ** 2, s(100, U8), u8(5), f(5)])
    case("quantize", "QuantizeLinear", [f(3, 4), s(0.02), s(128, U8)])
    case("quantize_axis_i16", "QuantizeLinear", [f(3, 4), s([0.1, 0.2, 0.3]), s([0, 100, -7], np.int16)], axis=0)
    case("dequantize", "DequantizeLinear", [i8(3, 4), s(0.02), s(5, I8)])
    case("dequantize_axis_u16", "DequantizeLinear", [u8(3, 4).astype(np.uint16), s([0.1, 0.2, 0.3, 0.4]), s([0, 100, 7, 9], np.uint16)], axis=1)


def main():
    failed = []
    real = globals()["case"]

    def guarded(name, *args, **kwargs):
        try:
            real(name, *args, **kwargs)
        except Exception as error:  # what onnxruntime does not run on the CPU has no expected value
            failed.append(f"{name}: {str(error).splitlines()[0][:200]}")
            shutil.rmtree(HERE / name, ignore_errors=True)

    globals()["case"] = guarded
    for family in (elementwise, fused, norms, attention, group_query, weights, quantized):
        family()
    for line in failed:
        print("no expected value:", line)
    print(sum(1 for p in HERE.iterdir() if p.is_dir()), "cases")


if __name__ == "__main__":
    main()

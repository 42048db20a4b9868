#!/usr/bin/env python3
"""Writes engine/schema/contrib_schema_text.cpp: the operators of onnxruntime's own domain that Nablascope runs.

Names, types and attributes are asked from the onnxruntime package (MIT licence, Copyright (c) Microsoft Corporation), so is the
first sentence on each input and attribute; what an operator does is told here.

usage: scripts/contrib_schemas.py            (wants onnxruntime; needed only when an operator is added)
"""
import pathlib
import re

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "engine/schema/contrib_schema_text.cpp"

DOCS = {
    "Attention": "Multi-head self-attention with the projections of query, key and value in it: `input * weights + bias` gives Q, K and V side by side, heads are split off, `softmax(scale * Q K^T + mask) V` is joined again.",
    "BiasAdd": "`X + bias + skip`; the bias lies along the last axis.",
    "BiasGelu": "`Gelu(A + B)`, with the exact Gelu; B lies along the last axis.",
    "BiasSoftmax": "Softmax over the axes from `axis` on of `data + bias`.",
    "BiasSplitGelu": "`X + bias` cut in two along the last axis: the left half times the exact Gelu of the right half.",
    "ConvTransposeWithDynamicPads": "ConvTranspose whose pads are an input.",
    "DequantizeLinear": "`(x - x_zero_point) * x_scale`, for the whole tensor or along `axis`; also 16-bit and 4-bit integers.",
    "DynamicQuantizeMatMul": "Quantizes A to uint8 by its own range, multiplies by the quantized B in integers and gives the product in float, plus the bias.",
    "EmbedLayerNormalization": "Sum of the embeddings of words, positions and segments, layer-normalized; counts the words of each row in `mask_index`.",
    "ExpandDims": "Inserts one axis of size 1 at the position `axis`.",
    "FastGelu": "`Gelu(X + bias)` by the tanh approximation.",
    "FusedConv": "`activation(Conv(X, W, B) + Z)`.",
    "FusedGemm": "`activation(alpha * A' * B' + beta * C)`.",
    "FusedMatMul": "`alpha * A' * B'`: MatMul with transposed operands and a factor.",
    "Gelu": "`x * Phi(x)`, exact (by erf).",
    "GroupNorm": "Group normalization with a scale and a bias for each channel, channels last or second, and `x * sigmoid(x)` after it where `activation` is 1.",
    "GroupQueryAttention": "Attention for decoders in which several heads of the query share one of key and value: causal, with a cache that grows, optional rotary embedding, local window, soft cap.",
    "Inverse": "Inverses of a stack of square matrices.",
    "MatMulIntegerToFloat": "Integer product of two quantized matrices, scaled to float, plus the bias.",
    "MatMulNBits": "`A * B^T` with B of shape [N, K] packed into 2, 4 or 8 bits, one scale and zero point for each block of K.",
    "MultiHeadAttention": "Multi-head attention of separate or packed query, key and value, with biases, padding mask, cache.",
    "NhwcMaxPool": "MaxPool of a quantized tensor with the channels last.",
    "QAttention": "Attention with quantized input and weights.",
    "QGemm": "Gemm of quantized matrices: float out, or quantized again where an output scale is given.",
    "QLinearAdd": "Sum of two quantized tensors, quantized again.",
    "QLinearAveragePool": "AveragePool of a quantized tensor, quantized again.",
    "QLinearConcat": "Concat of quantized tensors, each with a scale of its own, quantized again.",
    "QLinearGlobalAveragePool": "GlobalAveragePool of a quantized tensor, quantized again.",
    "QLinearLeakyRelu": "LeakyRelu of a quantized tensor, quantized again.",
    "QLinearMul": "Product of two quantized tensors, quantized again.",
    "QLinearSigmoid": "Sigmoid of a quantized tensor, quantized again.",
    "QLinearSoftmax": "Softmax of a quantized tensor, quantized again.",
    "QLinearWhere": "Where on two quantized tensors, quantized again.",
    "QuantizeLinear": "`round(x / y_scale) + y_zero_point` within the range of the integer type, for the whole tensor or along `axis`.",
    "QuickGelu": "`x * sigmoid(alpha * x)`.",
    "RotaryEmbedding": "Turns pairs of elements of each head by the angles of its position.",
    "SimplifiedLayerNormalization": "Layer normalization without a mean: `x / sqrt(mean(x^2) + epsilon) * scale`.",
    "SkipGroupNorm": "GroupNorm of `X + skip + bias`; the sum is the second output.",
    "SkipLayerNormalization": "Layer normalization of `input + skip + bias`.",
    "SkipSimplifiedLayerNormalization": "`x / sqrt(mean(x^2) + epsilon) * gamma` of `x = input + skip + bias`.",
    "TransposeMatMul": "`alpha * A' * B'`: the older name of FusedMatMul.",
}


def first_sentence(text):
    text = re.sub(r"\s+", " ", text.replace("≥", ">=").encode("ascii", "replace").decode()).strip()
    cut = re.split(r"(?<=[.;])\s", text, maxsplit=1)[0].rstrip(".")
    return cut if len(cut) <= 160 else cut[:157].rsplit(" ", 1)[0] + " ..."


def short(kind):
    return kind[len("tensor("):-1] if kind.startswith("tensor(") else kind


def default_text(attribute):
    if not attribute._default_value:
        return ""
    value = onnx.helper.get_attribute_value(onnx.AttributeProto.FromString(attribute._default_value))
    if isinstance(value, bytes):
        value = value.decode()
    return " =" + (repr(float(f"{value:.9g}")) if isinstance(value, float) else str(value))


def text_of(schema):
    lines = [f"op {schema.domain or '-'} {schema.name} {schema.since_version} | {DOCS[schema.name]}"]
    for word, parameters in (("in", schema.inputs), ("out", schema.outputs)):
        for p in parameters:
            mark = {"Single": "", "Optional": "?", "Variadic": "*"}[str(p.option).split(".")[-1]]
            doc = first_sentence(p.description)
            lines.append(f"{word}{mark} {p.name} {short(p.type_str if hasattr(p, 'type_str') else p.typeStr)}" + (f" | {doc}" if doc else ""))
    for name, a in sorted(schema.attributes.items()):
        doc = first_sentence(a.description)
        lines.append(f"attr{'!' if a.required else ''} {name} {str(a.type).split('.')[-1]}{default_text(a)}" + (f" | {doc}" if doc else ""))
    for t in schema.type_constraints:
        lines.append(f"type {t.type_param_str} " + " ".join(short(each) for each in sorted(t.allowed_type_strs)))
    return "\n".join(lines)


def main():
    wanted = [s for s in state.get_all_operator_schema()
              if s.name in DOCS and (s.domain == "com.microsoft" or (s.domain == "" and s.name == "SimplifiedLayerNormalization"))]
    missing = set(DOCS) - {s.name for s in wanted}
    if missing:
        raise SystemExit(f"onnxruntime {onnxruntime.__version__} has no {sorted(missing)}")
    parts = ['    R"(' + text_of(s) + ')",\n' for s in sorted(wanted, key=lambda s: s.name)]
    OUT.write_text(f"""// Operators of onnxruntime's own domain: names, types, attributes. Written by scripts/contrib_schemas.py from onnxruntime {onnxruntime.__version__}
// (MIT licence, Copyright (c) Microsoft Corporation); do not edit. The form is told in contrib_schemas.cpp.
#include "engine/schema/contrib_schemas.h"

// clang-format off
namespace nabla::engine {{

std::span<const std::string_view> contribSchemaTexts() {{
    static constexpr std::string_view kTexts[] = {{
{''.join(parts)}    }};
    return kTexts;
}}

}} // namespace nabla::engine
""")
    print(f"{OUT.relative_to(ROOT)}: {len(parts)} operators")


if __name__ == "__main__":
    main()

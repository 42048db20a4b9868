#!/usr/bin/env python3
"""Writes tests/data/vision: operators of images and optimizers where the ONNX tests leave modes out.

Values come from onnxruntime, torch, the reference evaluator of onnx, and ImageMagick (`convert`); each case says which
in tests/data/vision/README.md. Needs onnx, onnxruntime, torch, numpy and ImageMagick. Usage: make_vision_cases.py
"""
import json
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests/data/vision"
rng = np.random.default_rng(7)
lines = []


def model(op, inputs, outputs, opset=22, domain="", **attributes):
    names = [None if v is None else f"x{i}" for i, v in enumerate(inputs)]
    node = helper.make_node(op, ["" if n is None else n for n in names], outputs, domain=domain, **attributes)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(names, inputs) if n]
    graph = helper.make_graph([node], op, infos, [helper.make_empty_tensor_value_info(o) for o in outputs])
    imports = [helper.make_opsetid(domain, 1 if domain else opset)] + ([helper.make_opsetid("", 22)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10 if opset < 23 else 13, producer_name="nablascope-vision-cases")


def store(name, made, inputs, outputs, source, gradients=None, rtol=1e-5, atol=1e-6):
    folder = ROOT / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    made = onnx.shape_inference.infer_shapes(made)
    onnx.save(made, folder / "model.onnx")
    put = lambda file, v: (data / file).write_bytes(numpy_helper.from_array(np.asarray(v)).SerializeToString())
    for i, v in enumerate(v for v in inputs if v is not None):
        put(f"input_{i}.pb", v)
    for i, v in enumerate(outputs):
        put(f"output_{i}.pb", v)
    for file, v in (gradients or {}).items():
        put(file, v)
    (folder / "tol.json").write_text(json.dumps({"rtol": rtol, "atol": atol}) + "\n")
    lines.append(f"- `{name}`: {source}")


def by_onnxruntime(name, op, inputs, outputs=("y",), opset=22, **attributes):
    made = model(op, inputs, list(outputs), opset, **attributes)
    session = onnxruntime.InferenceSession(onnx.shape_inference.infer_shapes(made).SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {f"x{i}": v for i, v in enumerate(inputs) if v is not None}
    store(name, made, inputs, session.run(None, feeds), f"onnxruntime {onnxruntime.__version__}", rtol=1e-4, atol=1e-5)


def by_reference(name, op, inputs, outputs, **attributes):
    domain = "ai.onnx.preview.training"
    made = model(op, inputs, outputs, domain=domain, **attributes)
    values = ReferenceEvaluator(made).run(None, {f"x{i}": v for i, v in enumerate(inputs)})
    store(name, made, inputs, values, f"reference evaluator of onnx {onnx.__version__}")


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def roi_cases():
    x = f32(2, 3, 7, 9)
    rois = np.array([[0.5, 1.2, 6.3, 5.1], [2, 0, 8.9, 3.3], [-2, -3, 12, 11], [4, 4, 4.2, 4.1]], np.float32)
    batch = np.array([1, 0, 1, 0], np.int64)
    by_onnxruntime("roialign_adaptive", "RoiAlign", [x, rois, batch], opset=16, output_height=2, output_width=3)
    by_onnxruntime("roialign_output_half_pixel", "RoiAlign", [x, rois, batch], opset=16, output_height=3, output_width=2, sampling_ratio=2,
                   coordinate_transformation_mode="output_half_pixel")
    by_onnxruntime("roialign_opset10", "RoiAlign", [x, rois * 4, batch], opset=10, output_height=2, output_width=2, spatial_scale=0.25)
    by_onnxruntime("roialign_max_adaptive", "RoiAlign", [x, rois, batch], opset=16, output_height=2, output_width=2, mode="max")
    by_onnxruntime("roialign_double", "RoiAlign", [x.astype(np.float64), rois.astype(np.float64), batch], opset=16, output_height=2, output_width=2)
    by_onnxruntime("roialign_no_regions", "RoiAlign", [x, rois[:0], batch[:0]], opset=16, output_height=2, output_width=2)


def deform_cases():
    def case(name, x, w, groups, bias, mask, **attributes):
        kernel = w.shape[2:]
        probe = F.conv2d(torch.zeros(x.shape), torch.zeros(w.shape), stride=tuple(attributes.get("strides", [1, 1])),
                         padding=tuple(attributes.get("pads", [0, 0, 0, 0])[:2]), dilation=tuple(attributes.get("dilations", [1, 1])), groups=attributes.get("group", 1))
        out = probe.shape[2:]
        taps = int(np.prod(kernel))
        offset = 2 * f32(x.shape[0], groups * taps * 2, *out)
        inputs = [x, w, offset, f32(w.shape[0]) if bias else None, rng.random((x.shape[0], groups * taps, *out)).astype(np.float32) if mask else None]
        while inputs[-1] is None:
            inputs.pop()
        by_onnxruntime(name, "DeformConv", inputs, opset=19, offset_group=groups, **attributes)

    case("deformconv_all", f32(2, 4, 6, 5), f32(6, 2, 3, 2), 2, True, True, group=2, strides=[2, 1], pads=[1, 1, 1, 1], dilations=[1, 2])
    case("deformconv_mask_no_bias", f32(1, 2, 5, 5), f32(3, 2, 3, 3), 1, False, True, pads=[1, 1, 1, 1])
    case("deformconv_offset_groups", f32(1, 6, 4, 4), f32(3, 2, 2, 2), 3, True, False, group=3)


def box_cases():
    boxes = np.sort(rng.random((2, 30, 2, 2)), axis=2).reshape(2, 30, 4).astype(np.float32)
    scores = rng.random((2, 3, 30)).astype(np.float32)
    scores[0, 0, 5] = scores[0, 0, 9]
    i64 = lambda v: np.array([v], np.int64)
    f = lambda v: np.array([v], np.float32)
    by_onnxruntime("nms_many", "NonMaxSuppression", [boxes, scores, i64(7), f(0.3), f(0.4)], opset=11)
    by_onnxruntime("nms_opset10_scalars", "NonMaxSuppression", [boxes, scores, np.array(4, np.int64), np.array(0.5, np.float32), np.array(0.1, np.float32)], opset=10)
    by_onnxruntime("nms_centre", "NonMaxSuppression", [boxes, scores, i64(30), f(0.2)], opset=11, center_point_box=1)
    by_onnxruntime("nms_no_limit_given", "NonMaxSuppression", [boxes, scores], opset=11)
    by_onnxruntime("nms_no_overlap_given", "NonMaxSuppression", [boxes, scores, i64(5)], opset=11)


def optimizer_cases():
    r, first, later = np.array(0.1, np.float32), np.array(0, np.int64), np.array(5, np.int64)
    tensors = lambda kinds, dtype=np.float32: [np.abs(rng.standard_normal(s)).astype(dtype) for _ in range(kinds) for s in ((2, 3), (4,))]
    by_reference("adam_two_first_update", "Adam", [r, first, *tensors(4)], list("abcdef"), norm_coefficient=0.01, norm_coefficient_post=0.02)
    by_reference("adam_double", "Adam", [np.array(0.1), later, *[t.astype(np.float64) for t in tensors(4)[::2]]], list("abc"), alpha=0.8, beta=0.99)
    by_reference("adagrad_two_decay", "Adagrad", [r, later, *tensors(3)], list("abcd"), norm_coefficient=0.1, decay_factor=0.3, epsilon=1e-3)
    for mode in ("standard", "nesterov"):
        by_reference(f"momentum_two_{mode}", "Momentum", [r, later, *tensors(3)], list("abcd"), mode=mode, alpha=0.9, beta=0.7, norm_coefficient=0.01)
        by_reference(f"momentum_first_{mode}", "Momentum", [r, first, *tensors(3)], list("abcd"), mode=mode, alpha=0.9, beta=0.7, norm_coefficient=0.0)


def fold_cases():
    def fold(name, dtype, image, block, count, **attributes):
        x = rng.integers(-20, 20, (2, 2 * int(np.prod(block)), count)).astype(dtype)
        pads = attributes.get("pads", [0, 0, 0, 0])
        value = F.fold(torch.tensor(x.astype(np.float64)), image, block, tuple(attributes.get("dilations", [1, 1])), tuple(pads[:2]), tuple(attributes.get("strides", [1, 1])))
        inputs = [x, np.array(image, np.int64), np.array(block, np.int64)]
        store(name, model("Col2Im", inputs, ["y"], **attributes), inputs, [value.numpy().astype(dtype)], f"torch {torch.__version__} (fold)")

    fold("col2im_int32", np.int32, (5, 6), (2, 3), 12, strides=[1, 2], pads=[0, 1, 0, 1])
    fold("col2im_int8_dilated", np.int8, (6, 6), (2, 2), 16, dilations=[2, 2])
    fold("col2im_half", np.float16, (4, 4), (2, 2), 9)
    theta = torch.tensor(rng.standard_normal((2, 2, 3)))
    for name, size in (("affinegrid_one_pixel_wide", [2, 1, 3, 1]), ("affinegrid_double", [2, 1, 3, 4])):
        inputs = [theta.numpy(), np.array(size, np.int64)]
        value = F.affine_grid(theta, size, align_corners=True).numpy()
        store(name, model("AffineGrid", inputs, ["y"], align_corners=1), inputs, [value], f"torch {torch.__version__} (affine_grid)", rtol=1e-12)
    x, g = rng.standard_normal((1, 2, 4, 4)) + 1j * rng.standard_normal((1, 2, 4, 4)), rng.uniform(-1.1, 1.1, (1, 3, 3, 2))
    part = lambda v: F.grid_sample(torch.tensor(v), torch.tensor(g), align_corners=False).numpy()
    inputs = [x, g.astype(np.float64)]
    store("gridsample_complex", model("GridSample", inputs, ["y"]), inputs, [part(x.real) + 1j * part(x.imag)], f"torch {torch.__version__} (grid_sample of both parts)", rtol=1e-9)
    inputs = [x, None, None, np.array([1, 2, 6, 7], np.int64)]
    part = lambda v: F.interpolate(torch.tensor(v), (6, 7), mode="bilinear", align_corners=False).numpy()
    store("resize_complex", model("Resize", inputs, ["y"], mode="linear"), inputs, [part(x.real) + 1j * part(x.imag)], f"torch {torch.__version__} (interpolate of both parts)", rtol=1e-6)
    data, at = x.reshape(-1)[:6].copy(), np.array([[1], [4], [1]], np.int64)
    update = x.reshape(-1)[6:9].copy()
    value = data.copy()
    np.add.at(value, at[:, 0], update)
    store("scatternd_complex_add", model("ScatterND", [data, at, update], ["y"], reduction="add"), [data, at, update], [value], "numpy add.at", rtol=1e-12)


def bilinear(x, y, c):
    """x [C, H, W] at places y, c (any shape) with zeros outside -> [C, ..]."""
    total = 0
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = torch.floor(y) + dy, torch.floor(c) + dx
            weight = (1 - (y - row).abs()) * (1 - (c - column).abs())
            inside = (row >= 0) & (row < x.shape[1]) & (column >= 0) & (column < x.shape[2])
            value = x[:, row.clamp(0, x.shape[1] - 1).long(), column.clamp(0, x.shape[2] - 1).long()]
            total = total + torch.where(inside, weight, torch.zeros(())) * value
    return total


def deform(x, w, offset, bias, mask, groups, og, stride, pad):
    n, channels = x.shape[:2]
    m, per, kh, kw = w.shape
    oh, ow = offset.shape[2:]
    columns = []
    ys, xs = torch.meshgrid(torch.arange(oh).double(), torch.arange(ow).double(), indexing="ij")
    for b in range(n):
        taps = []
        for g in range(og):
            part = x[b, g * channels // og:(g + 1) * channels // og]
            for k in range(kh * kw):
                at = (g * kh * kw + k) * 2
                y = ys * stride - pad + k // kw + offset[b, at]
                c = xs * stride - pad + k % kw + offset[b, at + 1]
                taps.append(bilinear(part, y, c) * mask[b, g * kh * kw + k])
        columns.append(torch.stack(taps).reshape(og, kh * kw, channels // og, oh, ow).transpose(1, 2).reshape(channels, kh * kw, oh, ow))
    columns = torch.stack(columns).reshape(n, groups, per, kh * kw, oh, ow)
    return torch.einsum("ngckyx,gmck->ngmyx", columns, w.reshape(groups, m // groups, per, kh * kw)).reshape(n, m, oh, ow) + bias.reshape(1, -1, 1, 1)


def roi_align(x, rois, batch, height, width, takes_max):
    out = []
    for r, b in zip(rois, batch):
        x1, y1, x2, y2 = (r - 0.5).unbind()
        bh, bw = (y2 - y1) / height, (x2 - x1) / width
        gh, gw = max(int(torch.ceil(bh)), 0), max(int(torch.ceil(bw)), 0)
        rows = (y1 + (torch.arange(height).double()[:, None] + (torch.arange(gh).double()[None] + 0.5) / max(gh, 1)) * bh).reshape(-1)
        columns = (x1 + (torch.arange(width).double()[:, None] + (torch.arange(gw).double()[None] + 0.5) / max(gw, 1)) * bw).reshape(-1)
        y, c = torch.meshgrid(rows, columns, indexing="ij")
        inside = (y >= -1) & (y <= x.shape[2]) & (c >= -1) & (c <= x.shape[3])
        y, c = y.clamp(0, x.shape[2] - 1), c.clamp(0, x.shape[3] - 1)
        terms = []
        for dy in (0, 1):
            for dx in (0, 1):
                row, column = (torch.floor(y) + dy).clamp(max=x.shape[2] - 1), (torch.floor(c) + dx).clamp(max=x.shape[3] - 1)
                fy, fx = y - torch.floor(y), c - torch.floor(c)
                weight = (fy if dy else 1 - fy) * (fx if dx else 1 - fx) * inside
                terms.append(weight * x[int(b)][:, row.long(), column.long()])
        terms = torch.stack(terms).reshape(4, x.shape[1], height, gh, width, gw)
        out.append(terms.amax((0, 3, 5)) if takes_max else terms.sum((0, 3, 5)) / (gh * gw))
    return torch.stack(out)


def gradient_cases():
    def case(name, op, made_inputs, wanted, function, **attributes):
        tensors = [torch.tensor(v, requires_grad=i in wanted) for i, v in enumerate(made_inputs)]
        y = function(*tensors)
        dy = torch.tensor(rng.standard_normal(y.shape))
        found = torch.autograd.grad(y, [tensors[i] for i in wanted], dy)
        gradients = {"grad_output_0.pb": dy.numpy(), **{f"grad_input_{i}.pb": v.numpy() for i, v in zip(wanted, found)}}
        store(name, model(op, made_inputs, ["y"], **attributes), made_inputs, [y.detach().numpy()], f"the definition in torch {torch.__version__}, its autograd in double", gradients, 1e-9, 1e-10)

    d = lambda *s: rng.standard_normal(s)
    case("grad_deformconv_all", "DeformConv", [d(2, 4, 5, 5), d(4, 2, 2, 2), 1.5 * d(2, 16, 3, 3), d(4), rng.random((2, 8, 3, 3))], [0, 1, 2, 3, 4],
         lambda x, w, o, b, m: deform(x, w, o, b, m, 2, 2, 2, 1), group=2, offset_group=2, strides=[2, 2], pads=[1, 1, 1, 1])
    rois, batch = np.array([[0.6, 0.9, 4.2, 3.3], [1.3, 0.2, 2.1, 4.9], [-1.2, 2.2, 6.1, 5.3]]), np.array([0, 1, 1], np.int64)
    for mode in ("avg", "max"):
        case(f"grad_roialign_adaptive_{mode}", "RoiAlign", [d(2, 2, 5, 6), rois, batch], [0, 1],
             lambda x, r, b, mode=mode: roi_align(x, r, b, 2, 2, mode == "max"), output_height=2, output_width=2, mode=mode)
    case("grad_swiglu", "SwiGLU", [d(3, 4), d(3, 4)], [0, 1], lambda a, b: a * torch.sigmoid(1.5 * a) * b, opset=28, alpha=1.5)


IMAGES = {  # name -> file ending and arguments of `convert`
    "png_rgb": "png -define png:color-type=2", "png_palette": "png -colors 5 -type Palette", "png_gray16": "png -colorspace Gray -depth 16 -define png:bit-depth=16",
    "png_bit": "png -colorspace Gray -monochrome -define png:bit-depth=1", "png_interlaced": "png -interlace PNG -define png:color-type=2",
    "bmp_24": "bmp -type TrueColor -define bmp:format=bmp3", "bmp_8_runs": "bmp -colors 20 -type Palette -compress RLE -define bmp:format=bmp3",
    "bmp_8": "bmp -colors 20 -type Palette -compress None -define bmp:format=bmp3", "bmp_1": "bmp -monochrome -type Bilevel -define bmp:format=bmp3",
    "bmp_565": "bmp -define bmp:subtype=RGB565", "bmp_os2": "bmp -type TrueColor -define bmp:format=bmp2",
    "pnm_ppm": "ppm", "pnm_ppm_text": "ppm -compress none", "pnm_pgm": "pgm -colorspace Gray", "pnm_pgm16": "pgm -colorspace Gray -depth 16", "pnm_pbm": "pbm",
    "pnm_pbm_text": "pbm -compress none", "pnm_pam": "pam -type TrueColor", "tiff_lzw": "tiff -compress LZW -type TrueColor", "tiff_plain": "tiff -compress None -type TrueColor", "tiff_gray": "tiff -colorspace Gray -compress Zip",
    "webp_lossless": "webp -define webp:lossless=true", "jp2_lossless": "jp2 -quality 0", "jpeg_progressive": "jpg -interlace JPEG -quality 95",
    "jpeg_420": "jpg -sampling-factor 4:2:0 -quality 90", "jpeg_gray": "jpg -colorspace Gray -quality 95",
}


def image_cases():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        pixels = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8).repeat(3, 0).repeat(4, 1)[:11, :13]
        (work / "in.ppm").write_bytes(b"P6 13 11 255\n" + pixels.tobytes())
        version = subprocess.run(["convert", "-version"], capture_output=True, text=True, check=True).stdout.split()[2]
        for name, how in IMAGES.items():
            ending, *arguments = how.split()
            file, raw = work / f"{name}.{ending}", work / "out.rgb"
            subprocess.run(["convert", str(work / "in.ppm"), *arguments, str(file)], check=True)
            wide = name.endswith("16")
            subprocess.run(["convert", str(file), "-depth", "16" if wide else "8", f"rgb:{raw}"], check=True)
            value = np.frombuffer(raw.read_bytes(), np.uint16 if wide else np.uint8).reshape(11, 13, 3)
            if wide:  # as Pillow: PNG keeps the upper byte, PGM goes to the nearest
                value = (value >> 8 if name.startswith("png") else np.round(value / 257)).astype(np.uint8)
            data = np.frombuffer(file.read_bytes(), np.uint8)
            if name == "bmp_565":  # 5 and 6 bits spread to 8 rounding down, as Pillow does; ImageMagick goes to the nearest
                start = int.from_bytes(data[10:14].tobytes(), "little")
                packed = np.frombuffer(data[start:start + 11 * 28].tobytes(), "<u2").reshape(11, 14)[::-1, :13].astype(int)
                value = np.stack([(packed >> 11) * 255 // 31, (packed >> 5 & 63) * 255 // 63, (packed & 31) * 255 // 31], 2).astype(np.uint8)
            store(f"image_{name}", model("ImageDecoder", [data], ["y"]), [data], [value], f"ImageMagick {version}", rtol=0, atol=0)


if __name__ == "__main__":
    shutil.rmtree(ROOT, ignore_errors=True)
    for write in (roi_cases, deform_cases, box_cases, optimizer_cases, fold_cases, gradient_cases, image_cases):
        write()
    (ROOT / "README.md").write_text(
        "# Operators of images and optimizers\n\nWhat the tests of ONNX leave out, laid out as `tests/data/grad`. Written by `scripts/make_vision_cases.py` "
        "(seeded). Licence: as this project\n(Apache-2.0). Where the values come from:\n\n" + "\n".join(lines) + "\n")
    print(len(lines), "cases")

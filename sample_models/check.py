"""Checks every sample model again: the ONNX checker, shape inference, and the stored outputs by onnxruntime.

Run: python check.py      (needs numpy, onnx and onnxruntime; exit status 1 when something differs)
"""
import sys
from pathlib import Path

import numpy as np
import onnx

from model_builder import run_unoptimised

HERE = Path(__file__).resolve().parent
TOLERANCE = 1e-5    # float32, of an output's largest entry: another CPU or version may sum in another order


def faults(folder: Path) -> list[str]:
    """What is wrong with one sample; an empty list when nothing is."""
    found = []
    model = onnx.load(folder / "model.onnx")
    try:
        onnx.checker.check_model(model, full_check=True)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return [f"checker: {error}"]
    inputs, expected = (dict(np.load(folder / f"{part}.npz")) for part in ("inputs", "expected"))
    outputs = run_unoptimised(folder / "model.onnx", inputs)
    if set(outputs) != set(expected):
        found.append(f"outputs are {sorted(outputs)}, expected.npz has {sorted(expected)}")
    for name in sorted(set(outputs) & set(expected)):
        got, want = outputs[name], expected[name]
        if got.shape != want.shape or got.dtype != want.dtype:
            found.append(f"{name}: {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
        elif want.dtype.kind != "f":
            if not np.array_equal(got, want):
                found.append(f"{name}: differs")
        elif not (np.abs(got - want).max() <= TOLERANCE * np.abs(want).max()):    # also false for NaN
            found.append(f"{name}: differs by {np.abs(got - want).max():.3g}, largest entry {np.abs(want).max():.3g}")
    for part in ("README.md", "LICENSE"):
        if not (folder / part).exists():
            found.append(f"{part} is missing")
    return found


def main() -> int:
    folders = sorted(path.parent for path in HERE.glob("*/model.onnx"))
    failed = 0
    for folder in folders:
        found = faults(folder)
        failed += bool(found)
        print(f"{folder.name}: {'; '.join(found) or 'as expected'}")
    print(f"{len(folders) - failed} passed, {failed} failed")
    return 1 if failed or not folders else 0


if __name__ == "__main__":
    sys.exit(main())

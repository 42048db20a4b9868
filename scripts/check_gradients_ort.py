#!/usr/bin/env python3
"""Differentiates every sample model, exports the result and runs it in onnxruntime: the gradients must be the same there.

  check_gradients_ort.py [--program PATH] [--modes reverse,forward,hvp] [--opset N] [MODEL.onnx …]

Without models: every folder of sample_models, with its inputs.npz. A model given is taken with the inputs.npz beside it. For each mode the program
writes the differentiated model (`grad --save`) and its results in double; onnxruntime runs the model in float32, graph optimisations off. Compared,
each difference relative to the largest entry, but at least to FLOOR of the target over the value, since a derivative that cancels has no digits of
its own:

  ours   the program's own run in float32 against its run in double
  ort    onnxruntime's run in float32 against the same
  torch  the program's run in double against PyTorch's float64 values in tests/data/samples/NAME: gradients.npz; for forward mode the sum of gradient
         times direction, which is the target's tangent

float32 differs from double by rounding, so `ours` may be up to OURS, and `ort` up to FLOAT32 or FACTOR times what our own run of the same graph
loses at the same value.
Needs numpy, onnx and onnxruntime. One line a model and mode; exit status 1 when something differs or was not compared.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parent.parent
REFERENCES = ROOT / "tests" / "data" / "samples"
TARGETS = {"control_flow": "root", "scan_filter": "smooth"}    # the others: loss (tests/data/samples/README.md)
OPSET = 21                   # that of the samples; onnxruntime of the day runs it
OURS = 5e-4
FLOAT32 = 2e-4
FACTOR = 5
FLOOR = 1e-3
DOUBLE = 1e-7             # Gelu's function body in the standard has constants of float32


class Failure(Exception):
    """What is wrong, in one sentence."""


def grad(program: str, *arguments) -> None:
    ended = subprocess.run([program, "grad", *map(str, arguments)], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        lines = ended.stderr.strip().splitlines() or ["no message"]
        raise Failure(f"nablascope grad ended with {ended.returncode}: {lines[-1]}")


def floats_of(model: onnx.ModelProto, inputs: dict) -> dict:
    """Float inputs and float initializers with their values."""
    found = {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.initializer}
    found |= {x.name: inputs[x.name] for x in model.graph.input if x.name in inputs}
    return {name: value for name, value in found.items() if value.dtype.kind == "f"}


def run_onnxruntime(path: Path, feeds: dict) -> dict:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        known = {x.name for x in session.get_inputs()}
        names = [x.name for x in session.get_outputs()]
        return dict(zip(names, session.run(None, {k: v for k, v in feeds.items() if k in known}), strict=True))
    except Exception as error:    # its own exception types have no common base
        raise Failure(f"onnxruntime: {str(error).splitlines()[0][:300]}") from error


def distance(actual: np.ndarray, expected: np.ndarray, name: str, floor: float = 0.0) -> float:
    if actual.shape != expected.shape:
        raise Failure(f"{name} is {list(actual.shape)}, expected {list(expected.shape)}")
    if np.any(np.isnan(actual) != np.isnan(expected)):
        raise Failure(f"{name}: one has NaN where the other has none")
    if expected.size == 0:
        return 0.0
    largest = max(np.nanmax(np.abs(expected)), floor)
    return float(np.nanmax(np.abs(actual.astype(np.float64) - expected)) / (largest if largest > 0 else 1.0))


class Check:
    """One model in one mode."""

    PREFIX = {"reverse": "grad:", "forward": "tangent:", "hvp": "hvp:"}

    def __init__(self, path: Path, mode: str, options: argparse.Namespace, folder: Path):
        self.path, self.mode, self.options, self.folder = path, mode, options, folder
        self.name = path.parent.name if path.parent.parent == ROOT / "sample_models" else path.stem
        self.inputs_path = path.parent / "inputs.npz"
        if not self.inputs_path.exists():
            raise Failure(f"{self.inputs_path.name} is missing beside the model")
        self.inputs = dict(np.load(self.inputs_path))
        model = onnx.load(path)
        self.values = floats_of(model, self.inputs)
        outputs = [x.name for x in model.graph.output]
        self.target = TARGETS.get(self.name, "loss" if "loss" in outputs else outputs[0])
        reference = REFERENCES / self.name / "gradients.npz"
        is_sample = path.parent.parent == ROOT / "sample_models"
        self.torch = dict(np.load(reference)) if is_sample else None
        self.wrt = sorted(self.torch) if self.torch else sorted(self.values)
        self.apart = {}    # kind -> value -> difference
        self.worst = {"ours": (0.0, ""), "ort": (0.0, "")} | ({"torch": (0.0, "")} if self.torch and mode != "hvp" else {})

    def note(self, kind: str, value: float, name: str) -> None:
        self.apart.setdefault(kind, {})[name] = value
        if not value <= self.worst[kind][0]:
            self.worst[kind] = (value, name)

    def directions(self) -> dict:
        """Seeded, of the size of each value: a direction that moves a divisor of 16 by 1 and a weight of 0.01 by 1 would measure nothing."""
        rng = np.random.default_rng(5)
        return {name: np.asarray(rng.standard_normal(self.values[name].shape) * max(float(np.abs(self.values[name]).max()), 1e-3), np.float32)
                for name in self.wrt}

    def run(self) -> None:
        exported, exact, single = (self.folder / name for name in ("exported.onnx", "exact.npz", "single.npz"))
        common = [self.path, "--of", self.target, "--wrt", ",".join(self.wrt), "--inputs", self.inputs_path, "--mode", self.mode]
        directions = {}
        if self.mode != "reverse":
            directions = self.directions()
            np.savez(self.folder / "direction.npz", **directions)
            common += ["--direction", self.folder / "direction.npz"]
        grad(self.options.program, *common, "--double", "--reference", "--outputs", exact, "--save", exported, "--opset", self.options.opset)
        grad(self.options.program, *common, "--outputs", single)
        exact, single = dict(np.load(exact)), dict(np.load(single))
        prefix = {"reverse": "cotangent:", "forward": "tangent:", "hvp": "direction:"}[self.mode]
        extra = {f"{prefix}{name}": value for name, value in directions.items()}
        if self.mode == "reverse":
            shape = dict(np.load(self.path.parent / "expected.npz"))[self.target].shape if (self.path.parent / "expected.npz").exists() else ()
            extra = {f"cotangent:{self.target}": np.ones(shape, np.float32)}
        outputs = run_onnxruntime(exported, self.inputs | extra)
        if not exact:
            raise Failure("the program computed nothing")
        target = float(np.abs(outputs[self.target]).max()) if self.target in outputs else 0.0
        for name, value in exact.items():
            size = float(np.abs(self.values[name]).max()) if name in self.values else 0.0
            floor = FLOOR * target / size if size > 0 else 0.0
            self.note("ours", distance(single[name], value, name, floor), name)
            # an input already has the name where an output is differentiated by itself
            made = [key for key in outputs if key == self.PREFIX[self.mode] + name or key.startswith(f"{self.PREFIX[self.mode]}{name}_")]
            if not made:
                raise Failure(f"the exported model has no output {self.PREFIX[self.mode]}{name}")
            self.note("ort", distance(outputs[made[0]], value, name, floor), name)
        self.compare_torch(exact, directions)

    def compare_torch(self, exact: dict, directions: dict) -> None:
        if "torch" not in self.worst:
            return
        if self.mode == "reverse":
            for name, value in self.torch.items():
                if name not in exact:
                    raise Failure(f"the program computed no gradient of {name}")
                self.note("torch", distance(exact[name], value, name), name)
            return
        products = [self.torch[name] * directions[name].astype(np.float64) for name in self.torch]
        expected, size = sum(p.sum() for p in products), sum(np.abs(p).sum() for p in products)
        self.note("torch", abs(float(exact[self.target].sum()) - expected) / size, self.target)

    def verdict(self) -> tuple[bool, str]:
        fine = self.worst["ours"][0] <= OURS and self.worst.get("torch", (0.0,))[0] <= DOUBLE
        fine = fine and all(value <= max(FLOAT32, FACTOR * self.apart["ours"][name]) for name, value in self.apart["ort"].items())
        figures = ", ".join(f"{kind} {value:.1e}" + (f" ({name})" if name else "") for kind, (value, name) in self.worst.items())
        return fine, f"{len(self.wrt)} values, {figures}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = next((p for p in (ROOT / "build" / d / "bin" / "nablascope" for d in ("release", "dev")) if p.exists()), None)
    parser.add_argument("--program", default=os.environ.get("NABLASCOPE", default and str(default)), help="nablascope (default: build/release, build/dev)")
    parser.add_argument("--modes", default="reverse,forward,hvp")
    parser.add_argument("--opset", type=int, default=OPSET)
    parser.add_argument("models", nargs="*", type=Path)
    options = parser.parse_args()
    if not options.program:
        parser.error("no nablascope is built: give --program")
    modes = options.modes.split(",")
    if unknown := [mode for mode in modes if mode not in Check.PREFIX]:
        parser.error(f"--modes {','.join(unknown)}: must be reverse, forward or hvp")
    models = [path.resolve() for path in options.models] or sorted((ROOT / "sample_models").glob("*/model.onnx"))
    failed = total = 0
    for path in models:
        for mode in modes:
            total += 1
            name = path.parent.name if path.name == "model.onnx" else path.name
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check = Check(path, mode, options, Path(folder))
                    check.run()
                    fine, text = check.verdict()
                except Failure as failure:
                    fine, text = False, str(failure)
            failed += not fine
            print(f"{name:14} {mode:8} {'same' if fine else 'DIFFERS':8} {text}", flush=True)
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())

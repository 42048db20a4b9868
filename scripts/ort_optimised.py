#!/usr/bin/env python3
"""Models that onnxruntime has optimised, run by nablascope and compared with what the original gives in onnxruntime.

    scripts/ort_optimised.py [FILE.onnx | FOLDER ...] [--level basic|extended] [--nablascope build/dev/bin/nablascope] [--keep FOLDER] [--dim NAME=N ...]

Without arguments every folder of sample_models/ is taken. A folder stands for every .onnx file in it, at any depth. Inputs come from the MODEL.npz or
inputs.npz beside a MODEL.onnx (`case0:` before a name is dropped), else from in_K of an expected.npz there, else they are drawn from the signature: free
sizes are 2, those of the last two axes of a picture 64, or what --dim says; integers are 0 or 1. Where a MODEL.expected.npz or expected.npz is there and
belongs to these inputs, its outputs are compared too.

One line a model and level: ok, what differs first, or why it is skipped (onnxruntime does not run the original on these inputs); exit code 1 when
something differs. An output is equal when no element differs by more than 2e-4 of the largest entry (onnxruntime's own optimisations move
`basic_pitch` by 7e-5) or 1e-5 (a loss is a difference of larger numbers); integers and others exactly. Where onnxruntime itself gives something else from the optimised
model (lookup tables and other roundings of quantized operators), ours may be off by as much, and the line says by how much both are.
Needs the PyPI packages of scripts/requirements_peers.txt.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    sys.exit(f"ort_optimised.py: {error}; it needs the packages of scripts/requirements_peers.txt (pip install -r scripts/requirements_peers.txt)")

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED"}
SHARE_OF_LARGEST, FLOOR = 2e-4, 1e-5


class Skipped(Exception):
    """Nothing can be compared, and it is not our program's fault."""


NUMPY_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
               "tensor(int16)": np.int16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(uint16)": np.uint16, "tensor(uint32)": np.uint32,
               "tensor(uint64)": np.uint64, "tensor(bool)": np.bool_}


def models_of(arguments):
    for argument in arguments or [ROOT / "sample_models"]:
        path = pathlib.Path(argument)
        if path.is_dir():
            yield from sorted(path.rglob("*.onnx"))
        elif path.exists():
            yield path
        else:
            sys.exit(f"ort_optimised.py: {path} is not there")


def session(path, level, save=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    if save:
        options.optimized_model_filepath = str(save)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def drawn(signature, sizes):
    rng = np.random.default_rng(0)
    out = {}
    for given in signature:
        if given.type not in NUMPY_TYPES:
            raise Skipped(f"input {given.name} is {given.type}, for which no values are drawn")
        kind = NUMPY_TYPES[given.type]
        picture = len(given.shape) == 4
        shape = [d if isinstance(d, int) and d >= 0 else sizes.get(f"{given.name}:{k}", sizes.get(d, 64 if picture and k > 1 else 2))
                 for k, d in enumerate(given.shape)]
        out[given.name] = (rng.standard_normal(shape) if np.issubdtype(kind, np.floating) else rng.integers(0, 2, shape)).astype(kind)
    return out


def stored_beside(path, *names):
    for name in names:
        if (path.parent / name).exists():
            return {key.removeprefix("case0:"): value for key, value in np.load(path.parent / name).items()}
    return {}


def inputs_of(path, signature, sizes):
    """Inputs by name, and the expected outputs that belong to them (by name or out_K)."""
    expected = stored_beside(path, f"{path.stem}.expected.npz", "expected.npz")
    stored = stored_beside(path, f"{path.stem}.npz", "inputs.npz")
    if stored:
        values = {s.name: stored[s.name] if s.name in stored else stored.get(f"in_{k}") for k, s in enumerate(signature)}
        if all(v is not None for v in values.values()):
            return values, expected
    values = {s.name: expected.get(f"in_{k}") for k, s in enumerate(signature)}
    if expected and all(v is not None for v in values.values()):
        return values, expected
    return drawn(signature, sizes), {}


def differs(name, wanted, got):
    if got is None:
        return f"{name} is missing"
    if wanted.dtype != got.dtype or wanted.shape != got.shape:
        return f"{name} is {got.dtype}{list(got.shape)}, wanted {wanted.dtype}{list(wanted.shape)}"
    if not wanted.size:
        return ""
    if not np.issubdtype(wanted.dtype, np.floating):
        return "" if (wanted == got).all() else f"{name}: {int((wanted != got).sum())} of {wanted.size} elements differ"
    a, b = wanted.astype(np.float64), got.astype(np.float64)
    special = ~np.isfinite(a) | ~np.isfinite(b)
    if not np.array_equal(a[special], b[special], equal_nan=True):
        return f"{name}: NaN or infinity in other places"
    finite = ~special
    largest = np.abs(a[finite]).max() if finite.any() else 0.0
    off = np.abs(a[finite] - b[finite]).max() if finite.any() else 0.0
    return "" if off <= max(SHARE_OF_LARGEST * largest, FLOOR) else f"{name}: off by {off:.3g}, its largest entry is {largest:.3g}"


def operators(path):
    """Operators outside the standard that the optimised model holds, with how many nodes."""
    counts = collections.Counter()

    def walk(graph):
        for node in graph.node:
            if node.domain not in ("", "ai.onnx"):
                counts[f"{node.domain}.{node.op_type}"] += 1
            for a in node.attribute:
                for body in [a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs:
                    walk(body)

    model = onnx.load(str(path), load_external_data=False)
    walk(model.graph)
    return len(model.graph.node), counts


def check(path, level, options, folder):
    """What differs first, or nothing; and a word on the optimised model."""
    sizes = dict(text.split("=", 1) for text in options.dim)
    try:
        original = session(path, "ORT_DISABLE_ALL")
        inputs, expected = inputs_of(path, original.get_inputs(), {k: int(v) for k, v in sizes.items()})
        names = [o.name for o in original.get_outputs()]
        wanted = dict(zip(names, original.run(None, inputs)))
    except Skipped:
        raise
    except Exception as error:  # onnxruntime's errors have no common class
        raise Skipped(f"onnxruntime on the original: {str(error)[:300]}") from error
    saved = folder / f"{path.parent.name}_{path.stem}_{level}.onnx"
    session(path, LEVELS[level], saved)
    nodes, special = operators(saved)
    word = f"{nodes} nodes" + (": " + ", ".join(f"{n} {k}" for k, n in sorted(special.items())) if special else "")
    np.savez(folder / "inputs.npz", **inputs)
    done = subprocess.run([options.nablascope, "run", str(saved), "--inputs", str(folder / "inputs.npz"), "--outputs", str(folder / "out.npz")],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}", word
    got = dict(np.load(folder / "out.npz"))
    text = first_difference(names, wanted, got, expected)
    if text:  # rounding of quantized tensors: the optimised model itself gives something else
        own = dict(zip(names, session(saved, "ORT_DISABLE_ALL").run(None, inputs)))
        moved = first_difference(names, wanted, own, {})
        if moved and all(largest_gap(wanted[n], got[n]) <= largest_gap(wanted[n], own[n]) for n in names):
            return "", f"{word}; quantized: ours moves {text}, onnxruntime on the optimised model {moved}"
    return text, word


def largest_gap(a, b):
    if a.shape != b.shape or not a.size:
        return 0.0 if a.shape == b.shape else np.inf
    return float(np.max(np.abs(np.nan_to_num(a.astype(np.float64)) - np.nan_to_num(b.astype(np.float64)))))


def first_difference(names, wanted, got, expected):
    for k, name in enumerate(names):
        text = differs(name, np.asarray(wanted[name]), got.get(name))
        stored = expected.get(name, expected.get(f"out_{k}"))
        if not text and stored is not None:
            text = differs(f"{name} of expected.npz", stored, got.get(name))
        if text:
            return text
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--level", choices=sorted(LEVELS), action="append")
    parser.add_argument("--nablascope", default=str(ROOT / "build/dev/bin/nablascope"))
    parser.add_argument("--keep", help="leave the optimised models in this folder")
    parser.add_argument("--dim", action="append", default=[], help="NAME=N or INPUT:AXIS=N, a size of drawn inputs")
    options = parser.parse_args()
    if not pathlib.Path(options.nablascope).exists():
        sys.exit(f"ort_optimised.py: {options.nablascope} is not there; build it, or say --nablascope")
    failed = total = skipped = 0
    with tempfile.TemporaryDirectory(prefix="ort_optimised_") as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for path in models_of(options.models):
            for level in options.level or LEVELS:
                total += 1
                try:
                    text, word = check(path, level, options, folder)
                except Skipped as error:
                    skipped += 1
                    print(f"skipped {path.parent.name}/{path.name} {level}: {error}", flush=True)
                    continue
                failed += bool(text)
                print(f"{'DIFFERS' if text else 'ok':<8}{path.parent.name}/{path.name} {level} ({word})" + (f": {text}" if text else ""), flush=True)
    print(f"{total - failed - skipped} of {total} give the original's outputs, {failed} do not, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

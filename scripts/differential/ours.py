"""Our program over a batch of cases: one process, unless some case ends it."""
import json
import shutil
import subprocess

import onnx
from onnx import numpy_helper

from .peers import Outcome

TIMEOUT_SECONDS = 120


def read_value(path, kind):
    data = path.read_bytes()
    if kind.startswith("seq("):
        sequence = onnx.SequenceProto.FromString(data)
        return [numpy_helper.to_array(t) for t in sequence.tensor_values]
    if kind.startswith("optional("):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def run_ours(program, cases, folder, options=()):
    """One outcome per case."""
    shutil.rmtree(folder, ignore_errors=True)
    models, results = folder / "cases", folder / "results"
    for i, case in enumerate(cases):
        case.write(models / f"c{i:05}")
    report, why = [], ""
    try:
        done = subprocess.run([program, "conformance", str(models), "--outputs", str(results), "--json", *options], capture_output=True, timeout=TIMEOUT_SECONDS)
        why = f"ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:].strip()}"
        if done.returncode in (0, 1):
            report = json.loads(done.stdout)["cases"]
    except subprocess.TimeoutExpired:
        why = f"no answer after {TIMEOUT_SECONDS} s"
    if not report:
        if len(cases) == 1:
            return [Outcome(refusal=why, crashed=True)]
        half = len(cases) // 2
        return run_ours(program, cases[:half], folder, options) + run_ours(program, cases[half:], folder, options)
    out = []
    for i, (case, row) in enumerate(zip(cases, report)):
        if row["outcome"] != "passed":
            out.append(Outcome(refusal=row["text"] or row["outcome"]))
            continue
        data = results / f"c{i:05}" / "test_data_set_0"
        asked = [kind for kind in case.outputs if kind is not None]
        out.append(Outcome([read_value(data / f"output_{place}.pb", kind) for place, kind in enumerate(asked)]))
    return out

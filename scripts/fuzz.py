#!/usr/bin/env python3
"""Feeds the command line damaged models and reports what ends otherwise than the contract of exit codes says.

    scripts/fuzz.py [--nablascope build/asan/bin/nablascope] [--minutes 5] [--seed S] [--keep DIR] [MODEL.onnx | DIR ...]

Takes small models (default: sample_models and build/onnx-tests), damages each in one to three ways, in its bytes (flipped, cut,
repeated) or in its meaning (attributes and sizes at the borders of int64, inputs dropped, swapped or joined to later values,
other operators, types and opsets), and runs one verb on it. A fault is a signal, an exit code outside 0 to 4, a sanitizer's
report, more than --seconds of time or --mib of memory. Files of faults stay in --keep, with the command to repeat them.
Exit code 1 when there was a fault. Needs the PyPI package onnx. Not in the CI: it runs as long as it is told.
"""
import argparse
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
BORDERS = [0, 1, -1, 2, -2, 3, 7, 127, 128, 255, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) + 1, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, -1.0, 1e30, -1e30, 1e-45, float("nan"), float("inf"), float("-inf")]
VERBS = [["info"], ["info", "--json"], ["run"], ["run"], ["run"], ["grad"], ["grad"], ["passes"], ["passes", "--verify"], ["render", "-o", "OUT.svg"], ["convert", "-o", "OUT.onnx"]]


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                yield from graphs(body)


def some_node(random, model):
    nodes = [(g, n) for g in graphs(model.graph) for n in g.node]
    return random.choice(nodes) if nodes else (model.graph, None)


def damage_attribute(random, model):
    _, node = some_node(random, model)
    if node is None or not node.attribute:
        return
    a = random.choice(node.attribute)
    if random.random() < 0.15:
        node.attribute.remove(a)
    elif a.type == onnx.AttributeProto.INT:
        a.i = random.choice(BORDERS)
    elif a.type == onnx.AttributeProto.FLOAT:
        a.f = random.choice(FLOATS)
    elif a.type == onnx.AttributeProto.INTS:
        what = random.random()
        if what < 0.6 and a.ints:
            a.ints[random.randrange(len(a.ints))] = random.choice(BORDERS)
        elif what < 0.8 and a.ints:
            a.ints.pop()
        else:
            a.ints.append(random.choice(BORDERS))
    elif a.type == onnx.AttributeProto.STRING:
        a.s = random.choice([b"", b"\xff\xfe", b"SAME_UPPER", b"linear", a.s * 100])
    elif a.type == onnx.AttributeProto.TENSOR:
        damage_tensor(random, a.t)
    elif a.type == onnx.AttributeProto.FLOATS and a.floats:
        a.floats[random.randrange(len(a.floats))] = random.choice(FLOATS)


def damage_tensor(random, tensor):
    what = random.random()
    if what < 0.35 and tensor.dims:
        tensor.dims[random.randrange(len(tensor.dims))] = random.choice(BORDERS)
    elif what < 0.5:
        tensor.dims.append(random.choice([0, 1, 1, 2]))
    elif what < 0.7:
        tensor.data_type = random.randrange(0, 30)
    elif what < 0.85 and tensor.raw_data:
        tensor.raw_data = tensor.raw_data[: random.randrange(len(tensor.raw_data))]
    elif tensor.raw_data:  # other numbers: indices, shapes and counts among them
        raw = bytearray(tensor.raw_data)
        for _ in range(random.randint(1, 4)):
            raw[random.randrange(len(raw))] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        tensor.raw_data = bytes(raw)


def damage_initializer(random, model):
    tensors = [t for g in graphs(model.graph) for t in g.initializer]
    if tensors:
        damage_tensor(random, random.choice(tensors))


def damage_edges(random, model):
    graph, node = some_node(random, model)
    if node is None:
        return
    names = [name for n in graph.node for name in n.output] + [t.name for t in graph.initializer] + [v.name for v in graph.input]
    what = random.random()
    if what < 0.25 and node.input:
        node.input.pop()
    elif what < 0.65 and node.input and names:
        node.input[random.randrange(len(node.input))] = random.choice(names + [""])
    elif what < 0.75 and names:
        node.input.append(random.choice(names))
    elif what < 0.85 and node.output:
        node.output[random.randrange(len(node.output))] = random.choice(names + ["", "other"])
    elif what < 0.92:
        graph.node.remove(node)
    else:
        graph.node.add().CopyFrom(node)


def damage_operator(random, model):
    _, node = some_node(random, model)
    if node is None:
        return
    schemas = [s for s in onnx.defs.get_all_schemas() if s.domain == ""]
    node.op_type = random.choice(schemas).name


def damage_interface(random, model):
    infos = [v for g in graphs(model.graph) for v in [*g.input, *g.output]]
    infos = [v for v in infos if v.type.WhichOneof("value") == "tensor_type"]
    if not infos:
        return
    tensor = random.choice(infos).type.tensor_type
    what = random.random()
    if what < 0.3:
        tensor.elem_type = random.randrange(0, 30)
    elif what < 0.7 and tensor.shape.dim:
        random.choice(tensor.shape.dim).dim_value = random.choice(BORDERS)
    elif what < 0.8 and tensor.shape.dim:
        tensor.shape.dim.pop()
    elif what < 0.9:
        tensor.shape.dim.add().dim_value = random.choice([0, 1, 2, 5])
    else:
        tensor.ClearField("shape")


def damage_version(random, model):
    if model.opset_import:
        random.choice(model.opset_import).version = random.choice([1, 5, 6, 7, 9, 10, 11, 12, 13, 17, 18, 21, 28, 99, -1, (1 << 63) - 1])


MEANING = [damage_attribute] * 4 + [damage_edges] * 3 + [damage_initializer] * 3 + [damage_interface] * 2 + [damage_operator, damage_version]


def damage_bytes(random, data):
    data = bytearray(data)
    what = random.random()
    if what < 0.6:
        for _ in range(random.randint(1, 8)):
            data[random.randrange(len(data))] = random.randrange(256)
    elif what < 0.8:
        del data[random.randrange(len(data)) :]
    else:
        start = random.randrange(len(data))
        data[start:start] = data[start : start + random.randrange(1, 200)]
    return bytes(data)


def damaged(random, path):
    data = path.read_bytes()
    if random.random() < 0.2:
        return damage_bytes(random, data)
    model = onnx.load_from_string(data)
    for _ in range(random.randint(1, 3)):
        random.choice(MEANING)(random, model)
    return model.SerializeToString()


def fault_of(command, seconds, mib, sanitized):
    """What is wrong with how the command ended, or nothing."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))

    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=limits)
        end = time.monotonic() + seconds
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -9
                return f"longer than {seconds} s"
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read(1 << 20).decode(errors="replace")
    for mark in ("AddressSanitizer", "runtime error:", "LeakSanitizer"):
        if mark in text:
            return next(line for line in text.splitlines() if mark in line)[:200]
    if process.returncode not in range(5):
        return f"exit code {process.returncode}: {text.strip().splitlines()[-1][:200] if text.strip() else ''}"
    if not sanitized and usage.ru_maxrss > mib << 10:
        return f"{usage.ru_maxrss >> 10} MiB of memory"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nablascope", default=str(ROOT / "build/asan/bin/nablascope"))
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "nablascope-fuzz")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()

    files = []
    for place in options.models or [ROOT / "sample_models", ROOT / "build/onnx-tests"]:
        files += sorted(place.rglob("*.onnx")) if place.is_dir() else [place]
    files = [f for f in files if 0 < f.stat().st_size < 1 << 20]
    if not files:
        sys.exit("no model under 1 MiB there")
    options.keep.mkdir(parents=True, exist_ok=True)
    sanitized = b"__asan_init" in pathlib.Path(options.nablascope).read_bytes()
    print(f"seed {options.seed}, {len(files)} models, {options.nablascope}{' (sanitized)' if sanitized else ''}", flush=True)

    chance = random.Random(options.seed)
    end = time.monotonic() + options.minutes * 60
    runs, faults = 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        while time.monotonic() < end:
            source, verb = chance.choice(files), chance.choice(VERBS)
            path = pathlib.Path(scratch) / "model.onnx"
            path.write_bytes(damaged(chance, source))
            arguments = [a.replace("OUT", str(pathlib.Path(scratch) / "out")) for a in verb[1:]]
            fault = fault_of([options.nablascope, verb[0], str(path), *arguments], options.seconds, options.mib, sanitized)
            runs += 1
            if fault:
                kept = options.keep / f"{options.seed}-{runs}.onnx"
                kept.write_bytes(path.read_bytes())
                faults.setdefault(fault, []).append(kept)
                print(f"{verb[0]} {kept} (from {source.parent.name}/{source.name}): {fault}", flush=True)
    print(f"{runs} runs, {sum(map(len, faults.values()))} faults of {len(faults)} kinds")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

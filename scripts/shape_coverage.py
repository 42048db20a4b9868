#!/usr/bin/env python3
"""How many dimensions are known before running: by `nablascope info`, and by the onnx library's full inference.

    scripts/shape_coverage.py [--nablascope build/dev/bin/nablascope] [--list] MODEL.onnx ...

Both are counted over the same values: those that both name once. A dimension is known when it is a number or made of
names (dim_param) that the model's inputs have; names that the library makes up (unk__N) are not, nor a negative number.
Sizes that the file leaves open in an input have a name here (`x.dim0`) and none in the library, so ours can be larger.
A value whose rank one side does not know has, for that side, none of the dimensions that the other side knows.
Prints a table; exit code 1 when some file's share is below the library's. --list names the values we know less of.
Needs the PyPI package onnx.
"""
import argparse
import collections
import json
import re
import subprocess
import sys

import onnx

WORD = re.compile(r"[A-Za-z_][\w.:]*")


def outer_inputs(graph):
    weights = {t.name for t in graph.initializer}
    return [v for v in graph.input if v.name not in weights]


def library_shapes(model):
    """name -> one list of dims (int, str, None; None for an unknown rank) per value of that name, bodies included."""
    shapes = collections.defaultdict(list)

    def walk(graph):
        seen = set()
        for info in [*graph.input, *graph.value_info, *graph.output]:
            if info.name in seen or info.type.WhichOneof("value") != "tensor_type":
                continue
            seen.add(info.name)
            tensor = info.type.tensor_type
            dims = [getattr(d, d.WhichOneof("value")) if d.WhichOneof("value") else None for d in tensor.shape.dim]
            shapes[info.name].append(dims if tensor.HasField("shape") else None)
        for node in graph.node:
            for attribute in node.attribute:
                for body in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                    walk(body)

    walk(onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True).graph)
    return shapes


def split_dims(text):
    """`float32[N,floor((h-1)/(2)),3]` -> its dims; None for a tensor of unknown rank."""
    if not text.endswith("]"):
        return None
    inner = text[text.index("[") + 1 : -1]
    dims, depth, start = [], 0, 0
    for i, c in enumerate(inner):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            dims.append(inner[start:i])
            start = i + 1
    return [*dims, inner[start:]] if inner else []


def our_values(program, path):
    report = json.loads(subprocess.run([program, "info", "--values", "--json", path], check=True, capture_output=True, text=True).stdout)
    shapes = collections.defaultdict(list)
    for value in report["values"]:
        if not value["weight"]:
            shapes[value["name"]].append(split_dims(value["type"]))
    return shapes, report


def known(dim, names):
    if dim is None or dim == "?":
        return False
    if isinstance(dim, int) or dim.lstrip("-").isdigit():
        return int(dim) >= 0
    return dim in names or all(word in names or word in ("floor", "min", "max") for word in WORD.findall(dim))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--nablascope", default="build/dev/bin/nablascope")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    worse = False
    print(f"{'file':<44} {'values':>6} {'dims':>6} {'ours':>6} {'onnx':>6}  of all values: known/dims, unknown ranks, untyped")
    for path in options.models:
        model = onnx.load(path)
        theirs = library_shapes(model)
        ours, report = our_values(options.nablascope, path)
        given = {d.dim_param for v in outer_inputs(model.graph) for d in v.type.tensor_type.shape.dim if d.dim_param}
        named = given | {word for v in report["inputs"] for d in split_dims(v["type"]) or [] for word in [d, *WORD.findall(d)] if d != "?"}
        values = dims = by_us = by_onnx = 0
        for name, lists in theirs.items():
            if len(lists) != 1 or len(ours.get(name, [])) != 1:
                continue  # the same name in several scopes: no telling which is which
            mine, library = ours[name][0], lists[0]
            values += 1
            dims += len(mine if mine is not None else library or [])
            mine_known = sum(known(d, named) for d in mine or [])
            library_known = sum(known(d, given) for d in library or [])
            by_us += mine_known
            by_onnx += library_known
            if options.list and mine_known < library_known:
                print(f"  {name}: ours {mine}, onnx {library}")
        worse |= by_us < by_onnx or report["untyped_values"] > 0
        print(f"{path[-44:]:<44} {values:>6} {dims:>6} {by_us:>6} {by_onnx:>6}  {report['known_dims']}/{report['dims']}, {report['unknown_ranks']}, {report['untyped_values']}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

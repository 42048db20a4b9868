#!/usr/bin/env python3
"""Writes docs/operators.md: what a cost counts, and every operator that runs, a table for each domain.

Usage: operator_table.py [PROGRAM]           writes the page from what PROGRAM (nablascope) says of its operators
       operator_table.py [PROGRAM] --check   fails when the page is not what PROGRAM says
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operators.md"
PROGRAM = ROOT / "build" / "release" / "bin" / "nablascope"

HEAD = """# Operators

{count} operators run. Written by `scripts/operator_table.py` from what `nablascope operators --json` says. Any other operator opens, shows, compares
and exports; running it is an error that names the node.

| column | meaning |
|---|---|
| versions | of the standard; a node of any of them is lifted to the last one to run |
| types | what the first input may be, as the standard allows: `float` is float64, 32, 16 and bfloat16; `int` and `uint` are those of 8 to 64 bits; `int4` and `int2` with and without sign |
| gradient | `rule`: its own; `body`: through the nodes it expands to; else why there is none |
| kernel | optimised kernels that may be chosen, before the reference kernel, which every operator has, or `body`: it runs as the nodes it expands to (Gradient as the backward nodes of the part it names) |
| cost | how FLOPs are counted: `formula`, or `body`: those of the nodes it expands to |

## Costs

Of every node the program tells FLOPs, bytes read, bytes written and parameters, as far as shapes and the constants that decide are known before running.

- A multiply-add counts two FLOPs, of whole numbers too where they stand for weights and activations (MatMulInteger, ConvInteger, QLinearConv, QLinearMatMul).
- A function of one element counts one, whatever it is: a sum, an exponent, Erf, Gelu, a comparison of floats. Quantizing and dequantizing count two.
- Arithmetic among whole numbers and truth values (shapes, indices, masks) counts nothing; neither does moving, choosing or looking up elements.
- Reductions and poolings count one for every element that goes into a result, two where it is squared, made absolute or raised to e first; poolings of whole
  numbers too, reductions of them nothing. Updates that are added or compared when scattered count one. Softmax counts 5 an element, normalisations 8,
  RMSNormalization 4, BatchNormalization 4 outside training.
- A Fourier transform counts 5 n log2 n, half of it for real numbers. Det counts 2/3 n³. Where the work depends on the data, either the most is counted
  (NonMaxSuppression: all pairs of boxes) or it is said to be unknown (RoiAlign without a sampling ratio).
- Every input is read once, every output written once. Reshape, Squeeze, Unsqueeze, Flatten, Identity and handles on sequences and optionals move nothing. Gather,
  Slice and their kin read as much as they choose; Shape, Size and EyeLike read nothing.
- Functions, and operators whose cost is `body`: the FLOPs of the nodes inside, the bytes of the call's own inputs and outputs.
- Strings have no size before running: costs of a node that reads or writes them are unknown.
- If, Loop and Scan: FLOPs and bytes of the body times the number of iterations, when condition and trip count are constants or shapes; else unknown. The nodes
  inside are told for one iteration.
- Parameters are the numbers of weights that are no scalars: floats, and whole numbers of at most 8 bits, as they are stored (MatMulNBits packs two of 4 bits in
  one). For ai.onnx.ml they are the float attributes. A model's total counts a shared weight once, and a function's only where it is called.
"""


def facts(program: str) -> list[dict]:
    try:
        said = subprocess.run([program, "operators", "--json"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"operator_table: {program} does not tell its operators: {error}")
    return json.loads(said.stdout)["operators"]


def line(op: dict) -> str:
    short = {"through its body": "body", "by its body": "body", "of its body": "body", "of its iterations": "its iterations", "runs its bodies": "runs its bodies", "kernel": "",
             "as backward nodes": "backward nodes", "through backward nodes": "backward nodes", "of backward nodes": "backward nodes"}
    gradient = op["gradient"].removeprefix("none: ") if op["gradient"].startswith("none") else short.get(op["gradient"], op["gradient"])
    kernel = ", ".join(f"`{name}`" for name in op["kernels"]) or short[op["run"]]
    return f"| {op['name']} | {', '.join(map(str, op['versions']))} | {op['types']} | {gradient} | {kernel} | {short.get(op['cost'], op['cost'])} |"


def page(operators: list[dict]) -> str:
    parts = [HEAD.format(count=len(operators))]
    for domain in sorted({op["domain"] for op in operators}):
        here = [op for op in operators if op["domain"] == domain]
        parts.append(f"## {domain or 'ai.onnx'}\n\n{len(here)} operators.\n\n| operator | versions | types | gradient | kernel | cost |\n|---|---|---|---|---|---|\n"
                     + "\n".join(map(line, here)) + "\n")
    return "\n".join(parts)


def main() -> None:
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        sys.exit(__doc__)
    text = page(facts(arguments[0] if arguments else str(PROGRAM)))
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("operator_table: docs/operators.md is not what the program says; run scripts/operator_table.py")


if __name__ == "__main__":
    main()

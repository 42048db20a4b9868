"""The table of known faults, scripts/differential_known.txt: which peer is wrong where, and why."""
import pathlib

TABLE = pathlib.Path(__file__).resolve().parent.parent / "differential_known.txt"


class Entry:
    def __init__(self, line, number):
        parts = [p.strip() for p in line.split("|", 3)]
        if len(parts) != 4 or parts[0] not in ("ort", "ref", "ours") or not parts[3]:
            raise SystemExit(f"{TABLE.name}:{number}: wants `ort|ref|ours | operators | condition | reason`")
        self.peer, operators, condition, self.reason = parts
        self.operators = set(operators.split())
        self.condition = compile(condition or "True", f"{TABLE.name}:{number}", "eval")
        self.number, self.used = number, 0


def read_table():
    out = []
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            out.append(Entry(line, number))
    return out


def same_cuts(case):
    """Whether auto_pad SAME would need a negative padding: a window smaller than its stride."""
    kernel = case.attrs.get("kernel_shape")
    if not case.attrs.get("auto_pad", "").startswith("SAME") or not kernel or not hasattr(case.inputs[0], "shape"):
        return False
    sizes, ones = case.inputs[0].shape[2:], [1] * len(kernel)
    rows = zip(sizes, kernel, case.attrs.get("strides", ones), case.attrs.get("dilations", ones))
    return any((-(-size // stride) - 1) * stride + (k - 1) * dilation + 1 < size for size, k, stride, dilation in rows)


def find(table, peer, case, kind, text, agrees):
    """The first entry that explains a difference of this peer. `kind`: value, shape, type, or refusal (ours refuses what the peer runs); `agrees`: the
    peers that ours agrees with."""
    values = [v for v in case.inputs if v is not None and not isinstance(v, list)]
    names = {"op": case.op, "since": case.since, "opset": case.opset, "attrs": case.attrs, "kind": kind, "text": text, "tags": case.tags,
             "types": [case.type_of_input(i) for i, v in enumerate(case.inputs) if v is not None], "inputs": case.inputs, "outputs": case.outputs,
             "shapes": [list(v.shape) for v in values], "agrees": agrees, "same_cuts": same_cuts(case),
             "given": {i for i, v in enumerate(case.inputs) if v is not None}}
    for entry in table:
        if entry.peer == peer and (case.op in entry.operators or "*" in entry.operators) and eval(entry.condition, names):
            entry.used += 1
            return entry
    return None

"""If, Loop, Scan: bodies of a few nodes, with outer values, scan outputs, zero trips, early ends."""
import numpy as np
from onnx import helper

from .cases import CODES, Skip


def info(name, kind):
    return helper.make_tensor_value_info(name, CODES[kind], None)


def if_op(g):
    kind = g.choice(["float", "int64", "double"])
    shapes = [g.shape(high=3), g.shape(high=3)]
    branches = []
    for i in range(2):
        value = helper.make_node("Constant", [], ["c"], value=numpy_tensor(g, kind, shapes[i]))
        branches.append(helper.make_graph([value, helper.make_node("Neg", ["c"], ["r"])], f"branch{i}", [], [info("r", kind)]))
    g.set(then_branch=branches[0], else_branch=branches[1])
    return g.done([np.array(g.chance(0.5)).reshape([1] if g.chance(0.1) else [])], 1, {0: kind})


def numpy_tensor(g, kind, shape):
    from onnx import numpy_helper

    return numpy_helper.from_array(g.values(kind, shape))


def loop(g):
    """State s: s + s*0 + i or s * x; scan output of s; ends early when i + 1 reaches a bound. The state may grow by concatenation."""
    if g.opset < 7:
        raise Skip  # the body needs Cast with a number and Less with broadcasting
    kind = g.choice(["float", "int64", "double"])
    grow = g.chance(0.25)
    end = g.integer(0, 4)
    nodes = [helper.make_node("Cast", ["i"], ["ic"], to=CODES[kind])]
    if grow:
        nodes += [helper.make_node("Concat", ["s", "s0"], ["t"], axis=0), helper.make_node("Constant", [], ["s0"], value=numpy_tensor(g, kind, [1]))][::-1]
    else:
        nodes.append(helper.make_node(g.choice(["Add", "Mul", "Sub"]), ["s", "ic"], ["t"]))
    early = g.chance(0.4)
    if early:
        nodes += [helper.make_node("Constant", [], ["bound"], value=helper.make_tensor("b", CODES["int64"], [], [end])),
                  helper.make_node("Less", ["i", "bound"], ["c"])]
    else:
        nodes.append(helper.make_node("Identity", ["cond"], ["c"]))
    scan = not grow and g.chance(0.7)
    outputs = [info("c", "bool"), info("t", kind)]
    if scan:
        nodes.append(helper.make_node("Neg", ["s"], ["o"]))
        outputs.append(info("o", kind))
    scalar = [helper.make_tensor_value_info("i", CODES["int64"], []), helper.make_tensor_value_info("cond", CODES["bool"], [])]
    g.set(body=helper.make_graph(nodes, "body", [*scalar, info("s", kind)], outputs))
    trips = g.ints(g.integer(0, 5)) if not early or g.chance(0.7) else None
    cond = np.array(g.chance(0.85)) if trips is None or g.chance(0.5) else None
    state = g.values(kind, [g.integer(1, 4)] if grow else g.shape(high=2))
    return g.done([trips, cond, state], 2 if scan else 1, {0: kind, 1: kind}, constant=0.0)


def scan(g):
    kind = g.choice(["float", "double", "int64"])
    length = g.integer(1, 5)
    shape = g.shape(high=2)
    nodes = [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Mul", ["t", "e"], ["o"])]
    g.set(body=helper.make_graph(nodes, "body", [info("s", kind), info("e", kind)], [info("t", kind), info("o", kind)]), num_scan_inputs=1)
    if g.since == 8:
        batch = g.integer(1, 3)
        g.maybe(0.4, directions=[g.integer(0, 1)])
        return g.done([None, g.values(kind, [batch, *shape]), g.values(kind, [batch, length, *shape])], 2, {0: kind, 1: kind}, constant=0.0)
    axis = g.integer(0, len(shape))
    full = [*shape[:axis], length, *shape[axis:]]
    if axis or g.chance(0.2):
        g.set(scan_input_axes=[axis - len(full) if g.since >= 11 and g.chance(0.4) else axis])
    out = g.integer(0, len(shape))
    if out or g.chance(0.2):
        g.set(scan_output_axes=[out])
    g.maybe(0.3, scan_input_directions=[g.integer(0, 1)], scan_output_directions=[g.integer(0, 1)])
    return g.done([g.values(kind, shape), g.values(kind, full)], 2, {0: kind, 1: kind}, constant=0.0)


GENERATORS = {"If": if_op, "Loop": loop, "Scan": scan}

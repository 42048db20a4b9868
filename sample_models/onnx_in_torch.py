"""Runs an ONNX graph node by node in torch, in double precision, keeping every value and its gradient.

It is the second, independent opinion beside onnxruntime: each operator is torch's own function where torch has
one, and every float value is its own torch tensor, so that autograd yields dL/dvalue for each ONNX value name.
Only the operators of the sample models are here; another one is refused by name.
"""
import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch.nn import functional as F


def to_torch(array: np.ndarray) -> torch.Tensor:
    """Floats become double leaves that ask for gradients; everything else keeps its type."""
    tensor = torch.from_numpy(np.array(array))
    return tensor.double().requires_grad_() if tensor.is_floating_point() else tensor


def batch_norm(x, weight, bias, mean, variance, epsilon=1e-5, **_):
    """The inference form, written out: torch's own has no gradient for mean and variance."""
    side = [1, -1] + [1] * (x.dim() - 2)
    y = (x - mean.view(side)) / torch.sqrt(variance.view(side) + epsilon) * weight.view(side) + bias.view(side)
    own = F.batch_norm(x, mean.detach(), variance.detach(), weight, bias, training=False, eps=epsilon)
    assert torch.allclose(y, own, rtol=1e-12, atol=1e-12), "the written-out batch normalisation differs from torch's"
    return y


def conv(x, weight, bias=None, kernel_shape=None, pads=None, strides=None, dilations=None, group=1):
    rank = x.dim() - 2
    pads = pads or [0] * (2 * rank)
    assert pads[:rank] == pads[rank:], "only symmetric padding is written here"
    call = {1: F.conv1d, 2: F.conv2d}[rank]
    return call(x, weight, bias, strides or [1] * rank, pads[:rank], dilations or [1] * rank, group)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return y if c is None else y + beta * c


def reshape(x, shape, allowzero=0):
    sizes = [x.shape[k] if size == 0 and not allowzero else size for k, size in enumerate(shape.tolist())]
    return x.reshape(sizes)


def gather(x, indices, axis=0):
    picked = torch.index_select(x, axis, indices.reshape(-1))
    return picked.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1:])


def layer_norm(x, weight, bias=None, axis=-1, epsilon=1e-5):
    return F.layer_norm(x, x.shape[axis:], weight, bias, epsilon)


def cross_entropy(scores, labels, reduction=b"mean", ignore_index=-100):
    return F.cross_entropy(scores, labels, reduction=reduction.decode(), ignore_index=ignore_index)


def reduce(call):
    def run(x, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = list(range(x.dim())) if axes is None else axes.tolist()
        return call(x, axes, bool(keepdims))
    return run


def max_pool(x, kernel_shape, strides=None, pads=None):
    assert not pads or not any(pads), "padding is not written here"
    return F.max_pool2d(x, kernel_shape, strides)


def split(x, sizes=None, axis=0, num_outputs=None):
    parts = torch.split(x, sizes.tolist() if sizes is not None else -(-x.shape[axis] // num_outputs), axis)
    return tuple(part.clone() for part in parts)


def cumulative_sum(x, axis, exclusive=0, reverse=0):
    assert not exclusive, "the exclusive sum is not written here"
    axis = int(axis)
    return torch.cumsum(x.flip(axis), axis).flip(axis) if reverse else torch.cumsum(x, axis)


CAST_TYPES = {onnx.TensorProto.INT64: torch.int64, onnx.TensorProto.BOOL: torch.bool}    # floats stay double: see to_torch


OPERATORS = {
    "Abs": torch.abs, "Add": torch.add, "BatchNormalization": batch_norm,
    "Cast": lambda x, to, saturate=1: x.to(CAST_TYPES[to]),
    "Concat": lambda *x, axis: torch.cat(x, axis), "Conv": conv, "Cos": torch.cos, "CumSum": cumulative_sum,
    "Div": torch.div, "Dropout": lambda x, ratio=None, training=None: x.clone(),
    "Exp": torch.exp,
    "Expand": lambda x, shape: x.expand(torch.broadcast_shapes(x.shape, shape.tolist())).clone(),
    "Flatten": lambda x, axis=1: x.reshape(int(np.prod(x.shape[:axis])), -1), "Gather": gather,
    "Gelu": lambda x, approximate=b"none": F.gelu(x, approximate=approximate.decode()), "Gemm": gemm,
    "Greater": torch.gt, "Identity": torch.clone,
    "LayerNormalization": layer_norm, "Less": torch.lt, "Log": torch.log,
    "MatMul": torch.matmul, "MaxPool": max_pool, "Mul": torch.mul, "Neg": torch.neg, "Not": torch.logical_not,
    "Or": torch.logical_or,
    "Range": lambda start, limit, step: torch.arange(int(start), int(limit), int(step)),
    "ReduceMax": reduce(torch.amax), "ReduceMean": reduce(torch.mean), "ReduceSum": reduce(torch.sum),
    "Relu": F.relu, "Reshape": reshape, "Shape": lambda x, start=0, end=None: torch.tensor(x.shape[start:end]),
    "Sigmoid": torch.sigmoid, "Sin": torch.sin,
    "Softmax": lambda x, axis=-1: torch.softmax(x, axis),
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "Split": split, "Sqrt": torch.sqrt, "Squeeze": lambda x, axes: x.squeeze(tuple(axes.tolist())), "Sub": torch.sub,
    "Tanh": torch.tanh,
    "Transpose": lambda x, perm: x.permute(perm).clone(),
    "Trilu": lambda x, upper=1: torch.triu(x) if upper else torch.tril(x),
    "Unsqueeze": lambda x, axes: x.reshape(_unsqueezed(x, axes.tolist())), "Where": torch.where,
}


def _unsqueezed(x, axes):
    rank = x.dim() + len(axes)
    sizes, axes = list(x.shape), {axis % rank for axis in axes}
    return [1 if axis in axes else sizes.pop(0) for axis in range(rank)]


def run_graph(graph: onnx.GraphProto, inputs: list, outer: dict) -> tuple[list, dict]:
    """Runs `graph` on torch tensors given in the order of its inputs; `outer` are the values of enclosing graphs.

    Returns the outputs in order and every value of this graph by name.
    """
    values = dict(outer)
    for initializer in graph.initializer:
        values[initializer.name] = to_torch(numpy_helper.to_array(initializer))
    values.update({info.name: tensor for info, tensor in zip(graph.input, inputs, strict=True)})
    for node in graph.node:
        taken = [values[name] if name else None for name in node.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        results = run_node(node.op_type, taken, attributes, values)
        for name, result in zip(node.output, results, strict=False):
            if result.is_floating_point() and result.requires_grad and result.grad_fn is not None:
                result.retain_grad()
            values[name] = result
    return [values[info.name] for info in graph.output], values


def run_node(op: str, taken: list, attributes: dict, values: dict) -> tuple:
    if op == "If":
        branch = attributes["then_branch" if bool(taken[0]) else "else_branch"]
        return tuple(_own(x) for x in run_graph(branch, [], values)[0])
    if op == "Loop":
        return run_loop(taken, attributes["body"], values)
    if op == "Scan":
        return run_scan(taken, values, **attributes)
    if op == "Constant":
        return (to_torch(numpy_helper.to_array(attributes["value"])),)
    if op not in OPERATORS:
        raise NotImplementedError(f"operator {op} is not written in onnx_in_torch.py")
    result = OPERATORS[op](*taken, **attributes)
    return result if isinstance(result, tuple) else (result,)


def _own(x: torch.Tensor) -> torch.Tensor:
    """A tensor of its own for a value that only passes through, so that each name has its own gradient."""
    return x.clone() if x.is_floating_point() else x


def run_loop(taken: list, body: onnx.GraphProto, outer: dict) -> tuple:
    trips, condition, *state = taken
    limit = 2**62 if trips is None else int(trips)
    go_on = True if condition is None else bool(condition)
    scans = [[] for _ in range(len(body.output) - 1 - len(state))]
    step = 0
    while go_on and step < limit:
        outputs, _ = run_graph(body, [torch.tensor(step), torch.tensor(True), *state], outer)
        go_on, state = bool(outputs[0]), outputs[1:1 + len(state)]
        for scan, value in zip(scans, outputs[1 + len(state):], strict=True):
            scan.append(value)
        step += 1
    return tuple(_own(x) for x in state) + tuple(torch.stack(scan) for scan in scans)


def run_scan(taken: list, outer: dict, body: onnx.GraphProto, num_scan_inputs: int, scan_input_axes=None,
             scan_output_axes=None, scan_input_directions=None, scan_output_directions=None) -> tuple:
    count = len(taken) - num_scan_inputs
    state, sequences = taken[:count], taken[count:]
    results = len(body.output) - count
    in_axes, in_back = scan_input_axes or [0] * num_scan_inputs, scan_input_directions or [0] * num_scan_inputs
    out_axes, out_back = scan_output_axes or [0] * results, scan_output_directions or [0] * results
    slices = [list(torch.unbind(x, axis)) for x, axis in zip(sequences, in_axes, strict=True)]
    slices = [part[::-1] if back else part for part, back in zip(slices, in_back, strict=True)]
    scans = [[] for _ in range(results)]
    for now in zip(*slices, strict=True):
        outputs, _ = run_graph(body, [*state, *now], outer)
        state = outputs[:count]
        for scan, value in zip(scans, outputs[count:], strict=True):
            scan.append(value)
    stacked = [torch.stack(scan[::-1] if back else scan, axis) for scan, axis, back in zip(scans, out_axes, out_back, strict=True)]
    return tuple(_own(x) for x in state) + tuple(stacked)


def run_model(model: onnx.ModelProto, inputs: dict) -> dict:
    """Every value of the main graph by name, float ones in double with gradients retained."""
    given = [to_torch(inputs[info.name]) for info in model.graph.input]
    return run_graph(model.graph, given, {})[1]

"""A thin layer over onnx.helper for the sample models: named nodes in scopes, initializers, checked files.

Node names are paths ("/features/conv1/Conv") so that a viewer can fold the graph by scope; value names are
short ("conv1") because they are what people read on the edges and what the reference files are keyed by.
"""
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
IR_VERSION = 10
LICENCE = "Apache-2.0"


class ModelBuilder:
    """Collects nodes and initializers of one graph in the order in which they run."""

    def __init__(self, name: str, doc: str):
        self.name, self.doc = name, doc
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []

    def input(self, name: str, element: int, shape: list, doc: str) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, element, shape, doc))
        return name

    def output(self, name: str, element: int, shape: list, doc: str) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, element, shape, doc))

    def weight(self, name: str, array: np.ndarray) -> str:
        """Adds an initializer; the array's dtype and shape are kept."""
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def node(self, op: str, scope: str, inputs: list, outputs, doc: str = "", **attributes):
        """Adds a node and returns its output name, or the list of them when several are given."""
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        self.nodes.append(helper.make_node(op, inputs, names, name=scope, doc_string=doc or None, **attributes))
        return outputs

    def graph(self) -> onnx.GraphProto:
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers, self.doc)

    def save(self, folder: Path, metadata: dict) -> None:
        """Writes model.onnx after the full check and strict shape inference have passed."""
        model = helper.make_model(self.graph(), opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                  producer_name="nablascope sample_models", doc_string=self.doc)
        helper.set_model_props(model, {"licence": LICENCE, **metadata})
        onnx.checker.check_model(model, full_check=True)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / "model.onnx")


def run_unoptimised(model, inputs: dict) -> dict:
    """Outputs by name, by onnxruntime on the CPU, every graph optimisation off, one thread.

    `model` is a path or serialised bytes. One thread fixes the order of sums on one kind of machine.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    source = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def write_expected(folder: Path, inputs: dict) -> dict:
    """Writes inputs.npz, and onnxruntime's outputs for them as expected.npz; returns the outputs."""
    np.savez(folder / "inputs.npz", **inputs)
    outputs = run_unoptimised(folder / "model.onnx", inputs)
    np.savez(folder / "expected.npz", **outputs)
    return outputs


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

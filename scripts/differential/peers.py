"""The two other programs, in a process of their own: one that dies on a case takes only that case with it."""
import copy
import multiprocessing
import warnings

import numpy as np

from .cases import np_type

# Types that onnxruntime's Python side neither takes nor gives: such inputs become initializers, such outputs are cast at the end (exactly).
CARRIED = {"bfloat16": "float", "float8e4m3fn": "float", "float8e4m3fnuz": "float", "float8e5m2": "float", "float8e5m2fnuz": "float",
           "float4e2m1": "float", "float8e8m0": "float", "int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8"}
TIMEOUT_SECONDS = 30


class Outcome:
    """What one program made of a case: outputs, or the reason why there are none."""

    def __init__(self, outputs=None, refusal="", crashed=False):
        self.outputs, self.refusal, self.crashed = outputs, refusal, crashed

    @property
    def ran(self):
        return self.outputs is not None


def run_onnxruntime(case):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    constants = case.constant | {i for i, v in enumerate(case.inputs) if v is not None and case.type_of_input(i) in CARRIED}
    model = case.model(constants, CARRIED)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {f"x{i}": case.inputs[i] for i in case.fed() if i not in constants}
    results = session.run(None, feeds)
    asked = [kind for kind in case.outputs if kind is not None]
    return [r if kind not in CARRIED else np.asarray(r).astype(np_type(kind)) for r, kind in zip(results, asked)]


def run_reference(case):
    from onnx.reference import ReferenceEvaluator

    if case.op == "Resize" and "axes" in case.attrs:  # it refuses axes that are counted from the end
        case = copy.copy(case)
        case.attrs = case.attrs | {"axes": [a % case.inputs[0].ndim for a in case.attrs["axes"]]}
    feeds = {f"x{i}": case.inputs[i] for i in case.fed()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = ReferenceEvaluator(case.model()).run(None, feeds)
    asked = [kind for kind in case.outputs if kind is not None]
    # The evaluator's optionals are lists of one.
    return [r[0] if kind.startswith("optional(") and isinstance(r, list) and len(r) == 1 else r for r, kind in zip(results, asked)]


PEERS = {"ort": run_onnxruntime, "ref": run_reference}


def serve(pipe):
    while True:
        job = pipe.recv()
        if job is None:
            return
        peer, case = job
        try:
            with np.errstate(all="ignore"):
                outputs = PEERS[peer](case)
            pipe.send((outputs, ""))
        except Exception as error:  # a peer refuses in its own ways; the text is only shown
            pipe.send((None, f"{type(error).__name__}: {str(error)[:400]}"))


class Peers:
    def __init__(self):
        self.process = None

    def start(self):
        # Not a fork of this process: that would inherit the pipes of our program, which another thread may just have opened, and keep them open for ever.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["onnxruntime", "onnx.reference", __name__])
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def run(self, peer, case):
        if self.process is None:
            self.start()
        try:
            self.pipe.send((peer, case))
            if not self.pipe.poll(TIMEOUT_SECONDS):
                self.stop()
                return Outcome(refusal=f"no answer after {TIMEOUT_SECONDS} s", crashed=True)
            outputs, refusal = self.pipe.recv()
            return Outcome(outputs, refusal)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.stop()
            return Outcome(refusal="the process ended", crashed=True)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None



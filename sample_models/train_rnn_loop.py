"""Trains a recurrent network that tells the parity of every beginning of a bit string; writes rnn_loop/ as ONNX.

The recurrence h <- tanh(x W + h R + b) is a Loop in the graph with one trip per bit, so any length can be given.
Data: random bits. Trained on strings of up to 8 bits, tested on 1,000 strings of 64 bits.
Run: python train_rnn_loop.py      (under a minute; needs torch, numpy, onnx, onnxruntime)
"""
from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto

from model_builder import FLOAT, INT64, ModelBuilder, run_unoptimised, write_expected

HERE = Path(__file__).resolve().parent
SEED, HIDDEN, STEPS, BATCH = 3, 8, 3000, 64
METADATA = {"data": "random bits", "script": "sample_models/train_rnn_loop.py"}


def strings(rng: np.random.Generator, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits as 0 and 1, [length, count, 1], and the parity of each beginning: +1 when odd, -1 when even."""
    bits = rng.integers(0, 2, (length, count, 1))
    return bits.astype(np.float32), (2.0 * (bits.cumsum(0) % 2) - 1).astype(np.float32)


def forward(weights: dict, bits: torch.Tensor) -> torch.Tensor:
    h = weights["rnn.start"].expand(bits.shape[1], HIDDEN)
    states = []
    for x in bits:
        h = torch.tanh(x @ weights["rnn.input"] + h @ weights["rnn.recurrent"] + weights["rnn.bias"])
        states.append(h)
    return torch.stack(states) @ weights["head.weight"] + weights["head.bias"]


def train() -> dict:
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    shapes = {"rnn.start": [1, HIDDEN], "rnn.input": [1, HIDDEN], "rnn.recurrent": [HIDDEN, HIDDEN],
              "rnn.bias": [HIDDEN], "head.weight": [HIDDEN, 1], "head.bias": [1]}
    weights = {name: (0.5 * torch.randn(shape)).requires_grad_() for name, shape in shapes.items()}
    optimizer = torch.optim.Adam(weights.values(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        bits, parity = strings(rng, min(2 + step // 300, 8), BATCH)     # short strings first
        optimizer.zero_grad()
        ((forward(weights, torch.from_numpy(bits)) - torch.from_numpy(parity)) ** 2).mean().backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        schedule.step()
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def trip() -> ModelBuilder:
    """The Loop's body: (trip, condition, h) to (condition, next h, next h as one row of `states`)."""
    b = ModelBuilder("trip", "One bit.")
    b.input("trip", INT64, [], "The place of the bit.")
    b.input("was_going", TensorProto.BOOL, [], "Always true here.")
    b.input("h", FLOAT, ["batch", HIDDEN], "The state before the bit.")
    b.node("Gather", "/rnn/Gather", ["bits", "trip"], "x", axis=0)
    b.node("MatMul", "/rnn/MatMul_input", ["x", "rnn.input"], "from_bit")
    b.node("MatMul", "/rnn/MatMul_recurrent", ["h", "rnn.recurrent"], "from_state")
    b.node("Add", "/rnn/Add", ["from_bit", "from_state"], "joined")
    b.node("Add", "/rnn/Add_bias", ["joined", "rnn.bias"], "before_tanh")
    b.node("Tanh", "/rnn/Tanh", ["before_tanh"], "next_h")
    b.node("Identity", "/rnn/Identity_condition", ["was_going"], "go_on")
    b.node("Identity", "/rnn/Identity_state", ["next_h"], "state")
    b.output("go_on", TensorProto.BOOL, [], "True: every bit is read.")
    b.output("next_h", FLOAT, ["batch", HIDDEN], "The state after the bit.")
    b.output("state", FLOAT, ["batch", HIDDEN], "The same, kept.")
    return b


def build(weights: dict) -> ModelBuilder:
    b = ModelBuilder("rnn_loop", "The parity of every beginning of a bit string, by a recurrent network in a Loop.")
    b.input("bits", FLOAT, ["time", "batch", 1], "0 or 1.")
    b.input("parity", FLOAT, ["time", "batch", 1], "The right answers, +1 odd and -1 even; only the loss uses them.")
    b.output("answer", FLOAT, ["time", "batch", 1], "Above 0: odd so far. Below 0: even so far.")
    b.output("loss", FLOAT, [], "Mean squared error.")
    for name, array in weights.items():
        b.weight(name, array)
    axis0, true = b.weight("axis0", np.array([0], np.int64)), b.weight("true", np.bool_(True))
    b.node("Shape", "/start/Shape_time", ["bits"], "time_shape", start=0, end=1)
    b.node("Squeeze", "/start/Squeeze", ["time_shape", axis0], "time")
    b.node("Shape", "/start/Shape_batch", ["bits"], "batch_shape", start=1, end=2)
    b.node("Concat", "/start/Concat", ["batch_shape", b.weight("hidden", np.array([HIDDEN], np.int64))], "start_shape",
           axis=0)
    b.node("Expand", "/start/Expand", ["rnn.start", "start_shape"], "start")
    b.node("Loop", "/rnn/Loop", ["time", true, "start"], ["last", "states"], body=trip().graph())
    b.node("MatMul", "/head/MatMul", ["states", "head.weight"], "scored")
    b.node("Add", "/head/Add", ["scored", "head.bias"], "answer")
    b.node("Sub", "/loss/Sub", ["answer", "parity"], "error")
    b.node("Mul", "/loss/Mul", ["error", "error"], "square")
    b.node("ReduceMean", "/loss/ReduceMean", ["square"], "loss", keepdims=0)
    return b


def main() -> None:
    torch.set_num_threads(1)
    folder = HERE / "rnn_loop"
    build(train()).save(folder, METADATA)
    rng = np.random.default_rng(SEED + 1)
    bits, parity = strings(rng, 64, 1000)
    answer = run_unoptimised(folder / "model.onnx", {"bits": bits, "parity": parity})["answer"]
    right = np.sign(answer) == parity
    print(f"rnn_loop: at bit 64, {int(right[-1].sum())} of 1000 right; of all beginnings {100 * right.mean():.2f} %")
    good, bad = np.flatnonzero(right.all((0, 2)))[:2], np.flatnonzero(~right.all((0, 2)))[:1]
    chosen = [*good, *bad]      # two strings read without a mistake, one with
    outputs = write_expected(folder, {"bits": bits[:, chosen], "parity": parity[:, chosen]})
    print(f"loss of the strings in inputs.npz: {float(outputs['loss']):.5f}")


if __name__ == "__main__":
    main()

"""Writes the references of tests/unit/engine/training: 20 steps of the CNN and GPT samples by PyTorch in double.

The ONNX graph itself is run in torch (sample_models/onnx_in_torch.py) from the weights in the file; torch.optim updates them. Batches are
the rows of data_<model>.npz in the order of the file, five batches an epoch, so that no shuffling has to agree.
  data_<model>.npz                    what both sides train on
  <model>_<optimizer>.npz             losses, per weight `norm:NAME`, and `NAME` after 20 steps: whole up to 1,200 numbers, else every k-th
                                      with k = ceil(count / 1200)
Run: python make_reference.py      (needs numpy, onnx, torch)
"""
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[2] / "sample_models"
sys.path.insert(0, str(SAMPLES))

from onnx_in_torch import run_graph, to_torch  # noqa: E402

STEPS, BATCH, ROWS, KEPT = 20, 8, 40, 1200
OPTIMIZERS = {
    "momentum": lambda w: torch.optim.SGD(w, lr=1e-3, momentum=0.9, weight_decay=1e-3),
    "adamw": lambda w: torch.optim.AdamW(w, lr=1e-3, weight_decay=0.01),
}
STATISTICS = (".running_mean", ".running_var")


def data(name: str) -> dict:
    rng = np.random.default_rng(5)
    if name == "digits_cnn":
        return {"image": rng.integers(0, 17, (ROWS, 1, 8, 8)).astype(np.float32), "label": rng.integers(0, 10, ROWS)}
    text = np.frombuffer((SAMPLES / "tiny_gpt" / "text.txt").read_bytes(), np.uint8).astype(np.int64)
    starts = rng.integers(0, len(text) - 13, ROWS)
    windows = np.stack([text[s:s + 13] for s in starts])
    return {"tokens": windows[:, :-1].copy(), "targets": windows[:, 1:].copy()}


def train(name: str, make_optimizer, arrays: dict) -> dict:
    graph = onnx.load(SAMPLES / name / "model.onnx").graph
    stored = {x.name: numpy_helper.to_array(x) for x in graph.initializer}
    weights = {key: to_torch(value) for key, value in stored.items()
               if value.dtype == np.float32 and value.ndim > 0 and not key.endswith(STATISTICS)}
    kept = [x for x in graph.initializer if x.name not in weights]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    optimizer = make_optimizer(weights.values())
    losses = []
    for step in range(STEPS):
        rows = slice(step % (ROWS // BATCH) * BATCH, (step % (ROWS // BATCH) + 1) * BATCH)
        given = [torch.from_numpy(arrays[info.name][rows]) for info in graph.input]
        given = [x.double() if x.is_floating_point() else x for x in given]
        optimizer.zero_grad()
        loss = run_graph(graph, given, dict(weights))[1]["loss"]
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out = {"losses": np.array(losses)}
    for key, value in weights.items():
        flat = value.detach().numpy().reshape(-1)
        out[key] = flat[::-(-len(flat) // KEPT)].copy()
        out[f"norm:{key}"] = np.linalg.norm(flat)
    return out


def main() -> None:
    torch.set_num_threads(1)
    for name in ("digits_cnn", "tiny_gpt"):
        arrays = data(name)
        np.savez_compressed(HERE / f"data_{name}.npz", **arrays)
        for optimizer, make in OPTIMIZERS.items():
            reference = train(name, make, arrays)
            np.savez_compressed(HERE / f"{name}_{optimizer}.npz", **reference)
            print(f"{name}, {optimizer}: loss {reference['losses'][0]:.6f} to {reference['losses'][-1]:.6f}")


if __name__ == "__main__":
    main()

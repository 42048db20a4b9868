"""Trains a picture tower and a name tower on handwritten digits and their English names; writes two_tower/ as ONNX.

Both towers end in vectors of length 1; the loss (Radford et al. 2021) wants each picture nearest to its own name among
the names of the batch, and each name nearest to its own picture.
Data: the UCI set "Optical Recognition of Handwritten Digits" as in train_digits.py; the names are spelt in letters.
Run: python train_two_tower.py      (some seconds; needs requirements.txt)
"""
import numpy as np
import torch
from torch.nn import functional as F

from model_builder import FLOAT, INT64, ModelBuilder, run_unoptimised, write_expected
from train_digits import HERE, PIXEL_MAX, SEED, load_split
from train_digits import METADATA as DIGITS

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
LETTERS, LETTER_SIZE, HIDDEN, SIZE, STEPS = 5, 6, 32, 16, 800      # letters: of the longest name
METADATA = {**DIGITS, "script": "sample_models/train_two_tower.py"}


def spell(names: list) -> np.ndarray:
    """Letters as 1..26, filled up with 0."""
    return np.array([[ord(c) - 96 for c in name.ljust(LETTERS, "`")] for name in names], np.int64)


def start() -> dict:
    shapes = {"letters": [27, LETTER_SIZE], "picture.fc1.weight": [64, HIDDEN], "picture.fc2.weight": [HIDDEN, SIZE],
              "name.fc1.weight": [LETTERS * LETTER_SIZE, HIDDEN], "name.fc2.weight": [HIDDEN, SIZE]}
    weights = {name: torch.randn(shape) * shape[0] ** -0.5 for name, shape in shapes.items()}
    for tower in ("picture", "name"):
        weights |= {f"{tower}.fc1.bias": torch.zeros(HIDDEN), f"{tower}.fc2.bias": torch.zeros(SIZE)}
    weights["log_scale"] = torch.tensor(1.5)
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def tower(w: dict, name: str, x: torch.Tensor) -> torch.Tensor:
    hidden = F.relu(x @ w[f"{name}.fc1.weight"] + w[f"{name}.fc1.bias"])
    y = hidden @ w[f"{name}.fc2.weight"] + w[f"{name}.fc2.bias"]
    return y / (y * y).sum(1, keepdim=True).sqrt()


def train(images: np.ndarray, labels: np.ndarray) -> dict:
    torch.manual_seed(SEED)
    w, rng = start(), np.random.default_rng(SEED)
    of_digit = [torch.from_numpy(images[labels == d]) for d in range(10)]
    names, own = torch.from_numpy(spell(NAMES)), torch.arange(10)
    optimizer = torch.optim.AdamW(w.values(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        picked = torch.stack([of[rng.integers(len(of))] for of in of_digit])     # one picture of each digit
        pictures = tower(w, "picture", picked.flatten(1) / PIXEL_MAX)
        scores = pictures @ tower(w, "name", w["letters"][names].flatten(1)).T * w["log_scale"].exp()
        optimizer.zero_grad()
        ((F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2).backward()
        optimizer.step()
        schedule.step()
    return {name: weight.detach().numpy() for name, weight in w.items()}


def add_tower(b: ModelBuilder, name: str, x: str) -> str:
    b.node("Gemm", f"/{name}/fc1/Gemm", [x, f"{name}.fc1.weight", f"{name}.fc1.bias"], f"{name}_fc1")
    b.node("Relu", f"/{name}/Relu", [f"{name}_fc1"], f"{name}_hidden")
    y = b.node("Gemm", f"/{name}/fc2/Gemm", [f"{name}_hidden", f"{name}.fc2.weight", f"{name}.fc2.bias"], f"{name}_fc2")
    b.node("Mul", f"/{name}/norm/Mul", [y, y], f"{name}_square")
    b.node("ReduceSum", f"/{name}/norm/ReduceSum", [f"{name}_square", "axis1"], f"{name}_sum", keepdims=1)
    b.node("Sqrt", f"/{name}/norm/Sqrt", [f"{name}_sum"], f"{name}_length")
    return b.node("Div", f"/{name}/norm/Div", [y, f"{name}_length"], f"{name}_vector", "A vector of length 1.")


def build(weights: dict) -> ModelBuilder:
    b = ModelBuilder("two_tower", "Pictures of digits and their English names in one space of 16 dimensions.")
    b.input("image", FLOAT, ["batch", 1, 8, 8], "Grey pictures; each pixel is an ink count in 0..16.")
    b.input("name", INT64, ["batch", LETTERS], "The name of each picture's digit: letters 1..26, then 0.")
    b.output("similarity", FLOAT, ["batch", "batch"], "Cosine of picture (row) and name (column).")
    b.output("loss", FLOAT, [], "Mean of the cross-entropies by rows and by columns.")
    for name, array in weights.items():
        b.weight(name, array)
    b.weight("axis1", np.array([1], np.int64))
    b.node("Div", "/picture/Div", ["image", b.weight("pixel_max", np.float32(PIXEL_MAX))], "scaled")
    b.node("Flatten", "/picture/Flatten", ["scaled"], "flat", axis=1)
    b.node("Gather", "/name/Gather", ["letters", "name"], "spelt", axis=0)
    b.node("Flatten", "/name/Flatten", ["spelt"], "spelt_flat", axis=1)
    picture, name = add_tower(b, "picture", "flat"), add_tower(b, "name", "spelt_flat")
    b.node("Transpose", "/meet/Transpose", [name], "name_columns", perm=[1, 0])
    b.node("MatMul", "/meet/MatMul", [picture, "name_columns"], "similarity")
    b.node("Exp", "/loss/Exp", ["log_scale"], "scale")
    b.node("Mul", "/loss/Mul", ["similarity", "scale"], "scores")
    b.node("Transpose", "/loss/Transpose", ["scores"], "scores_by_name", perm=[1, 0])
    b.node("Shape", "/loss/Shape", ["image"], "batch_shape", start=0, end=1)
    b.node("Squeeze", "/loss/Squeeze", ["batch_shape", b.weight("axis0", np.array([0], np.int64))], "count")
    b.node("Range", "/loss/Range", [b.weight("zero", np.int64(0)), "count", b.weight("one", np.int64(1))], "own")
    b.node("SoftmaxCrossEntropyLoss", "/loss/ByPicture", ["scores", "own"], "loss_by_picture", reduction="mean")
    b.node("SoftmaxCrossEntropyLoss", "/loss/ByName", ["scores_by_name", "own"], "loss_by_name", reduction="mean")
    b.node("Add", "/loss/Add", ["loss_by_picture", "loss_by_name"], "loss_sum")
    b.node("Mul", "/loss/Mul_half", ["loss_sum", b.weight("half", np.float32(0.5))], "loss")
    return b


def main() -> None:
    torch.set_num_threads(1)
    train_x, test_x, train_y, test_y = load_split()
    folder, names = HERE / "two_tower", spell(NAMES)
    build(train(train_x, train_y)).save(folder, METADATA)
    right = 0
    for at in range(0, len(test_y), 10):    # ten pictures against the ten names; the loss has no meaning here
        result = run_unoptimised(folder / "model.onnx", {"image": test_x[at:at + 10], "name": names})
        right += int((result["similarity"].argmax(1) == test_y[at:at + 10]).sum())
    print(f"two_tower: {right} of {len(test_y)} test pictures nearest to their name ({100 * right / len(test_y):.2f} %)")
    rows = [int(np.flatnonzero(test_y == d)[0]) for d in range(10)]
    outputs = write_expected(folder, {"image": test_x[rows], "name": names})
    print(f"loss of the ten in inputs.npz: {float(outputs['loss']):.4f}")


if __name__ == "__main__":
    main()

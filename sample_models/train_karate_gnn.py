"""Trains a two-layer graph convolutional network on Zachary's karate club and writes karate_gnn/ as ONNX.

Layer (Kipf and Welling 2017): H' = tanh(P H W + b) with P = D^-1/2 (A + I) D^-1/2; no node has features, so H = I at
first and the first weight is one row per member. Four members carry a label, the other thirty are found by the graph.
Data: W. W. Zachary, "An Information Flow Model for Conflict and Fission in Small Groups", Journal of Anthropological
Research 33 (1977), 452-473: who met whom outside the club (figure 1), and which half each member joined (table 1).
Run: python train_karate_gnn.py      (some seconds; needs torch, numpy, onnx, onnxruntime)
"""
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from model_builder import FLOAT, INT64, ModelBuilder, write_expected

HERE = Path(__file__).resolve().parent
SEED, MEMBERS, HIDDEN, CLASSES, STEPS = 7, 34, 8, 2, 200
# Friendships, each written once, at the member with the lower number; numbered from 1 as in the article.
FRIENDS = {
    1: [2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32], 2: [3, 4, 8, 14, 18, 20, 22, 31],
    3: [4, 8, 9, 10, 14, 28, 29, 33], 4: [8, 13, 14], 5: [7, 11], 6: [7, 11, 17], 7: [17], 9: [31, 33, 34], 10: [34],
    14: [34], 15: [33, 34], 16: [33, 34], 19: [33, 34], 20: [34], 21: [33, 34], 23: [33, 34],
    24: [26, 28, 30, 33, 34], 25: [26, 28, 32], 26: [32], 27: [30, 34], 28: [34], 29: [32, 34], 30: [33, 34],
    31: [33, 34], 32: [33, 34], 33: [34],
}
INSTRUCTORS_HALF = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22]     # the others joined the officers' club
LABELLED = [1, 2, 33, 34]
METADATA = {"data": "Zachary's karate club (W. W. Zachary, 1977)", "script": "sample_models/train_karate_gnn.py"}


def club() -> tuple[np.ndarray, np.ndarray]:
    """The symmetric adjacency matrix and the half of each member: 0 with the instructor, 1 with the officers."""
    adjacency = np.zeros((MEMBERS, MEMBERS), np.float32)
    for a, others in FRIENDS.items():
        for b in others:
            adjacency[a - 1, b - 1] = adjacency[b - 1, a - 1] = 1
    assert adjacency.sum() == 2 * 78, "the club has 78 friendships"
    half = np.ones(MEMBERS, np.int64)
    half[np.array(INSTRUCTORS_HALF) - 1] = 0
    return adjacency, half


def forward(weights: dict, adjacency: torch.Tensor) -> torch.Tensor:
    with_self = adjacency + torch.eye(MEMBERS)
    root = with_self.sum(1, keepdim=True).sqrt()
    propagation = with_self / root / root.T
    hidden = torch.tanh(propagation @ weights["layer1.weight"] + weights["layer1.bias"])
    return propagation @ (hidden @ weights["layer2.weight"]) + weights["layer2.bias"]


def train(adjacency: np.ndarray, label: np.ndarray) -> dict:
    torch.manual_seed(SEED)
    weights = {"layer1.weight": torch.randn(MEMBERS, HIDDEN) * 0.3, "layer1.bias": torch.zeros(HIDDEN),
               "layer2.weight": torch.randn(HIDDEN, CLASSES) * 0.3, "layer2.bias": torch.zeros(CLASSES)}
    for weight in weights.values():
        weight.requires_grad_()
    optimizer = torch.optim.Adam(weights.values(), lr=0.02, weight_decay=5e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.cross_entropy(forward(weights, torch.from_numpy(adjacency)), torch.from_numpy(label),
                        ignore_index=-1).backward()
        optimizer.step()
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def build(weights: dict) -> ModelBuilder:
    b = ModelBuilder("karate_gnn", "Who joins which half of Zachary's karate club: two graph convolutions.")
    b.input("adjacency", FLOAT, [MEMBERS, MEMBERS], "1 where two members are friends; symmetric.")
    b.input("label", INT64, [MEMBERS], "0 or 1 for a member whose half is told, -1 for the others.")
    b.output("logits", FLOAT, [MEMBERS, CLASSES], "Scores for the instructor's half and the officers' half.")
    b.output("loss", FLOAT, [], "Mean cross-entropy of the members whose half is told.")
    for name, array in weights.items():
        b.weight(name, array)
    b.node("Add", "/propagation/Add", ["adjacency", b.weight("self", np.eye(MEMBERS, dtype=np.float32))], "with_self",
           "Everybody hears himself too.")
    b.node("ReduceSum", "/propagation/ReduceSum", ["with_self", b.weight("axis1", np.array([1], np.int64))], "degree",
           keepdims=1)
    b.node("Sqrt", "/propagation/Sqrt", ["degree"], "root")
    b.node("Div", "/propagation/Div_rows", ["with_self", "root"], "by_rows")
    b.node("Transpose", "/propagation/Transpose", ["root"], "root_t", perm=[1, 0])
    b.node("Div", "/propagation/Div_columns", ["by_rows", "root_t"], "propagation", "D^-1/2 (A + I) D^-1/2")
    b.node("MatMul", "/layer1/MatMul", ["propagation", "layer1.weight"], "gathered1")
    b.node("Add", "/layer1/Add", ["gathered1", "layer1.bias"], "layer1")
    b.node("Tanh", "/layer1/Tanh", ["layer1"], "hidden")
    b.node("MatMul", "/layer2/MatMul", ["hidden", "layer2.weight"], "messages2")
    b.node("MatMul", "/layer2/MatMul_propagation", ["propagation", "messages2"], "gathered2")
    b.node("Add", "/layer2/Add", ["gathered2", "layer2.bias"], "logits")
    b.node("SoftmaxCrossEntropyLoss", "/loss/SoftmaxCrossEntropyLoss", ["logits", "label"], "loss",
           "Differentiate it with respect to adjacency: which friendships decide?", reduction="mean", ignore_index=-1)
    return b


def main() -> None:
    torch.set_num_threads(1)
    adjacency, half = club()
    told = np.full(MEMBERS, -1, np.int64)
    told[np.array(LABELLED) - 1] = half[np.array(LABELLED) - 1]
    folder = HERE / "karate_gnn"
    build(train(adjacency, told)).save(folder, METADATA)
    outputs = write_expected(folder, {"adjacency": adjacency, "label": told})
    right = outputs["logits"].argmax(1) == half
    wrong = (np.flatnonzero(~right) + 1).tolist()
    print(f"karate_gnn: {int(right[told < 0].sum())} of the 30 unlabelled members right, wrong: {wrong}, "
          f"loss {float(outputs['loss']):.4f}")


if __name__ == "__main__":
    main()

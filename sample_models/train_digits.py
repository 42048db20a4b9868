"""Trains two digit classifiers, an MLP and a CNN, and writes them to digits_mlp/ and digits_cnn/ as ONNX.

Data: the UCI set "Optical Recognition of Handwritten Digits" (1,797 pictures of 8 x 8, as scikit-learn ships it).
Run: python train_digits.py      (about a minute on one CPU core; needs requirements.txt)
Seeded; another version of torch or another CPU may still end with slightly different weights.
"""
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

from model_builder import FLOAT, INT64, ModelBuilder, run_unoptimised, write_expected

HERE = Path(__file__).resolve().parent
SEED = 20
PIXEL_MAX = 16.0        # the pictures count ink in blocks of 4 x 4 pixels: 0..16
METADATA = {
    "data": "UCI Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak), CC BY 4.0, via scikit-learn",
    "script": "sample_models/train_digits.py",
}


class DigitsMlp(nn.Module):
    """64 - 64 - 32 - 10, ReLU between."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, 64), nn.Linear(64, 32), nn.Linear(32, 10)
        self.dropout = nn.Dropout(0.2)

    def forward(self, image):
        x = F.relu(self.fc1((image / PIXEL_MAX).flatten(1)))
        x = F.relu(self.fc2(self.dropout(x)))
        return self.fc3(x)


class DigitsCnn(nn.Module):
    """Four 3 x 3 convolutions with batch normalisation, one residual connection, two dense layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.conv2, self.bn2 = nn.Conv2d(12, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv3, self.bn3 = nn.Conv2d(16, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24)
        self.conv4, self.bn4 = nn.Conv2d(24, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24)
        self.dropout = nn.Dropout(0.25)
        self.fc1, self.fc2 = nn.Linear(24 * 2 * 2, 32), nn.Linear(32, 10)

    def forward(self, image):
        x = F.relu(self.bn1(self.conv1(image / PIXEL_MAX)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.bn3(self.conv3(x)))
        x = F.max_pool2d(F.relu(self.bn4(self.conv4(x)) + x), 2)
        x = self.dropout(x.flatten(1))
        return self.fc2(F.relu(self.fc1(x)))


def load_split():
    """The pictures as [N, 1, 8, 8] float32 in 0..16 and labels as int64: train and test (20 %), seeded, stratified."""
    digits = load_digits()
    images = digits.images.astype(np.float32)[:, None]
    return train_test_split(images, digits.target.astype(np.int64), test_size=0.2, random_state=SEED,
                            stratify=digits.target)


def train(model: nn.Module, images: np.ndarray, labels: np.ndarray, epochs: int, shift: int) -> None:
    """AdamW on cross-entropy with a falling rate; each batch is moved by up to `shift` pixels, at random."""
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            dy, dx = torch.randint(0, 2 * shift + 1, (2,)).tolist()
            shifted = F.pad(x[batch], [shift] * 4)[:, :, dy:dy + 8, dx:dx + 8]
            optimizer.zero_grad()
            F.cross_entropy(model(shifted), y[batch]).backward()
            optimizer.step()
        schedule.step()
    model.eval()


def begin(name: str, doc: str) -> ModelBuilder:
    b = ModelBuilder(name, doc)
    b.input("image", FLOAT, ["batch", 1, 8, 8], "Grey pictures; each pixel is an ink count in 0..16.")
    b.input("label", INT64, ["batch"], "The right digit of each picture, 0..9; only the loss uses it.")
    b.output("logits", FLOAT, ["batch", 10], "One score per digit; the largest wins.")
    b.output("loss", FLOAT, [], "Mean cross-entropy of the batch.")
    b.node("Div", "/preprocess/Div", ["image", b.weight("preprocess.pixel_max", np.float32(PIXEL_MAX))], "scaled",
           "Ink counts 0..16 to 0..1.")
    return b


def linear(b: ModelBuilder, layer: nn.Linear, scope: str, x: str, y: str) -> str:
    prefix = scope.strip("/").replace("/", ".")
    weight = b.weight(f"{prefix}.weight", layer.weight.detach().numpy())
    bias = b.weight(f"{prefix}.bias", layer.bias.detach().numpy())
    return b.node("Gemm", f"{scope}/Gemm", [x, weight, bias], y, transB=1)


def add_loss(b: ModelBuilder) -> None:
    b.node("SoftmaxCrossEntropyLoss", "/loss/SoftmaxCrossEntropyLoss", ["logits", "label"], "loss",
           "Differentiate this value to see a whole backward pass.", reduction="mean")


def export_mlp(model: DigitsMlp) -> ModelBuilder:
    b = begin("digits_mlp", "Handwritten digits, 8 x 8: a multi-layer perceptron, 64 - 64 - 32 - 10.")
    b.node("Flatten", "/Flatten", ["scaled"], "flat", axis=1)
    linear(b, model.fc1, "/layers/fc1", "flat", "fc1")
    b.node("Relu", "/layers/relu1/Relu", ["fc1"], "relu1")
    b.node("Dropout", "/layers/dropout/Dropout", ["relu1", b.weight("layers.dropout.ratio", np.float32(0.2))], "drop1",
           "Passes its input on when not training.")
    linear(b, model.fc2, "/layers/fc2", "drop1", "fc2")
    b.node("Relu", "/layers/relu2/Relu", ["fc2"], "relu2")
    linear(b, model.fc3, "/layers/fc3", "relu2", "fc3")
    b.node("Identity", "/Identity", ["fc3"], "logits")
    add_loss(b)
    return b


def conv_bn(b: ModelBuilder, model: DigitsCnn, k: int, x: str) -> str:
    """Convolution k and its batch normalisation, as two nodes: folding them is a pass to look at."""
    conv, norm, scope = getattr(model, f"conv{k}"), getattr(model, f"bn{k}"), "/features"
    inputs = [x, b.weight(f"features.conv{k}.weight", conv.weight.detach().numpy())]
    if conv.bias is not None:
        inputs.append(b.weight(f"features.conv{k}.bias", conv.bias.detach().numpy()))
    b.node("Conv", f"{scope}/conv{k}/Conv", inputs, f"conv{k}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    parts = {"weight": norm.weight, "bias": norm.bias, "running_mean": norm.running_mean,
             "running_var": norm.running_var}
    names = [b.weight(f"features.bn{k}.{part}", value.detach().numpy()) for part, value in parts.items()]
    return b.node("BatchNormalization", f"{scope}/bn{k}/BatchNormalization", [f"conv{k}", *names], f"bn{k}",
                  epsilon=norm.eps)


def flatten_by_shape(b: ModelBuilder, x: str, y: str) -> str:
    """`x.view(x.size(0), x.size(1) * x.size(2) * x.size(3))` the way exporters write it: one Shape per size."""
    sizes = []
    for axis in range(4):
        index = b.weight(f"classifier.axis{axis}", np.int64(axis))
        shape = b.node("Shape", f"/classifier/flatten/Shape_{axis}", [x], f"shape_{axis}")
        sizes.append(b.node("Gather", f"/classifier/flatten/Gather_{axis}", [shape, index], f"size_{axis}", axis=0))
    plane = b.node("Mul", "/classifier/flatten/Mul", [sizes[1], sizes[2]], "size_1x2")
    features = b.node("Mul", "/classifier/flatten/Mul_1", [plane, sizes[3]], "size_1x2x3")
    axes = b.weight("classifier.axes", np.array([0], np.int64))
    rows = b.node("Unsqueeze", "/classifier/flatten/Unsqueeze", [sizes[0], axes], "rows")
    columns = b.node("Unsqueeze", "/classifier/flatten/Unsqueeze_1", [features, axes], "columns")
    target = b.node("Concat", "/classifier/flatten/Concat", [rows, columns], "flat_shape", axis=0)
    return b.node("Reshape", "/classifier/flatten/Reshape", [x, target], y)


def export_cnn(model: DigitsCnn) -> ModelBuilder:
    b = begin("digits_cnn", "Handwritten digits, 8 x 8: a small residual CNN with batch normalisation.")
    conv_bn(b, model, 1, "scaled")
    b.node("Relu", "/features/relu1/Relu", ["bn1"], "relu1")
    conv_bn(b, model, 2, "relu1")
    b.node("Relu", "/features/relu2/Relu", ["bn2"], "relu2")
    b.node("MaxPool", "/features/pool1/MaxPool", ["relu2"], "pool1", kernel_shape=[2, 2], strides=[2, 2])
    conv_bn(b, model, 3, "pool1")
    b.node("Relu", "/features/relu3/Relu", ["bn3"], "relu3")
    conv_bn(b, model, 4, "relu3")
    b.node("Add", "/features/residual/Add", ["bn4", "relu3"], "residual", "The shortcut around convolution 4.")
    b.node("Relu", "/features/relu4/Relu", ["residual"], "relu4")
    b.node("MaxPool", "/features/pool2/MaxPool", ["relu4"], "pool2", kernel_shape=[2, 2], strides=[2, 2])
    flatten_by_shape(b, "pool2", "flat")
    b.node("Dropout", "/classifier/dropout/Dropout", ["flat", b.weight("classifier.dropout.ratio", np.float32(0.25))],
           "dropped", "Passes its input on when not training.")
    linear(b, model.fc1, "/classifier/fc1", "dropped", "fc1")
    b.node("Relu", "/classifier/relu/Relu", ["fc1"], "fc1_relu")
    linear(b, model.fc2, "/classifier/fc2", "fc1_relu", "fc2")
    b.node("Identity", "/classifier/Identity", ["fc2"], "logits")
    add_loss(b)
    return b


def pick_four(labels: np.ndarray) -> list:
    """The first test pictures of four different digits."""
    rows = []
    for row, label in enumerate(labels):
        if label not in labels[rows]:
            rows.append(row)
        if len(rows) == 4:
            return rows
    raise ValueError("fewer than four different digits in the test set")


def main() -> None:
    train_x, test_x, train_y, test_y = load_split()
    print(f"{len(train_x)} pictures to train on, {len(test_x)} to test on")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for kind, export, name, epochs, shift in ((DigitsMlp, export_mlp, "digits_mlp", 60, 0),
                                              (DigitsCnn, export_cnn, "digits_cnn", 40, 1)):
        torch.manual_seed(SEED)
        model = kind()
        train(model, train_x, train_y, epochs, shift)
        folder = HERE / name
        export(model).save(folder, METADATA)

        result = run_unoptimised(folder / "model.onnx", {"image": test_x, "label": test_y})
        with torch.no_grad():
            logits = model(torch.from_numpy(test_x)).numpy()
        worst = np.abs(result["logits"] - logits).max() / np.abs(logits).max()
        assert worst < 1e-5, f"{name}: the ONNX file and the torch module differ by {worst:.2g} of the largest logit"
        right = int((result["logits"].argmax(1) == test_y).sum())
        count = sum(p.numel() for p in model.parameters())
        print(f"{name}: {right} of {len(test_y)} test pictures right ({100 * right / len(test_y):.2f} %), "
              f"loss {float(result['loss']):.4f}, {count} parameters")
        rows = pick_four(test_y)
        write_expected(folder, {"image": test_x[rows], "label": test_y[rows]})
        np.savez_compressed(folder / "train.npz", image=train_x, label=train_y)


if __name__ == "__main__":
    main()

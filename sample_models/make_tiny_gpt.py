"""Writes tiny_gpt/: a decoder-only transformer over ASCII characters, two blocks, trained on tiny_gpt/text.txt.

Layout after GPT-2 (Radford et al. 2019): layer normalisation first, one fused projection for query, key and value,
tanh-approximated GELU, an output layer that shares the token embedding. The ONNX graph itself is trained, run in torch.
Run: python make_tiny_gpt.py      (seeded; needs numpy, onnx, onnxruntime, torch)
"""
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from model_builder import FLOAT, INT64, ModelBuilder, run_unoptimised, write_expected
from onnx_in_torch import run_graph, to_torch

HERE = Path(__file__).resolve().parent
SEED = 7
LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 2, 64, 4, 32, 128
HEAD = WIDTH // HEADS
MASKED = -1e9           # a score that softmax turns into exactly 0, and still finite
STEPS, BATCH, RATE = 1500, 16, 3e-3
TEXTS = ("Shall I compa", "My mistress' ")
METADATA = {"data": "five sonnets of William Shakespeare (1609), public domain", "script": "sample_models/make_tiny_gpt.py"}


class GptBuilder(ModelBuilder):
    """Adds weights drawn from one seeded generator."""

    def __init__(self, name: str, doc: str):
        super().__init__(name, doc)
        self.rng = np.random.default_rng(SEED)

    def normal(self, name: str, shape: list, deviation: float, mean: float = 0.0) -> str:
        return self.weight(name, (mean + deviation * self.rng.standard_normal(shape)).astype(np.float32))

    def constant(self, name: str, values, dtype=np.int64) -> str:
        """An initializer shared by name: adding it twice keeps one."""
        if name not in {x.name for x in self.initializers}:
            self.weight(name, np.array(values, dtype))
        return name

    def dense(self, scope: str, name: str, x: str, columns: int, y: str, rows: int = WIDTH) -> str:
        """x [batch, seq, rows] times weight [rows, columns] plus bias."""
        weight = self.normal(f"{name}.weight", [rows, columns], rows ** -0.5)
        product = self.node("MatMul", f"{scope}/MatMul", [x, weight], f"{y}.product")
        bias = self.normal(f"{name}.bias", [columns], 0.1)
        return self.node("Add", f"{scope}/Add", [product, bias], y)

    def layer_norm(self, scope: str, name: str, x: str) -> str:
        weight, bias = self.normal(f"{name}.weight", [WIDTH], 0.1, 1.0), self.normal(f"{name}.bias", [WIDTH], 0.1)
        return self.node("LayerNormalization", f"{scope}/LayerNormalization", [x, weight, bias], name, axis=-1,
                         epsilon=1e-5)


def embed(b: GptBuilder) -> str:
    """tokens [batch, seq] to [batch, seq, WIDTH]: token row plus position row."""
    token = b.normal("wte.weight", [VOCABULARY, WIDTH], WIDTH ** -0.5)
    position = b.normal("wpe.weight", [CONTEXT, WIDTH], 0.3 * WIDTH ** -0.5)
    shape = b.node("Shape", "/embedding/Shape", ["tokens"], "tokens.shape")
    length = b.node("Gather", "/embedding/Gather_length", [shape, b.constant("axis1", 1)], "seq_length", axis=0)
    rows = b.node("Range", "/embedding/Range", [b.constant("zero", 0), length, b.constant("one", 1)], "positions")
    tokens = b.node("Gather", "/embedding/wte/Gather", [token, "tokens"], "token_embedding", axis=0)
    places = b.node("Gather", "/embedding/wpe/Gather", [position, rows], "position_embedding", axis=0)
    return b.node("Add", "/embedding/Add", [tokens, places], "embedding")


def causal_mask(b: GptBuilder, scope: str, name: str, x: str) -> str:
    """bool [seq, seq], true where a query may look: at itself and before. Each block makes its own, as exporters do."""
    shape = b.node("Shape", f"{scope}/Shape", [x], f"{name}.shape")
    length = b.node("Gather", f"{scope}/Gather", [shape, b.constant("axis1_of_1", [1])], f"{name}.length", axis=0)
    square = b.node("Concat", f"{scope}/Concat", [length, length], f"{name}.square", axis=0)
    ones = b.node("Expand", f"{scope}/Expand", [b.constant("true", True, np.bool_), square], f"{name}.ones")
    lower = b.node("Trilu", f"{scope}/Trilu", [ones], name, upper=0)
    return lower


def attention(b: GptBuilder, scope: str, name: str, x: str) -> str:
    """Causal self-attention. x: [batch, seq, WIDTH]; scores: [batch, HEADS, seq, seq]."""
    qkv = b.dense(f"{scope}/qkv", f"{name}.qkv", x, 3 * WIDTH, f"{name}.qkv")
    parts = [f"{name}.{part}" for part in ("q", "k", "v")]
    b.node("Split", f"{scope}/Split", [qkv], [f"{part}.flat" for part in parts], axis=-1, num_outputs=3)
    by_head = b.constant("shape_by_head", [0, 0, HEADS, HEAD])
    for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])):
        letter = part[-1]
        b.node("Reshape", f"{scope}/Reshape_{letter}", [f"{part}.flat", by_head], f"{part}.by_head")
        b.node("Transpose", f"{scope}/Transpose_{letter}", [f"{part}.by_head"], part, perm=order)
    product = b.node("MatMul", f"{scope}/MatMul_scores", parts[:2], f"{name}.product")
    root = b.node("Sqrt", f"{scope}/Sqrt", [b.constant("head_width", HEAD, np.float32)], f"{name}.root")
    scores = b.node("Div", f"{scope}/Div", [product, root], f"{name}.scores")
    mask = causal_mask(b, f"{scope}/mask", f"{name}.mask", x)
    masked = b.node("Where", f"{scope}/Where", [mask, scores, b.constant("masked_score", MASKED, np.float32)],
                    f"{name}.masked")
    weights = b.node("Softmax", f"{scope}/Softmax", [masked], f"{name}.weights",
                     "Row i says how much position i looks at each position.", axis=-1)
    mixed = b.node("MatMul", f"{scope}/MatMul_mix", [weights, parts[2]], f"{name}.mixed")
    turned = b.node("Transpose", f"{scope}/Transpose_back", [mixed], f"{name}.turned", perm=[0, 2, 1, 3])
    joined = b.node("Reshape", f"{scope}/Reshape_back", [turned, b.constant("shape_joined", [0, 0, WIDTH])],
                    f"{name}.joined")
    return b.dense(f"{scope}/out", f"{name}.out", joined, WIDTH, f"{name}.out")


def block(b: GptBuilder, index: int, x: str) -> str:
    scope, name = f"/blocks.{index}", f"blocks.{index}"
    normed = b.layer_norm(f"{scope}/ln1", f"{name}.ln1", x)
    looked = attention(b, f"{scope}/attention", f"{name}.attention", normed)
    middle = b.node("Add", f"{scope}/Add_attention", [x, looked], f"{name}.middle")
    normed = b.layer_norm(f"{scope}/ln2", f"{name}.ln2", middle)
    wide = b.dense(f"{scope}/mlp/up", f"{name}.mlp.up", normed, 4 * WIDTH, f"{name}.mlp.up")
    bent = b.node("Gelu", f"{scope}/mlp/Gelu", [wide], f"{name}.mlp.gelu", approximate="tanh")
    narrow = b.dense(f"{scope}/mlp/down", f"{name}.mlp.down", bent, WIDTH, f"{name}.mlp.down", rows=4 * WIDTH)
    return b.node("Add", f"{scope}/Add_mlp", [middle, narrow], name)


def build() -> GptBuilder:
    b = GptBuilder("tiny_gpt", f"A GPT-like character model: {LAYERS} blocks, width {WIDTH}, {HEADS} heads, context of "
                               f"{CONTEXT} characters, trained on five sonnets of Shakespeare.")
    b.input("tokens", INT64, ["batch", "seq"], "ASCII codes, 0 to 127; at most 32 in a row.")
    b.input("targets", INT64, ["batch", "seq"], "The code that follows each token; only the loss uses it.")
    b.output("logits", FLOAT, ["batch", "seq", VOCABULARY], "A score for each next character.")
    b.output("loss", FLOAT, [], "Mean cross-entropy over batch and sequence.")
    x = embed(b)
    for index in range(LAYERS):
        x = block(b, index, x)
    x = b.layer_norm("/ln_f", "ln_f", x)
    shared = b.node("Transpose", "/lm_head/Transpose", ["wte.weight"], "lm_head.weight", "The token embedding again.",
                    perm=[1, 0])
    b.node("MatMul", "/lm_head/MatMul", [x, shared], "logits")
    by_class = b.node("Transpose", "/loss/Transpose", ["logits"], "logits_by_class", perm=[0, 2, 1])
    b.node("SoftmaxCrossEntropyLoss", "/loss/SoftmaxCrossEntropyLoss", [by_class, "targets"], "loss",
           "Differentiate this value to see a whole backward pass.", reduction="mean")
    return b


def parameters(model: onnx.ModelProto) -> dict:
    """The float initializers of rank 1 and more, as double leaves."""
    arrays = {x.name: numpy_helper.to_array(x) for x in model.graph.initializer}
    return {name: to_torch(array) for name, array in arrays.items() if array.dtype == np.float32 and array.ndim > 0}


def run_with(model: onnx.ModelProto, weights: dict, inputs: dict) -> dict:
    """Every value of the graph in torch with these weights instead of the stored ones."""
    bare = onnx.GraphProto()
    bare.CopyFrom(model.graph)
    kept = [x for x in bare.initializer if x.name not in weights]
    del bare.initializer[:]
    bare.initializer.extend(kept)
    given = [torch.from_numpy(inputs[info.name]) for info in bare.input]
    return run_graph(bare, given, dict(weights))[1]


def train(model: onnx.ModelProto, text: str) -> None:
    """AdamW with warm-up and cosine decay on windows of the text, gradients clipped; the weights go back into `model`."""
    codes = np.array([ord(c) for c in text], np.int64)
    rng = np.random.default_rng(SEED)
    weights = parameters(model)
    optimizer = torch.optim.AdamW(weights.values(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda t: min((t + 1) / 50, 0.5 * (1 + np.cos(np.pi * t / STEPS)) + 0.01))
    for step in range(STEPS):
        starts = rng.integers(0, len(codes) - CONTEXT, BATCH)
        windows = np.stack([codes[s:s + CONTEXT + 1] for s in starts])
        batch = {"tokens": windows[:, :-1].copy(), "targets": windows[:, 1:].copy()}
        optimizer.zero_grad()
        loss = run_with(model, weights, batch)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step + 1 == STEPS:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    for initializer in model.graph.initializer:
        if initializer.name in weights:
            array = weights[initializer.name].detach().numpy().astype(np.float32)
            initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))


def write_on(path: Path, start: str, length: int) -> str:
    """The text that the model writes after `start`, always taking the likeliest character."""
    text = start
    for _ in range(length):
        codes = np.array([[ord(c) for c in text[-CONTEXT:]]], np.int64)
        text += chr(int(run_unoptimised(path, {"tokens": codes, "targets": codes})["logits"][0, -1].argmax()))
    return text


def sample_inputs() -> dict:
    """Two sentences, cut to one length, and the same shifted by one character."""
    length = min(len(text) for text in TEXTS) - 1
    codes = np.array([[ord(c) for c in text[:length + 1]] for text in TEXTS], np.int64)
    return {"tokens": codes[:, :-1].copy(), "targets": codes[:, 1:].copy()}


def main() -> None:
    torch.set_num_threads(1)
    folder, b = HERE / "tiny_gpt", build()
    b.save(folder, METADATA)
    path = folder / "model.onnx"
    model = onnx.load(path)
    train(model, (folder / "text.txt").read_text())
    onnx.save(model, path)
    outputs = write_expected(folder, sample_inputs())
    assert all(np.isfinite(value).all() for value in outputs.values()), "an output is not finite"
    print(f"tiny_gpt: {len(b.nodes)} nodes, {path.stat().st_size} bytes, loss {float(outputs['loss']):.4f}")
    print(write_on(path, "Shall I ", 120))


if __name__ == "__main__":
    main()

"""Products of matrices, recurrent networks, attention."""
import numpy as np

from .cases import FLOATS, Skip


def matmul_shapes(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    batch = g.shape(high=2)
    left = [1 if g.chance(0.25) else d for d in batch][g.integer(0, len(batch)) if g.chance(0.3) else 0:]
    right = [1 if g.chance(0.25) else d for d in batch][g.integer(0, len(batch)) if g.chance(0.3) else 0:]
    if g.chance(0.12):
        return [k], right + [k, n]
    if g.chance(0.12):
        return left + [m, k], [k]
    if g.chance(0.05):
        return [k], [k]
    return left + [m, k], right + [k, n]


def matmul(g):
    left, right = matmul_shapes(g)
    kind = g.type("T")
    return g.done([g.values(kind, left), g.values(kind, right)], constant=0.3)


def gemm(g):
    kind = g.type("T")
    m, k, n = g.dim(), g.dim(), g.dim()
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    g.maybe(0.6, alpha=g.choice([0.5, 2.0, 0.0]), beta=g.choice([0.5, 2.0, 0.0]))
    if kind not in FLOATS:
        for name in ("alpha", "beta"):
            if name in g.case.attrs:
                g.set(**{name: 2.0})
    if ta or g.chance(0.2):
        g.set(transA=ta)
    if tb or g.chance(0.2):
        g.set(transB=tb)
    c = g.choice([[m, n], [n], [1, n], [m, 1], [1], []])
    if g.since < 7:
        g.set(broadcast=1)
        c = g.choice([[m, n], [n], [1]])
        if c == [m, n]:
            g.case.attrs.pop("broadcast", None)
    bias = None if g.since >= 11 and g.chance(0.3) else g.values(kind, c)
    return g.done([g.values(kind, [k, m] if ta else [m, k]), g.values(kind, [n, k] if tb else [k, n]), bias], constant=0.3)


EQUATIONS = {"ij,jk->ik": 2, "ij,jk": 2, "bij,bjk->bik": 2, "ij->ji": 1, "ii->i": 1, "ii": 1, "ij->": 1, "i,j->ij": 2, "i,i": 2, "bhid,bhjd->bhij": 2,
             "...ij,...jk->...ik": 2, "...i->...": 1, "ij,kj,kl->il": 3, "ijk->kij": 1, "ij,ij->i": 2, " b n , n -> b ": 2, "iij->ij": 1, "ij,i->j": 2}


def einsum(g):
    equation = g.choice(EQUATIONS)
    sizes = {letter: g.integer(1, 4) for letter in "bhidjkln"}
    dots = g.shape(high=2)
    shapes = []
    for term in equation.split("->")[0].split(","):
        term = term.strip()
        shape = []
        if term.startswith("..."):
            shape += dots
            term = term[3:]
        shapes.append(shape + [sizes[c] for c in term.replace(" ", "")])
    g.set(equation=equation)
    kind = g.type("T")
    return g.done([g.values(kind, s) for s in shapes])


def det(g):
    n = g.integer(1, 4)
    x = g.tensor("T", [*g.shape(high=2), n, n])
    g.case.tolerance = 20.0
    return g.done([x])


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "HardSigmoid", "Softsign", "Softplus", "Affine", "ThresholdedRelu", "ScaledTanh"]
WITH_ALPHA = {"LeakyRelu", "Elu", "HardSigmoid", "Affine", "ThresholdedRelu", "ScaledTanh"}
WITH_BETA = {"HardSigmoid", "Affine", "ScaledTanh"}


def recurrent(g):
    op = g.schema.name
    kind = g.type("T")
    steps, batch, size, hidden = g.integer(1, 4), g.integer(1, 3), g.integer(1, 4), g.integer(1, 4)
    direction = g.choice(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    gates = GATES[op]
    if direction != "forward" or g.chance(0.3):
        g.set(direction=direction)
    g.set(hidden_size=hidden)
    layout = g.integer(0, 1) if g.has("layout") and g.chance(0.3) else 0
    if layout:
        g.set(layout=1)
    g.maybe(0.4, linear_before_reset=g.integer(0, 1))
    g.maybe(0.15, clip=0.5, input_forget=1)
    if g.chance(0.3):
        names = [g.choice(ACTIVATIONS[:3] if g.chance(0.6) else ACTIVATIONS) for _ in range({"RNN": 1, "GRU": 2, "LSTM": 3}[op] * d)]
        g.set(activations=names)
        if any(n in WITH_ALPHA for n in names):
            # onnxruntime takes one entry for each activation that wants one, in order
            g.set(activation_alpha=[0.5 for n in names if n in WITH_ALPHA], activation_beta=[0.3 for n in names if n in WITH_BETA])
            if not g.case.attrs.get("activation_beta"):
                g.case.attrs.pop("activation_beta", None)
    if g.since == 1 and op != "LSTM":
        g.maybe(0.0, output_sequence=1)
    x = g.values(kind, [batch, steps, size] if layout else [steps, batch, size])
    w, r = g.values(kind, [d, gates * hidden, size], scale=0.5), g.values(kind, [d, gates * hidden, hidden], scale=0.5)
    b = g.values(kind, [d, 2 * gates * hidden], scale=0.5) if g.chance(0.6) else None
    lengths = g.values("int32", [batch], 1, steps) if g.chance(0.3) else None
    state = [batch, d, hidden] if layout else [d, batch, hidden]
    h = g.values(kind, state) if g.chance(0.5) else None
    inputs = [x, w, r, b, lengths, h]
    if op == "LSTM":
        inputs += [g.values(kind, state) if g.chance(0.5) else None, g.values(kind, [d, 3 * hidden], scale=0.5) if g.chance(0.3) else None]
    if g.since == 1 and g.has("output_sequence"):
        g.set(output_sequence=1)
    outputs = [g.chance(0.8), True] + ([g.chance(0.7)] if op == "LSTM" else [])
    return g.done(inputs, outputs, constant=0.4)


def attention(g):
    q_heads = g.choice([1, 2, 4])
    kv_heads = g.choice([h for h in (1, 2, 4) if q_heads % h == 0])
    batch, q_len, kv_len, size, v_size = g.integer(1, 2), g.integer(1, 4), g.integer(1, 5), g.choice([2, 4, 8]), g.choice([2, 4, 8])
    t1 = g.type("T1")
    t2 = g.type("T2", only=(t1,) if g.chance(0.8) else None)
    flat = g.chance(0.4)
    past = g.chance(0.3)
    past_len = g.integer(1, 3) if past else 0
    total = kv_len + past_len

    def heads(kind, length, count, width):
        return g.values(kind, [batch, length, count * width] if flat else [batch, count, length, width])

    inputs = [heads(t1, q_len, q_heads, size), heads(t1, kv_len, kv_heads, size), heads(t2, kv_len, kv_heads, v_size)]
    if flat or (g.since < 25 and g.chance(0.1)):
        g.set(q_num_heads=q_heads, kv_num_heads=kv_heads)
    g.maybe(0.3, scale=0.7, is_causal=1, softcap=2.0)
    if g.chance(0.2):
        g.set(left_window_size=g.integer(0, 3))
        if g.chance(0.5):
            g.set(right_window_size=g.integer(0, 3))
    mask = None
    if g.chance(0.4):
        u = g.type("U", only=("bool", t1))
        lead = g.choice([[], [1, 1], [batch, 1], [batch, q_heads], [1, q_heads], [q_heads]])
        mask = g.values(u, [*lead, q_len, total])
        if u == "bool" and g.chance(0.8):
            mask[..., 0] = True
        if u == "bool":
            g.case.tags.add("bool_mask")
    lengths = None
    if not past and len(g.schema.inputs) > 6 and g.chance(0.2):
        lengths = g.values("int64", [batch], min(q_len, kv_len), kv_len)
    inputs += [mask, g.values(t1, [batch, kv_heads, past_len, size]) if past else None, g.values(t2, [batch, kv_heads, past_len, v_size]) if past else None]
    if lengths is not None:
        inputs += [lengths]
    qk = g.chance(0.2)
    if qk:
        g.set(qk_matmul_output_mode=g.integer(0, 3))
    g.case.tolerance = 2.0
    return g.done(inputs, [True, past, past, qk])


def rotary(g):
    kind = g.type("T")
    batch, heads, length, size = g.integer(1, 3), g.integer(1, 3), g.integer(1, 4), g.choice([2, 4, 8])
    part = g.choice([size, size // 2]) if size > 2 else size
    if part != size:
        g.set(rotary_embedding_dim=part)
    g.maybe(0.5, interleaved=g.integer(0, 1))
    flat = g.chance(0.5)
    if flat or g.chance(0.2):
        g.set(num_heads=heads)
    x = g.values(kind, [batch, length, heads * size] if flat else [batch, heads, length, size])
    if g.chance(0.5):
        table = [g.integer(length, 8), part // 2]
        ids = g.values("int64", [batch, length], 0, table[0] - 1)
        return g.done([x, g.values(kind, table), g.values(kind, table), ids])
    table = [batch, length, part // 2]
    return g.done([x, g.values(kind, table), g.values(kind, table)])


def linear_attention(g):
    kind = g.type("T")
    state = g.type("S", only=(kind,) if g.chance(0.6) else None)
    batch, length = g.integer(1, 2), g.integer(1, 4)
    kv = g.integer(1, 3)
    q = kv * g.integer(1, 2)
    dk, dv = g.choice([2, 4]), g.choice([2, 3])
    rule = g.choice(["linear", "gated", "delta", "gated_delta"])
    g.set(q_num_heads=q, kv_num_heads=kv)
    if rule != "gated_delta" or g.chance(0.5):
        g.set(update_rule=rule)
    g.maybe(0.4, scale=0.6)
    g.maybe(0.2, chunk_size=g.integer(1, 4))
    decay = None
    if "gated" in rule:
        decay = g.values(kind, [batch, length, kv * dk if g.chance(0.5) else kv], -1.0, 0.0)
    beta = g.values(kind, [batch, length, kv if g.chance(0.6) else 1], 0.1, 0.9) if "delta" in rule else None
    past = g.values(state, [batch, kv, dk, dv]) if g.chance(0.5) else None
    if past is None:
        g.bound["S"] = kind
    inputs = [g.values(kind, [batch, length, q * dk]), g.values(kind, [batch, length, kv * dk], scale=0.5), g.values(kind, [batch, length, kv * dv]), past, decay, beta]
    return g.done(inputs, [True, True])


GENERATORS = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum, "Det": det, "RNN": recurrent, "GRU": recurrent, "LSTM": recurrent,
              "Attention": attention, "RotaryEmbedding": rotary, "LinearAttention": linear_attention}

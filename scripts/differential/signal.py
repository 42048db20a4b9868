"""Signals, random draws (form only)."""
import numpy as np

from .cases import CODES, FLOATS, Skip


def window(g):
    target = g.choice([t for t in g.allowed["T2"] if t in FLOATS])   # of an integer the top is 1 or 0 by the last bit of a float
    g.bound["T2"] = target
    if target != "float" or g.chance(0.3):
        g.set(output_datatype=CODES[target])
    g.maybe(0.6, periodic=g.integer(0, 1))
    g.case.floor = 1e-6
    return g.done([g.ints(g.integer(2, 9), g.type("T1"))])


def mel(g):
    target = g.choice([t for t in g.allowed["T3"] if t in FLOATS])
    g.bound["T3"] = target
    if target != "float" or g.chance(0.3):
        g.set(output_datatype=CODES[target])
    t1, t2 = g.type("T1"), g.type("T2", only=("float", "double"))   # a half cannot hold the edges
    edge = [np.array(v).astype(g.values(t2, []).dtype) for v in (g.choice([0.0, 20.0, 100.0]), g.choice([2000.0, 4000.0]))]
    return g.done([g.ints(g.integer(2, 8), t1), g.ints(g.choice([16, 32, 64]), t1), g.ints(g.choice([8000, 16000]), t1), *edge])


def dft(g):
    kind = g.type("T1")
    rank = g.integer(2, 4)
    parts = g.integer(1, 2)
    shape = [g.integer(1, 6) for _ in range(rank - 1)] + [parts]
    axis = g.integer(0, rank - 2)
    inverse, onesided = g.integer(0, 1), g.integer(0, 1)
    if onesided and not inverse:
        parts = shape[-1] = 1
    if onesided and inverse:
        if g.since < 20:
            onesided = 0
        else:
            parts = shape[-1] = 2
    if inverse or g.chance(0.3):
        g.set(inverse=inverse)
    if onesided or g.chance(0.3):
        g.set(onesided=onesided)
    length = g.integer(1, 8) if g.chance(0.4) else None
    given = g.ints(length, g.type("T2")) if length else None
    g.bound.setdefault("T2", "int64")
    if g.since < 20:
        g.set(axis=axis)
        return g.done([g.values(kind, shape), given])
    if g.chance(0.3):
        axis -= rank
    return g.done([g.values(kind, shape), given, g.ints(axis) if g.chance(0.8) else None])


def stft(g):
    kind = g.type("T1")
    frame = g.integer(2, 8)
    length = frame + g.integer(0, 12)
    t2 = g.type("T2")
    how = g.integer(0, 2)
    w = g.values(kind, [frame], 0.1, 1.0) if how != 0 else None
    size = g.ints(frame, t2) if how != 1 else None
    onesided = g.integer(0, 1)
    g.maybe(0.6, onesided=onesided)
    parts = 1 if g.case.attrs.get("onesided", 1) else g.integer(1, 2)
    return g.done([g.values(kind, [g.integer(1, 2), length, parts]), g.ints(g.integer(1, 4), t2), w, size], constant=0.4)


def random_shape(g):
    like = len(g.schema.inputs) > 0
    target = g.choice(["float", "double", "float16"])
    if target == "float16" and g.chance(0.5):
        target = "float"
    g.maybe(0.5, seed=3.0, mean=1.0, scale=0.5, low=-1.0, high=2.0)
    g.case.form = True
    out = g.schema.outputs[0].type_str
    g.bound[out] = target
    if like:
        kind = g.type("T1", only=FLOATS)
        if target == kind and g.chance(0.5):
            pass
        else:
            g.set(dtype=CODES[target])
        return g.done([g.values(kind, g.shape())])
    g.set(shape=g.shape(low=1))
    if target != "float" or g.chance(0.3):
        g.set(dtype=CODES[target])
    return g.done([])


def bernoulli(g):
    kind = g.type("T1")
    target = kind
    if g.chance(0.5):
        target = g.choice([t for t in g.allowed["T2"] if t in ("float", "double", "bool", "int32", "int64", "uint8")])
        g.set(dtype=CODES[target])
    g.bound["T2"] = target
    x = np.round(g.values(kind, g.shape(), 0.0, 1.0))   # 0 and 1 leave nothing to chance
    return g.done([x.astype(g.values(kind, []).dtype)])


def multinomial(g):
    g.case.form = True
    target = g.choice(["int32", "int64"])
    g.bound["T2"] = target
    g.set(dtype=CODES[target], sample_size=g.integer(1, 5))
    return g.done([g.values(g.type("T1"), [g.integer(1, 3), g.integer(1, 5)])])


GENERATORS = {"HannWindow": window, "HammingWindow": window, "BlackmanWindow": window, "MelWeightMatrix": mel, "DFT": dft, "STFT": stft,
              "RandomNormal": random_shape, "RandomNormalLike": random_shape, "RandomUniform": random_shape, "RandomUniformLike": random_shape,
              "Bernoulli": bernoulli, "Multinomial": multinomial}

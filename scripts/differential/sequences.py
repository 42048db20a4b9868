"""Sequences, optionals, strings, n-grams."""
import numpy as np
import onnx
from onnx import helper

from .cases import CODES, Skip

NO_SEQUENCE = ("bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1", "float6e2m3", "float6e3m2",
               "int4", "uint4", "int2", "uint2")


def element(g, parameter="S"):
    allowed = [t[len("seq(tensor("):-2] for t in g.allowed[parameter]]
    kind = "float" if g.chance(0.4) else g.choice([t for t in allowed if t in CODES and t not in NO_SEQUENCE])
    g.bound[parameter] = f"seq(tensor({kind}))"
    g.case.exact = True
    return kind


def sequence(g, kind, least=1):
    return [g.values(kind, g.shape(high=3)) for _ in range(g.integer(least, 4))]




def position(g, length, parameter="I"):
    return g.ints(g.integer(-length, length - 1), g.type(parameter))


def sequence_at(g):
    kind = element(g)
    s = sequence(g, kind)
    g.bound["T"] = kind
    return g.done([s, position(g, len(s))])


def sequence_construct(g):
    kind = g.type("T", without=NO_SEQUENCE)
    g.case.exact = True
    return g.done([g.values(kind, g.shape(high=3)) for _ in range(g.integer(1, 4))], 1, {0: f"seq(tensor({kind}))"})


def sequence_empty(g):
    kind = g.choice(["float", "int64", "string", "bool"])
    if kind != "float" or g.chance(0.5):
        g.set(dtype=CODES[kind])
    return g.done([], 1, {0: f"seq(tensor({kind}))"})


def sequence_erase(g):
    kind = element(g)
    s = sequence(g, kind)
    return g.done([s, position(g, len(s)) if g.chance(0.7) else None])


def sequence_insert(g):
    kind = element(g)
    s = sequence(g, kind, 0)
    g.case.input_types[0] = g.bound["S"]
    where = g.ints(g.integer(-len(s), len(s)), g.type("I")) if g.chance(0.7) else None
    return g.done([s, g.values(kind, g.shape(high=3)), where], constant=0.0)


def sequence_length(g):
    kind = element(g)
    g.case.input_types[0] = g.bound["S"]
    g.bound["I"] = "int64"
    return g.done([sequence(g, kind, 0)], constant=0.0)


def concat_from_sequence(g):
    kind = element(g)
    rank = g.integer(1, 3)
    shape = g.shape(rank)
    new = g.integer(0, 1)
    axis = g.integer(-rank - new, rank - 1 + new)
    parts = []
    for _ in range(g.integer(1, 4)):
        part = list(shape)
        if not new:
            part[axis] = g.integer(1, 3)
        parts.append(g.values(kind, part))
    g.set(axis=axis)
    if new or g.chance(0.3):
        g.set(new_axis=new)
    g.bound["T"] = kind
    return g.done([parts])


def split_to_sequence(g):
    kind = g.type("T", without=NO_SEQUENCE)
    rank = g.integer(1, 3)
    shape, axis = [max(1, d) for d in g.shape(rank)], g.axis(rank)
    how = g.integer(0, 2)
    parts = None
    if how == 1:
        parts = g.ints(g.integer(1, 3), g.type("I"))
    elif how == 2:
        sizes = [g.integer(1, 3) for _ in range(g.integer(1, 3))]
        shape[axis] = sum(sizes)
        parts = g.ints(sizes, g.type("I"))
    g.maybe(0.8, axis=axis, keepdims=g.integer(0, 1))
    if "axis" not in g.case.attrs:
        if how == 2:
            g.set(axis=axis)
    g.case.exact = True
    return g.done([g.values(kind, shape), parts], 1, {0: f"seq(tensor({kind}))"})


def sequence_map(g):
    kind = g.choice(["float", "int64", "double"])
    s = sequence(g, kind)
    add = g.chance(0.5)
    names = ["e", "x"] if add else ["e"]
    nodes = [helper.make_node("Add" if add else "Neg", names, ["r"])]
    body = helper.make_graph(nodes, "body", [helper.make_tensor_value_info(n, CODES[kind], None) for n in names],
                             [helper.make_tensor_value_info("r", CODES[kind], None)])
    g.set(body=body)
    inputs = [s]
    if add:
        inputs.append(g.values(kind, []) if g.chance(0.5) else [g.values(kind, []) for _ in s])
    return g.done(inputs, 1, {0: f"seq(tensor({kind}))"}, constant=0.0)


def optional(g):
    kind = g.choice(["float", "int64", "bool", "double"])
    as_sequence = g.chance(0.4)
    text = f"seq(tensor({kind}))" if as_sequence else f"tensor({kind})"
    value = sequence(g, kind) if as_sequence else g.values(kind, g.shape())
    g.case.exact = True
    return g.done([value], 1, {0: f"optional({text})"})


def optional_input(g):
    kind = g.choice(["float", "int64", "bool", "double"])
    as_sequence = g.chance(0.4)
    value = sequence(g, kind) if as_sequence else g.values(kind, g.shape())
    text = f"seq(tensor({kind}))" if as_sequence else f"tensor({kind})"
    g.case.exact = True
    if g.since < 18 or g.chance(0.5):
        g.case.input_types[0] = f"optional({text})"
    if g.schema.name == "OptionalHasElement":
        if g.since >= 18 and g.chance(0.15):
            return g.done([], 1, {0: "bool"})
        return g.done([value], 1, {0: "bool"}, constant=0.0)
    return g.done([value], 1, {0: text if as_sequence else kind}, constant=0.0)


def string_concat(g):
    shape = g.shape(high=3)
    return g.done([g.values("string", shape), g.values("string", [1 if g.chance(0.3) else d for d in shape][g.integer(0, len(shape)):])])


def string_split(g):
    words = np.array(["a b  c", "x,y,,z", " lead", "one", "a, b, c", "tail ", "p--q--r"], dtype=object)
    shape = tuple(max(1, d) for d in g.shape(high=2))
    g.maybe(0.6, delimiter=g.choice([",", "--", " ", ", "]), maxsplit=g.integer(0, 3))
    return g.done([np.asarray(words[g.rng.integers(len(words), size=shape)], dtype=object).reshape(shape)], 2, {0: "string", 1: "int64"})


def regex(g):
    words = np.array(["www.google.com", "a1", "abc", "", "1984", "A.B", "x@y.org"], dtype=object)
    g.set(pattern=g.choice([r"www\.[\w.-]+\.\bcom\b", r"[a-z]+\d*", r".*", r"\d{4}", r"(a|b)+c?", r"[^@]+@[^@]+\.[a-z]{2,3}"]))
    shape = tuple(g.shape(high=2))
    return g.done([np.asarray(words[g.rng.integers(len(words), size=shape)], dtype=object).reshape(shape)], 1, {0: "bool"})


def normalizer(g):
    words = np.array(["monday", "Tuesday", "WEDNESDAY", "a", "Straße", "x"], dtype=object)
    g.maybe(0.7, case_change_action=g.choice(["LOWER", "UPPER", "NONE"]), is_case_sensitive=g.integer(0, 1), stopwords=g.choice([["monday"], ["Monday", "a"], ["x"]]))
    shape = (g.integer(1, 6),) if g.chance(0.6) else (1, g.integer(1, 6))
    return g.done([words[g.rng.integers(len(words), size=shape)]], 1, {0: "string"})


def tfidf(g):
    kind = g.type("T")
    least, most = g.choice([(1, 1), (1, 2), (2, 2), (1, 3)])
    pool, counts, total = [], [], 0
    for n in range(1, 4):
        counts.append(len(pool))
        if n <= most:
            for _ in range(3):
                pool += [g.integer(0, 4) for _ in range(n)]
                total += 1
    tuples = set()
    at = 0
    for n in range(1, most + 1):   # entries must differ
        for _ in range(3):
            if tuple(pool[at:at + n]) in tuples:
                raise Skip
            tuples.add(tuple(pool[at:at + n]))
            at += n
    g.set(mode=g.choice(["TF", "IDF", "TFIDF"]), min_gram_length=least, max_gram_length=most, max_skip_count=g.integer(0, 2),
          ngram_counts=counts[:most], ngram_indexes=[int(i) for i in g.rng.permutation(total)])
    if g.case.attrs["mode"] != "TF" or g.chance(0.2):
        g.set(weights=[float(round(w, 2)) for w in g.rng.uniform(0.1, 2.0, total)])
    if kind == "string":
        g.set(pool_strings=[str(p) for p in pool])
    else:
        g.set(pool_int64s=pool)
    shape = (g.integer(1, 8),) if g.chance(0.5) else (g.integer(1, 3), g.integer(1, 8))
    x = g.rng.integers(0, 5, shape)
    g.bound["T1"] = "float"
    return g.done([np.array([str(v) for v in x.ravel()], dtype=object).reshape(shape) if kind == "string" else x.astype(kind)])


GENERATORS = {"SequenceAt": sequence_at, "SequenceConstruct": sequence_construct, "SequenceEmpty": sequence_empty, "SequenceErase": sequence_erase,
              "SequenceInsert": sequence_insert, "SequenceLength": sequence_length, "ConcatFromSequence": concat_from_sequence,
              "SplitToSequence": split_to_sequence, "SequenceMap": sequence_map, "Optional": optional, "OptionalGetElement": optional_input,
              "OptionalHasElement": optional_input, "StringConcat": string_concat, "StringSplit": string_split, "RegexFullMatch": regex,
              "StringNormalizer": normalizer, "TfIdfVectorizer": tfidf}

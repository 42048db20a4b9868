"""A random case: one node, its inputs, and the model around it. `Gen` is what the generators of the families draw from."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = ("float", "double", "float16", "bfloat16")
SMALL_FLOATS = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1", "float6e2m3", "float6e3m2")
SIGNED = ("int8", "int16", "int32", "int64", "int4", "int2")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64", "uint4", "uint2")
CODES = {name.lower(): code for name, code in TensorProto.DataType.items() if name != "UNDEFINED"}


class Skip(Exception):
    """The generator has no valid case for what was drawn (a type, a version): draw again."""


def np_type(name):
    return helper.tensor_dtype_to_np_dtype(CODES[name])


def name_of(array):
    """The ONNX name of an array's element type."""
    if array.dtype == object or array.dtype.kind in "UST":
        return "string"
    return TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(array.dtype)).lower()


def plain(text):
    """tensor(float) -> float; other types stay."""
    return text[len("tensor("):-1] if text.startswith("tensor(") else text


class Case:
    """One node with values. `outputs`: for each output its type (`float`, `seq(tensor(float))`), or None when it is not asked for."""

    def __init__(self, op, domain, since, opset):
        self.op, self.domain, self.since, self.opset = op, domain, since, opset
        self.inputs, self.attrs, self.outputs = [], {}, []
        self.constant = set()     # numbers of the inputs that are initializers
        self.declared = []        # shape that the model declares for each input: list of sizes and names, or None
        self.tolerance = 1.0      # factor on the tolerance of the type
        self.floor = 0.0          # absolute difference of floats that is always allowed
        self.exact = False        # floats must be equal (moved, not computed)
        self.slack = 0            # how far integers may be apart (rounding of a quantized result)
        self.form = False         # only type and shape are compared: random draws
        self.compared = None      # how many outputs are compared (None: all)
        self.tags = set()
        self.input_types = {}     # number of an input -> type text, where the value does not tell it
        self.index = 0

    def names(self, prefix, values):
        names = [f"{prefix}{i}" if v is not None else "" for i, v in enumerate(values)]
        while names and not names[-1]:
            names.pop()
        return names

    def type_of_input(self, i):
        if i in self.input_types:
            return self.input_types[i]
        value = self.inputs[i]
        return f"seq(tensor({name_of(value[0])}))" if isinstance(value, list) else name_of(value)

    def fed(self):
        """Numbers of the inputs that are given at run time."""
        return [i for i, v in enumerate(self.inputs) if v is not None and i not in self.constant]

    def model(self, constants=None, output_cast=None):
        """The model; `constants`: numbers of inputs that are initializers; `output_cast`: type -> type that is cast to at the end."""
        constants = self.constant if constants is None else constants
        in_names, out_names = self.names("x", self.inputs), self.names("y", self.outputs)
        nodes = [helper.make_node(self.op, in_names, out_names, domain=self.domain, **self.attrs)]
        inputs = [helper.make_value_info(f"x{i}", type_proto(self.type_of_input(i), self.declared[i] if i < len(self.declared) else None))
                  for i, v in enumerate(self.inputs) if v is not None and i not in constants]
        outputs = []
        for i, kind in enumerate(self.outputs):
            if kind is None:
                continue
            name = f"y{i}"
            if output_cast and kind in output_cast:
                nodes.append(helper.make_node("Cast", [name], [f"z{i}"], to=CODES[output_cast[kind]]))
                name, kind = f"z{i}", output_cast[kind]
            outputs.append(helper.make_value_info(name, type_proto(kind, None)))
        graph = helper.make_graph(nodes, f"{self.op}_{self.index}", inputs, outputs,
                                  [tensor_proto(self.inputs[i], f"x{i}") for i in sorted(constants)])
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10 if self.opset < 24 else 12)

    def write(self, folder):
        """As a folder in the layout of ONNX's backend tests, without expected outputs."""
        data = folder / "test_data_set_0"
        data.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(self.model().SerializeToString())
        for place, i in enumerate(self.fed()):
            (data / f"input_{place}.pb").write_bytes(value_bytes(self.inputs[i], f"x{i}", self.type_of_input(i)))

    def describe(self):
        parts = []
        for v in self.inputs:
            if v is None:
                parts.append("-")
            elif isinstance(v, list):
                parts.append("[" + ", ".join(f"{name_of(e)}{list(e.shape)}" for e in v) + "]")
            else:
                small = v.size <= 6 and v.ndim <= 1 and name_of(v) in ("int64", "int32", "float", "bool", "string")
                parts.append(f"{name_of(v)}{list(v.shape)}" + (f"={v.tolist()}" if small else ""))
        attrs = {k: (v if not isinstance(v, (onnx.GraphProto, onnx.TensorProto)) else "...") for k, v in self.attrs.items()}
        return f"{self.domain + '.' if self.domain else ''}{self.op}-{self.since} (opset {self.opset}) ({', '.join(parts)}) {attrs}"


def type_proto(text, shape):
    if text.startswith("seq("):
        return helper.make_sequence_type_proto(type_proto(text[len("seq("):-1], shape))
    if text.startswith("optional("):
        return helper.make_optional_type_proto(type_proto(text[len("optional("):-1], shape))
    return helper.make_tensor_type_proto(CODES[plain(text)], shape)


def tensor_proto(array, name):
    if name_of(array) == "string":
        return helper.make_tensor(name, TensorProto.STRING, array.shape, [str(s).encode() for s in array.ravel()])
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def value_bytes(value, name, kind):
    if kind.startswith("optional("):
        return numpy_helper.from_optional(value, name).SerializeToString()
    if isinstance(value, list):
        return numpy_helper.from_list(value, name).SerializeToString()
    return tensor_proto(value, name).SerializeToString()


class Gen:
    """Draws one case of one version of an operator. Every draw comes from `rng`."""

    def __init__(self, rng, schema, opset):
        self.rng, self.schema, self.opset = rng, schema, opset
        self.since = schema.since_version
        self.case = Case(schema.name, schema.domain, schema.since_version, opset)
        self.allowed = {t.type_param_str: [plain(x) for x in t.allowed_type_strs] for t in schema.type_constraints}
        self.bound = {}

    # Draws

    def chance(self, p):
        return bool(self.rng.random() < p)

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, values):
        values = list(values)
        if not values:
            raise Skip
        return values[int(self.rng.integers(len(values)))]

    def dim(self):
        p = self.rng.random()
        return 0 if p < 0.02 else self.integer(6, 37) if p < 0.08 else self.integer(1, 5)

    def shape(self, rank=None, low=0, high=4):
        rank = self.integer(low, high) if rank is None else rank
        out = [self.dim() for _ in range(rank)]
        while rank and np.prod([max(d, 1) for d in out]) > 20000:
            out[self.integer(0, rank - 1)] = 2
        return out

    def axis(self, rank, negative_since=11):
        """An axis of a tensor of `rank`, counted from the end too where the version allows."""
        return self.integer(-rank if self.since >= negative_since else 0, rank - 1)

    def type(self, parameter, only=None, without=()):
        """Binds a type parameter of the schema (or says its type again)."""
        if parameter in self.bound:
            return self.bound[parameter]
        allowed = [t for t in self.allowed[parameter] if t in CODES and t not in without and (only is None or t in only)]
        kind = "float" if "float" in allowed and self.chance(0.3) else self.choice(allowed)
        self.bound[parameter] = kind
        return kind

    def has(self, attribute):
        return attribute in self.schema.attributes

    def set(self, **attrs):
        """Sets attributes that this version has."""
        for name, value in attrs.items():
            if value is not None and self.has(name):
                self.case.attrs[name] = value

    def maybe(self, p, /, **attrs):
        for name, value in attrs.items():
            if self.chance(p):
                self.set(**{name: value})

    # Values

    def values(self, kind, shape, low=None, high=None, special=0.0, scale=1.0):
        """Floats: normal with `scale`, or uniform in [low, high); integers: small, or in [low, high]. `special`: chance of NaN, infinities and bounds."""
        shape = tuple(shape)
        if kind == "string":
            words = np.array(["", "a", "ab", "b c", "Ünï", "hello", "x,y,,z", "A b", "1"], dtype=object)
            return words[self.rng.integers(len(words), size=shape)].reshape(shape) if shape else np.array(self.choice(words), dtype=object)
        if kind == "bool":
            return np.asarray(self.rng.integers(0, 2, shape)).astype(bool)
        if kind in ("complex64", "complex128"):
            return np.asarray(self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape)).astype(np_type(kind))
        if kind in SIGNED + UNSIGNED:
            least, most = int_range(kind)
            lo = max(least, -9 if low is None else low)
            hi = min(most, 9 if high is None else high)
            return np.asarray(self.rng.integers(lo, hi + 1, shape)).astype(np.int64).astype(np_type(kind))
        data = self.rng.standard_normal(shape) * scale if low is None else self.rng.uniform(low, 1.0 if high is None else high, shape)
        data = np.asarray(data)
        if kind == "float8e8m0":
            data = np.abs(data) + 0.01
        with np.errstate(over="ignore", invalid="ignore"):
            out = data.astype(np.float32 if kind not in ("double",) else np.float64).astype(np_type(kind))
        if special and kind in FLOATS and data.size and self.chance(special):
            flat = out.reshape(-1).copy()
            picks = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 0.5, -2.5]
            for _ in range(max(1, flat.size // 4)):
                flat[self.integer(0, flat.size - 1)] = self.choice(picks)
            out = flat.reshape(out.shape)
            self.case.tags.add("special")
        return out

    def tensor(self, parameter, shape, **how):
        return self.values(self.type(parameter), shape, **how)

    def ints(self, values, kind="int64"):
        return np.array(values, dtype=np_type(kind))

    # The case

    def done(self, inputs, outputs=1, out_types=None, constant=None):
        """Finishes the case. `outputs`: how many, or a list of booleans (asked for or not); `out_types`: number -> type where the schema does not tell.
        `constant`: chance that an input is an initializer (None: 0.2)."""
        case = self.case
        case.inputs = list(inputs)
        asked = [True] * outputs if isinstance(outputs, int) else list(outputs)
        formal = self.schema.outputs
        for i, wanted in enumerate(asked):
            if not wanted:
                case.outputs.append(None)
                continue
            kind = (out_types or {}).get(i)
            if kind is None:
                text = formal[min(i, len(formal) - 1)].type_str
                kind = self.bound.get(text) or (self.bound_by_inputs(text) if not text.startswith(("tensor(", "seq(", "optional(")) else plain(text))
            case.outputs.append(kind)
        for i, v in enumerate(case.inputs):
            if v is None or isinstance(v, list) or i in case.input_types:
                case.declared.append(None)
                continue
            if self.chance(0.2 if constant is None else constant):
                case.constant.add(i)
            p = self.rng.random() * (0.9 if case.domain else 1.0)   # onnxruntime's own operators want a rank
            case.declared.append(list(v.shape) if p < 0.6 else [f"d{i}_{k}" for k in range(v.ndim)] if p < 0.9 else None)
            if 0 in v.shape:
                case.tags.add("empty")
        return case

    def bound_by_inputs(self, text):
        """The type of a parameter that no generator bound: by the input that has it."""
        formal = self.schema.inputs
        for i, v in enumerate(self.case.inputs):
            if v is not None and formal[min(i, len(formal) - 1)].type_str == text:
                return self.case.type_of_input(i)
        if len(self.allowed.get(text, [])) == 1:
            return self.allowed[text][0]
        raise ValueError(f"{self.schema.name}: output type {text} is not known")


def int_range(kind):
    bits = int("".join(c for c in kind if c.isdigit()))
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)

"""Writes the arrays and test-data files beside it. Run with NumPy and the PyPI package onnx 1.23.2; contents are stated in tst_values.cpp."""
import io
import os
import zipfile
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = os.path.dirname(os.path.abspath(__file__))
ramp = np.arange(6).reshape(2, 3)
arrays = {t: ramp.astype(t) for t in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]}
arrays["bool"] = ramp % 2 == 1
arrays["complex64"] = (ramp + 1j * (10 + ramp)).astype("complex64")
arrays["complex128"] = ramp - 1j * ramp
arrays["fortran"] = np.asfortranarray(ramp.astype("float32"))
arrays["big_endian"] = ramp.astype(">f4")
arrays["unicode"] = np.array(["a", "é中", "😀"])
arrays["bytes"] = np.array([b"ab", b"", b"xyz"])
arrays["scalar"] = np.float64(2.5)
arrays["empty"] = np.zeros((0, 4), "float32")
np.savez(os.path.join(here, "stored.npz"), **arrays)
np.savez_compressed(os.path.join(here, "deflated.npz"), **arrays)
np.save(os.path.join(here, "single.npy"), arrays["float32"])

whole = open(os.path.join(here, "stored.npz"), "rb").read()
open(os.path.join(here, "bad_truncated.npz"), "wb").write(whole[: len(whole) // 2])
np.save(os.path.join(here, "bad_object.npy"), np.array([1, "a"], dtype=object), allow_pickle=True)


def npy(header, data=b""):
    text = header.encode() + b" " * 16 + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def archive(name, entries):
    with zipfile.ZipFile(os.path.join(here, name), "w", zipfile.ZIP_DEFLATED) as z:
        for key, data in entries:
            z.writestr(key, data)


huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"
archive("bad_huge_shape.npz", [("a.npy", npy(huge, b"\0" * 8))])
archive("bad_negative.npz", [("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", b"\0" * 8))])
archive("bad_not_npy.npz", [("readme.txt", b"hello")])
damaged = bytearray(open(os.path.join(here, "stored.npz"), "rb").read())
damaged[damaged.index(b"\x93NUMPY") + 130] ^= 1  # inside the elements: the checksum must tell
open(os.path.join(here, "bad_checksum.npz"), "wb").write(damaged)


def save(name, proto):
    open(os.path.join(here, name), "wb").write(proto.SerializeToString())


a = numpy_helper.from_array(np.array([1.5, -2], "float32"))
b = numpy_helper.from_array(np.array([[7]], "int64"))
save("tensor.pb", a)
save("sequence.pb", onnx.helper.make_sequence("s", onnx.SequenceProto.TENSOR, [a, a]))
save("sequence_of_sequences.pb", onnx.helper.make_sequence("s", onnx.SequenceProto.SEQUENCE, [onnx.helper.make_sequence("t", onnx.SequenceProto.TENSOR, [b])]))
save("optional_tensor.pb", onnx.helper.make_optional("o", onnx.OptionalProto.TENSOR, a))
save("optional_none.pb", onnx.helper.make_optional("o", onnx.OptionalProto.UNDEFINED, None))


def initializers():
    """One initializer of every type that keeps its elements in a typed field, by onnx.helper."""
    f = onnx.TensorProto
    values = [0, 1, 2, 3]
    made = []
    for name, kind in sorted(f.DataType.items()):
        if name in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128", "UINT2", "INT2"):
            continue
        made.append(helper.make_tensor("typed_" + name, kind, [4], [float(v) for v in values] if "FLOAT" in name or name == "DOUBLE" else values))
    made.append(helper.make_tensor("typed_STRING", f.STRING, [4], [b"0", b"1", b"2", b"3"]))
    made.append(helper.make_tensor("typed_COMPLEX64", f.COMPLEX64, [4], [0, 1, 2, 3]))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "typed", [helper.make_tensor_value_info("x", f.FLOAT, ["N"])],
                              [helper.make_tensor_value_info("y", f.FLOAT, ["N"])], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


save("typed_fields.onnx", initializers())
print("ok", np.__version__, onnx.__version__)

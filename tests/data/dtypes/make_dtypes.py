"""Writes casts.json: float32 values cast to small float types, and every code of the 8- and 4-bit types decoded, by ml_dtypes and NumPy.

Casts do not saturate (ONNX Cast with saturate = 0). Floats are given as the bits of binary32."""
import json
import os
import ml_dtypes
import numpy as np

types = {"float16": (np.float16, np.uint16), "bfloat16": (ml_dtypes.bfloat16, np.uint16), "float8e4m3fn": (ml_dtypes.float8_e4m3fn, np.uint8),
         "float8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, np.uint8), "float8e5m2": (ml_dtypes.float8_e5m2, np.uint8),
         "float8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, np.uint8)}
rng = np.random.default_rng(7)
special = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 65504, 65519.99, 65520, 448, 464, 465, 240, 57344, 61440, 1e-8, 2.0**-9, 2.0**-10, 3 * 2.0**-11, 2.0**-24, 2.0**-25,
           6e-8, 1e30, -1e30, float("inf"), float("-inf"), 3.4028235e38, 1e-45]
values = np.concatenate([np.array(special), rng.normal(size=60), rng.normal(size=60) * 10.0 ** rng.uniform(-9, 6, 60)]).astype(np.float32)
out = {"tool": "numpy " + np.__version__ + ", ml_dtypes " + ml_dtypes.__version__, "float32_bits": [int(v) for v in values.view(np.uint32)], "casts": {}, "codes": {}}
with np.errstate(all="ignore"):
    for name, (kind, bits) in types.items():
        out["casts"][name] = [int(v) for v in values.astype(kind).view(bits)]
        if bits is np.uint8:
            decoded = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
            out["codes"][name] = [None if np.isnan(v) else int(v.view(np.uint32)) for v in decoded]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "casts.json"), "w") as file:
    json.dump(out, file, separators=(",", ":"))
    file.write("\n")

"""Whether two programs' values are the same, within a tolerance by element type."""
import numpy as np

from .cases import name_of

# Share of the element, and of the largest finite element: sums of some dozens of terms in another order, and one rounding to the type at the end.
RELATIVE = {"double": 2e-6, "float": 1e-4, "float16": 6e-3, "bfloat16": 4e-2, "float8e4m3fn": 0.13, "float8e4m3fnuz": 0.13, "float8e5m2": 0.26,
            "float8e5m2fnuz": 0.26, "float8e8m0": 0.0, "float4e2m1": 0.0, "float6e2m3": 0.0, "float6e3m2": 0.0, "complex64": 1e-4, "complex128": 1e-6}
OF_LARGEST = {"double": 1e-7, "float": 2e-5, "float16": 3e-3, "bfloat16": 2e-2, "complex64": 2e-5, "complex128": 1e-7}


class Difference:
    def __init__(self, kind, text):
        self.kind, self.text = kind, text


def differ(case, expected, actual):
    """None, or the first difference between all compared outputs of two programs."""
    count = len(expected) if case.compared is None else case.compared
    for i in range(count):
        found = differ_value(case, expected[i], actual[i])
        if found:
            return Difference(found.kind, f"output {i}: {found.text}")
    return None


def differ_value(case, expected, actual):
    if isinstance(expected, (list, tuple)) or isinstance(actual, (list, tuple)):
        if not isinstance(expected, (list, tuple)) or not isinstance(actual, (list, tuple)):
            return Difference("type", "one is a sequence, the other is not")
        if len(expected) != len(actual):
            return Difference("shape", f"a sequence of {len(actual)}, expected {len(expected)}")
        return next((d for d in (differ_value(case, e, a) for e, a in zip(expected, actual)) if d), None)
    if expected is None or actual is None:
        return None if expected is actual else Difference("type", "one is absent, the other is not")
    expected, actual = np.asarray(expected), np.asarray(actual)
    if name_of(expected) != name_of(actual):
        return Difference("type", f"{name_of(actual)}, expected {name_of(expected)}")
    if expected.shape != actual.shape:
        return Difference("shape", f"{list(actual.shape)}, expected {list(expected.shape)}")
    if case.form or expected.size == 0:
        return None
    return differ_elements(case, expected, actual)


def wrong_floats(case, expected, actual, more=0.0):
    """Which elements are further apart than the type's tolerance and `more`."""
    kind = name_of(expected)
    wide = np.complex128 if kind.startswith("complex") else np.float64
    e, a = expected.astype(wide), actual.astype(wide)
    same = (e == a) | (np.isnan(e) & np.isnan(a))
    if case.exact:
        return ~same
    with np.errstate(all="ignore"):
        finite = np.abs(e[np.isfinite(e)])
        largest = finite.max() if finite.size else 0.0
        room = case.floor + case.tolerance * (RELATIVE[kind] * np.abs(e) + OF_LARGEST.get(kind, 0.0) * largest)
        return ~(same | (np.abs(e - a) <= room + more))


def differ_elements(case, expected, actual):
    kind = name_of(expected)
    if kind == "string":
        wrong = np.array([str(e) != str(a) for e, a in zip(expected.ravel(), actual.ravel())])
    elif kind in RELATIVE:
        wrong = wrong_floats(case, expected, actual).ravel()
    elif kind == "bool":
        wrong = (expected != actual).ravel()
    else:
        e, a = expected.ravel().astype(object), actual.ravel().astype(object)
        wrong = np.array([abs(int(x) - int(y)) > case.slack for x, y in zip(e, a)])
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return Difference("value", f"element {at} of {list(expected.shape)} is {actual.ravel()[at]}, expected {expected.ravel()[at]} ({int(wrong.sum())} of {wrong.size} differ)")

"""Whether a peer's difference from ours is rounding. Told by running the peer again, never by the size of the difference alone:

- in double: the peer itself, given the same numbers as doubles, gives ours;
- ill-conditioned: the peer's own answer moves as far when its float inputs move by one unit in the last place (Higham, Accuracy and Stability of
  Numerical Algorithms, 1.5: a small backward error), and four times as far when they move by four. A jump (a place that is rounded, a comparison)
  does not grow like that, so that a tie that is decided wrongly stays unexplained.
"""
import copy

import numpy as np
import onnx

from .cases import FLOATS, name_of
from .compare import differ, wrong_floats

DRAWS = 8
ROOM = 2.0           # ours and the peer are each off by as much
GROWTH = (1.5, 16.0)  # how much further four units move than one: 4, but for chance


def is_rounding(run, case, ours, theirs, seed):
    """`run(case)`: the peer's Outcome of a case; `ours`, `theirs`: outputs of this case that differ in value."""
    floats = [i for i, v in enumerate(case.inputs) if isinstance(v, np.ndarray) and name_of(v) in FLOATS]
    return bool(floats) and not case.exact and (in_double(run, case, floats, ours) or ill_conditioned(run, case, floats, ours, theirs, seed))


def in_double(run, case, floats, ours):
    if all(name_of(case.inputs[i]) == "double" for i in floats):
        return False
    wide = copy.copy(case)
    wide.inputs = [v.astype(np.float64) if i in floats else v for i, v in enumerate(case.inputs)]
    wide.outputs = ["double" if kind in FLOATS else kind for kind in case.outputs]
    if onnx.defs.has(case.op, case.domain) and "stash_type" in onnx.defs.get_schema(case.op, case.since, case.domain).attributes:
        wide.attrs = case.attrs | {"stash_type": onnx.TensorProto.DOUBLE}
    outcome = run(wide)
    if not outcome.ran or any(not isinstance(o, np.ndarray) for o in (*outcome.outputs, *ours)):
        return False
    with np.errstate(all="ignore"):
        rounded = [t.astype(o.dtype) if name_of(t) == "double" else t for t, o in zip(outcome.outputs, ours)]
    return differ(case, rounded, ours) is None


def ill_conditioned(run, case, floats, ours, theirs, seed):
    if any(not isinstance(o, np.ndarray) or name_of(o) not in FLOATS for o in (*ours, *theirs)):
        return False
    rng = np.random.default_rng(seed)
    near, far = (spread(run, case, floats, theirs, units, rng) for units in (1, 4))
    if near is None or far is None:
        return False
    for mine, other, one, four in zip(ours, theirs, near, far):
        if mine.dtype != other.dtype or mine.shape != other.shape:
            return False
        grows = (four >= GROWTH[0] * one) & (four <= GROWTH[1] * one)
        if wrong_floats(case, other, mine, np.where(grows, ROOM * one, 0.0)).any():
            return False
    return True


def spread(run, case, floats, theirs, units, rng):
    """How far each element of the peer's outputs moves at most over some draws; None when a draw does not run."""
    most = [np.zeros(o.shape) for o in theirs]
    for _ in range(DRAWS):
        moved = copy.copy(case)
        moved.inputs = [shifted(v, units, rng) if i in floats else v for i, v in enumerate(case.inputs)]
        outcome = run(moved)
        if not outcome.ran or any(a.shape != b.shape for a, b in zip(outcome.outputs, theirs)):
            return None
        with np.errstate(all="ignore"):
            most = [np.fmax(m, np.abs(a.astype(np.float64) - b.astype(np.float64))) for m, a, b in zip(most, outcome.outputs, theirs)]
    return most


def shifted(values, units, rng):
    """Every element up or down by `units` of its last place."""
    with np.errstate(all="ignore"):
        step = np.where(np.isfinite(values), np.spacing(np.abs(values)), 0).astype(np.float64)
        return (values.astype(np.float64) + units * rng.choice([-1.0, 1.0], values.shape) * step).astype(values.dtype)

"""Writes scan_filter/: noisy measurements smoothed by two Scans, one forward and one backward in time.

`measured` is [channels, time]: the Scans go along axis 1. Each sample of a channel is a level plus noise.
    forward: p <- p + q;  k = p / (p + r);  level <- level + k (z - level);  p <- (1 - k) p      (Kalman, one number)
    backward: smooth_t = level_t + c_t (smooth_{t+1} - level_t),  c_t = p_t / (p_t + q)           (Rauch, Tung, Striebel)
q is the variance of a step of the level, r that of the noise. The second Scan reads its inputs from the last time to the
first and writes its output likewise, so that `smooth` is in the order of time.
Sources: R. E. Kalman 1960; H. E. Rauch, F. Tung, C. T. Striebel 1965.
Run: python make_scan_filter.py      (needs numpy, onnx, onnxruntime)
"""
from pathlib import Path

import numpy as np

from model_builder import FLOAT, ModelBuilder, write_expected

HERE = Path(__file__).resolve().parent
STEP_VARIANCE, NOISE_VARIANCE = 0.04, 0.25
TIMES = 24
METADATA = {"data": "none", "script": "sample_models/make_scan_filter.py"}


def filter_step() -> ModelBuilder:
    """Forward body: (level, p, z) to (next level, next p, level and p for this time)."""
    b = ModelBuilder("filter_step", "One measurement taken in.")
    b.input("level", FLOAT, ["c"], "Estimate so far.")
    b.input("p", FLOAT, ["c"], "Its variance.")
    b.input("z", FLOAT, ["c"], "The measurement of this time.")
    b.node("Add", "/filter/Add_q", ["p", "q"], "predicted")
    b.node("Add", "/filter/Add_r", ["predicted", "r"], "total")
    b.node("Div", "/filter/Div", ["predicted", "total"], "gain")
    b.node("Sub", "/filter/Sub", ["z", "level"], "surprise")
    b.node("Mul", "/filter/Mul_gain", ["gain", "surprise"], "correction")
    b.node("Add", "/filter/Add", ["level", "correction"], "next_level")
    b.node("Mul", "/filter/Mul_p", ["gain", "predicted"], "gained")
    b.node("Sub", "/filter/Sub_p", ["predicted", "gained"], "next_p")
    b.node("Identity", "/filter/level_now", ["next_level"], "level_now")
    b.node("Identity", "/filter/p_now", ["next_p"], "p_now")
    for name, doc in (("next_level", "For the next time."), ("next_p", "For the next time."),
                      ("level_now", "Estimate of this time."), ("p_now", "Its variance.")):
        b.output(name, FLOAT, ["c"], doc)
    return b


def smoother_step() -> ModelBuilder:
    """Backward body: (smooth of the time after, level, p) to (smooth, smooth of this time)."""
    b = ModelBuilder("smoother_step", "One time corrected by what came after it.")
    b.input("after", FLOAT, ["c"], "Smoothed level of the time after.")
    b.input("level_here", FLOAT, ["c"], "Filtered level of this time.")
    b.input("p_here", FLOAT, ["c"], "Its variance.")
    b.node("Add", "/smoother/Add_q", ["p_here", "q"], "p_ahead")
    b.node("Div", "/smoother/Div", ["p_here", "p_ahead"], "share")
    b.node("Sub", "/smoother/Sub", ["after", "level_here"], "gap")
    b.node("Mul", "/smoother/Mul", ["share", "gap"], "pull")
    b.node("Add", "/smoother/Add", ["level_here", "pull"], "smooth_here")
    b.node("Identity", "/smoother/smooth_now", ["smooth_here"], "smooth_now")
    b.output("smooth_here", FLOAT, ["c"], "For the time before.")
    b.output("smooth_now", FLOAT, ["c"], "Smoothed level of this time.")
    return b


def build() -> ModelBuilder:
    b = ModelBuilder("scan_filter", "A Kalman filter forward in time and its smoother backward, as two Scans.")
    b.input("measured", FLOAT, ["c", "t"], "Measurements, one channel a row.")
    b.input("start", FLOAT, ["c"], "First guess of the level.")
    b.input("start_p", FLOAT, ["c"], "Variance of that guess.")
    b.weight("q", np.float32(STEP_VARIANCE))
    b.weight("r", np.float32(NOISE_VARIANCE))
    b.node("Scan", "/Scan_forward", ["start", "start_p", "measured"], ["last_level", "last_p", "levels", "variances"],
           body=filter_step().graph(), num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1, 1])
    b.node("Scan", "/Scan_backward", ["last_level", "levels", "variances"], ["first_smooth", "smooth"],
           body=smoother_step().graph(), num_scan_inputs=2, scan_input_axes=[1, 1], scan_input_directions=[1, 1],
           scan_output_axes=[1], scan_output_directions=[1])
    b.output("smooth", FLOAT, ["c", "t"], "The smoothed levels.")
    b.output("levels", FLOAT, ["c", "t"], "The filtered levels.")
    b.output("last_p", FLOAT, ["c"], "Variance at the end.")
    return b


def in_double(measured: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The same by numpy in float64, written from the equations."""
    levels, variances, level, p = [], [], start.astype(np.float64), np.ones(len(start))
    for z in measured.astype(np.float64).T:
        p = p + STEP_VARIANCE
        gain = p / (p + NOISE_VARIANCE)
        level, p = level + gain * (z - level), (1 - gain) * p
        levels.append(level)
        variances.append(p)
    smooth = [levels[-1]]
    for level, p in zip(levels[::-1], variances[::-1]):
        smooth.append(level + p / (p + STEP_VARIANCE) * (smooth[-1] - level))
    return np.stack(smooth[:0:-1], axis=1)


def main() -> None:
    folder = HERE / "scan_filter"
    build().save(folder, METADATA)
    rng = np.random.default_rng(7)
    time = np.arange(TIMES)
    clean = np.stack([np.where(time < 12, 0.0, 1.0), np.sin(time / 6), time / 12 - 1])
    measured = (clean + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(clean.shape)).astype(np.float32)
    start = np.zeros(3, np.float32)
    outputs = write_expected(folder, {"measured": measured, "start": start, "start_p": np.ones(3, np.float32)})
    wrong = np.abs(outputs["smooth"] - in_double(measured, start)).max()
    assert wrong < 1e-5, f"the smoothed levels are off by {wrong:.2g}"
    assert np.abs(outputs["smooth"] - clean).mean() < np.abs(measured - clean).mean() * 0.75, "smoothing does not help"
    print(f"scan_filter: {TIMES} times, within {wrong:.1e} of float64")


if __name__ == "__main__":
    main()

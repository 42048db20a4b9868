"""Writes optimizers.npz: 12 steps of each optimizer, clipping and schedule by torch.optim in double on a least-squares problem.

loss = mean((x w - y)^2), x [6, 3], w [3], whole data every step; `w` after each step by case, rates by `rate:CASE`.
Run: python make_optimizers.py      (needs numpy, torch)
"""
from pathlib import Path

import numpy as np
import torch
from torch.optim import lr_scheduler as lrs

STEPS, RATE = 12, 0.05
PLAIN = {
    "sgd": lambda w: torch.optim.SGD(w, lr=RATE),
    "sgd_decay": lambda w: torch.optim.SGD(w, lr=RATE, weight_decay=0.1),
    "momentum": lambda w: torch.optim.SGD(w, lr=RATE, momentum=0.9, weight_decay=0.1),
    "nesterov": lambda w: torch.optim.SGD(w, lr=RATE, momentum=0.9, nesterov=True),
    "adam": lambda w: torch.optim.Adam(w, lr=RATE, weight_decay=0.1),
    "adamw": lambda w: torch.optim.AdamW(w, lr=RATE, weight_decay=0.1),
    "adagrad": lambda w: torch.optim.Adagrad(w, lr=RATE, lr_decay=0.1, weight_decay=0.1),
}
SCHEDULES = {
    "step": lambda o: lrs.StepLR(o, 3, 0.5),
    "cosine": lambda o: lrs.CosineAnnealingLR(o, 8, 0.1 * RATE),
    "linear": lambda o: lrs.LinearLR(o, 1.0, 0.2, 8),
    "warmup": lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o, 0.25, 1.0, 3), lrs.CosineAnnealingLR(o, 8)], [4]),
}


def run(make, x, y, start, clip=None, schedule=None):
    w = torch.tensor(start, requires_grad=True)
    optimizer = make([w])
    follow = schedule(optimizer) if schedule else None
    rows, rates = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        ((x @ w - y) ** 2).mean().backward()
        if clip:
            clip([w])
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if follow and len(rates) < (9 if schedule is SCHEDULES["cosine"] else STEPS):
            follow.step()
        rows.append(w.detach().numpy().copy())
    return np.array(rows), np.array(rates)


def main() -> None:
    rng = np.random.default_rng(11)
    x, y, start = rng.standard_normal((6, 3)), 3 * rng.standard_normal(6), rng.standard_normal(3)
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)
    out = {"x": x, "y": y, "w": start}
    for name, make in PLAIN.items():
        out[f"after:{name}"], _ = run(make, tx, ty, start)
    clips = {"clip_norm": lambda w: torch.nn.utils.clip_grad_norm_(w, 0.5), "clip_value": lambda w: torch.nn.utils.clip_grad_value_(w, 0.3)}
    for name, clip in clips.items():
        out[f"after:{name}"], _ = run(PLAIN["sgd"], tx, ty, start, clip=clip)
    for name, schedule in SCHEDULES.items():
        out[f"after:{name}"], out[f"rate:{name}"] = run(PLAIN["sgd"], tx, ty, start, schedule=schedule)
    np.savez(Path(__file__).with_name("optimizers.npz"), **out)


if __name__ == "__main__":
    main()

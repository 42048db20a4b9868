"""Trains an agent that balances a pole on a cart by REINFORCE, and writes cart_pole/: agent and world in one Loop.

World: the cart and pole of A. G. Barto, R. S. Sutton, C. W. Anderson, "Neuronlike adaptive elements that can solve
difficult learning control problems", IEEE SMC 13 (1983), with the constants and the Euler step of 0.02 s that Gym's
CartPole-v1 uses: a push of 10 N left or right, an episode ends when the pole leans more than 12 degrees, when the cart
is 2.4 m away from the middle, or after 500 steps; each step is worth 1.
Agent: one hidden layer of 16 tanh units, one number out, the logit of pushing right.
REINFORCE: R. J. Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement learning",
Machine Learning 8 (1992). Baseline: the mean return of the same time step in the other episodes of the batch.
Run: python train_cart_pole.py      (about a minute; needs torch, numpy, onnx, onnxruntime)
"""
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto

from model_builder import FLOAT, INT64, ModelBuilder, write_expected

HERE = Path(__file__).resolve().parent
SEED, HIDDEN, EPISODES, STEPS, UPDATES, RATE, DISCOUNT = 7, 16, 64, 500, 150, 0.02, 0.99
GRAVITY, CART, POLE, HALF_LENGTH, PUSH, TIME_STEP = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
FARTHEST, STEEPEST = 2.4, 12 * 2 * np.pi / 360
SHOWN_STEPS, SHOWN_START = 60, [0.5, 0.0, 0.12, 0.0]    # of the episode in inputs.npz: the pole leans and is caught
METADATA = {"data": "none: the world is in the graph", "script": "sample_models/train_cart_pole.py"}


def world_step(state: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step of many carts at once: states [episodes, 4] and pushes to the states after it and which of them have fallen."""
    x, speed, angle, turning = state.T
    force = np.where(right, PUSH, -PUSH)
    pushed = (force + POLE * HALF_LENGTH * turning ** 2 * np.sin(angle)) / (CART + POLE)
    turned = (GRAVITY * np.sin(angle) - np.cos(angle) * pushed) / (
        HALF_LENGTH * (4 / 3 - POLE * np.cos(angle) ** 2 / (CART + POLE)))
    moved = pushed - POLE * HALF_LENGTH * turned * np.cos(angle) / (CART + POLE)
    after = np.stack([x + TIME_STEP * speed, speed + TIME_STEP * moved, angle + TIME_STEP * turning,
                      turning + TIME_STEP * turned], axis=1)
    return after, (np.abs(after[:, 0]) > FARTHEST) | (np.abs(after[:, 2]) > STEEPEST)


def chance_of_right(weights: dict, state: torch.Tensor) -> torch.Tensor:
    hidden = torch.tanh(state @ weights["agent.hidden"] + weights["agent.hidden_bias"])
    return torch.sigmoid(hidden @ weights["agent.out"] + weights["agent.out_bias"])


def play(weights: dict, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Episodes side by side: states [steps, episodes, 4], pushes to the right and whether the episode still ran."""
    state, running = rng.uniform(-0.05, 0.05, (EPISODES, 4)), np.ones(EPISODES, bool)
    states, rights, runs = [], [], []
    for _ in range(STEPS):
        with torch.no_grad():
            chance = chance_of_right(weights, torch.from_numpy(state).float()).numpy()
        right = rng.random(EPISODES) < chance
        states.append(state)
        rights.append(right)
        runs.append(running)
        state, fallen = world_step(state, right)
        running = running & ~fallen
        if not running.any():
            break
    return np.stack(states), np.stack(rights), np.stack(runs)


def train() -> dict:
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    weights = {"agent.hidden": torch.randn(4, HIDDEN) * 0.5, "agent.hidden_bias": torch.zeros(HIDDEN),
               "agent.out": torch.randn(HIDDEN) * 0.1, "agent.out_bias": torch.zeros(())}
    for weight in weights.values():
        weight.requires_grad_()
    optimizer = torch.optim.Adam(weights.values(), lr=RATE)
    for update in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - update / UPDATES)
        states, rights, runs = play(weights, rng)
        returns = np.zeros(runs.shape)
        for t in reversed(range(len(runs))):
            returns[t] = runs[t] * (1 + DISCOUNT * (returns[t + 1] if t + 1 < len(runs) else 0))
        baseline = returns.sum(1, keepdims=True) / np.maximum(1, runs.sum(1, keepdims=True))
        advantage = (returns - baseline)[runs]
        advantage = torch.from_numpy(advantage / (advantage.std() + 1e-6)).float()
        chance = chance_of_right(weights, torch.from_numpy(states[runs]).float())
        chosen = torch.where(torch.from_numpy(rights[runs]), chance, 1 - chance)
        loss = -(torch.log(chosen.clamp_min(1e-6)) * advantage).sum() / EPISODES
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        if update % 10 == 0 or update + 1 == UPDATES:
            print(f"update {update}: average length {runs.sum(0).mean():.1f}", flush=True)
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def agent_and_world() -> ModelBuilder:
    """The Loop's body: the agent looks at the state and pushes, the world moves on."""
    b = ModelBuilder("step", "One step: state to action, state and action to next state, reward and end.")
    b.input("t", INT64, [], "Which step this is.")
    b.input("was_running", TensorProto.BOOL, [], "True.")
    b.input("state", FLOAT, [4], "Place and speed of the cart, angle and angular speed of the pole.")
    b.node("MatMul", "/agent/MatMul", ["state", "agent.hidden"], "seen")
    b.node("Add", "/agent/Add", ["seen", "agent.hidden_bias"], "before_tanh")
    b.node("Tanh", "/agent/Tanh", ["before_tanh"], "hidden")
    b.node("MatMul", "/agent/MatMul_out", ["hidden", "agent.out"], "weighed")
    b.node("Add", "/agent/Add_out", ["weighed", "agent.out_bias"], "logit")
    b.node("Sigmoid", "/agent/Sigmoid", ["logit"], "chance_right")
    b.node("Gather", "/agent/Gather_luck", ["luck", "t"], "luck_now", axis=0)
    b.node("Less", "/agent/Less", ["luck_now", "chance_right"], "right", "Drawn: no gradient goes through it.")
    b.node("Sub", "/agent/Sub", ["one", "chance_right"], "chance_left")
    b.node("Where", "/agent/Where", ["right", "chance_right", "chance_left"], "chance", "Of what was done.")

    def op(kind: str, name: str, inputs: list, doc: str = "", **attributes) -> str:
        return b.node(kind, f"/cart_pole/{name}", inputs, name, doc, **attributes)
    op("Where", "force", ["right", "push_right", "push_left"])
    b.node("Split", "/cart_pole/Split", ["state"], ["x", "speed", "angle", "turning"], axis=0, num_outputs=4)
    op("Sin", "sine", ["angle"])
    op("Cos", "cosine", ["angle"])
    op("Mul", "turning2", ["turning", "turning"])
    op("Mul", "swing", ["turning2", "sine"])
    op("Mul", "pull", ["swing", "pole_moment"], "The pole's pull on the cart.")
    op("Add", "on_cart", ["force", "pull"])
    op("Div", "pushed", ["on_cart", "total_mass"])
    op("Mul", "weight", ["sine", "gravity"])
    op("Mul", "leaned", ["cosine", "pushed"])
    op("Sub", "torque", ["weight", "leaned"])
    op("Mul", "cosine2", ["cosine", "cosine"])
    op("Mul", "shared", ["cosine2", "pole_share"])
    op("Sub", "lightened", ["four_thirds", "shared"])
    op("Mul", "inertia", ["lightened", "half_length"])
    op("Div", "turned", ["torque", "inertia"], "Angular acceleration.")
    op("Mul", "turned_cosine", ["turned", "cosine"])
    op("Mul", "recoil", ["turned_cosine", "recoil_share"])
    op("Sub", "moved", ["pushed", "recoil"], "Acceleration of the cart.")
    for value, rate, after in (("x", "speed", "next_x"), ("speed", "moved", "next_speed"),
                               ("angle", "turning", "next_angle"), ("turning", "turned", "next_turning")):
        op("Mul", f"{after}_change", [rate, "time_step"])
        op("Add", after, [value, f"{after}_change"])
    op("Concat", "next_state", ["next_x", "next_speed", "next_angle", "next_turning"], axis=0)
    op("Abs", "distance", ["next_x"])
    op("Greater", "too_far", ["distance", "farthest"])
    op("Abs", "lean", ["next_angle"])
    op("Greater", "too_steep", ["lean", "steepest"])
    op("Or", "fallen", ["too_far", "too_steep"])
    op("Not", "stands", ["fallen"])
    op("Squeeze", "running", ["stands", "axis0"], "False ends the episode.")
    op("Identity", "reward", ["one"], "1 for every step.")
    op("Identity", "state_now", ["state"])
    op("Cast", "action", ["right"], to=INT64)
    b.output("running", TensorProto.BOOL, [], "Whether the pole stands and the cart is near.")
    b.output("next_state", FLOAT, [4], "The state after the push.")
    b.output("state_now", FLOAT, [4], "The state before it, kept.")
    b.output("action", INT64, [], "1 right, 0 left.")
    b.output("chance", FLOAT, [], "How likely the agent held it.")
    b.output("reward", FLOAT, [], "1.")
    return b


def build(weights: dict) -> ModelBuilder:
    b = ModelBuilder("cart_pole", "An agent balances a pole: an episode as a Loop, and the loss of REINFORCE.")
    b.input("start", FLOAT, [4], "Place and speed of the cart, angle and angular speed of the pole.")
    b.input("luck", FLOAT, ["steps"], "Uniform in [0, 1), one for each step the episode may last; below the chance: right.")
    b.output("states", FLOAT, ["length", 4], "What the agent saw.")
    b.output("actions", INT64, ["length"], "What it did: 1 right, 0 left.")
    b.output("length", INT64, [], "Steps until the end.")
    b.output("loss", FLOAT, [], "Its gradient with respect to the weights is REINFORCE's for this episode.")
    for name, array in weights.items():
        b.weight(name, array)
    for name, number in (("one", 1), ("push_right", PUSH), ("push_left", -PUSH), ("pole_moment", POLE * HALF_LENGTH),
                         ("total_mass", CART + POLE), ("gravity", GRAVITY), ("pole_share", POLE / (CART + POLE)),
                         ("four_thirds", 4 / 3), ("half_length", HALF_LENGTH), ("time_step", TIME_STEP),
                         ("recoil_share", POLE * HALF_LENGTH / (CART + POLE)), ("farthest", FARTHEST),
                         ("steepest", STEEPEST)):
        b.weight(name, np.float32(number))
    axis0 = b.weight("axis0", np.array([0], np.int64))
    b.node("Shape", "/episode/Shape", ["luck"], "steps_shape")
    b.node("Squeeze", "/episode/Squeeze", ["steps_shape", axis0], "steps")
    b.node("Loop", "/episode/Loop", ["steps", b.weight("true", np.bool_(True)), "start"],
           ["last", "states", "actions", "chances", "rewards"], body=agent_and_world().graph())
    b.node("Shape", "/episode/Shape_length", ["rewards"], "length_shape")
    b.node("Squeeze", "/episode/Squeeze_length", ["length_shape", axis0], "length")
    b.node("CumSum", "/loss/CumSum", ["rewards", b.weight("zero", np.int64(0))], "returns",
           "What each step still brings.", reverse=1)
    b.node("ReduceMean", "/loss/ReduceMean_baseline", ["returns"], "baseline", keepdims=0)
    b.node("Sub", "/loss/Sub", ["returns", "baseline"], "better")
    b.node("Div", "/loss/Div", ["better", "baseline"], "advantage")
    b.node("Log", "/loss/Log", ["chances"], "log_chances")
    b.node("Mul", "/loss/Mul", ["log_chances", "advantage"], "scores")
    b.node("ReduceMean", "/loss/ReduceMean", ["scores"], "score", keepdims=0)
    b.node("Neg", "/loss/Neg", ["score"], "loss")
    return b


def lengths(path: Path, episodes: int) -> np.ndarray:
    """How long the exported model balances, by onnxruntime, from starts as in training."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(SEED + 1)
    return np.array([int(session.run(["length"], {
        "start": rng.uniform(-0.05, 0.05, 4).astype(np.float32), "luck": rng.random(STEPS, np.float32)})[0])
        for _ in range(episodes)])


def shown_episode(weights: dict) -> dict:
    """An episode in which no draw is close: rounding in another order must not change an action."""
    for seed in range(100):
        luck = np.random.default_rng(seed).random(SHOWN_STEPS, np.float32)
        state, nearest = np.array([SHOWN_START]), 1.0
        for draw in luck:
            chance = chance_of_right({k: torch.from_numpy(np.asarray(w)).double() for k, w in weights.items()},
                                     torch.from_numpy(state)).numpy()
            nearest = min(nearest, float(np.abs(chance - draw).min()))
            state, fallen = world_step(state, draw < chance)
            if fallen.any():
                nearest = 0.0
        if nearest > 2e-3:
            return {"start": np.array(SHOWN_START, np.float32), "luck": luck}
    raise AssertionError("no episode without a close draw")


def main() -> None:
    torch.set_num_threads(1)
    folder = HERE / "cart_pole"
    weights = train()
    build(weights).save(folder, METADATA)
    reached = lengths(folder / "model.onnx", 200)
    print(f"cart_pole: {reached.mean():.1f} of 500 steps on average, {int((reached == STEPS).sum())} of 200 episodes to the end")
    outputs = write_expected(folder, shown_episode(weights))
    state = np.array([SHOWN_START])
    for seen, action in zip(outputs["states"], outputs["actions"], strict=True):
        assert np.abs(seen - state[0]).max() < 1e-4, "the world in the graph differs from the one in this script"
        state, _ = world_step(state, np.array([bool(action)]))
    print(f"the episode in inputs.npz: {int(outputs['length'])} steps, loss {float(outputs['loss']):.5f}")


if __name__ == "__main__":
    main()

"""Write hard.json: what flat.json leaves out, solved by the same independent programs.

    python tests/reference/make_hard.py [NAME ...]      (some minutes; with names only those are solved again)

Masked attention, perceptrons, coefficients that depend on time, Sinkhorn, several heads, kinks, tails, edges and noise
on the plane. Each problem is solved twice, with different numbers of nodes (or waves and boxes); `accuracy` is twice
the largest difference of the moments, never below 1e-14. Moments of masked problems come for each slice, too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from reference.flat_cases import moved_case, noisy_case
from reference.make_flat import CLOSE_BUMPS, DISC, INTERVAL, SQUARE, TWO_BUMPS, TWO_SPOTS, A, V

TARGET = Path(__file__).with_name("hard.json")
Case = tuple[str, dict[str, Any], list[float], Any]


def written(expression: str) -> dict[str, Any]:
    return {"kind": "density", "expression": expression}


def layers(times: list[float], values: list[Any], interpolation: str = "constant") -> dict[str, Any]:
    return {"times": times, "values": values, "interpolation": interpolation}


def problem(attention: dict[str, Any], initial: dict[str, Any], kappa: Any = None, **more: Any) -> dict[str, Any]:
    noise = {} if kappa is None else {"noise": {"kappa": kappa}}
    return {"attention": attention, "initial": initial, **noise, **more}


def softmax(query: Any, value: Any) -> dict[str, Any]:
    return {"kind": "softmax", "A": query, "V": value}


TRIANGLE = written("maximum(0, 1 - abs(x - 0.2))")
LAPLACE = written("exp(-abs(x))*maximum(0, 1 - x/2)")
STUDENT = written("(1 + x**2/3)**-6*(1 + 0.5*tanh(x))")
QUARTIC = written("exp(-x**4 + x)")
DRIFTING = written("exp(-(x - s)**2/(0.4 + 0.6*s))*(1 + s)")
TENT = written("maximum(0, 1 - abs(x))*maximum(0, 1 - abs(y)/2)")
ROUNDED = written("exp(-x**4 - y**4 + x*y)")
DOME = written("maximum(0, 1 - x**2 - y**2)")
TURN, GROW = [[0.2, 1.0], [-1.0, 0.2]], [[0.5, 0.3], [-0.3, 0.4]]
TANH = {"kind": "mlp", "W": [[0.8, -0.5]], "U": [[1.2], [-0.7]], "b": [0.3, 0.1], "activation": "tanh"}
GELU = {"kind": "mlp", "W": [[-0.9, 0.6]], "U": [[1.0], [-1.5]], "b": [0.2, 0.0], "activation": "gelu"}
TANH_PLANE = {
    "kind": "mlp",
    "W": [[0.5, -0.3, 0.2], [0.1, 0.4, -0.6]],
    "U": [[0.5, 0.1], [-0.2, 0.4], [0.1, -0.5]],
    "b": [0.1, -0.2, 0.3],
    "activation": "tanh",
}
HEADS = {
    "kind": "multi-head",
    "heads": [{**softmax(A, V), "weight": 0.5}, {"kind": "l2", "Q": A, "K": [[1, 0.2], [0, 0.7]], "V": -1}],
}


def masked(inner: dict[str, Any], positions: list[float]) -> dict[str, Any]:
    return {"kind": "masked", "attention": inner, "positions": positions}


LINE: list[Case] = [
    ("masked-bumps", problem(masked(softmax(1, -1), [0.1, 0.4, 0.8]), TWO_BUMPS), [1.0, 2.0], (56, 72)),
    ("masked-growing-bumps", problem(masked(softmax(1, 0.6), [0.2, 0.7]), TWO_BUMPS), [0.3], (64, 80)),
    (
        "masked-l2-interval",
        problem(masked({"kind": "l2", "Q": 1, "K": 1.5, "V": -1}, [0.0, 0.3, 0.6, 1.0]), INTERVAL),
        [1.0, 2.0],
        (40, 50),
    ),
    ("masked-drifting", problem(masked(softmax(0.8, -1), [0.0, 0.5, 1.0]), DRIFTING), [1.0], (72, 90)),
    (
        "masked-sigmoid",
        problem(masked({"kind": "sigmoid", "A": 1, "V": -1}, [0.25, 0.75]), CLOSE_BUMPS),
        [1.0],
        (160, 200),
    ),
    ("tanh-bumps", problem(softmax(1, -1), TWO_BUMPS, drift=TANH), [1.0, 2.0], (128, 160)),
    ("gelu-interval", problem({"kind": "sigmoid", "A": 1, "V": -0.7}, INTERVAL, drift=GELU), [1.0, 2.0], (48, 60)),
    (
        "layers-bumps",
        problem(softmax(layers([0, 0.4, 1.1], [1, -0.5, 0.8]), layers([0, 0.7], [-1, 0.5])), TWO_BUMPS),
        [0.5, 1.0, 1.5],
        (80, 100),
    ),
    (
        "ramp-bumps",
        problem(
            softmax(layers([0, 1, 2], [0.2, 1.2, 0.5], "linear"), layers([0, 1.5], [-1.5, 0.2], "linear")), TWO_BUMPS
        ),
        [1.0, 2.0],
        (80, 100),
    ),
    ("relu-laplace", problem({"kind": "relu", "A": 1, "V": -1}, LAPLACE), [1.0, 2.0], (60, 75)),
    ("softmax-triangle", problem(softmax(2, -1), TRIANGLE), [1.0, 2.0], (40, 50)),
    ("growing-triangle", problem(softmax(1, 0.8), TRIANGLE), [1.0], (40, 50)),
    ("sigmoid-student", problem({"kind": "sigmoid", "A": 1, "V": -1}, STUDENT), [1.0], (150, 200)),
    ("l2-student", problem({"kind": "l2", "Q": 1, "K": 1, "V": -1}, STUDENT), [1.0], (220, 270)),
    ("softmax-quartic", problem(softmax(1.5, -1), QUARTIC), [1.0, 2.0], (40, 50)),
    ("growing-quartic", problem(softmax(1, 0.5), QUARTIC), [0.5, 1.0], (40, 50)),
    (
        "three-heads-interval",
        problem(
            {
                "kind": "multi-head",
                "heads": [
                    softmax(1, -1),
                    {"kind": "linear", "A": 1, "V": 0.3},
                    {"kind": "unnormalized", "V": -0.2, "A": 1},
                ],
            },
            INTERVAL,
        ),
        [1.0],
        (40, 50),
    ),
    ("sinkhorn-bumps", problem({"kind": "sinkhorn", "A": 1, "V": -1}, TWO_BUMPS), [1.0], (56, 72)),
    ("sinkhorn-interval", problem({"kind": "sinkhorn", "A": -3, "V": 0.5}, INTERVAL), [1.0], (36, 48)),
]
PLANE: list[Case] = [
    ("masked-spots", problem(masked(softmax(A, V), [0.2, 0.6]), TWO_SPOTS), [1.0], (22, 26)),
    ("masked-square", problem(masked(softmax(A, GROW), [0.1, 0.5, 0.9]), SQUARE), [1.0], (14, 18)),
    ("tanh-spots", problem(softmax(A, V), TWO_SPOTS, drift=TANH_PLANE), [1.0], (28, 32)),
    (
        "layers-spots",
        problem(
            softmax(layers([0, 0.5], [A, TURN]), layers([0, 1.0], [V, [[-0.3, 0], [0.5, -1]]], "linear")), TWO_SPOTS
        ),
        [0.5, 1.0],
        (24, 28),
    ),
    ("sinkhorn-spots", problem({"kind": "sinkhorn", "A": A, "V": V}, TWO_SPOTS), [1.0], (18, 22)),
    ("sinkhorn-square", problem({"kind": "sinkhorn", "A": [[2, 0.5], [-1, 1]], "V": GROW}, SQUARE), [1.0], (14, 18)),
    ("sinkhorn-disc", problem({"kind": "sinkhorn", "A": TURN, "V": V}, DISC), [1.0], (12, 16)),
    ("heads-square", problem(HEADS, SQUARE), [1.0], (14, 18)),
    ("heads-spots", problem(HEADS, TWO_SPOTS), [1.0], (24, 28)),
    ("softmax-tent", problem(softmax(A, V), TENT), [1.0], (10, 13)),
    ("softmax-rounded", problem(softmax(A, V), ROUNDED), [1.0], (24, 28)),
    ("softmax-dome", problem(softmax([[2, 0.5], [-0.5, 1]], V), DOME), [1.0], (14, 18)),
    ("l2-disc", problem({"kind": "l2", "Q": A, "K": [[1, 0.2], [-0.4, 1.3]], "V": V}, DISC), [1.0], (14, 18)),
    ("l2-line-square", problem({"kind": "l2", "Q": [[1, 0.5]], "K": [[0.6, -0.4]], "V": V}, SQUARE), [1.0], (14, 18)),
    ("sigmoid-spots", problem({"kind": "sigmoid", "A": A, "V": V}, TWO_SPOTS), [1.0], (36, 44)),
]
NOISY: list[Case] = [  # and the two (half width, waves) of each
    ("noisy-interval", problem(softmax(0.8, -1), INTERVAL, 8.0), [0.5, 1.5], ((6.5, 448), (7.0, 640))),
    ("noisy-masked", problem(masked(softmax(1, -1), [0.2, 0.7]), TWO_BUMPS, 8.0), [0.5, 1.5], ((7.0, 448), (7.5, 560))),
    ("noisy-tanh", problem(softmax(0.7, -1), TWO_BUMPS, 8.0, drift=TANH), [0.5, 1.5], ((8.5, 600), (9.5, 720))),
    (
        "noisy-layers",
        problem(
            softmax(layers([0, 0.6], [1, 0.4]), layers([0, 1.5], [-1, -0.4], "linear")),
            CLOSE_BUMPS,
            layers([0, 0.9], [8.0, 4.0]),
        ),
        [0.5, 1.5],
        ((8.0, 400), (9.0, 500)),
    ),
    ("noisy-growing", problem(softmax(0.5, 0.4), TWO_BUMPS, 8.0), [0.5, 1.0], ((10.0, 512), (10.5, 600))),
    (
        "noisy-sigmoid-interval",
        problem({"kind": "sigmoid", "A": 2, "V": -1}, INTERVAL, 4.0),
        [0.5, 1.5],
        ((10.0, 600), (11.0, 720)),
    ),
    (
        "noisy-heads",
        problem(
            {"kind": "multi-head", "heads": [softmax(1, -1), {"kind": "sigmoid", "A": -1, "V": 0.5, "weight": 0.5}]},
            CLOSE_BUMPS,
            8.0,
        ),
        [0.5, 1.5],
        ((8.0, 448), (9.0, 600)),
    ),
]
NOISY_PLANE: list[Case] = [
    ("noisy-spots", problem(softmax(A, V), TWO_SPOTS, 8.0), [0.5, 1.0], ((6.0, 84), (6.5, 96))),
    (
        "noisy-l2-spots",
        problem({"kind": "l2", "Q": A, "K": [[0.6, 0.2], [0, 0.5]], "V": V}, TWO_SPOTS, 8.0),
        [0.5, 1.0],
        ((6.0, 84), (6.5, 96)),
    ),
    (
        "noisy-linear-square",
        problem({"kind": "linear", "A": A, "V": V}, SQUARE, 4.0),
        [0.5, 1.0],
        ((6.5, 160), (7.0, 192)),
    ),
    ("noisy-disc", problem(softmax(np.multiply(0.7, A).tolist(), V), DISC, 4.0), [0.5], ((6.0, 96), (6.5, 120))),
    ("noisy-tanh-spots", problem(softmax(A, V), TWO_SPOTS, 8.0, drift=TANH_PLANE), [0.5], ((5.5, 88), (6.0, 108))),
]


def write(rows: list[dict[str, Any]]) -> None:
    about = (
        "moments: mean, covariance row by row, third central moments, int cos(x_1 + 2 x_2) dmu, at each time; slices: "
        "the same of each position at the last time; in_slices: its density there; density at points at the last time, "
        "and earlier; accuracy: of the moments; written by make_hard.py"
    )
    lines = ",\n".join(json.dumps(row) for row in rows)
    TARGET.write_text(f'{{"about": {json.dumps(about)},\n"problems": [\n{lines}\n]}}\n')


def main() -> None:
    """Solve those named (all without names) anew, leave the others as they are."""
    names = sys.argv[1:]
    stored = {row["name"]: row for row in json.loads(TARGET.read_text())["problems"]} if TARGET.exists() else {}
    cases = [("line", moved_case, case) for case in LINE] + [("plane", moved_case, case) for case in PLANE]
    cases += [("line", noisy_case, case) for case in NOISY] + [("plane", noisy_case, case) for case in NOISY_PLANE]
    for geometry, solve, (name, task, times, numbers) in cases:
        if name in stored and names and name not in names:
            continue
        start = time.perf_counter()
        stored[name] = solve(name, {"geometry": {"kind": geometry}, **task}, times, numbers)
        print(f"{name:24s} accuracy {stored[name]['accuracy']:.1e}  {time.perf_counter() - start:.1f} s", flush=True)
        write([stored[case[0]] for _, _, case in cases if case[0] in stored])


if __name__ == "__main__":
    main()

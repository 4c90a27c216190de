"""Write flat.json: moments and densities of hard problems on the line and the plane by an independent program.

    python tests/reference/make_flat.py            (some minutes on one core)

Each problem is solved twice, with different numbers of nodes (or waves); `accuracy` is twice the largest difference of
the moments, never below 1e-14. Densities are given where nodes of the first solution came to lie.
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

TARGET = Path(__file__).with_name("flat.json")

Case = tuple[str, dict[str, Any], dict[str, Any], list[float]]


def gaussian(mean: Any, covariance: Any, weight: float | None = None) -> dict[str, Any]:
    share = {} if weight is None else {"weight": weight}
    return {"kind": "gaussian", "mean": mean, "covariance": covariance, **share}


TWO_BUMPS = {"kind": "mixture", "components": [gaussian([-1.0], [[0.09]], 0.4), gaussian([0.8], [[0.16]], 0.6)]}
CLOSE_BUMPS = {"kind": "mixture", "components": [gaussian([-0.5], [[0.25]], 1), gaussian([0.9], [[0.36]], 2)]}
INTERVAL = {"kind": "uniform", "box": [[-0.7, 1.3]]}
TWO_SPOTS = {
    "kind": "mixture",
    "components": [
        gaussian([-0.8, 0.2], [[0.1, 0.03], [0.03, 0.08]], 0.5),
        gaussian([0.7, -0.1], [[0.12, 0], [0, 0.05]], 0.5),
    ],
}
SQUARE = {"kind": "uniform", "box": [[-1, 0.8], [-0.6, 1]]}
DISC = {"kind": "uniform", "ball": {"center": [0.2, -0.1], "radius": 0.9}}
A, V = [[0.8, 0.5], [-0.3, 0.6]], [[-1, 0.4], [-0.2, -0.7]]

LINE: list[Case] = [
    ("contracting-bumps", {"kind": "softmax", "A": 1, "V": -1}, TWO_BUMPS, [1.0, 4.0]),
    ("clustering-bumps", {"kind": "softmax", "A": 1, "V": 0.5}, TWO_BUMPS, [0.2, 0.4]),
    ("repelled-scores", {"kind": "softmax", "A": -1.5, "V": 0.7}, CLOSE_BUMPS, [1.0, 2.0]),
    ("softmax-interval", {"kind": "softmax", "A": 3, "V": -1}, INTERVAL, [1.0, 3.0]),
    ("growing-interval", {"kind": "softmax", "A": 1, "V": 1}, INTERVAL, [0.5, 1.0]),
    ("l2-bumps", {"kind": "l2", "Q": 1.2, "K": 0.8, "V": -1}, TWO_BUMPS, [1.0, 2.0]),
    ("l2-interval", {"kind": "l2", "Q": 1, "K": 1.5, "V": 0.5}, INTERVAL, [1.0, 2.0]),
    ("unnormalized-bumps", {"kind": "unnormalized", "A": 0.5, "V": -1}, TWO_BUMPS, [1.0, 2.0]),
    ("sigmoid-bumps", {"kind": "sigmoid", "A": 1, "V": -0.8}, TWO_BUMPS, [1.0, 2.0]),
    ("linear-bumps", {"kind": "linear", "A": 1, "V": -0.6}, TWO_BUMPS, [1.0, 2.0]),
    (
        "two-heads",
        {
            "kind": "multi-head",
            "heads": [{"kind": "softmax", "A": 1, "V": -1}, {"kind": "sigmoid", "A": -1, "V": 0.5, "weight": 0.5}],
        },
        CLOSE_BUMPS,
        [1.0, 2.0],
    ),
]
PLANE: list[Case] = [
    ("contracting-spots", {"kind": "softmax", "A": A, "V": V}, TWO_SPOTS, [1.0, 2.0]),
    ("transposed-spots", {"kind": "softmax", "A": np.transpose(A).tolist(), "V": V}, TWO_SPOTS, [1.0, 2.0]),
    ("growing-square", {"kind": "softmax", "A": A, "V": [[0.5, 0.3], [-0.3, 0.4]]}, SQUARE, [0.5, 1.0]),
    ("contracting-square", {"kind": "softmax", "A": [[2, 0], [0, 1]], "V": -1}, SQUARE, [1.0, 2.0]),
    ("softmax-disc", {"kind": "softmax", "A": A, "V": V}, DISC, [1.0, 2.0]),
    ("l2-spots", {"kind": "l2", "Q": [[1, 0.5]], "K": [[0.6, -0.4]], "V": V}, TWO_SPOTS, [1.0]),
    ("l2-square", {"kind": "l2", "Q": A, "K": [[1, 0.2], [0, 0.7]], "V": -1}, SQUARE, [1.0]),
    ("sigmoid-disc", {"kind": "sigmoid", "A": A, "V": [[0.3, 1], [-1, 0.2]]}, DISC, [1.0]),
    ("linear-square", {"kind": "linear", "A": A, "V": V}, SQUARE, [1.0]),
    ("unnormalized-disc", {"kind": "unnormalized", "A": A, "V": V}, DISC, [1.0]),
]
NOISY: list[Case] = [
    ("noisy-bumps", {"kind": "softmax", "A": 1, "V": -1}, TWO_BUMPS, [0.5, 2.0]),
    ("noisy-sigmoid", {"kind": "sigmoid", "A": 2, "V": -0.8}, TWO_BUMPS, [0.5, 2.0]),
    ("noisy-linear", {"kind": "linear", "A": 1, "V": -1}, TWO_BUMPS, [0.5, 2.0]),
    ("noisy-l2", {"kind": "l2", "Q": 1, "K": 1, "V": -1}, CLOSE_BUMPS, [0.5, 2.0]),
]
KAPPA = 8.0


def main() -> None:
    rows = []
    cases: list[tuple[Any, ...]] = [
        (moved_case, "line", case, {}, (64, 80) if case[1]["kind"] != "sigmoid" else (240, 300)) for case in LINE
    ]
    cases += [(moved_case, "plane", case, {}, (24, 28) if "components" in case[2] else (16, 20)) for case in PLANE]
    for case in NOISY:  # softmax raises what rounding leaves in the tails, and wants boxes no wider than they need be
        boxes = ((7.0, 448), (8.0, 640)) if case[1]["kind"] == "softmax" else ((9.0, 576), (10.0, 720))
        cases.append((noisy_case, "line", case, {"noise": {"kappa": KAPPA}}, boxes))
    for solve, geometry, (name, law, initial, times), noise, numbers in cases:
        start = time.perf_counter()
        task = {"geometry": {"kind": geometry}, "attention": law, "initial": initial, **noise}
        rows.append(solve(name, task, times, numbers))
        print(f"{name:22s} accuracy {rows[-1]['accuracy']:.1e}  {time.perf_counter() - start:.1f} s", flush=True)
    about = (
        "moments: mean, covariance row by row, third central moments, int cos(x_1 + 2 x_2) dmu, at each time; density "
        "at points at the last time; accuracy: of the moments; written by make_flat.py"
    )
    lines = ",\n".join(json.dumps(row) for row in rows)
    TARGET.write_text(f'{{"about": {json.dumps(about)},\n"problems": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

"""Speed of particles: nanoseconds per token and step, and ratios to plain NumPy programs in the same run.

    python benchmarks/particles.py [--quick]

* One noisy step (beta = 4, kappa = 4) of n tokens on the circle, the sphere and the plane, against a dense NumPy step
  of 1e4 tokens, scaled by n^2.
* The energy staircase: 32 tokens on the circle to t = 1e5, against explicit Euler steps in NumPy as short as stability
  asks, of which 1e4 are timed.
* 2048 copies of 32 tokens in d = 8 to t = 30, against a batched NumPy program of fourth order.

Processor time of the best of three runs, warm.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

import mfpde

BETA, KAPPA = 4.0, 4.0


def best(work: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of processor time."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def noisy_problem(geometry: str, count: int, steps: int) -> mfpde.Problem:
    """So many steps of a thousandth."""
    initial = {
        "circle": {"kind": "von-mises", "direction": 0, "concentration": 1},
        "sphere": {"kind": "von-mises", "direction": [0, 0, 1], "concentration": 1},
        "plane": {"kind": "gaussian", "mean": [0, 0], "covariance": 0.2},
    }[geometry]
    attention = {"kind": "softmax", "A": BETA, "V": -1 if geometry == "plane" else 1}
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": geometry},
            "attention": attention,
            "noise": {"kappa": KAPPA},
            "initial": initial,
            "solver": {"kind": "particles", "count": count, "step": 1e-3},
            "time": {"until": steps * 1e-3, "save": False},
        }
    )


def noisy_step(geometry: str, count: int) -> float:
    """Seconds of one step: the difference of runs of eleven and of one."""
    short, long = noisy_problem(geometry, count, 1), noisy_problem(geometry, count, 11)
    return (best(lambda: mfpde.solve(long)) - best(lambda: mfpde.solve(short))) / 10


def dense_step(geometry: str, count: int) -> float:
    """A plain Euler step with all pairs in NumPy."""
    random = np.random.default_rng(0)
    dimension = {"circle": 2, "sphere": 3, "plane": 2}[geometry]
    x = random.standard_normal((count, dimension))
    if geometry != "plane":
        x /= np.linalg.norm(x, axis=1, keepdims=True)

    def step() -> None:
        scores = BETA * x @ x.T
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        drift = raised @ x / raised.sum(axis=1, keepdims=True)
        moved = x + 1e-3 * drift + np.sqrt(2e-3 / KAPPA) * random.standard_normal(x.shape)
        moved / np.linalg.norm(moved, axis=1, keepdims=True)

    return best(step)


def staircase() -> tuple[float, float]:
    """Seconds of mfpde, and of explicit Euler steps of 0.1 in NumPy up to the same time."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 32)
    task = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 9},
        "initial": {"kind": "points", "values": angles},
        "solver": {"kind": "particles", "tolerance": 1e-6},
        "time": {"until": 1e5, "save": False},
    }
    problem = mfpde.Problem.from_dict(task)
    mfpde.solve(problem)

    def euler(steps: int) -> None:
        x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        for _ in range(steps):
            drift = np.exp(9 * (x @ x.T)) @ x / 32
            drift -= np.sum(drift * x, axis=1, keepdims=True) * x
            x = x + 1e-4 * drift  # e^9 / 32 is the fastest rate: longer steps are unstable
            x /= np.linalg.norm(x, axis=1, keepdims=True)

    return best(lambda: mfpde.solve(problem)), best(lambda: euler(10_000), 1) * 1e5 / (10_000 * 1e-4)


def copies() -> tuple[float, float]:
    """Seconds of mfpde, and of a batched NumPy Runge-Kutta of order four with steps of 0.1."""
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": 8},
            "attention": {"kind": "softmax", "beta": 3},
            "initial": {"kind": "uniform"},
            "solver": {"kind": "particles", "count": 32, "copies": 2048, "tolerance": 1e-5},
            "time": {"until": 30, "save": False},
        }
    )
    mfpde.solve(problem)
    x = np.random.default_rng(0).standard_normal((256, 32, 8))
    x /= np.linalg.norm(x, axis=2, keepdims=True)

    def drift(y: np.ndarray) -> np.ndarray:
        raised = np.exp(3 * (y @ y.transpose(0, 2, 1)))
        out = raised @ y / raised.sum(axis=2, keepdims=True)
        return out - np.sum(out * y, axis=2, keepdims=True) * y

    def steps(count: int) -> None:
        y, h = x, 0.1
        for _ in range(count):
            k1 = drift(y)
            k2 = drift(y + 0.5 * h * k1)
            k3 = drift(y + 0.5 * h * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + drift(y + h * k3))
            y /= np.linalg.norm(y, axis=2, keepdims=True)

    return best(lambda: mfpde.solve(problem)), best(lambda: steps(30), 1) * (2048 / 256) * 10


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="1e5 tokens in place of 1e6")
    count = 100_000 if options.parse_args().quick else 1_000_000
    print(f"{'case':<34}{'seconds':>10}{'ns/token':>10}{'ratio':>12}")
    for geometry in ("circle", "sphere", "plane"):
        one = noisy_step(geometry, count)
        dense = dense_step(geometry, 10_000) * (count / 10_000) ** 2
        name = f"noisy step, {geometry}, n = {count:.0e}"
        print(f"{name:<34}{one:>10.3g}{one / count * 1e9:>10.3g}{dense / one:>12.0f}")
    for name, (ours, theirs) in {"staircase of 32 tokens": staircase(), "2048 copies of 32, d = 8": copies()}.items():
        print(f"{name:<34}{ours:>10.3g}{'':>10}{theirs / ours:>12.0f}")


if __name__ == "__main__":
    main()

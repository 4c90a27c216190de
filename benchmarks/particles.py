"""Speed of particles: nanoseconds per token and step, and ratios to plain NumPy programs in the same run.

    python benchmarks/particles.py [--quick]

* One noisy step (beta = 4, kappa = 4) of n tokens on the circle, the sphere and the plane, against a dense NumPy step
  of 1e4 tokens, scaled by n^2.
* The energy staircase: 32 tokens on the circle to t = 1e5, against explicit Euler steps in NumPy as short as stability
  asks, of which 1e4 are timed.
* 2048 copies of 32 tokens in d = 8 to t = 30, positions to 1e-4, against two batched NumPy programs. The first is the
  same scheme as one would write it there: Dormand and Prince's 8(5,3), all copies with the step that the worst of them
  allows, those that have merged leave. The second takes classical fourth-order steps of one length, all to the end.

* The span: 32 tokens in R^1024 and in R^32, to t = 10.
* General matrices in R^1024: multiply-adds of one drift of 2048 tokens per second, beside those of a product by BLAS.

Processor time of the best of three runs, warm.
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import mfpde
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, STAGE_WEIGHTS, STAGES, WEIGHTS

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


def copies_problem(count: int) -> mfpde.Problem:
    """So many copies of 32 tokens, positions to 1e-4."""
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": 8},
            "attention": {"kind": "softmax", "beta": 3},
            "initial": {"kind": "uniform"},
            "solver": {"kind": "particles", "count": 32, "copies": count, "tolerance": 1e-5},
            "time": {"until": 30, "save": False},
        }
    )


def drift_of_copies(y: np.ndarray) -> np.ndarray:
    """Of all copies `(m, 32, 8)` at once."""
    raised = np.exp(3 * (y @ y.transpose(0, 2, 1)))
    out = raised @ y / raised.sum(axis=2, keepdims=True)
    return out - np.sum(out * y, axis=2, keepdims=True) * y


def classical(x: np.ndarray, step: float, steps: int) -> None:
    """Runge-Kutta steps of order four, the same for all, who stay to the end."""
    for _ in range(steps):
        k1 = drift_of_copies(x)
        k2 = drift_of_copies(x + 0.5 * step * k1)
        k3 = drift_of_copies(x + 0.5 * step * k2)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + drift_of_copies(x + step * k3))
        x /= np.linalg.norm(x, axis=2, keepdims=True)


def same_scheme(x: np.ndarray) -> None:
    """Dormand and Prince's 8(5,3), steps as the copy with the largest error wants them; merged copies leave."""
    time, step = 0.0, 0.01
    while time < 30 and len(x):
        step = min(step, 30 - time)
        slopes = np.empty((STAGES, *x.shape))
        slopes[0] = drift_of_copies(x)
        for stage in range(1, STAGES):
            moved = np.tensordot(STAGE_WEIGHTS[stage, :stage], slopes[:stage], 1)
            slopes[stage] = drift_of_copies(x + step * moved)
        five, three = (step * np.abs(np.tensordot(e[:STAGES], slopes, 1)).max() for e in (ERROR_FIVE, ERROR_THREE))
        error = five / np.sqrt(1 + 0.01 * (three / five) ** 2) / 1e-6
        if error <= 1:
            time, x = time + step, x + step * np.tensordot(WEIGHTS, slopes, 1)
            x /= np.linalg.norm(x, axis=2, keepdims=True)
            x = x[np.abs(x - x[:, :1]).max(axis=(1, 2)) > 1e-5]
        step *= min(5.0, max(0.2, 0.9 * error**-0.125))


def copies(count: int = 2048) -> tuple[float, float, float, float]:
    """Seconds of mfpde, by a clock and of processors, of the same scheme in NumPy, and of classical steps of a quarter,
    the longest that keep positions to 1e-4."""
    problem = copies_problem(count)
    mfpde.solve(copies_problem(8))
    clocks = []
    for _ in range(3):
        began = time.perf_counter()
        mfpde.solve(problem)
        clocks.append(time.perf_counter() - began)
    x = np.random.default_rng(0).standard_normal((count, 32, 8))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    ours = best(lambda: mfpde.solve(problem))
    return min(clocks), ours, best(lambda: same_scheme(x), 1), best(lambda: classical(x, 0.25, 12), 1) * 10


def in_the_span(dimension: int) -> float:
    """Seconds of 32 tokens to t = 10, A and V multiples of the identity."""
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": dimension},
            "attention": {"kind": "softmax", "beta": 3},
            "initial": {"kind": "points", "random": "uniform-sphere", "count": 32},
            "solver": {"kind": "particles", "merge": 0},
            "time": {"until": 10, "save": False},
        }
    )
    mfpde.solve(problem)
    return best(lambda: mfpde.solve(problem))


def general_matrices(count: int = 2048, dimension: int = 1024) -> tuple[float, float]:
    """Seconds of one drift, and of as many multiply-adds by BLAS, on one thread."""
    random = np.random.default_rng(0)
    A, V = random.standard_normal((2, dimension, dimension)) / np.sqrt(dimension)
    x = random.standard_normal((count, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    attention, space = mfpde.Softmax(A=A, V=V), mfpde.Sphere(dimension=dimension)
    attention.drift(mfpde.Particles(x, geometry=space), x)
    ours = best(lambda: attention.drift(mfpde.Particles(x, geometry=space), x))
    products = 2 * count**2 * dimension + 2 * count * dimension**2
    return ours, best(lambda: x @ x.T) * products / (count**2 * dimension)


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
    ours, theirs = staircase()
    print(f"{'staircase of 32 tokens':<34}{ours:>10.3g}{'':>10}{theirs / ours:>12.0f}")
    clock, ours, same, plain = copies()
    print(f"{'2048 copies of 32, d = 8':<34}{ours:>10.3g}{'':>10}{same / ours:>12.1f}   ({clock:.3g} s by the clock)")
    print(f"{'  beside classical steps':<34}{ours:>10.3g}{'':>10}{plain / ours:>12.1f}")
    wide, narrow = in_the_span(1024), in_the_span(32)
    print(f"{'32 tokens, d = 1024 over d = 32':<34}{wide:>10.3g}{'':>10}{wide / narrow:>12.2f}")
    ours, blas = general_matrices()
    print(f"{'general matrices over BLAS':<34}{ours:>10.3g}{'':>10}{blas / ours:>12.2f}")


if __name__ == "__main__":
    main()

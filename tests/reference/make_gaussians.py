"""Write gaussians.json: moments of Gaussians and their blow-up times, to more digits than a double has.

    python tests/reference/make_gaussians.py            (some minutes on one core)

Each problem is solved twice, with 30 and with 36 digits and series of different lengths; where they differ by more than
1e-15 of the largest moment, or 1e-13 of the time of blow-up, nothing is written.
"""

from __future__ import annotations

import json
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from reference.moments import Solution, solved

TARGET = Path(__file__).with_name("gaussians.json")
WANTED = Decimal(10) ** -15
NEAR = Decimal(10) ** -13  # of the time of blow-up, from 1e-16 before it; the finer one comes as near as 1e-22

A, B = [[1.0, 0.5], [-0.3, 0.8]], [[0.2, -0.4], [0.1, -0.6]]
INDEFINITE = [[1.0, 0.5], [-0.3, -0.8]]
MEAN, COVARIANCE = [0.5, -0.2], [[1.0, 0.3], [0.3, 0.5]]
rng = np.random.default_rng(2026)


def some(*shape: int, scale: float = 1.0) -> Any:
    return np.round(scale * rng.normal(size=shape), 3).tolist()


def covariance(size: int, variances: Any = None) -> Any:
    """With these eigenvalues and oblique axes; without them, anything."""
    axes, _ = np.linalg.qr(rng.normal(size=(size, size)))
    values = rng.uniform(0.2, 1.0, size) if variances is None else np.array(variances)
    product = axes * values @ axes.T
    return (0.5 * (product + product.T)).tolist()


def problem(attention: Any, mean: Any, spread: Any, kappa: Any = None) -> dict[str, Any]:
    found = {} if attention is None else {"attention": attention}
    initial = {"kind": "gaussian", "mean": mean, "covariance": spread}
    return {**found, "initial": initial, **({} if kappa is None else {"noise": {"kappa": kappa}})}


def heads(*parts: Any) -> dict[str, Any]:
    return {"kind": "multi-head", "heads": list(parts)}


def softmax(A: Any, V: Any = 1.0, **more: Any) -> dict[str, Any]:
    return {"kind": "softmax", "A": A, "V": V, **more}


def l2(Q: Any, K: Any, V: Any = 1.0, **more: Any) -> dict[str, Any]:
    return {"kind": "l2", "Q": Q, "K": K, "V": V, **more}


LAWS = {
    "softmax": softmax(A, B),
    "l2": l2(A, B, INDEFINITE),
    "l2-small-head": l2([[0.3, 0.7]], [[0.4, 1.0]], B),
    "sinkhorn": {"kind": "sinkhorn", "A": A, "V": B},
    "sinkhorn-indefinite": {"kind": "sinkhorn", "A": INDEFINITE, "V": A},
    "sinkhorn-singular": {"kind": "sinkhorn", "A": [[2.0, 1.0], [0.0, 0.0]], "V": B},
    "linear": {"kind": "linear", "A": A, "V": B},
    "relu": {"kind": "relu", "A": INDEFINITE, "V": B},
    "heads": heads(
        softmax(A, B),
        l2(A, B, -1.0, weight=0.5),
        {"kind": "sinkhorn", "A": B, "V": A, "weight": [[0.1, 0.2], [-0.3, 0.2]]},
    ),
    "linear-heads": heads({"kind": "linear", "A": A, "V": B, "weight": 0.3}, softmax(B, -1.0)),
}


def plain_cases() -> list[tuple[str, dict[str, Any], list[float]]]:
    cases = []
    for name, law in LAWS.items():
        mean = [0.0, 0.0] if name == "relu" else MEAN
        times = [0.5, 1.0] if name == "linear-heads" else [0.5, 1.5]
        cases.append((name, problem(law, mean, COVARIANCE), times))
        cases.append((f"{name}-noise", problem(law, mean, COVARIANCE, 3.0), times))
    for size in (1, 3, 4, 5):
        keys = min(size, 2)
        for name, law in {
            "softmax": softmax(some(size, size), some(size, size, scale=0.3 if size < 5 else 0.1)),
            "l2": l2(some(keys, size), some(keys, size), some(size, size, scale=0.5)),
            "sinkhorn": {"kind": "sinkhorn", "A": some(size, size), "V": some(size, size, scale=0.5)},
            "linear": {"kind": "linear", "A": some(size, size), "V": some(size, size, scale=0.1)},
            "relu": {"kind": "relu", "A": some(size, size), "V": some(size, size, scale=0.2)},
        }.items():
            mean = [0.0] * size if name == "relu" else some(size)
            kappa = 5.0 if size in (3, 5) else None
            cases.append((f"{name}-{size}d", problem(law, mean, covariance(size), kappa), [0.25, 0.75]))
    return cases


def in_time(interpolation: str, times: list[float], *values: Any) -> dict[str, Any]:
    return {"times": times, "values": list(values), "interpolation": interpolation}


def timed_cases() -> list[tuple[str, dict[str, Any], list[float]]]:
    layers = in_time("constant", [0, 0.4, 0.9], A, INDEFINITE, B)
    ramp = in_time("linear", [0.1, 0.7, 1.2], B, A, INDEFINITE)
    later = in_time("constant", [0, 0.5, 1.0], np.inf, 4.0, 1.0)
    fading = in_time("linear", [0, 1.0], 2.0, 20.0)
    return [
        ("layers", problem(softmax(layers, B), MEAN, COVARIANCE), [0.5, 1.5]),
        (
            "layers-noise",
            problem(softmax(A, in_time("constant", [0, 0.4], B, INDEFINITE)), MEAN, COVARIANCE, later),
            [0.3, 0.6],
        ),
        ("ramp", problem(softmax(ramp, B), MEAN, COVARIANCE), [0.5, 1.5]),
        ("ramp-both", problem(softmax(ramp, in_time("linear", [0, 0.5], B, A)), MEAN, COVARIANCE, fading), [0.2, 0.4]),
        ("ramp-l2", problem(l2(ramp, A, layers), MEAN, COVARIANCE, fading), [0.5, 1.2]),
        ("ramp-sinkhorn", problem({"kind": "sinkhorn", "A": ramp, "V": layers}, MEAN, COVARIANCE), [0.5, 1.2]),
        (
            "ramp-heads",
            problem(
                heads(softmax(ramp, B), l2(A, B, -1.0, weight=in_time("linear", [0, 1], 1.0, 0.0))), MEAN, COVARIANCE
            ),
            [0.5, 1.2],
        ),
        ("late-noise", problem(None, MEAN, COVARIANCE, later), [0.75, 2.0]),
    ]


def hard_cases() -> list[tuple[str, dict[str, Any], list[float]]]:
    thin = covariance(2, [0.7, 1e-12])
    thin4 = covariance(4, [1.0, 0.3, 1e-6, 1e-12])
    cases = []
    for name in ("softmax", "l2", "sinkhorn", "sinkhorn-indefinite", "linear", "heads"):
        cases.append((f"thin-{name}", problem(LAWS[name], MEAN, thin), [0.5, 1.5]))
        flat = [[1.0, 0.5], [0.5, 0.25]]
        cases.append((f"flat-{name}", problem(LAWS[name], MEAN, flat), [0.5, 1.5]))
    cases += [
        ("flat-noise", problem(LAWS["softmax"], MEAN, [[1.0, 0.5], [0.5, 0.25]], 1e6), [0.5, 1.5]),
        ("flat-sinkhorn-noise", problem(LAWS["sinkhorn-indefinite"], MEAN, [[1.0, 0.5], [0.5, 0.25]], 3.0), [0.5, 1.5]),
        ("point-noise", problem(LAWS["sinkhorn"], MEAN, 0.0, 3.0), [0.5, 1.5]),
        ("thin-4d", problem(softmax(some(4, 4), some(4, 4, scale=0.3)), some(4), thin4), [0.3, 0.6]),
        ("thin-l2-4d", problem(l2(some(2, 4), some(2, 4), some(4, 4, scale=0.5)), some(4), thin4, 1e8), [0.3, 0.6]),
        ("long-l2", problem(l2(A, A, -1.0), MEAN, COVARIANCE), [10.0, 40.0]),
        ("long-sinkhorn", problem(LAWS["sinkhorn"], MEAN, COVARIANCE), [10.0, 30.0]),
        ("growing-sinkhorn", problem(LAWS["sinkhorn-indefinite"], MEAN, COVARIANCE), [5.0, 15.0]),
        ("small", problem(softmax(A, B), [5e-8, -2e-8], [[1e-14, 3e-15], [3e-15, 5e-15]]), [0.5, 1.5]),
        ("large", problem(l2(A, B, -1.0), [5e6, -2e6], [[1e12, 3e11], [3e11, 5e11]]), [0.5, 1.5]),
        ("far-mean", problem(LAWS["sinkhorn"], [5e3, -2e3], COVARIANCE), [0.5, 1.5]),
    ]
    return cases


def stiff_cases() -> list[tuple[str, dict[str, Any], list[float]]]:
    large = [[1e3, 200.0], [-100.0, 5.0]]
    return [
        ("stiff-softmax", problem(softmax(large, -1.0), [0.0, 0.0], COVARIANCE, 2.0), [0.01, 1.0]),
        ("stiff-softmax-mean", problem(softmax([[1e3, 0.0], [0.0, 1.0]], -1.0), MEAN, COVARIANCE, 2.0), [0.01, 1.0]),
        ("stiff-softmax-silent", problem(softmax(large, -1.0), MEAN, COVARIANCE), [0.01, 1.0]),
        (
            "stiff-l2",
            problem(l2([[30.0, 0.0], [0.0, 1.0]], [[30.0, 1.0], [0.0, 1.0]], -1.0), MEAN, COVARIANCE, 2.0),
            [0.05, 1.0],
        ),
        ("stiff-sinkhorn", problem({"kind": "sinkhorn", "A": large, "V": -1.0}, MEAN, COVARIANCE, 2.0), [0.05, 1.0]),
        (
            "stiff-ramp",
            problem(
                softmax(in_time("linear", [0, 1], large, [[1e3, -200.0], [100.0, 50.0]]), -1.0), MEAN, COVARIANCE, 2.0
            ),
            [0.05, 1.0],
        ),
        (
            "stiff-3d",
            problem(
                softmax(np.diag([1e3, 30.0, 1.0]).tolist(), [[-1.0, 0.1, 0.0], [0.0, -1.0, 0.2], [0.1, 0.0, -1.0]]),
                [0.1, 0.2, 0.3],
                covariance(3),
                2.0,
            ),
            [0.05, 1.0],
        ),
    ]


def poles() -> list[tuple[str, dict[str, Any], list[float]]]:
    turned = [[0.6, 1.0], [-1.0, 0.8]]
    return [
        ("pole-3-log-2", problem(l2([[0.5, 1]], [[1, 0]], [[0, 0], [0, 1]]), [0.0, 0.0], [[1, 0.5], [0.5, 1]]), [50.0]),
        ("pole-softmax", problem(softmax(A, turned), MEAN, COVARIANCE), [50.0]),
        ("pole-softmax-noise", problem(softmax(A, turned), MEAN, COVARIANCE, 3.0), [50.0]),
        (
            "pole-softmax-indefinite",
            problem(softmax(INDEFINITE, [[1.0, 0.1], [0.1, 0.7]]), [0.0, 0.0], COVARIANCE),
            [50.0],
        ),
        ("pole-l2", problem(l2([[0.3, 1.2]], [[1.1, 0.0]], [[0.2, 0.0], [0.1, 1.0]]), MEAN, COVARIANCE), [50.0]),
        ("pole-linear", problem({"kind": "linear", "A": A, "V": turned}, MEAN, COVARIANCE), [50.0]),
        ("pole-linear-point", problem({"kind": "linear", "A": A, "V": turned}, MEAN, 0.0), [50.0]),
        ("pole-relu", problem({"kind": "relu", "A": A, "V": turned}, [0.0, 0.0], COVARIANCE), [50.0]),
        ("pole-thin", problem(softmax(A, turned), MEAN, [[1.0, 0.5], [0.5, 0.25]]), [50.0]),
        ("pole-flat-noise", problem(softmax(A, turned), MEAN, [[1.0, 0.5], [0.5, 0.25]], 1e4), [50.0]),
        ("pole-far", problem(softmax(1e-3, turned), [0.0, 0.0], COVARIANCE), [5000.0]),
        ("pole-near", problem(softmax(1e4, turned), MEAN, COVARIANCE), [5.0]),
        ("pole-heads", problem(heads(softmax(A, turned), l2(A, B, -1.0)), MEAN, COVARIANCE), [50.0]),
        ("pole-layers", problem(softmax(in_time("constant", [0, 0.1], B, A), turned), MEAN, COVARIANCE), [50.0]),
        ("pole-ramp", problem(softmax(in_time("linear", [0, 1], B, A), turned), MEAN, COVARIANCE, 10.0), [50.0]),
    ]


def differ(first: Solution, second: Solution) -> Decimal:
    """Relative to the largest entry; of poles, too."""
    if first.pole is not None or second.pole is not None:
        return abs(first.pole - second.pole) / first.pole
    pairs = [*zip(first.means, second.means, strict=True), *zip(first.covariances, second.covariances, strict=True)]
    return max(np.abs(one - other).max() / max(np.abs(one).max(), Decimal(10) ** -300) for one, other in pairs)


def row(name: str, case: dict[str, Any], times: list[float]) -> dict[str, Any]:
    size = len(case["initial"]["mean"])
    rough, fine = solved(case, times, digits=30, order=34), solved(case, times)
    apart = differ(rough, fine)
    assert apart < (NEAR if fine.pole is not None else WANTED), (name, apart)
    if name.startswith("pole") and fine.pole is None:
        raise AssertionError(f"{name}: no pole")
    found = {
        "mean": [[f"{value:.25e}" for value in mean] for mean in fine.means],
        "covariance": [[[f"{value:.25e}" for value in line] for line in each] for each in fine.covariances],
    }
    answer = found if fine.pole is None else {"pole": f"{fine.pole:.25e}"}
    return {
        "name": name,
        "problem": {"geometry": {"kind": "space", "dimension": size}, **case},
        "times": times,
        **answer,
    }


def main() -> None:
    rows = []
    for case in [*plain_cases(), *timed_cases(), *hard_cases(), *stiff_cases(), *poles()]:
        start = time.perf_counter()
        rows.append(row(*case))
        print(f"{case[0]:26s} {rows[-1].get('pole', '')[:14]:14s} {time.perf_counter() - start:6.1f} s", flush=True)
    about = "moments at each time, or the time of blow-up, by make_gaussians.py: the finer of two solutions"
    lines = ",\n".join(json.dumps(each) for each in rows)
    TARGET.write_text(f'{{"about": {json.dumps(about)},\n"problems": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

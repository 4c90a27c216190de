"""Write circle.json: densities and moments of hard problems on the circle, each solved twice by independent means.

    python tests/reference/make_circle.py            (a few minutes on one core; OPENBLAS_NUM_THREADS=1 is set below)

With noise the two solutions differ in node count, tolerance and integrator; without noise one is a method of lines on
fixed nodes, the other traces characteristics. `accuracy` is twice their largest difference, relative to the largest
density of that time, and never below 1e-13.
"""

import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from reference.circle import (
    Array,
    Density,
    Kind,
    equispaced,
    interpolate,
    moments,
    solve_by_characteristics,
    solve_by_quadrature,
)
from reference.closed_forms import critical_kappa

ANGLES = 64
MOMENTS = 5
TARGET = Path(__file__).with_name("circle.json")

LOPSIDED = "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"
SKEWED = "exp(cos(theta - 1) + 0.5*sin(3*theta))"
VON_MISES = "exp(5*cos(theta))"
TWO_HUMPS = "0.7*exp(4*cos(theta - 0.3))/11.301921952136331 + 0.3*exp(8*cos(theta - 2.5))/427.56411572180474"
NEAR_UNIFORM = "1 + 1e-3*cos(theta) + 1e-3*sin(2*theta)"


@dataclass(frozen=True)
class Case:
    """One problem; `ratio` is kappa/kappa_1, `spans` are times in units of kappa (of 1 without noise)."""

    name: str
    kind: Kind
    beta: float
    initial: str
    spans: tuple[float, ...]
    ratio: float = math.inf
    kappa: float = math.inf
    points: int = 128

    def exact_kappa(self) -> float:
        """kappa as stored: rounded to six digits so that a reader can type it."""
        if math.isinf(self.ratio):
            return self.kappa
        return float(f"{self.ratio * critical_kappa(1, self.beta, self.kind):.6g}")

    def times(self) -> tuple[float, ...]:
        """Output times, rounded likewise."""
        kappa = self.exact_kappa()
        return tuple(float(f"{span * (1 if math.isinf(kappa) else kappa):.4g}") for span in self.spans)


USA: Kind = "unnormalized"
SA: Kind = "softmax"
TRICRITICAL = 2.4469183112890461

CASES = (
    # Noisy Kuramoto around its transition.
    Case("kuramoto-below", USA, 0, LOPSIDED, (1, 10), ratio=0.9, points=64),
    Case("kuramoto-slow", USA, 0, LOPSIDED, (5, 50), ratio=1.02, points=64),
    Case("kuramoto-saturation", USA, 0, NEAR_UNIFORM, (50, 100, 200), ratio=1.1, points=64),
    Case("kuramoto-strong", USA, 0, SKEWED, (0.2, 2), ratio=10, points=128),
    # Continuous transition (beta below the change-over) and the change-over itself.
    Case("sa-slow-beta-1", SA, 1, TWO_HUMPS, (1, 40), ratio=1.02, points=96),
    Case("usa-saturation-beta-1", USA, 1, NEAR_UNIFORM, (100, 150), ratio=1.1, points=64),
    Case("usa-tricritical", USA, TRICRITICAL, SKEWED, (1, 40), ratio=1.02, points=96),
    Case("sa-tricritical", SA, TRICRITICAL, LOPSIDED, (2, 30), ratio=1.1, points=96),
    # Below kappa_1: beyond the fold a cluster dissolves, slowly; between fold and kappa_1 (beta = 8) the data decide.
    Case("usa-below-fold-beta-4", USA, 4, VON_MISES, (1, 20), ratio=0.9, points=128),
    Case("sa-below-critical-beta-4", SA, 4, VON_MISES, (1, 20), ratio=0.9, points=128),
    Case("usa-bistable-beta-8-cluster", USA, 8, VON_MISES, (1, 20), ratio=0.9, points=128),
    Case("usa-bistable-beta-8-uniform", USA, 8, LOPSIDED, (1, 20), ratio=0.9, points=128),
    Case("usa-first-order-beta-8", USA, 8, NEAR_UNIFORM, (20, 40, 80), ratio=1.1, points=128),
    Case("sa-near-critical-beta-20", SA, 20, TWO_HUMPS, (0.1, 2), ratio=1.02, points=256),
    Case("usa-near-critical-beta-20", USA, 20, LOPSIDED, (0.3, 4), ratio=1.1, points=320),
    # Far above the transition: clusters that wait for each other.
    Case("benchmark", USA, 4, LOPSIDED, (0.025, 0.25, 1.25), kappa=4, points=320),
    Case("usa-clusters-beta-4", USA, 4, TWO_HUMPS, (0.1, 10), kappa=2, points=256),
    Case("sa-clusters-beta-8", SA, 8, NEAR_UNIFORM, (0.5, 10), kappa=20, points=256),
    Case("usa-clusters-beta-8", USA, 8, SKEWED, (0.5, 20), ratio=3, points=256),
    Case("usa-clusters-beta-20", USA, 20, LOPSIDED, (0.3, 3), ratio=2, points=320),
    Case("sa-clusters-beta-4", SA, 4, TWO_HUMPS, (0.05, 1), kappa=40, points=320),
    # No noise, before the collapse.
    Case("noiseless-kuramoto", USA, 0, LOPSIDED, (1, 3), points=256),
    Case("noiseless-kuramoto-skewed", SA, 0, SKEWED, (1, 2.5), points=384),
    Case("noiseless-usa-beta-1", USA, 1, LOPSIDED, (0.7, 1.5), points=384),
    Case("noiseless-sa-beta-1", SA, 1, TWO_HUMPS, (0.5, 1.5), points=512),
    Case("noiseless-usa-beta-4", USA, 4, LOPSIDED, (0.1, 0.2), points=512),
    Case("noiseless-sa-beta-8", SA, 8, SKEWED, (0.5, 1.5), points=512),
    Case("noiseless-usa-beta-20", USA, 20, LOPSIDED, (3e-8, 6e-8), points=512),
)


def density_of(expression: str) -> Density:
    """The function of theta behind an expression; the expressions above are the only ones that come here."""
    code = compile(expression, "<initial>", "eval")
    words = {"cos": np.cos, "sin": np.sin, "exp": np.exp, "__builtins__": {}}
    return lambda theta: np.asarray(eval(code, words, {"theta": theta}))  # noqa: S307, the constants above


def solve_twice(case: Case) -> tuple[Array, Array, str]:
    """Densities on a node count divisible by ANGLES from the better method, at ANGLES from the other; and how."""
    initial, times, kappa = density_of(case.initial), case.times(), case.exact_kappa()
    coarse = equispaced(ANGLES)
    if math.isinf(kappa):
        fine = solve_by_characteristics(initial, times, case.beta, case.kind, case.points)
        # Explicit integrators would excite the highest modes up to their tolerance; Radau keeps to 1e-13.
        other = solve_by_quadrature(
            initial, times, case.beta, kappa, case.kind, case.points, angles=coarse, integrator="Radau", tolerance=1e-12
        )
        return fine, other, f"characteristics {case.points}, quadrature {case.points} Radau 1e-12"
    more = 2 * (5 * case.points // 8)
    fine = solve_by_quadrature(
        initial, times, case.beta, kappa, case.kind, case.points, integrator="Radau", tolerance=1e-12
    )
    other = solve_by_quadrature(initial, times, case.beta, kappa, case.kind, more, angles=coarse)
    return fine, other, f"quadrature {case.points} Radau 1e-12, quadrature {more} DOP853 1e-13"


def entry(case: Case) -> dict[str, object]:
    """The JSON record of a case."""
    began = time.process_time()
    fine, other, method = solve_twice(case)
    density = interpolate(fine, equispaced(ANGLES))
    peak = fine.max(axis=1)
    difference = float((np.abs(density - other).max(axis=1) / peak).max())
    waves = moments(fine, MOMENTS)
    mass_error = float(np.abs(fine.mean(axis=1) * 2 * np.pi - 1).max())
    print(
        f"{case.name:30s} {difference:8.1e} mass {mass_error:7.0e} peak {peak.round(3)} "
        f"|m_k| {np.abs(waves[-1]).round(4)} {time.process_time() - began:6.1f} s",
        flush=True,
    )
    kappa = case.exact_kappa()
    return {
        "name": case.name,
        "kind": case.kind,
        "beta": case.beta,
        "kappa": None if math.isinf(kappa) else kappa,
        "initial": case.initial,
        "times": list(case.times()),
        "accuracy": float(f"{max(2 * difference, 1e-13):.1e}"),
        "peak": [short(float(value), 1.0) for value in peak],
        "density": [[short(float(v), float(top)) for v in row] for row, top in zip(density, peak, strict=True)],
        "moments": [[[short(float(v.real), 1.0), short(float(v.imag), 1.0)] for v in row] for row in waves],
        "method": method,
    }


def short(value: float, scale: float) -> float:
    """`value` rounded at 1e-14 of `scale`: keeps the file small without touching the accuracy claimed."""
    return round(value, 14 - math.floor(math.log10(scale)))


def main() -> None:
    """Solve all cases, or those named on the command line (which are replaced in the file)."""
    named = set(sys.argv[1:])
    old = json.loads(TARGET.read_text())["problems"] if named and TARGET.exists() else []
    kept = {record["name"]: record for record in old}
    for case in CASES:
        if not named or case.name in named:
            kept[case.name] = entry(case)
    problems = [kept[case.name] for case in CASES if case.name in kept]
    lines = ",\n".join(json.dumps(record, separators=(",", ":")) for record in problems)
    about = (
        "density at theta_j = 2 pi j/64 and int e^{-ik theta} dmu, k = 1..5, at each time; kappa null = no noise; the "
        "initial density is normalised to mass 1; accuracy: max|error|/max density; written by make_circle.py"
    )
    TARGET.write_text(f'{{"about":{json.dumps(about)},\n"problems":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

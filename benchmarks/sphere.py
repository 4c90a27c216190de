"""Transforms of S^2 and time to a given accuracy on it.

    python benchmarks/sphere.py [--repeats 5] [--until 0.5] [--no-solver] [--dedalus PYTHON]

Transforms: microseconds of the processor for one, on one thread, the fastest of some: coefficients to values, back,
gradient, and products of a vector field with gradients; ducc0 and SHTns stand beside them where they are installed.
FFTW (pyfftw) has its own row where it is installed: pairs of rings, as they lie for it, without the transposition that
it needs.

Solver: unnormalized attention, beta = 4, kappa = 4, from data without an axis, to 1e-6. The NumPy program has the
degree that mfpde comes to, dense tables by order and ETDRK4, with the fewest steps (of powers of two) that reach the
same error.

`--dedalus` names a Python that has Dedalus 3, which then runs the same problem at degree 127 with its sphere basis, the
convolution applied to coefficients, until its error is below 1e-6: the fewest steps, of powers of two, of each scheme,
beside the largest tolerance of mfpde, of powers of ten, that is as exact. Steps too long for Dedalus overflow (nan).

`--axis` compares steps about an axis in some dimensions with those of the circle.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # SHTns

import numpy as np
from baselines import numpy_sphere

import mfpde
from mfpde.equation import InitialValueProblem
from mfpde.geometry.gauss import gauss_legendre
from mfpde.transform.legendre import RingTransform
from mfpde.transform.ring_fourier import ring_length, ring_roots, transform_rings

Array = np.ndarray[Any, Any]
DEGREES = (31, 63, 127, 255, 511)
BETA, KAPPA = 4.0, 4.0
DEALT = 127  # degree of the race with Dedalus
RACED_ERROR = 1e-6  # max|error| / max density that the race with Dedalus is to
_MOST_STEPS = 65536
EXPRESSION = "1 + 0.5*x + 0.3*y*z - 0.2*x*y*z + 0.1*z"


def fastest(work: Callable[[], object], repeats: int) -> float:
    """Microseconds."""
    work()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        count = 0
        while count < 3 or time.process_time() - began < 0.05:
            work()
            count += 1
        times.append((time.process_time() - began) / count)
    return 1e6 * min(times)


def own(degree: int, rings: int, places: int, table: Array) -> list[Callable[[], object]]:
    """mfpde's four."""
    transform = RingTransform(degree, *gauss_legendre(rings), places)
    packed = transform.packed(table)
    values, field = transform.synthesize(packed), transform.gradient(packed)
    return [
        lambda: transform.synthesize(packed),
        lambda: transform.analyze(values),
        lambda: transform.gradient(packed),
        lambda: transform.divergence(field),
    ]


def by_ducc0(degree: int, rings: int, places: int, table: Array) -> list[Callable[[], object]]:
    """The same by ducc0."""
    import ducc0

    known = {"lmax": degree, "mmax": degree, "nthreads": 1, "geometry": "GL"}
    scalar = np.concatenate([table[m:, m] for m in range(degree + 1)])[None]
    both = np.concatenate([scalar, 0 * scalar])

    def synthesis(alm: Array, spin: int) -> Array:
        return np.asarray(ducc0.sht.synthesis_2d(alm=alm, spin=spin, ntheta=rings, nphi=places, **known))

    values, field = synthesis(scalar, 0), synthesis(both, 1)
    return [
        lambda: synthesis(scalar, 0),
        lambda: ducc0.sht.analysis_2d(map=values, spin=0, **known),
        lambda: synthesis(both, 1),
        lambda: ducc0.sht.analysis_2d(map=field, spin=1, **known),
    ]


def by_shtns(degree: int, rings: int, places: int, table: Array) -> list[Callable[[], object]]:
    """The same by SHTns."""
    import shtns

    sht = shtns.sht(degree, degree, 1, shtns.sht_orthonormal | shtns.SHT_NO_CS_PHASE)
    sht.set_grid(rings, places, shtns.sht_quick_init | shtns.SHT_PHI_CONTIGUOUS)
    scalar = np.concatenate([table[m:, m] for m in range(degree + 1)])
    values, south, east = (sht.spat_array() for _ in range(3))
    spectra = [sht.spec_array() for _ in range(3)]
    return [
        lambda: sht.SH_to_spat(scalar, values),
        lambda: sht.spat_to_SH(values.copy(), spectra[0]),
        lambda: sht.SHsph_to_spat(scalar, south, east),
        lambda: sht.spat_to_SHsphtor(south.copy(), east.copy(), spectra[1], spectra[2]),
    ]


def compare_transforms(repeats: int) -> None:
    """One row for each degree and library."""
    rivals = {"mfpde": own}
    rivals |= {
        name: rival for name, rival in (("ducc0", by_ducc0), ("shtns", by_shtns)) if importlib.util.find_spec(name)
    }
    random = np.random.default_rng(1)
    print(f"{'degree':>6s} {'':8s}{'synthesis':>10s}{'analysis':>10s}{'gradient':>10s}{'products':>10s}  microseconds")
    for degree in DEGREES:
        rings, places = 2 * -(-(degree + 1) // 2), ring_length(2 * degree + 2)
        table = random.standard_normal((degree + 1, degree + 1)) + 1j * random.standard_normal((degree + 1, degree + 1))
        table = np.tril(table)
        table[:, 0] = table[:, 0].real
        for name, rival in rivals.items():
            times = [fastest(work, repeats) for work in rival(degree, rings, places, table)]
            print(f"{degree:6d} {name:8s}" + "".join(f"{taken:10.0f}" for taken in times))


def compare_fourier(repeats: int, pairs: int = 32) -> None:
    """Microseconds for a pair of rings, which is one complex transform."""
    for places in (144, 256, 288, 320, 576, 640, 1152):
        data, spare, roots = np.zeros((2, places * pairs)), np.zeros((2, places * pairs)), ring_roots(places)
        mine = fastest(lambda: transform_rings(data, spare, roots, pairs), repeats) / pairs  # noqa: B023
        text = f"rings of {places:5d} places: mfpde {mine:.3f}"
        if importlib.util.find_spec("pyfftw"):
            import pyfftw

            one, two = (pyfftw.zeros_aligned((pairs, places), dtype=complex) for _ in range(2))
            plan = pyfftw.FFTW(one, two, axes=(1,), flags=("FFTW_ESTIMATE",))
            text += f", FFTW {fastest(plan.execute, repeats) / pairs:.3f}"
        print(text + " microseconds a pair")


def posed(until: float, tolerance: float) -> mfpde.Problem:
    """The problem of all contestants."""
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere"},
            "attention": {"kind": "unnormalized", "beta": BETA},
            "noise": {"kappa": KAPPA},
            "initial": {"kind": "density", "expression": EXPRESSION},
            "solver": {"kind": "spectral", "tolerance": tolerance},
            "time": {"until": until, "save": False},
        }
    )


def race_dedalus(python: str, until: float, repeats: int) -> None:
    """Dedalus beside mfpde, to 1e-6."""
    reference = mfpde.solve(posed(until, 1e-8)).measure(-1).series.resized(DEALT).on_grid(DEALT + 1)

    def error_of(problem: mfpde.Problem) -> float:
        found = mfpde.solve(problem).measure(-1).series.resized(DEALT).on_grid(DEALT + 1)
        return float(np.abs(found - reference).max() / reference.max())

    for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
        chosen = posed(until, tolerance)
        if error_of(chosen) <= RACED_ERROR:
            break
    taken = fastest(lambda: mfpde.solve(chosen), repeats) / 1e6
    print(f"\nmfpde, until {until:g}, tolerance {tolerance:g}: {taken:.3f} s, error {error_of(chosen):.1e}", flush=True)
    multipliers = chosen.equation.law.convolution(chosen.equation.geometry).potential
    baseline = Path(__file__).resolve().parent / "baselines" / "dedalus_sphere.py"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        np.savez(
            data,
            degree=DEALT,
            until=until,
            kappa=KAPPA,
            expression=EXPRESSION,
            multipliers=multipliers,
            reference=reference,
        )
        for scheme in ("SBDF4", "RK443", "RK222"):
            steps, off = 64, np.inf
            while not off <= RACED_ERROR and steps <= _MOST_STEPS:
                command = [python, str(baseline), str(data), scheme, str(steps)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - named by hand
                told = json.loads(done.stdout)
                off, spent = told["error"], told["seconds"]
                text = f"Dedalus, {scheme}, {steps} steps: {spent:.2f} s ({spent / taken:.0f} x), error {off:.1e}"
                print(text, flush=True)
                steps *= 2


def compare_axis(repeats: int) -> None:
    """Microseconds of one attempted step, and how many modes it had."""
    print(f"\n{'':14s}{'beta':>6s}{'kappa':>7s}" + "".join(f"{name:>18s}" for name in ("circle", "d = 3", "d = 8")))
    for kind, beta, kappa, concentration, until in (
        ("unnormalized", 4.0, 4.0, 2.0, 2.0),
        ("unnormalized", 4.0, 200.0, 30.0, 0.2),
        ("softmax", 4.0, 200.0, 30.0, 0.2),
        ("softmax", 4.0, 2000.0, 3000.0, 0.02),
    ):
        cells = []
        for dimension in (2, 3, 8):
            direction = [0.0] * (dimension - 1) + [1.0]
            geometry = {"kind": "circle"} if dimension == 2 else {"kind": "sphere", "dimension": dimension}
            initial = {"kind": "von-mises", "direction": direction, "concentration": concentration}
            problem = mfpde.Problem.from_dict(
                {
                    "geometry": geometry,
                    "attention": {"kind": kind, "beta": beta},
                    "noise": {"kappa": kappa},
                    "initial": initial,
                    "solver": {"kind": "spectral", "tolerance": 1e-8, "max_modes": 4096},
                    "time": {"until": until},
                }
            )
            best = np.inf
            for _ in range(repeats):
                integration = problem.solver.start(InitialValueProblem(problem.equation, until))
                began = time.process_time()
                while integration.advance(until, 10**6).state.value == "under way":
                    pass
                told = integration.statistics()
                best = min(best, (time.process_time() - began) / (told["steps"] + told["rejected"]))
            cells.append(f"{1e6 * best:8.1f} ({told['modes']:5.0f})")
        print(f"{kind:14s}{beta:6g}{kappa:7g}" + "".join(f"{cell:>18s}" for cell in cells))


def compare_solvers(until: float, repeats: int) -> None:
    """Until the NumPy program is as exact."""
    reference = mfpde.solve(posed(until, 1e-10)).measure(-1)
    chosen = posed(until, 1e-6)
    integration = chosen.solver.start(InitialValueProblem(chosen.equation, until))
    while integration.advance(until, 10**6).state.value == "under way":
        pass
    told = integration.statistics()
    count = reference.values.shape[0]
    found = integration.measure().series.resized(count - 1).on_grid(count) / (4 * np.pi)
    error = np.abs(found - reference.values).max() / reference.values.max()
    taken = fastest(lambda: mfpde.solve(chosen), repeats) / 1e6
    print(f"\nmfpde: {taken:.3f} s, error {error:.1e}, " + ", ".join(f"{k} {v:g}" for k, v in told.items()))
    cost = fastest(integration._stepping.restart, repeats) * told["evaluations"] / 1e6
    print(f"its slopes alone, all of the last degree: {cost:.3f} s")
    degree = int(told["modes"])
    rings, places = degree + 16, ring_length(2 * degree + 32)
    law = chosen.equation.law
    potential = law.convolution(chosen.equation.geometry).potential
    basis = numpy_sphere.Harmonics(degree, rings, places)
    plain = numpy_sphere.Problem(basis, potential, 1 / KAPPA)
    start = np.zeros((degree + 1, degree + 1), dtype=complex)
    first = chosen.equation.initial_measure().harmonics(3).coefficients
    start[:4, :4] = first
    exact = reference.series.coefficients.T[: degree + 1, : degree + 1]
    mine = np.abs(integration.measure().series.coefficients.T[: degree + 1, : degree + 1] - exact).max()
    print(f"coefficients of mfpde off by {mine:.1e}")
    steps = 64
    while True:
        began = time.process_time()
        with np.errstate(all="ignore"):
            end = numpy_sphere.solve(plain, start, until, steps)
        spent = time.process_time() - began
        off = np.abs(end.T - exact).max() if np.isfinite(end).all() else np.inf
        print(f"NumPy, {steps} steps: {spent:.2f} s ({spent / taken:.1f} x), coefficients off by {off:.1e}")
        if off <= mine or steps > _MOST_STEPS:
            break
        steps *= 2


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--until", type=float, default=0.5)
    parser.add_argument("--no-solver", action="store_true")
    parser.add_argument("--dedalus", metavar="PYTHON", help="a Python that has Dedalus 3")
    parser.add_argument("--axis", action="store_true", help="steps about an axis and on the circle only")
    options = parser.parse_args()
    if options.axis:
        compare_axis(options.repeats)
        return
    if options.dedalus:
        race_dedalus(options.dedalus, options.until, options.repeats)
        return
    compare_transforms(options.repeats)
    compare_fourier(options.repeats)
    if not options.no_solver:
        compare_solvers(options.until, options.repeats)


if __name__ == "__main__":
    main()

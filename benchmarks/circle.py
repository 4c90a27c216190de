"""Time to a given accuracy on the circle, and first-run latency.

    python benchmarks/circle.py [--repeats 9] [--error 1e-8] [--no-latency]

Problem: unnormalized attention, beta = 4, kappa = 4, mu_0 = (1 + 0.5 cos theta + 0.2 sin 2 theta)/(2 pi), until t = 5.
Fixed steps first get the cheapest setting whose measured max|error|/max density at the end is below the target: the
fewest steps (within 5%). mfpde gets the tolerance that a user would set, whose promise of 10 tolerances is the target,
and beside it the largest tolerance of a 1-2-5 ladder that reaches it. Then all are timed in turn, in one process, warm;
the median is printed. exponax rows appear where exponax is installed.

The reference state, benchmarks/circle_reference.json, comes from tests/reference/circle.py, which shares no code with
any contestant: `python benchmarks/circle.py --make-reference` writes it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from baselines import exponax_circle, numpy_etdrk4
from baselines.numpy_etdrk4 import Array, relative_error
from reference.circle import interpolate, solve_by_quadrature

HERE = Path(__file__).resolve().parent
BETA, KAPPA, UNTIL = 4.0, 4.0, 5.0
REFERENCE = HERE / "circle_reference.json"
DEMO = """\
geometry:  {kind: circle}
attention: {kind: unnormalized, beta: 0}
noise:     {kappa: 4}
initial:   {kind: density, expression: 1 + 0.1*cos(theta)}
solver:    {kind: spectral, tolerance: 1e-8}
time:      {until: 40, save_every: 0.5}
observe:   [order-parameter, free-energy]
"""


@dataclass
class Contestant:
    """A tuned, warm solver: `run` returns the final density on equispaced angles."""

    name: str
    setting: str
    run: Callable[[], Array]
    error: float = float("nan")
    times: list[float] = field(default_factory=list)


def initial(theta: Array) -> Array:
    """Not normalised; each solver scales it."""
    return np.asarray(1 + 0.5 * np.cos(theta) + 0.2 * np.sin(2 * theta))


def equispaced(points: int) -> Array:
    """Angles from 0."""
    return 2 * np.pi * np.arange(points) / points


def make_reference(points: int = 320) -> None:
    """Store the final density on `points` angles and how far an independent solve is from it."""
    first = solve_by_quadrature(
        initial, [UNTIL], BETA, KAPPA, "unnormalized", points, integrator="Radau", tolerance=1e-12
    )
    second = solve_by_quadrature(initial, [UNTIL], BETA, KAPPA, "unnormalized", 384, angles=equispaced(points))
    accuracy = relative_error(second[0], first[0])
    record = {"accuracy": accuracy, "density": [round(float(value), 15) for value in first[0]]}
    REFERENCE.write_text(json.dumps(record) + "\n")
    print(f"reference accurate to {accuracy:.1e}")


def reference_at(points: int) -> Array:
    """The reference density on `points` equispaced angles."""
    stored = np.array(json.loads(REFERENCE.read_text())["density"])
    return interpolate(stored, equispaced(points))


def numpy_contestant(points: int, target: float) -> Contestant:
    """NumPy ETDRK4; dealiasing was tried and changes neither steps nor error here."""
    steps = numpy_etdrk4.tune(points, target, BETA, KAPPA, initial, UNTIL, reference_at(points))
    start = numpy_etdrk4.transform(initial(equispaced(points)))

    def run() -> Array:
        end = numpy_etdrk4.solve(points, BETA, KAPPA, start, UNTIL, steps)
        return numpy_etdrk4.density(end, points)

    return Contestant(f"numpy ETDRK4, {points} points", f"{steps} steps", run)


def exponax_contestant(points: int, target: float) -> Contestant:
    """exponax ETDRK4; the compilation is not timed."""
    values = initial(equispaced(points))
    values /= 2 * np.pi * values.mean()
    reference = reference_at(points)

    def error_of(steps: int) -> float:
        with np.errstate(all="ignore"):
            return relative_error(exponax_circle.prepare(points, BETA, KAPPA, UNTIL, steps)(values), reference)

    steps = numpy_etdrk4.smallest_steps(error_of, target, start=1024)
    solve = exponax_circle.prepare(points, BETA, KAPPA, UNTIL, steps)
    return Contestant(f"exponax ETDRK4, {points} points", f"{steps} steps", lambda: solve(values))


def mfpde_contestants(target: float) -> list[Contestant]:
    """mfpde.solve, at the tolerance that promises the target and at the largest that reaches it.

    Building the Problem is not timed.
    """
    import mfpde

    def prepare(tolerance: float) -> Callable[[], Array]:
        problem = mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "circle"},
                "attention": {"kind": "unnormalized", "beta": BETA},
                "noise": {"kappa": KAPPA},
                "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"},
                "solver": {"kind": "spectral", "tolerance": tolerance},
                "time": {"until": UNTIL, "save": False},
            }
        )
        return lambda: np.asarray(mfpde.solve(problem).density[-1])

    promising = Contestant("mfpde", f"tolerance {0.1 * target:.0e}", prepare(0.1 * target))
    for exponent in range(3, 13):
        for digit in (10, 5, 2):
            tolerance = digit * 10.0 ** -(exponent + 1)
            run = prepare(tolerance)
            density = run()
            if relative_error(density, reference_at(density.size)) <= target:
                return [promising, Contestant("mfpde, largest tolerance", f"tolerance {tolerance:.0e}", run)]
    raise RuntimeError(f"no tolerance of the ladder reaches {target}")


def contestants(target: float) -> list[Contestant]:
    """All that are installed, tuned."""
    found: list[Contestant] = []
    try:
        found += mfpde_contestants(target)
    except (ImportError, AttributeError) as missing:
        print(f"(mfpde left out: {missing})")
    found += [numpy_contestant(points, target) for points in (192, 256, 1024)]
    if exponax_circle.available():
        found += [exponax_contestant(points, target) for points in (192, 256, 1024)]
    else:
        print("(exponax left out: not installed)")
    return found


def race(rivals: list[Contestant], repeats: int) -> None:
    """Time all in turn, so that a busy spell of the machine hits everyone."""
    for rival in rivals:
        density = rival.run()
        rival.error = relative_error(density, reference_at(density.size))
    for _ in range(repeats):
        for rival in rivals:
            began = time.perf_counter()
            rival.run()
            rival.times.append(time.perf_counter() - began)
    unit = statistics.median(rivals[0].times)
    print(f"{'solver':30s} {'setting':18s} {'median':>10s} {'fastest':>10s} {'error':>8s} {'ratio':>7s}")
    for rival in rivals:
        median = statistics.median(rival.times)
        print(
            f"{rival.name:30s} {rival.setting:18s} {1e3 * median:7.2f} ms {1e3 * min(rival.times):7.2f} ms "
            f"{rival.error:8.1e} {median / unit:7.2f}"
        )


def seconds(command: list[str], environment: dict[str, str], folder: str) -> float | None:
    """Wall time of a process, None if it fails."""
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=False)  # noqa: S603, ours
    return time.perf_counter() - began if done.returncode == 0 else None


def latency(repeats: int = 3) -> None:
    """First-run latency in fresh processes: the best of a few, except for the cold solve, which is cold only once."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "demo.yaml").write_text(DEMO)
        places = [str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment: dict[str, Any] = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(place for place in places if place)
        environment["NUMBA_CACHE_DIR"] = str(Path(folder, "numba"))
        python = sys.executable
        solve = [python, "-m", "mfpde", "solve", "demo.yaml", "--force", "--quiet"]
        rows = (
            ("python -c pass", [python, "-c", "pass"], repeats),
            ("import mfpde", [python, "-c", "import mfpde"], repeats),
            ("mfpde --help", [python, "-m", "mfpde", "--help"], repeats),
            ("mfpde solve demo, cold", solve, 1),
            ("mfpde solve demo, warm", solve, repeats),
        )
        print(f"\n{'fresh process':30s} {'seconds':>8s}")
        for name, command, count in rows:
            taken = [seconds(command, environment, folder) for _ in range(count)]
            best = min((value for value in taken if value is not None), default=None)
            print(f"{name:30s} " + ("  failed" if best is None else f"{best:8.2f}"))


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--error", type=float, default=1e-8)
    parser.add_argument("--no-latency", action="store_true")
    parser.add_argument("--make-reference", action="store_true")
    options = parser.parse_args()
    if options.make_reference:
        make_reference()
        return
    race(contestants(options.error), options.repeats)
    if not options.no_latency:
        latency()


if __name__ == "__main__":
    main()

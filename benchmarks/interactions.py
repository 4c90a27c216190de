"""Forces of interactions: tokens and densities on the line, the plane, the circle and the sphere.

    python benchmarks/interactions.py [--quick]

Seconds are of the processor and one thread, warm, best of three; for tables of the force, which are kept while the
range of distances stays, the first call is shown too. Errors are of the force at ten tokens against the plain sum
over the expression, relative to the largest of them (on cells of the line under a kinked W they are those of the
plain sum, whose order there is two: the fast one integrates a polynomial between the nodes). The last column is what
the plain sum would take, scaled up from those ten.
"""

import argparse
import os
import time

os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from baselines.timing import best

import mfpde
from mfpde.geometry import Geometry
from mfpde.measure import Measure

_QUERIES = 10  # at which errors are measured
_SPACES = {"line": mfpde.Line(), "plane": mfpde.Plane(), "circle": mfpde.Circle(), "sphere": mfpde.Sphere()}
_CASES = [
    ("line", "exp(-r**2)", 1_000_000, "grid"),
    ("line", "log(r**2 + 0.01)", 1_000_000, "grid"),
    ("line", "maximum(0, 1 - r**2)/2", 1_000_000, "sorting"),
    ("line", "-exp(-r)", 100_000, "sorting"),
    ("line", "-r**2/2", 1_000_000, "moments"),
    ("plane", "exp(-r**2)", 1_000_000, "grid"),
    ("plane", "-log(r**2 + 0.25)", 1_000_000, "grid"),
    ("plane", "maximum(0, 1 - r**2)**2", 100_000, "near pairs"),
    ("plane", "minimum(r, 1)*(3 - r/20)", 10_000, "pairs"),
    ("circle", "2*maximum(0, 1 - (angle/0.9)**2)**2", 1_000_000, "sorting"),
    ("circle", "exp(3*cosine)", 1_000_000, "degrees"),
    ("sphere", "exp(3*cosine)", 1_000_000, "degrees"),
    ("sphere", "maximum(0, 1 - angle)", 10_000, "pairs"),
]
_CELLS = [("line", 1024), ("plane", 256)]


def tokens(space: Geometry, count: int) -> np.ndarray:
    """Gaussian, or uniform where space has an end."""
    random = np.random.default_rng(7)
    if space.angular:
        return random.uniform(0, 2 * np.pi, (count, 1))
    x = 2 * random.standard_normal((count, space.ambient_dimension))
    return x if space.flat else x / np.linalg.norm(x, axis=1)[:, None]


def show(name: str, way: str, measure: Measure, law: mfpde.Interaction, points: object, x: np.ndarray) -> None:
    """One row of the table."""
    start = time.process_time()
    found = law.drift(measure, points)
    first = time.process_time() - start
    seconds = best(lambda: law.drift(measure, points), 3)
    some = np.linspace(0, len(x) - 1, _QUERIES).astype(int)
    start = time.process_time()
    plain = law.drift_by_quadrature(measure, x[some])
    scaled = (time.process_time() - start) * len(x) / _QUERIES
    rows = found if found.shape[0] == len(x) else found.reshape(x.shape[1], -1).T
    error = np.abs(rows[some] - plain).max() / np.abs(plain).max()
    print(f"{name:62}{way:>12}{first:9.2f} s{seconds:9.3f} s{error:10.0e}{scaled:12.0f} s", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the tokens")
    share = 20 if parser.parse_args().quick else 1
    print(f"{'case':62}{'by':>12}{'first':>11}{'seconds':>11}{'error':>10}{'plain sum':>14}")
    for kind, text, count, way in _CASES:
        space, law = _SPACES[kind], mfpde.Interaction(expression=text)
        x = tokens(space, count // share)
        measure = mfpde.Particles(x, geometry=space)
        show(f"{kind}, {len(x):,} tokens, {text}", way, measure, law, x, x)
    for kind, cells in _CELLS:
        space, axis = _SPACES[kind], (np.arange(cells) - 0.5 * cells + 0.5) * (16 / cells)
        axes = [axis] * space.ambient_dimension
        values = np.exp(-0.5 * sum(part**2 for part in np.meshgrid(*axes, indexing="ij")))
        measure = mfpde.GridDensity.of(axes, values, averages=False)
        lattice = measure.lattices[0]
        for text in ("exp(-r**2)", "-log(r**2 + 0.25)", "maximum(0, 1 - r**2)**2"):
            law = mfpde.Interaction(expression=text)
            name = f"{kind}, {'x'.join([str(cells)] * len(axes))} cells, {text}"
            show(name, "cells", measure, law, lattice, lattice.points())


if __name__ == "__main__":
    main()

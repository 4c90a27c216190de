"""Dedalus 3 on its sphere basis, run by the Python that has it: `dedalus_sphere.py DATA.npz SCHEME STEPS[,STEPS]`.

DATA holds `degree`, `until`, `kappa`, the `expression` of the data, `multipliers` of the convolution by degree (Funk
and Hecke) and the `reference`, densities relative to the uniform one on (colatitudes, longitudes). One line of JSON for
each number of steps: seconds of the processor, the first step left out, and max|error| / max.
"""

import json
import logging
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

CHECKED_STEPS = 64  # after which a run that has overflowed is given up


def main() -> None:
    """Print the lines."""
    import dedalus.public as d3

    logging.disable(logging.INFO)
    data, scheme = np.load(sys.argv[1]), getattr(d3, sys.argv[2])
    degree, until, multipliers, reference = (data[name] for name in ("degree", "until", "multipliers", "reference"))
    coordinates = d3.S2Coordinates("phi", "theta")
    distributor = d3.Distributor(coordinates, dtype=np.float64)
    shape = (2 * (int(degree) + 1), int(degree) + 1)
    basis = d3.SphereBasis(coordinates, shape, radius=1, dealias=(1.5, 1.5), dtype=np.float64)
    f, probe = (distributor.Field(name=name, bases=basis) for name in ("f", "probe"))
    phi, theta = distributor.local_grids(basis)
    names = {"x": np.sin(theta) * np.cos(phi), "y": np.sin(theta) * np.sin(phi), "z": np.cos(theta) + 0 * phi}
    start = eval(str(data["expression"]), {"__builtins__": {}}, names)  # noqa: S307 - written by the benchmark
    probe["c"] = 1.0
    eigenvalues = np.abs(d3.lap(probe).evaluate()["c"])
    degrees = np.rint((np.sqrt(1 + 4 * eigenvalues) - 1) / 2).astype(int)
    factors = np.where(degrees < multipliers.size, multipliers[np.minimum(degrees, multipliers.size - 1)], 0.0)

    def convolved(field):
        field.require_coeff_space()
        return field.data * factors

    pull = d3.GeneralFunction(distributor, f.domain, (), np.float64, "c", convolved, args=[f])
    problem = d3.IVP([f], namespace={"f": f, "pull": pull, "diffusion": 1 / float(data["kappa"])})
    problem.add_equation("dt(f) - diffusion*lap(f) = - div(f*grad(pull))")
    for steps in map(int, sys.argv[3].split(",")):
        f.change_scales(1)
        f["g"] = start
        solver = problem.build_solver(scheme)
        solver.step(float(until) / steps)  # factorises its matrices
        began = time.process_time()
        for number in range(1, steps):
            solver.step(float(until) / steps)
            if number % CHECKED_STEPS == 0 and not np.isfinite(f["c"]).all():
                break
        taken = (time.process_time() - began) * steps / number
        f.change_scales(1)
        found = np.array(f["g"]).T
        found = found[::-1] if theta.ravel()[0] > theta.ravel()[-1] else found
        error = float(np.abs(found - reference).max() / reference.max())
        print(json.dumps({"scheme": sys.argv[2], "steps": steps, "seconds": taken, "error": error}), flush=True)


if __name__ == "__main__":
    main()

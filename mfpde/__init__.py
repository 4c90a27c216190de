"""mfpde: mean-field PDEs of Transformers.

    import mfpde
    run = mfpde.solve("kuramoto.yaml")

Everything public is here; it is imported when first used, so that `import mfpde` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mfpde._version import __version__

if TYPE_CHECKING:
    from mfpde.attention import (
        L2,
        Constant,
        Interaction,
        Linear,
        Masked,
        Mlp,
        MultiHead,
        Relu,
        Sigmoid,
        Sinkhorn,
        Softmax,
        Unnormalized,
    )
    from mfpde.bifurcation.bifurcating import bifurcate
    from mfpde.bifurcation.diagram import Branch, Diagram
    from mfpde.bifurcation.phase import phase_diagram
    from mfpde.bifurcation.single import stationary_state
    from mfpde.bifurcation.stationary import StationaryState
    from mfpde.contracts import Accuracy, Outcome
    from mfpde.distances import OptimalMap, distance, optimal_map
    from mfpde.equation import Equation
    from mfpde.errors import MfpdeError, OutputError, ProblemError, ResumeError
    from mfpde.geometry import Circle, Lattice, Line, Plane, Space, Sphere
    from mfpde.measure import (
        Density,
        Gaussian,
        GridDensity,
        Measure,
        Mixture,
        Normal,
        Panel,
        Particles,
        Points,
        Positioned,
        Snapshot,
        Uniform,
        VonMises,
    )
    from mfpde.problem import Problem
    from mfpde.run import Run
    from mfpde.run_loop import solve
    from mfpde.store import load
    from mfpde.sweeping.result import Sweep
    from mfpde.sweeping.running import sweep
    from mfpde.validation import validate

_HOME = {
    "mfpde.attention": [
        "Constant",
        "Interaction",
        "L2",
        "Linear",
        "Masked",
        "Mlp",
        "MultiHead",
        "Relu",
        "Sigmoid",
        "Sinkhorn",
        "Softmax",
        "Unnormalized",
    ],
    "mfpde.contracts": ["Accuracy", "Outcome"],
    "mfpde.distances": ["OptimalMap", "distance", "optimal_map"],
    "mfpde.bifurcation.bifurcating": ["bifurcate"],
    "mfpde.bifurcation.diagram": ["Branch", "Diagram"],
    "mfpde.bifurcation.phase": ["phase_diagram"],
    "mfpde.bifurcation.single": ["stationary_state"],
    "mfpde.bifurcation.stationary": ["StationaryState"],
    "mfpde.equation": ["Equation"],
    "mfpde.errors": ["MfpdeError", "OutputError", "ProblemError", "ResumeError"],
    "mfpde.geometry": ["Circle", "Lattice", "Line", "Plane", "Space", "Sphere"],
    "mfpde.measure": [
        "Density",
        "Gaussian",
        "GridDensity",
        "Measure",
        "Mixture",
        "Normal",
        "Panel",
        "Particles",
        "Points",
        "Positioned",
        "Snapshot",
        "Uniform",
        "VonMises",
    ],
    "mfpde.problem": ["Problem"],
    "mfpde.run": ["Run"],
    "mfpde.run_loop": ["solve"],
    "mfpde.store": ["load"],
    "mfpde.sweeping.result": ["Sweep"],
    "mfpde.sweeping.running": ["sweep"],
    "mfpde.validation": ["validate"],
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "L2",
    "Accuracy",
    "Branch",
    "Circle",
    "Constant",
    "Density",
    "Diagram",
    "Equation",
    "Gaussian",
    "GridDensity",
    "Interaction",
    "Lattice",
    "Line",
    "Linear",
    "Masked",
    "Measure",
    "MfpdeError",
    "Mixture",
    "Mlp",
    "MultiHead",
    "Normal",
    "OptimalMap",
    "Outcome",
    "OutputError",
    "Panel",
    "Particles",
    "Plane",
    "Points",
    "Positioned",
    "Problem",
    "ProblemError",
    "Relu",
    "ResumeError",
    "Run",
    "Sigmoid",
    "Sinkhorn",
    "Snapshot",
    "Softmax",
    "Space",
    "Sphere",
    "StationaryState",
    "Sweep",
    "Uniform",
    "Unnormalized",
    "VonMises",
    "__version__",
    "bifurcate",
    "distance",
    "load",
    "optimal_map",
    "phase_diagram",
    "solve",
    "stationary_state",
    "sweep",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    from mfpde.errors import nearest

    raise AttributeError(f"module 'mfpde' has no attribute {name!r}{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)

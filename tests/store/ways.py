"""Runs of every solver in which everything that is kept comes to matter, by the solver's name."""

from store.interrupted import Way

LOPSIDED = "1 + 0.1*cos(theta) + 0.2*sin(theta) + 0.1*sin(2*theta)"
RIPPLED = "1 + 0.9*cos(theta) + 0.05*sin(40*theta)"
NEARLY_EVEN = "1 + 0.9*cos(2*theta) + 1e-15*cos(theta + 0.2)"
SOFTMAX = {"kind": "softmax", "A": 1, "V": -1}
LINE_BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 2},
        {"kind": "gaussian", "mean": 1.2, "covariance": 0.2},
    ],
}
LINE_GAUSSIAN = {"kind": "gaussian", "mean": 0.5, "covariance": 1.0}
LINE_BOX = {"kind": "uniform", "box": [[-1, 1]]}
SPOT = {"kind": "gaussian", "mean": [0.5, 0], "covariance": [[1, 0.3], [0.3, 0.5]]}
A, V = [[1, 0.5], [-0.2, 0.7]], [[-1, 0.3], [-0.4, -0.8]]


def circle(initial, looks, kind="softmax", beta=1.0, kappa="inf", **solver):
    return Way(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": kind, "beta": beta},
            "noise": {"kappa": kappa},
            "initial": {"kind": "density", "expression": initial},
            "solver": {"kind": "spectral", **solver},
        },
        looks,
    )


def flat(geometry, attention, initial, looks, solver, later=None, **blocks):
    problem = {"geometry": {"kind": geometry}, "attention": attention, "initial": initial, "solver": solver, **blocks}
    return Way(problem, looks, later)


def cells(geometry, attention, initial, looks, later=None, kappa="inf", blocks=None, **solver):
    return flat(
        geometry,
        attention,
        initial,
        looks,
        {"kind": "finite-volume", **solver},
        later,
        noise={"kappa": kappa},
        **(blocks or {}),
    )


def nodes(geometry, attention, initial, looks, later=None, **solver):
    return flat(geometry, attention, initial, looks, {"kind": "characteristics", **solver}, later)


def moments(geometry, attention, initial, looks, later=None, kappa="inf", **solver):
    return flat(geometry, attention, initial, looks, {"kind": "gaussian", **solver}, later, noise={"kappa": kappa})


STRETCHING = {"kind": "softmax", "A": 1, "V": {"times": [0, 0.45], "values": [1, -4]}}
WAYS = {
    "spectral": {
        "grid refined, then more modes": circle(RIPPLED, (0.5, 3.0), beta=500, tolerance=1e-4),
        "modes come and go": circle(RIPPLED, (0.05, 0.2, 3.0), beta=500, kappa=10, tolerance=1e-10),
        "resolution lost": circle(LOPSIDED, (1.0, 9.0), "unnormalized", 4, max_modes=64),
        "noise": circle(LOPSIDED, (1.0, 5.0), "unnormalized", 4, 1.2),
        "rest, after a look too early": circle(NEARLY_EVEN, (700.0, 1e4, 1e5), "unnormalized", 0.98, 13.31, tolerance=1e-3),
    },
    "finite-volume": {
        "moving": cells("line", SOFTMAX, LINE_BUMPS, (0.1, 0.2), kappa=8, cells=48),
        "stiff noise": cells("line", SOFTMAX, LINE_BUMPS, (0.02, 0.05), kappa=1, cells=64, order=5),
        "edges": cells("line", SOFTMAX, LINE_BOX, (0.1, 0.3), kappa=5, cells=48),
        "box too short": cells("line", STRETCHING, LINE_GAUSSIAN, (0.05, 0.46, 0.6), 1.5, frame="static", cells=128, tolerance=1e-4),
        "blow-up": cells("line", {"kind": "softmax", "A": 1, "V": 1}, LINE_GAUSSIAN, (0.3, 1.0), cells=48),
        "rest": cells("line", SOFTMAX, LINE_GAUSSIAN, (20.0, 1e9), kappa=10, cells=32),
        "plane": cells("plane", {"kind": "softmax", "A": A, "V": V}, SPOT, (0.02, 0.05), kappa=4, cells=24),
        "rescaled": cells("line", SOFTMAX, LINE_BUMPS, (0.1, 0.2), rescaled=True, cells=64, stepper="ssprk3"),
        "masked": cells(
            "line",
            {"kind": "masked", "attention": {"kind": "sinkhorn", "A": 2, "V": -0.5}, "positions": [0.2, 0.7]},
            LINE_BUMPS,
            (0.1,),
            cells=32,
        ),
    },
    "gaussian": {
        "plane": moments("plane", {"kind": "softmax", "A": A, "V": {"times": [0, 0.5], "values": [-1, 0.3]}}, SPOT, (0.2, 1.0)),
        "noise": moments("plane", {"kind": "softmax", "A": A, "V": V}, SPOT, (0.2, 5.0, 50.0), kappa=4),
        "stiff": moments("plane", {"kind": "softmax", "A": 1, "V": [[-1, 0], [0, -1e4]]}, SPOT, (0.3, 4.0), kappa=2),
        "blow-up": moments("line", {"kind": "softmax", "A": 1, "V": 1}, LINE_GAUSSIAN, (0.3, 2.0)),
    },
    "characteristics": {
        "line": nodes("line", SOFTMAX, LINE_BOX, (0.05, 0.3), tolerance=1e-6),
        "later": nodes("line", {"kind": "softmax", "A": 4, "V": 1}, LINE_BOX, (0.1, 0.2), 0.5, tolerance=1e-6),
    },
}

"""Runs of every solver in which everything that is kept comes to matter, by the solver's name."""

import numpy as np
from store.interrupted import Way

LOPSIDED = "1 + 0.1*cos(theta) + 0.2*sin(theta) + 0.1*sin(2*theta)"
RIPPLED = "1 + 0.9*cos(theta) + 0.05*sin(40*theta)"
NEARLY_EVEN = "1 + 0.9*cos(2*theta) + 1e-15*cos(theta + 0.2)"
SOFTMAX, GROWING = ({"kind": "softmax", "A": 1, "V": value} for value in (-1, 1))
NARROW = {"kind": "von-mises", "concentration": 1e6}
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
MATRIX_SOFTMAX, V2 = {"kind": "softmax", "A": A, "V": V}, [[1, 0.3], [-0.4, 0.8]]
MASKED = {"kind": "masked", "attention": {"kind": "sinkhorn", "A": 0.5, "V": -0.5}, "positions": [0.2, 0.7]}
POINTS = np.random.default_rng(11).standard_normal((12, 3))
SPHERE = (POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)).tolist()
ANGLES = (2 * np.pi * np.arange(12) / 12 + 0.2 * np.sin(np.arange(12.0))).tolist()
EQUIANGULAR = {"kind": "points", "random": "equiangular", "count": 3, "cosine": 0.2}
THREE = {"kind": "points", "values": [[1, 0, 0], [0, 1, 0], [0, 0.6, 0.8]]}


def mixture(*parts):
    names = ("kind", "mean", "covariance", "weight")
    return {"kind": "mixture", "components": [dict(zip(names, ("gaussian", *part), strict=True)) for part in parts]}


WIDE_BUMPS = mixture((-1.0, 1.0, 0.4), (1.0, 2.0, 0.6))
NARROW_BUMPS = mixture((-1.0, 0.2, 0.4), (0.8, 0.5, 0.6))


def problem(geometry, attention, initial, solver, **blocks):
    return {"geometry": {"kind": geometry}, "attention": attention, "initial": initial, "solver": solver, **blocks}


def circle(initial, looks, kind="softmax", beta=1.0, kappa="inf", budget=1, **solver):
    attention, density = {"kind": kind, "beta": beta}, {"kind": "density", "expression": initial}
    return Way(
        problem("circle", attention, density, {"kind": "spectral", **solver}, noise={"kappa": kappa}),
        looks,
        budget=budget,
    )


def sphere(initial, looks, kind="softmax", beta=1.0, kappa="inf", **solver):
    attention, density = {"kind": kind, "beta": beta}, {"kind": "density", "expression": initial}
    given = problem("sphere", attention, density, {"kind": "spectral", **solver}, noise={"kappa": kappa})
    return Way(given, looks)


def cells(geometry, attention, initial, looks, kappa="inf", budget=1, until=None, **solver):
    settings = {"kind": "finite-volume", **solver}
    given = problem(geometry, attention, initial, settings, noise={"kappa": kappa})
    return Way(given, looks, until, looks[-1], budget)


def nodes(geometry, attention, initial, looks, later=None, **solver):
    return Way(problem(geometry, attention, initial, {"kind": "characteristics", **solver}), looks, later=later)


def moments(geometry, attention, initial, looks, kappa="inf"):
    return Way(problem(geometry, attention, initial, {"kind": "gaussian"}, noise={"kappa": kappa}), looks)


def tokens(geometry, attention, initial, looks, kappa="inf", solver="particles", normalization=None, **settings):
    blocks = {"noise": {"kappa": kappa}} | ({} if normalization is None else {"normalization": normalization})
    return Way(problem(geometry, attention, initial, {"kind": solver, **settings}, **blocks), looks)


def in_layers(*values, at, kind="softmax"):
    """V that changes at those times."""
    return {"kind": kind, "A": 1, "V": {"times": [0, *at], "values": list(values)}}


def law(attention, tolerance, geometry="circle", **blocks):
    return {
        "geometry": {"kind": geometry},
        "attention": attention,
        "solver": {"kind": "spectral", "tolerance": tolerance},
        **blocks,
    }


#: laws on circle and sphere that are no convolution: problem, initial density, when it is looked at
GENERAL = {
    "tables": (law({"kind": "softmax", "A": [[3, 1], [-1, 2]], "V": V2}, 1e-8), RIPPLED, (0.05, 0.4, 4.0)),
    "layers": (
        law({"kind": "unnormalized", "A": {"times": [0, 0.2], "values": [2, [[1, 0], [0.5, 1]]]}}, 1e-6),
        LOPSIDED,
        (0.1, 0.1001, 0.5),
    ),
    "positions": (law({**MASKED, "attention": {"kind": "softmax", "A": 3}}, 1e-6), LOPSIDED, (0.3, 1.0)),
    "potentials": (law({"kind": "sinkhorn", "A": 2, "V": V2}, 1e-4), LOPSIDED, (0.3, 0.8)),
    "sphere": (
        law({"kind": "softmax", "A": 1, "V": [[1, 0, 0], [0, 1, 0.3], [0, 0, 0.5]]}, 1e-4, "sphere"),
        "1 + 0.5*x*y + 0.2*z",
        (0.3, 1.0),
    ),
    "axis": (
        law({"kind": "softmax", "A": 1, "V": [[1, 0, 0], [0, 1, 0], [0, 0, 2]]}, 1e-4, "sphere"),
        "exp(2*z)",
        (0.3, 1.0),
    ),
}


WAYS = {
    "spectral": {
        "grid refined, then more modes": circle(RIPPLED, (0.5, 3.0), beta=500, tolerance=1e-6),
        "modes come and go": circle(RIPPLED, (0.05, 0.2, 3.0), beta=500, kappa=10, tolerance=1e-10),
        "resolution lost": circle(LOPSIDED, (1.0, 9.0), "unnormalized", 4, max_modes=64),
        "steps rejected": circle(RIPPLED, (0.83, 2.5), "unnormalized", 27.3, 46.5, tolerance=1e-8),
        "cut": Way(
            problem("circle", {"kind": "softmax", "beta": 1}, NARROW, {"kind": "spectral"}, noise={"kappa": 4}),
            (0.1, 0.2),
        ),
        "sphere": sphere("1 + 0.5*x + 0.3*y*z + 0.2*z", (2.0, 5.0), beta=2, kappa=60, tolerance=1e-4),
        "sphere with an axis": sphere("exp(2*x + y)", (0.1, 0.3), "unnormalized", 2, 5, tolerance=1e-4),
        **{
            f"law, {name}": Way(
                {**given, "noise": {"kappa": 20}, "initial": {"kind": "density", "expression": start}}, looks
            )
            for name, (given, start, looks) in GENERAL.items()
        },
        "rest": circle(NEARLY_EVEN, (1500.0, 1e8, 1e9), "unnormalized", 0.98, 13.31, 10_000, tolerance=3e-3),
    },
    "finite-volume": {
        "moving": cells("line", SOFTMAX, LINE_BUMPS, (0.05, 0.2), cells=48),
        "edges": cells("line", SOFTMAX, LINE_BOX, (0.1, 0.3), cells=48),
        "edges under noise": cells("line", SOFTMAX, LINE_BOX, (0.1, 0.3), kappa=5, cells=48),
        "edges seen early": cells("line", SOFTMAX, LINE_BOX, (0.01, 0.2), kappa=5, cells=96, tolerance=1e-4),
        "box too short": cells(
            "line",
            in_layers(1, -4, at=[0.379], kind="linear"),
            LINE_GAUSSIAN,
            (0.385, 0.42),
            until=0.01,
            frame="static",
            cells=128,
            order=5,
            tolerance=1e-3,
        ),
        "tails that matter": cells("line", SOFTMAX, WIDE_BUMPS, (0.02, 0.03, 0.04), cells=160, tolerance=6e-8),
        "tails that do not": cells(
            "line",
            {"kind": "softmax", "A": 0.8, "V": 1},
            {"kind": "uniform", "box": [[-0.7, 1.3]]},
            (0.9, 1.1),
            kappa=4,
            cells=48,
            tolerance=1e-3,
        ),
        "blow-up": cells("line", GROWING, LINE_GAUSSIAN, (0.3, 1.0), cells=32, tolerance=3e-5),
        "rest": cells("line", SOFTMAX, LINE_GAUSSIAN, (20.0, 1e5, 1e9), 10, 10_000, cells=32, tolerance=1e-4),
        "plane": cells("plane", MATRIX_SOFTMAX, SPOT, (0.02,), kappa=4, cells=24, tolerance=1e-4),
        "looks within steps": cells(
            "plane", MATRIX_SOFTMAX, SPOT, (0.02, 0.05, 0.06, 0.2, 0.5), cells=24, tolerance=1e-4
        ),
        "box at rest": cells(
            "plane",
            {"kind": "softmax", "A": 0.3, "V": -1},
            SPOT,
            (0.05, 0.3),
            kappa=1,
            cells=48,
            frame="static",
            tolerance=1e-4,
        ),
        "walls": cells(
            "line",
            in_layers(-2, -0.1, at=[0.3]),
            {"kind": "uniform", "box": [[-1, 1]]},
            (0.35, 1.0),
            kappa=2,
            cells=32,
            box=[[-1, 1]],
            tolerance=1e-4,
        ),
        "tails within the cells": cells(
            "line",
            GROWING,
            mixture((0.5, 0.9, 0.5), (-0.5, 0.9, 0.5)),
            (0.05, 0.1),
            kappa=4,
            cells=128,
            box=[[-14, 14]],
            tolerance=1e-6,
        ),
        "tables of other lengths": Way(  # the crowd becomes four times as wide
            {
                "geometry": {"kind": "line"},
                "interaction": {"expression": "log(r**2 + 0.25) + minimum(r, 1)", "external": "x"},
                "initial": LINE_BUMPS,
                "noise": {"kappa": 2},
                "solver": {"kind": "finite-volume", "cells": 64, "tolerance": 1e-4},
            },
            (0.5, 3.0, 12.0),
        ),
        "rescaled": cells("line", SOFTMAX, LINE_BUMPS, (0.05,), rescaled=True, cells=64, stepper="ssprk3"),
        "masked": cells("line", MASKED, LINE_BUMPS, (0.01, 0.02), cells=18, tolerance=1e-3),
    },
    "gaussian": {
        "layers": moments(
            "plane",
            {"kind": "softmax", "A": A, "V": {"times": [0, 0.5], "values": [-1, 0.3]}},
            SPOT,
            (0.2, 0.2001, 1.0),
        ),
        "limit": moments("plane", MATRIX_SOFTMAX, SPOT, (0.2, 0.2001, 20.0)),
        "later limit": moments("plane", MATRIX_SOFTMAX, SPOT, (0.2, 0.2001, 50.0)),
        "stiff": moments(
            "plane", {"kind": "softmax", "A": 1, "V": [[-1, 0], [0, -1e4]]}, SPOT, (0.3, 0.3001, 1.0), kappa=2
        ),
        "blow-up": moments("line", GROWING, LINE_GAUSSIAN, (0.3, 2.0)),
    },
    "characteristics": {
        "layers": nodes("line", in_layers(-1, 60, -60, at=[0.1, 0.12]), LINE_BOX, (0.05, 0.051, 0.13), tolerance=1e-6),
        "other nodes": nodes("line", {"kind": "softmax", "A": 4, "V": 1}, LINE_BOX, (0.02, 0.1), 0.5, tolerance=1e-6),
        "normal in the end": nodes("line", GROWING, LINE_GAUSSIAN, (0.005, 0.01), 0.45, tolerance=1e-4),
        "tails in the end": nodes("line", GROWING, WIDE_BUMPS, (0.02, 0.1), 0.12, tolerance=1e-3),
        "masked": nodes(
            "line",
            {**MASKED, "attention": {"kind": "softmax", "A": 4, "V": 1}},
            LINE_BOX,
            (0.02, 0.1),
            0.5,
            tolerance=1e-4,
        ),
        "plane": nodes(
            "plane",
            MATRIX_SOFTMAX,
            {"kind": "uniform", "box": [[-1, 1], [0, 1]]},
            (0.05, 0.1),
            tolerance=1e-3,
        ),
        "circle": nodes("circle", SOFTMAX, {"kind": "density", "expression": LOPSIDED}, (0.1, 0.2), tolerance=1e-6),
        "sphere": nodes("sphere", SOFTMAX, {"kind": "points", "values": SPHERE}, (0.1, 0.2), tolerance=1e-6),
        "blow-up": nodes("line", {"kind": "linear", "A": 1, "V": 1}, LINE_BOX, (1.0, 5.0), tolerance=1e-6),
    },
    "particles": {
        "pairs": tokens(
            "circle",
            {"kind": "softmax", "beta": 9},
            {"kind": "points", "values": ANGLES},
            (2.0, 6.0, 9.0, 12.0, 60.0),
            tolerance=1e-4,
        ),
        "copies": tokens(
            "sphere",
            {"kind": "softmax", "beta": 2},
            {"kind": "uniform"},
            (0.5, 10.0),
            count=6,
            copies=5,
            tolerance=1e-3,
        ),
        "norms that stay": tokens(
            "plane", SOFTMAX, SPOT, (0.3, 0.6), count=5, copies=2, normalization={"kind": "post"}, tolerance=1e-4
        ),
        "norms that grow": tokens(
            "plane", SOFTMAX, SPOT, (0.3, 0.6), count=40, normalization={"kind": "pre"}, tolerance=1e-4
        ),
        "masked": tokens(
            "line",
            {"kind": "masked", "attention": {"kind": "softmax", "A": 1, "V": -1}, "positions": 7},
            LINE_GAUSSIAN,
            (0.3, 0.6),
            count=7,
        ),
        "pole": tokens("line", {"kind": "linear", "A": 1, "V": 1}, {"kind": "points", "values": ANGLES}, (0.01, 5.0)),
        "fast sums": tokens("circle", {"kind": "sinkhorn", "A": 2}, {"kind": "uniform"}, (0.3, 0.6), count=8),
        "two looks into one step": tokens(
            "circle", {"kind": "sinkhorn", "A": 2}, {"kind": "uniform"}, (0.2, 0.21), count=8
        ),
        "noise": tokens("circle", {"kind": "softmax", "beta": 2}, {"kind": "uniform"}, (0.33, 0.9), kappa=3, count=20),
        "noise on a sphere": tokens(
            "sphere", {"kind": "softmax", "beta": 2}, {"kind": "uniform"}, (0.33, 0.9), kappa=3, count=20, copies=3
        ),
        "layers": tokens(
            "circle", {"kind": "softmax", "beta": 2}, {"kind": "uniform"}, (0.4, 2.0), count=20, layers=50
        ),
    },
    "equiangular": {
        "cosine": tokens(
            "sphere", {"kind": "softmax", "beta": 2}, EQUIANGULAR, (0.5, 0.5001, 2.0), solver="equiangular"
        ),
        "norms": tokens(
            "sphere",
            {"kind": "softmax", "beta": 2},
            EQUIANGULAR,
            (0.5, 0.5001, 2.0),
            solver="equiangular",
            normalization={"kind": "pre"},
        ),
    },
    "hardmax": {
        "pairs": tokens("sphere", {"kind": "softmax", "beta": 9}, THREE, (0.5, 2.0), solver="hardmax"),
    },
}
#: which of these runs shows that an entry matters, where hardly any other does
TELLING = {
    "spectral": {"controller[3]": "steps rejected", "rest[0]": "rest", "rest[1]": "rest"},
    "finite-volume": {
        "leak[0]": "box too short",
        "missed[1]": "edges under noise",
        "missed[3]": "edges",
        "missed[4]": "tails that do not",
        "missed[5]": "tails that do not",
        "missed[6]": "tails that matter",
        "missed[7]": "edges under noise",
        "missed[8]": "walls",
        "missed[9]": "tails that do not",
        "missed[10]": "tails within the cells",
        "missed[11]": "edges seen early",
        "growth": "blow-up",
        **dict.fromkeys(("reach_of_steps[0]", "steps_begun", "time[1]"), "looks within steps"),
        **{f"control_counts[{number}]": "edges under noise" for number in (1, 3)},
    },
    "gaussian": {
        **dict.fromkeys(("controller[1]", "frame_mean"), "blow-up"),
        "course_rate": "limit",
        "course_0_time": "limit",
        "course_0_parts": "limit",
        "course_1_time": "later limit",
        "course_1_parts": "later limit",
        **{f"march_switches[{number}]": "stiff" for number in (0, 1)},
    },
    "characteristics": {
        "points": "other nodes",
        "weights": "other nodes",
        "positions": "masked",
        "normal": "normal in the end",
        "reach": "tails in the end",
        "controller[1]": "blow-up",
        "controller[2]": "other nodes",
        "controller[3]": "layers",
    },
}
#: where else it is shown: a part of several solvers (`March`, `Rest`) holds it in one array with other numbers, or it
#: takes a test of its own
AMPLIFICATION = {f"amplification[{number}]": "test_accuracy" for number in range(3)}
ELSEWHERE = {
    "spectral": {
        **AMPLIFICATION,
        **{f"choices[{number}]": "test_what_the_start_decides_is_kept" for number in range(6)},
        **{f"cut[{number}]": "test_what_the_start_decides_is_kept" for number in range(2)},
        **{
            f"{name}[{number}]": "test_what_the_start_decides_is_kept"
            for name in ("masses", "modes_kept")
            for number in range(2)
        },
        "positions": "test_what_the_start_decides_is_kept",
        **{f"symmetry[{number}]": "test_sphere_solution" for number in range(9)},
        **{f"axis[{number}]": "test_sphere_solution" for number in range(3)},
        "even[0]": "test_sphere_solution",
        "shown[0]": "test_sphere_solution",
    },
    "gaussian": {
        **AMPLIFICATION,
        "controller[3]": "characteristics",
        **{f"march_switches[{n}]": "test_steps_that_stability_has_let_alone_are_counted_on" for n in (2, 3)},
        # frames are kept whole: their mean and place are shown by "frame" and "view"
        **{f"{frame}_mean": "frame_mean" for frame in ("start_frame", "course_0", "course_1")},
        **{f"{frame}_place": "frame_place" for frame in ("start_frame", "course_0", "course_1")},
    },
    "finite-volume": {
        **AMPLIFICATION,
        **{f"first_cells[{number}]": "test_what_the_start_decides_is_kept" for number in range(2)},
        "missed[0]": "test_what_the_start_decides_is_kept",
        **{f"noise_steps[{number}]": "test_what_exact_steps_have_seen_is_kept" for number in range(4)},
        **{f"noise_looks[{number}]": "test_what_exact_steps_have_seen_is_kept" for number in range(2)},
        "rest[0]": "spectral",
        "rest[1]": "spectral",
    },
    "characteristics": {
        **AMPLIFICATION,
        **{f"rule[{number}]": "test_resume_repeats_nothing" for number in range(4)},
        "march_times[0]": "gaussian",
        **{f"march_switches[{number}]": "gaussian" for number in range(4)},
    },
    "particles": {
        **AMPLIFICATION,
        "controller[3]": "characteristics",
        **{f"march_switches[{number}]": "gaussian" for number in range(4)},
        **dict.fromkeys(("length", "positions", "tokens", "weights"), "test_what_the_start_decides_is_kept"),
    },
    "equiangular": {
        "controller[3]": "characteristics",
        **{f"march_switches[{number}]": "gaussian" for number in range(4)},
    },
}

"""Initial measures of the line and the plane: quadrature nodes, weights and the logarithm of the density there.

mfpde is not involved: written densities are kept here as numpy functions with their edges and kinks, by their text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.flat_laws import square

Array = NDArray[np.float64]
Rule = tuple[Array, Array]


@dataclass(frozen=True)
class Written:
    """A density in points (n, d) and the position s, up to a factor, and a rule that is good for it."""

    density: Callable[[Array, float], Array]
    edges: tuple[tuple[float, ...], ...] = ()  # along each direction: ends of pieces on which it is smooth
    tails: float = 0.0  # or the whole line: nodes at `tails * sinh(pi/2 sinh t)`


def _bell(x: Array, s: float) -> Array:
    return np.exp(-((x[:, 0] - s) ** 2) / (0.4 + 0.6 * s)) * (1 + s)


WRITTEN = {
    "maximum(0, 1 - abs(x - 0.2))": Written(lambda x, _: 1 - np.abs(x[:, 0] - 0.2), ((-0.8, 0.2, 1.2),)),
    "exp(-abs(x))*maximum(0, 1 - x/2)": Written(
        lambda x, _: np.exp(-np.abs(x[:, 0])) * (1 - x[:, 0] / 2), ((-40.0, -20.0, -8.0, 0.0, 2.0),)
    ),
    "(1 + x**2/3)**-6*(1 + 0.5*tanh(x))": Written(
        lambda x, _: (1 + x[:, 0] ** 2 / 3) ** -6 * (1 + 0.5 * np.tanh(x[:, 0])), tails=1.0
    ),
    "exp(-x**4 + x)": Written(lambda x, _: np.exp(-(x[:, 0] ** 4) + x[:, 0]), ((-2.7, 0.3, 2.9),)),
    "exp(-(x - s)**2/(0.4 + 0.6*s))*(1 + s)": Written(_bell, ((-7.5, 0.5, 8.5),)),
    "maximum(0, 1 - abs(x))*maximum(0, 1 - abs(y)/2)": Written(
        lambda x, _: (1 - np.abs(x[:, 0])) * (1 - np.abs(x[:, 1]) / 2), ((-1.0, 0.0, 1.0), (-2.0, 0.0, 2.0))
    ),
    "exp(-x**4 - y**4 + x*y)": Written(
        lambda x, _: np.exp(-(x[:, 0] ** 4) - x[:, 1] ** 4 + x[:, 0] * x[:, 1]), ((-2.8, 0.0, 2.8),) * 2
    ),
    "maximum(0, 1 - x**2 - y**2)": Written(lambda x, _: 1 - x[:, 0] ** 2 - x[:, 1] ** 2),  # on the unit disc
}


def tensor(rules: list[Rule]) -> Rule:
    """All combinations of the rules' nodes."""
    points = np.stack(np.meshgrid(*[rule[0] for rule in rules], indexing="ij"), axis=-1).reshape(-1, len(rules))
    weights = np.prod(np.stack(np.meshgrid(*[rule[1] for rule in rules], indexing="ij"), axis=-1), axis=-1).ravel()
    return points, weights


def pieces(edges: tuple[float, ...], count: int) -> Rule:
    """Gauss-Legendre between the edges."""
    x, w = np.polynomial.legendre.leggauss(count)
    low, half = np.array(edges[:-1])[:, None], 0.5 * np.diff(edges)[:, None]
    return (low + half * (x + 1)).ravel(), (half * w).ravel()


def whole_line(scale: float, count: int) -> Rule:
    """Trapezoids in `t`, `x = scale sinh(pi/2 sinh t)`, split at 0 so that a kink there does no harm."""
    t = np.linspace(-3.4, 3.4, 2 * count + 1)
    inner = 0.5 * np.pi * np.sinh(t)
    return scale * np.sinh(inner), scale * np.cosh(inner) * 0.5 * np.pi * np.cosh(t) * (t[1] - t[0])


def disc(count: int) -> Rule:
    """Gauss-Legendre in r^2 on the unit disc, equispaced angles."""
    x, w = np.polynomial.legendre.leggauss(count)
    angle = 2 * np.pi * np.arange(2 * count) / (2 * count)
    radii = np.sqrt(0.5 * (x + 1))
    nodes = np.stack([np.outer(radii, np.cos(angle)), np.outer(radii, np.sin(angle))], -1).reshape(-1, 2)
    return nodes, np.repeat(0.5 * np.pi * w / (2 * count), 2 * count)


def gaussian_log(points: Array, mean: Array, covariance: Array) -> Array:
    """Logarithm of a normal density."""
    z = np.linalg.solve(np.linalg.cholesky(covariance), (points - mean).T)
    return -0.5 * np.sum(z**2, axis=0) - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]


def gaussian(block: dict[str, Any]) -> tuple[Array, Array]:
    """Mean and covariance of the block."""
    mean = np.atleast_1d(np.asarray(block["mean"], dtype=float))
    return mean, square(block["covariance"], mean.size)


def shares(block: dict[str, Any]) -> Array:
    """Weights of a mixture's components."""
    given = np.array([part.get("weight", 1.0) for part in block["components"]])
    return given / given.sum()


def initial_nodes(block: dict[str, Any], count: int, s: float = 0.0) -> tuple[Array, Array, Array, float]:
    """Nodes (n, d), weights, log density there and the mass before it is made 1; `count` nodes along each direction of
    each part."""
    if block["kind"] == "gaussian":
        mean, covariance = gaussian(block)
        x, w = np.polynomial.hermite_e.hermegauss(count)
        kept = w > 1e-26 * w.max()
        points, weights = tensor([(x[kept], w[kept] / w.sum())] * mean.size)
        nodes = mean + points @ np.linalg.cholesky(covariance).T
        return nodes, weights, gaussian_log(nodes, mean, covariance), 1.0
    if block["kind"] == "mixture":
        parts = [initial_nodes(part, count) for part in block["components"]]
        nodes = np.concatenate([part[0] for part in parts])
        weights = np.concatenate([c * part[1] for c, part in zip(shares(block), parts, strict=True)])
        logs = [
            np.log(c) + gaussian_log(nodes, *gaussian(part))
            for c, part in zip(shares(block), block["components"], strict=True)
        ]
        return nodes, weights, np.logaddexp.reduce(logs), 1.0
    if block["kind"] == "density":
        return _written_nodes(WRITTEN[block["expression"]], count, s)
    if "ball" in block:
        centre, radius = np.asarray(block["ball"]["center"], dtype=float), float(block["ball"]["radius"])
        nodes, weights = disc(count)
        return centre + radius * nodes, weights / np.pi, np.full(len(nodes), -np.log(np.pi * radius**2)), 1.0
    box = np.asarray(block["box"], dtype=float)
    nodes, weights = tensor([pieces(tuple(side), count) for side in box])
    volume = np.prod(box[:, 1] - box[:, 0])
    return nodes, weights / volume, np.full(len(nodes), -np.log(volume)), 1.0


def _written_nodes(written: Written, count: int, s: float) -> tuple[Array, Array, Array, float]:
    if written.tails:
        nodes, rule = tensor([whole_line(written.tails, count)])
    elif written.edges:
        nodes, rule = tensor([pieces(edges, count) for edges in written.edges])
    else:
        nodes, rule = disc(count)
    values = written.density(nodes, s)
    mass = float(rule @ values)
    kept = rule * values > 1e-40 * mass
    weights, values = (rule * values / mass)[kept], values[kept] / mass
    return nodes[kept], weights, np.log(values), mass

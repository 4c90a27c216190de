"""Queries and nodes anywhere in R^d."""

from __future__ import annotations

from mfpde.transform.direct import only_with_mass, tilted_mean_directly
from mfpde.transform.line import tilted_mean_on_line
from mfpde.transform.plane import tilted_mean_in_plane
from mfpde.typing import Float

__all__ = ["tilted_mean"]


def tilted_mean(queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None) -> tuple[Float, Float]:
    """`(grad log M, log M)` at queries `(m, d)`, `M(w) = sum_j m_j e^{f_j + <w, y_j>}`; nodes `(n, d)`, masses `(n,)`.

    `log_factors` are the f `(n,)`, 0 if None: of any size and range, -inf takes a node away.

    In one and two dimensions time is linear in m + n; in more the sum is direct, m n.
    """
    nodes, masses, log_factors = only_with_mass(nodes, masses, log_factors)
    if nodes.shape[1] == 1:
        mean, log_mass = tilted_mean_on_line(queries[:, 0], nodes[:, 0], masses, log_factors)
        return mean[:, None], log_mass
    if nodes.shape[1] == 2:
        return tilted_mean_in_plane(queries, nodes, masses, log_factors)
    return tilted_mean_directly(queries, nodes, masses, log_factors)

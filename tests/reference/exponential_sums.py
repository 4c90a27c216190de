"""Tilted means in long double, straight from the definition."""

import numpy as np


def tilted_mean(queries, nodes, masses):
    """`(grad log M, log M)` with eleven more bits than a double, nodes `(n, d)`."""
    queries, nodes = queries.astype(np.longdouble), nodes.astype(np.longdouble)
    there = masses > 0
    nodes, weights = nodes[there], np.log(masses[there].astype(np.longdouble))
    scores = queries @ nodes.T + weights
    peak = scores.max(axis=1, keepdims=True)
    raised = np.exp(scores - peak)
    total = raised.sum(axis=1)
    return (raised @ nodes) / total[:, None], np.log(total) + peak[:, 0]


def grid_points(*axes):
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

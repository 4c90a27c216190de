"""Optimal transport as a linear program, for few points."""

import numpy as np
from scipy.optimize import linprog


def least_cost(costs, weights, other_weights):
    """`min sum_ij c_ij p_ij` over couplings p."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    bounds = np.concatenate([weights, other_weights])
    return linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=bounds, options=exact).fun


def transport(space, points, weights, others, other_weights, power):
    """W_p between points of a space."""
    pairs = np.repeat(points, len(others), axis=0), np.tile(others, (len(points), 1))
    costs = space.distance(*pairs).reshape(len(points), -1) ** power
    return least_cost(costs, weights, other_weights) ** (1 / power)


def longest_way(space, points, weights, others, other_weights):
    """W_infinity: the smallest distance within which all mass can be coupled."""
    pairs = np.repeat(points, len(others), axis=0), np.tile(others, (len(points), 1))
    apart = space.distance(*pairs).reshape(len(points), -1)
    for bound in np.unique(apart):
        if least_cost((apart > bound).astype(float), weights, other_weights) < 1e-9:
            return bound
    raise AssertionError


def shares(random, count):
    """Random weights of sum 1."""
    drawn = random.random(count)
    return drawn / drawn.sum()

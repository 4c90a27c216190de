"""Every kind of attention in d dimensions, with matrices that do not commute, and references in long double."""

import numpy as np

import mfpde


def matrix(dimension, size=1.0, seed=0):
    """A matrix without symmetries, of that norm."""
    made = np.random.default_rng(seed).standard_normal((dimension, dimension))
    return made * (size / np.linalg.norm(made, 2))


def laws(dimension, size=1.0):
    """One of every kind, `|A| = size`."""
    A, V = matrix(dimension, size, 1), matrix(dimension, 1.2, 2)
    key, query = matrix(dimension, np.sqrt(size / 2), 3), matrix(dimension, np.sqrt(size / 2), 4)
    made = {
        "softmax": mfpde.Softmax(A=A, V=V),
        "unnormalized": mfpde.Unnormalized(A=A, V=V),
        "l2": mfpde.L2(Q=query, K=key, V=V),
        "sinkhorn": mfpde.Sinkhorn(A=A, V=V, tolerance=1e-13),
        "linear": mfpde.Linear(A=A, V=V),
        "relu": mfpde.Relu(A=A, V=V),
        "sigmoid": mfpde.Sigmoid(A=A, V=V),
    }
    heads = [
        made["softmax"],
        mfpde.L2(Q=query[:1], K=key[:1], V=V, weight=0.5),
        mfpde.Relu(Q=query, K=key, V=V, weight=matrix(dimension, 0.3, 5)),
    ]
    made["multi-head"] = mfpde.MultiHead(heads=heads)
    made["masked"] = mfpde.Masked(attention=made["multi-head"])
    return made


KINDS = list(laws(2))


def tokens(dimension, count, seed=0, geometry=None):
    """Weighted tokens with positions, some of which share one."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (count, dimension))
    if geometry is not None:
        ambient = random.standard_normal((count, geometry.ambient_dimension))
        points = ambient / np.linalg.norm(ambient, axis=1, keepdims=True)
    weights = random.random(count) + 0.1
    return mfpde.Particles(points, weights, geometry, positions=random.integers(0, 8, count) / 8)


def wide(array):
    return np.asarray(array, dtype=np.longdouble)


def square(value, dimension):
    return wide(value) * np.eye(dimension) if np.ndim(value) == 0 else wide(value)


def scores(law, x, y):
    if law.kind == "l2":
        q, k = x @ wide(law.Q).T, y @ wide(law.K).T
        return -np.sum((q[:, None] - k) ** 2, axis=2)
    if law.Q is not None:
        return (x @ wide(law.Q).T) @ (y @ wide(law.K).T).T
    return x @ square(law.A, x.shape[1]).T @ y.T


def soft(s, weights):
    raised = np.exp(s - s.max(axis=1, keepdims=True)) * weights
    return raised / raised.sum(axis=1, keepdims=True)


KERNELS = {
    "softmax": soft,
    "l2": soft,
    "unnormalized": lambda s, weights: np.exp(s) * weights,
    "linear": lambda s, weights: s * weights,
    "relu": lambda s, weights: np.maximum(s, 0) * weights,
    "sigmoid": lambda s, weights: weights / (1 + np.exp(-s)),
}


def reference(law, x, y, weights):
    """`G(x)` with eleven more bits than a double, straight from physics section 2; neither sinkhorn nor masks."""
    x, y, weights = wide(x), wide(y), wide(weights)
    if law.kind == "multi-head":
        return sum(reference(head, x, y, weights) for head in law.heads)
    out = KERNELS[law.kind](scores(law, x, y), weights) @ y @ square(law.V, y.shape[1]).T
    return out if law.weight is None else out @ square(law.weight, y.shape[1]).T

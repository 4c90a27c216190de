"""Tokens under LayerNorm, one by one: an independent program in NumPy and SciPy, for few tokens.

The residual streams of the schemes [karagodin2025] as they are written there: x' of the token itself, theta = x / |x|.
"""

import numpy as np
from scipy.integrate import solve_ivp

SCHEMES = ("post", "pre", "peri", "mix", "ngpt", "sqrt")


def attention(theta, beta, softmax):
    """`sum_j e^{beta <theta_i, theta_j>} theta_j / Z_i`; Z_i = n without softmax."""
    pairs = np.exp(beta * theta @ theta.T)
    return pairs @ theta / (pairs.sum(axis=1, keepdims=True) if softmax else len(theta))


def residual_stream(scheme, x, time, beta, softmax=True, switch=1.0, rate=1.0):
    """x' of all tokens."""
    theta = x / np.linalg.norm(x, axis=1, keepdims=True)
    att = attention(theta, beta, softmax)
    length = np.linalg.norm(att, axis=1, keepdims=True)
    across = att - np.sum(att * theta, axis=1, keepdims=True) * theta
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    if scheme == "mix":
        scheme = "post" if time < switch else "pre"
    return {
        "post": norm * across,
        "pre": att,
        "peri": att / length,
        "ngpt": rate * norm * across / length,
        "sqrt": att / np.sqrt(time + 1),
    }[scheme]


def tokens(scheme, start, until, beta, softmax=True, switch=1.0, rate=1.0):
    """Tokens at the time `until`."""
    x, begin = start, 0.0
    for end in ([switch] if scheme == "mix" and switch < until else []) + [until]:

        def slope(time, state, last=end):
            flat = state.reshape(start.shape)
            return residual_stream(scheme, flat, min(time, np.nextafter(last, 0)), beta, softmax, switch, rate).ravel()

        found = solve_ivp(slope, (begin, end), x.ravel(), method="DOP853", rtol=1e-12, atol=1e-14)
        x, begin = found.y[:, -1].reshape(start.shape), end
    return x

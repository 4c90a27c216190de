"""A Transformer's layers against a plain loop, and against the flow that many of them tend to (physics section 13)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mfpde

KINDS = ["post", "pre", "peri", "mix", "ngpt", "sqrt"]
RNG = np.random.default_rng(8)
A, V = 0.6 * RNG.normal(size=(3, 3)), np.eye(3) + 0.3 * RNG.normal(size=(3, 3))
W, U, B, C = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=4), RNG.normal(size=3)
TOKENS = RNG.normal(size=(6, 3))
GAIN = np.array([0.7, 1.2, 1.4])
SWITCH, RATE = 0.4, 1.3


def run(geometry, kind, factors=None, *, radius=1.0, drift=False, ellipsoid=False, **solver):
    normalization = {"kind": kind, "radius": radius}
    if ellipsoid:
        normalization["ellipsoid"] = True
    normalization |= {"mix": {"switch": SWITCH}, "ngpt": {"rate": RATE}}.get(kind, {})
    if factors is not None:
        normalization["gain"] = factors
    block = {"drift": {"kind": "mlp", "W": W, "U": U, "b": B, "c": C, "activation": "tanh"}} if drift else {}
    points = TOKENS if geometry["kind"] == "space" else unit(TOKENS)
    solved = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {**geometry, "dimension": 3},
                "attention": {"kind": "softmax", "A": A, "V": V},
                "initial": {"kind": "points", "values": points},
                "normalization": normalization,
                "solver": {"kind": "particles", **solver},
                "time": {"until": 1.0, "save": False},
                **block,
            }
        )
    )
    return solved.positions[-1]


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def attention(y):
    kernel = np.exp(y @ A.T @ y.T)
    return kernel / kernel.sum(axis=1, keepdims=True) @ y @ V.T


def block(y):
    return np.tanh(y @ U.T + B) @ W.T + C


def by_hand(kind, x, parts, factors, layers):
    """Tokens of a sphere, or of post-LN tokens D u, by the formulas of the literature."""
    tau = 1 / layers
    x = factors * x if kind == "post" else x
    for layer in range(layers):
        now = layer * tau
        for part in parts:
            scheme = kind if kind != "mix" else ("as post" if now < SWITCH else "pre")
            out = part(x if kind == "post" else factors * unit(x))
            if scheme == "post":
                x = factors * unit(x + tau * out)
            elif scheme == "as post":
                x = unit(x + tau * out)
            elif scheme == "ngpt":
                x = unit(x + tau * RATE * unit(out))
            else:
                x = x + tau * {"pre": out, "peri": unit(out), "sqrt": out / np.sqrt(now + 1)}[scheme]
    return x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sublayers", [False, True])
def test_layers_are_their_formulas(kind, sublayers):
    """With a gain and a radius; attention and MLP in one layer, or one after the other."""
    found = run({"kind": "sphere"}, kind, GAIN, radius=1.5, drift=True, layers=5, sublayers=sublayers)
    parts = [attention, block] if sublayers else [lambda y: attention(y) + block(y)]
    np.testing.assert_allclose(found, by_hand(kind, unit(TOKENS), parts, 1.5 * GAIN, 5), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("geometry", ["sphere", "space"])
def test_many_layers_are_the_flow(kind, geometry):
    """`O(1/L)`, with a radius, and with a gain where the flow has one; in R^d tokens keep the norms that they have."""
    factors = None if kind == "post" else GAIN
    flow = run({"kind": geometry}, kind, factors, radius=1.5, tolerance=1e-10)
    few, many = (run({"kind": geometry}, kind, factors, radius=1.5, layers=count) for count in (80, 160))
    errors = np.abs(few - flow).max(), np.abs(many - flow).max()
    assert errors[1] < 0.05 * np.abs(flow).max()
    assert 1.8 < errors[0] / errors[1] < 2.2
    if kind in ("post", "ngpt"):
        sizes = {"space": np.linalg.norm(TOKENS, axis=1), "sphere": 1.5 if kind == "post" else 1.0}[geometry]
        np.testing.assert_allclose(np.linalg.norm(many, axis=1), sizes, rtol=1e-12)


@pytest.mark.parametrize("geometry", ["sphere", "space"])
def test_tokens_stay_on_their_ellipsoid(geometry):
    """`theta' = P D^{-1} Att(D theta)`; in R^d tokens are where they were given, `x = r D theta`."""
    factors, shape = 1.5 * GAIN, TOKENS.shape
    start = unit(TOKENS / factors if geometry == "space" else TOKENS)
    norms = np.linalg.norm(TOKENS / factors, axis=1, keepdims=True) if geometry == "space" else 1.0

    def slope(_, state):
        theta = state.reshape(shape)
        out = attention(factors * theta) / factors
        return (out - np.sum(out * theta, axis=1, keepdims=True) * theta).ravel()

    theta = solve_ivp(slope, (0, 1), start.ravel(), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1].reshape(shape)
    found = run({"kind": geometry}, "post", GAIN, radius=1.5, ellipsoid=True, tolerance=1e-11)
    np.testing.assert_allclose(found, norms * factors * theta, atol=1e-9)

"""Pointwise drifts, and the velocity that solvers move tokens by."""

import numpy as np
import pytest
from kernel_examples import matrix, tokens

import mfpde
from mfpde.attention import Velocity

W, U, B = (
    np.array([[1.0, -0.5, 0.3], [0.2, 0.4, -1.0]]),
    np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]]),
    [0.1, -0.2, 0.5],
)
C = [0.7, -0.3]  # output bias


def by_hand(x, activation):
    from math import erf, sqrt, tanh

    s = {
        "tanh": tanh,
        "relu": lambda z: max(z, 0.0),
        "gelu": lambda z: 0.5 * z * (1 + erf(z / sqrt(2))),
    }[activation]
    hidden = [s(sum(U[k][j] * x[j] for j in range(2)) + B[k]) for k in range(3)]
    return [sum(W[i][k] * hidden[k] for k in range(3)) + C[i] for i in range(2)]


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_mlp_is_its_formula_and_its_slope(activation):
    mlp = mfpde.Mlp(W=W, U=U, b=B, c=C, activation=activation)
    points = tokens(2, 30, 1).points
    np.testing.assert_allclose(mlp.drift(mfpde.Plane(), points), [by_hand(x, activation) for x in points], atol=1e-14)
    ahead, behind = ([mlp.outputs(points + s * e) for e in np.eye(2)] for s in (1e-6, -1e-6))
    slopes = np.stack([(a - b) / 2e-6 for a, b in zip(ahead, behind, strict=True)], axis=-1)
    np.testing.assert_allclose(mlp.output_jacobians(points), slopes, atol=1e-8)


def test_activations_far_out():
    mlp = {name: mfpde.Mlp(activation=name) for name in ("tanh", "relu", "gelu")}
    far = np.array([[-1e3], [-40.0], [40.0], [1e3]])
    np.testing.assert_array_equal(mlp["tanh"].outputs(far)[:, 0], [-1, -1, 1, 1])
    for name in ("relu", "gelu"):
        np.testing.assert_array_equal(mlp[name].outputs(far)[:, 0], [0, 0, 40, 1e3])
        np.testing.assert_array_equal(mlp[name].output_jacobians(far)[:, 0, 0], [0, 0, 1, 1])
    assert np.abs(mlp["tanh"].output_jacobians(far)).max() < 1e-30


@pytest.mark.parametrize("space", [None, mfpde.Circle(), mfpde.Sphere(dimension=2)])
def test_velocity_adds_what_it_is_made_of(space):
    law, mlp = mfpde.Softmax(A=matrix(2, 2.0), V=-1), mfpde.Mlp(W=W, U=U, b=B, activation="tanh")
    measure, points = tokens(2, 300, 1, space), tokens(2, 9, 2, space).points
    velocity = Velocity(law, mlp)
    own = mlp.drift(space or mfpde.Plane(), points)
    np.testing.assert_allclose(velocity.drift(measure, points), law.drift(measure, points) + own, atol=1e-14)
    np.testing.assert_allclose(Velocity(None, mlp).drift(measure, points), own, atol=1e-14)
    assert not Velocity().drift(measure, points).any()
    step = 1e-5
    if space is None:
        slopes = [
            (velocity.drift(measure, points + step * e) - velocity.drift(measure, points - step * e)) / (2 * step)
            for e in np.eye(2)
        ]
        np.testing.assert_allclose(velocity.jacobian(measure, points), np.stack(slopes, axis=-1), atol=1e-8)
        np.testing.assert_allclose(
            velocity.divergence(measure, points), np.trace(velocity.jacobian(measure, points), axis1=1, axis2=2)
        )
        lattice = mfpde.Lattice.of([[0.0, 1.0], [0.5, 0.7, 2.0]])
        np.testing.assert_allclose(
            velocity.drift(measure, lattice).reshape(2, -1).T, velocity.drift(measure, lattice.points()), atol=1e-14
        )
    elif isinstance(space, mfpde.Circle):
        slope = (velocity.drift(measure, points + step) - velocity.drift(measure, points - step))[:, 0] / (2 * step)
        np.testing.assert_allclose(velocity.divergence(measure, points), slope, atol=1e-8)
    else:  # the circle in the coordinates of the plane: as many divergences
        circle = mfpde.Particles(measure.points, measure.weights, mfpde.Circle())
        expected = velocity.divergence(circle, points)
        np.testing.assert_allclose(velocity.divergence(measure, points), expected, atol=1e-12)


def test_an_equation_knows_its_velocity():
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "softmax", "A": {"times": [0, 1, 2], "values": [1, 2, 3]}},
            "drift": {"kind": "mlp", "W": {"times": [0.5, 1.5], "values": [0, 2], "interpolation": "linear"}},
            "noise": {"kappa": {"times": [0, 3], "values": [1, 4]}},
        }
    )
    velocity = problem.equation.velocity
    assert velocity.breaks() == (0.5, 1.0, 1.5, 2.0)
    assert not velocity.constant
    assert velocity.at(1.0) == Velocity(mfpde.Softmax(A=2), mfpde.Mlp(W=1))
    assert velocity.at(1.0).constant
    assert [problem.noise.diffusion_at(t) for t in (0, 2.9, 3, 9)] == [1, 1, 0.25, 0.25]
    assert problem.noise.breaks() == (3.0,)
    assert velocity.gaussian_unfit(2) == "a pointwise drift does not keep Gaussians"
    with pytest.raises(mfpde.ProblemError, match="depends on time"):
        velocity.drift(mfpde.Particles([[0.0, 1.0]]), [[0.0, 0.0]])
    with pytest.raises(mfpde.ProblemError, match=r"noise\.kappa: depends on time; ask noise\.diffusion_at"):
        _ = problem.noise.diffusion


def test_pure_noise_keeps_gaussians():
    affine = Velocity().gaussian_drift(np.zeros(2), np.eye(2))
    assert not affine.c.any()
    assert not affine.B.any()


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"W": [[1, 2]], "U": 1}, r"drift.U: has shape \(2, 2\); tokens in R\^2 and 2 rows need \(2, 2\)|drift.W: has"),
        ({"U": [[1.0, 2.0, 3.0]], "W": [[1.0], [2.0]]}, r"drift.U: has shape \(1, 3\); tokens in R\^2 and 1 rows need"),
        ({"b": [1.0, 2.0, 3.0]}, r"drift.b: has shape \(3,\); tokens in R\^2 and 2 rows need \(2,\)"),
        ({"c": [1.0, 2.0, 3.0]}, r"drift.c: has shape \(3,\); tokens in R\^2 need \(2,\)"),
    ],
)
def test_shapes_of_an_mlp(block, message):
    with pytest.raises(mfpde.ProblemError, match=message):
        mfpde.Mlp(**block).check(mfpde.Plane())

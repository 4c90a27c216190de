"""Every kind goes along with what it declares, and with nothing that it does not."""

import numpy as np
import pytest
from kernel_examples import KINDS, laws, matrix, tokens

import mfpde

MEASURE = tokens(3, 250, 1)
MAP = matrix(3, 1.5, 20) + 0.4 * np.eye(3)
SHIFT = np.array([0.7, -1.1, 0.4])


def drift(law, points, weights=MEASURE.weights, positions=MEASURE.positions):
    return law.drift(mfpde.Particles(points, weights, positions=positions), points, positions)


def close(found, expected, tolerance=1e-11):
    return np.abs(found - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize("kind", KINDS)
def test_permutations(kind):
    law, order = laws(3, 3.0)[kind], np.random.default_rng(2).permutation(250)
    assert "permutations" in law.symmetries
    permuted = drift(law, MEASURE.points[order], MEASURE.weights[order], MEASURE.positions[order])
    assert close(permuted, drift(law, MEASURE.points)[order])


@pytest.mark.parametrize("kind", KINDS)
def test_linear_maps(kind):
    law = laws(3, 3.0)[kind]
    assert "linear maps" in law.symmetries
    expected = drift(law, MEASURE.points) @ MAP.T
    assert close(drift(law.in_coordinates(MAP), MEASURE.points @ MAP.T), expected, 1e-10)
    assert not close(drift(law, MEASURE.points @ MAP.T), expected, 1e-2)


@pytest.mark.parametrize("kind", [*KINDS, "l2 with Q = K"])
def test_translations(kind):
    law = mfpde.L2(Q=MAP, K=MAP, V=MAP) if kind == "l2 with Q = K" else laws(3, 3.0)[kind]
    along = drift(law, MEASURE.points + SHIFT) - drift(law, MEASURE.points)
    expected = np.tile(law.drift(mfpde.Particles([SHIFT], positions=[0.0]), [SHIFT], [0.0]), (250, 1))
    assert ("translations" in law.symmetries) == close(along, expected, 1e-10)
    assert ("translations" in law.symmetries) == (kind in ("sinkhorn", "l2 with Q = K"))


@pytest.mark.parametrize("kind", ["softmax", "unnormalized", "sinkhorn", "linear", "relu", "sigmoid"])
def test_rotations_of_the_sphere_when_the_matrices_are_multiples_of_the_identity(kind):
    law = getattr(mfpde, kind.capitalize())(A=2.5, V=-1)
    rotation = np.linalg.qr(MAP)[0]
    sphere = tokens(0, 200, 3, mfpde.Sphere())
    turned = mfpde.Particles(sphere.points @ rotation.T, sphere.weights, mfpde.Sphere())
    assert close(law.drift(turned, turned.points), law.drift(sphere, sphere.points) @ rotation.T)

"""The numbers on the page about theory."""

import re

import numpy as np
import pytest
from reference.closed_forms import stationary_moments
from scipy.special import iv

BETA = 5.0


@pytest.fixture(scope="module")
def text(root):
    return (root / "docs" / "theory.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(text):
    """kappa and r of the table: fold, equal free energies, end of the uniform state."""
    found = re.findall(r"^\| .* \| ([\d.]+) \| ([\d.]+) \|$", text, re.MULTILINE)
    return [(float(kappa), float(r)) for kappa, r in found]


def moments(kappa, side="upper"):
    return np.array([float(value) for value in stationary_moments(BETA, kappa, side=side, count=30, digits=15)])


def largest(kappa):
    """r of the largest state. `m -> moments of e^{2 kappa sum_k I_k / beta m_k cos k theta}` is monotone (Ginibre's
    inequality): from a point mass it falls to its largest fixed point, 0 where there is only the uniform one."""
    order, angles = np.arange(1, 31), np.linspace(0, 2 * np.pi, 512, endpoint=False)
    waves, m = np.cos(np.outer(angles, order)), np.ones(30)
    for _ in range(8000):
        density = np.exp(waves @ (2 * kappa * iv(order, BETA) / BETA * m))
        m = density @ waves / density.sum()
    return m[0]


def free_energy(kappa):
    order, m = np.arange(1, 31), moments(kappa)[1:]
    potential = iv(order, BETA) / BETA
    exponent = 2 * kappa * potential * m
    angles = np.linspace(0, 2 * np.pi, 512, endpoint=False)
    normaliser = np.exp(exponent @ np.cos(np.outer(order, angles))).mean()
    return (exponent @ m - np.log(normaliser)) / kappa - potential @ m**2


def test_the_fold(rows):
    kappa, r = rows[0]
    upper, lower = moments(kappa + 2e-6)[1], moments(kappa + 2e-6, "lower")[1]
    assert lower < r < upper
    assert upper - lower < 0.02  # they meet like the square root of the distance to the fold
    assert largest(kappa + 1e-5) == pytest.approx(moments(kappa + 1e-5)[1], abs=1e-9)
    assert largest(kappa - 1e-5) < 1e-9


def test_equal_free_energies(rows):
    kappa, r = rows[1]
    assert moments(kappa)[1] == pytest.approx(r, abs=1e-4)
    assert free_energy(kappa - 1e-6) > 0 > free_energy(kappa + 1e-6)


def test_the_end_of_the_uniform_state(rows):
    kappa, r = rows[2]
    assert kappa == pytest.approx(BETA / iv(1, BETA), abs=1e-6)
    assert moments(kappa)[1] == pytest.approx(r, abs=1e-4)


def test_the_change_from_second_to_first_order(text):
    beta = float(re.search(r"\\beta > ([\d.]+)", text)[1])
    assert iv(2, beta) / iv(1, beta) == pytest.approx(0.5, abs=1e-7)


def test_all_sections_keep_their_numbers(text):
    sections = re.findall(r"^\(theory-(\d+)\)=\n## (\d+)\. ", text, re.MULTILINE)
    assert sections == [(str(number), str(number)) for number in range(1, 13)]

"""Folds and first-order points of the degree-1 branch in 25 digits, written to `stationary.json`.

    python tests/reference/make_stationary.py

Along the branch the moment r = m_1 is given, and kappa and the moments m_2 .. m_L solve `m_l = <C_l>` of
`mu = exp(kappa sum_l N_l h_l m_l C_l) / Z` on S^{d-1}, by Newton's method in mpmath; a fold is where `kappa'(r)`
vanishes, a first-order point where `F = sum_l N_l h_l m_l^2 / 2 - log Z / kappa` does. Quadrature: the trapezoidal
rule on the circle, Gauss-Legendre (d odd) or Gauss-Chebyshev (d even) with the rest of the weight as a factor.
"""

import json
from pathlib import Path

import mpmath as mp

DIGITS = 32
CASES = [(2, "3"), (2, "5"), (2, "10"), (2, "20"), (3, "3"), (3, "5"), (3, "7"), (4, "5"), (8, "8")]


def rule(dimension, count):
    """Nodes x = cos(angle), weights of mass 1."""
    if dimension % 2 == 0:
        angles = [mp.pi * (2 * i + 1) / (2 * count) for i in range(count)]
        nodes, power = [mp.cos(a) for a in angles], (dimension - 2) // 2
        weights = [(1 - x * x) ** power for x in nodes]
    else:
        nodes, weights = gauss(count)
        weights = [w * (1 - x * x) ** ((dimension - 3) // 2) for x, w in zip(nodes, weights, strict=True)]
    total = mp.fsum(weights)
    return nodes, [w / total for w in weights]


def gauss(count):
    """Gauss-Legendre by Newton's method."""
    nodes, weights = [], []
    for i in range(count):
        x = mp.cos(mp.pi * (i + mp.mpf("0.75")) / (count + mp.mpf("0.5")))
        for _ in range(8):
            p, q = mp.mpf(1), x
            for k in range(1, count):
                p, q = q, ((2 * k + 1) * x * q - k * p) / (k + 1)
            slope = count * (p - x * q) / (1 - x * x)
            x -= q / slope
        nodes.append(x)
        weights.append(2 / ((1 - x * x) * slope**2))
    return nodes, weights


class Branch:
    """States of one law by their first moment."""

    def __init__(self, dimension, beta, degrees, count):
        self.beta, self.degrees = mp.mpf(beta), degrees
        self.nodes, self.weights = rule(dimension, count)
        half = mp.mpf(dimension) / 2 - 1
        front = mp.gamma(half + 1) * (2 / self.beta) ** half
        self.levels = [front * mp.besseli(k + half, self.beta) / self.beta for k in range(degrees + 1)]
        self.counts = [mp.mpf(1)]
        for k in range(1, degrees + 1):
            ways = (
                2 if dimension == 2 else (2 * k + dimension - 2) * mp.binomial(k + dimension - 3, k) / (dimension - 2)
            )
            self.counts.append(mp.mpf(ways))
        self.table = []
        for x in self.nodes:
            row = [mp.mpf(1), x]
            for k in range(1, degrees):
                row.append(((2 * k + dimension - 2) * x * row[k] - k * row[k - 1]) / (k + dimension - 2))
            self.table.append(row)
        self.critical = 1 / self.levels[1]

    def measure(self, kappa, m):
        """Shares of the nodes, log Z, the field."""
        pulls = [self.counts[k] * self.levels[k] * m[k] for k in range(self.degrees + 1)]
        pulls[0] = mp.mpf(0)
        field = [mp.fdot(pulls, row) for row in self.table]
        raised = [w * mp.exp(kappa * f) for w, f in zip(self.weights, field, strict=True)]
        total = mp.fsum(raised)
        return [value / total for value in raised], mp.log(total), field

    def solve(self, r, kappa, m):
        """`(kappa, m, dkappa/dr)` at m_1 = r."""
        size = self.degrees
        m = [mp.mpf(1), r, *m[2:]]
        for _ in range(40):
            share, _, field = self.measure(kappa, m)
            means = [mp.fdot(share, [row[k] for row in self.table]) for k in range(size + 1)]
            matrix = mp.matrix(size, size)
            for k in range(1, size + 1):
                heavy = [s * (row[k] - means[k]) for s, row in zip(share, self.table, strict=True)]
                matrix[k - 1, 0] = -mp.fdot(heavy, field)
                for j in range(2, size + 1):
                    slope = kappa * self.counts[j] * self.levels[j] * mp.fdot(heavy, [row[j] for row in self.table])
                    matrix[k - 1, j - 1] = (1 if j == k else 0) - slope
            right = mp.matrix([means[k] - m[k] for k in range(1, size + 1)])
            step = mp.lu_solve(matrix, right)
            kappa += step[0]
            for j in range(2, size + 1):
                m[j] += step[j - 1]
            if mp.norm(step, mp.inf) < mp.mpf(10) ** (4 - mp.mp.dps):
                break
        # the derivative by r: the column that m_1 would have
        moved = []
        for k in range(1, size + 1):
            heavy = [s * (row[k] - means[k]) for s, row in zip(share, self.table, strict=True)]
            slope = kappa * self.counts[1] * self.levels[1] * mp.fdot(heavy, [row[1] for row in self.table])
            moved.append(slope - (1 if k == 1 else 0))
        return kappa, m, mp.lu_solve(matrix, mp.matrix(moved))[0]

    def energy(self, kappa, m):
        """Minus that of the uniform state."""
        parts = [self.counts[k] * self.levels[k] * m[k] ** 2 for k in range(1, self.degrees + 1)]
        return mp.fsum(parts) / 2 - self.measure(kappa, m)[1] / kappa


def bracketed(branch, test, rough):
    """The branch from the uniform state upwards until a test function changes its sign, then secant steps."""
    r, kappa, m = mp.mpf("0.05"), branch.critical, [mp.mpf(0)] * (branch.degrees + 1)
    m[2] = mp.mpf("0.001")
    before = None
    while r < mp.mpf("0.9995"):
        kappa, m, slope = branch.solve(r, kappa, m)
        value = test(kappa, m, slope)
        if before is not None and before[1] * value < 0:
            break
        before = r, value
        r += min(rough, (1 - r) / 4)
    else:
        raise ArithmeticError("no change of sign along the branch")
    points = [before, (r, value)]
    with mp.workdps(DIGITS):
        for _ in range(12):
            (a, fa), (b, fb) = points[-2:]
            if fa == fb or abs(a - b) < mp.mpf(10) ** (8 - DIGITS):
                break
            r = b - fb * (b - a) / (fb - fa)
            kappa, m, slope = branch.solve(r, kappa, m)
            points.append((r, test(kappa, m, slope)))
    return {"kappa": mp.nstr(kappa, 25), "m1": mp.nstr(r, 20)}


def main():
    """All cases."""
    found = []
    for dimension, beta in CASES:
        mp.mp.dps = DIGITS
        degrees, count = (20, 48) if float(beta) < 4 else (30, 64) if float(beta) < 8 else (44, 96)
        branch = Branch(dimension, beta, degrees, count)
        mp.mp.dps = DIGITS
        rough = mp.mpf("0.1" if dimension < 8 else "0.04")
        fold = bracketed(branch, lambda _kappa, _m, slope: slope, rough)
        tie = bracketed(branch, lambda kappa, m, _slope, of=branch: of.energy(kappa, m), rough)
        found.append({"dimension": dimension, "beta": beta, "fold": fold, "first_order": tie})
        print(found[-1], flush=True)
    Path(__file__).with_name("stationary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

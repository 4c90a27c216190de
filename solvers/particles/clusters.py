"""Which tokens have become one, and when: of any number of tokens, in time n log n."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mfpde.geometry.harmonics import Harmonics
from mfpde.solvers.kernels.token_steps import ACTIVE, EVALUATIONS, REJECTED, STEPS
from mfpde.typing import AnyArray, Float, Integers, Truths

if TYPE_CHECKING:
    from mfpde.normalization import Normalization
    from mfpde.solvers.particles import ParticleSystem
    from mfpde.solvers.particles.tokens import Tokens

__all__ = ["Clusters", "Gathered", "centres", "crowded", "meetings", "merge_distance", "merger_rows", "put_back"]

#: of the mean spacing of tokens, for the distance of tokens that are one: hardly any are so near by chance
_SPACING_SHARE = 1e-3


def merge_distance(settings: ParticleSystem, tokens: Tokens, scheme: Normalization | None) -> float:
    """The distance below which tokens that approach each other become one; 0 never. Tokens that see, or move,
    differently stay apart."""
    if tokens.positions is not None or not (scheme is None or scheme.keeps_norms):
        return 0.0
    if settings.merge is not None:
        return settings.merge
    if tokens.geometry.flat and scheme is None:
        return 0.0
    return min(settings.tolerance, _SPACING_SHARE * _mean_spacing(tokens.count, tokens.geometry.ambient_dimension))


def _mean_spacing(count: int, dimension: int) -> float:
    """Side of a cube of the part of `S^{d-1}` that each of so many tokens has."""
    if dimension == 1:
        return math.inf
    return math.exp((Harmonics(dimension).log_area - math.log(count)) / (dimension - 1))


@dataclass(eq=False)
class Clusters:
    """Those tokens of one system that still move, each with the mass of its cluster, and the mergers, of which all else
    follows.

    >>> pair = Clusters.of(np.array([0.25, 0.25, 0.5]))
    >>> pair.join(np.array([0, 1, 1]), 3.0).tolist(), pair.weights.tolist(), pair.members.tolist()
    ([0, 1], [0.25, 0.75], [0, 1, 1])
    """

    weights: Float  # of those that move (a,)
    count: int  # of tokens at first
    gone: Integers  # leaders of clusters that were joined to others, in the order of mergers (m,)
    into: Integers  # leaders of these others
    at: Float  # and when

    @classmethod
    def of(cls, weights: Float) -> Clusters:
        """Every token alone."""
        nobody = np.zeros(0, dtype=int)
        return cls(weights, weights.size, nobody, nobody, np.zeros(0))

    @property
    def leaders(self) -> Integers:
        """Of those that move, the token at first that gives the cluster its number: the first of its tokens `(a,)`."""
        return np.flatnonzero(self._leads())

    @property
    def members(self) -> Integers:
        """Of each token at first, which of those that move it is now `(n,)`."""
        root = np.arange(self.count)
        root[self.gone] = self.into
        while (root[self.gone] != root[root[self.gone]]).any():
            root[self.gone] = root[root[self.gone]]
        return (np.cumsum(self._leads()) - 1)[root]

    def _leads(self) -> Truths:
        leads = np.ones(self.count, dtype=bool)
        leads[self.gone] = False
        return leads

    def join(self, owners: Integers, time: float) -> Integers:
        """Join each that moves to its owner, an earlier one that keeps its own place, or stays itself. Returns those
        that are left."""
        kept, moved = (np.flatnonzero(which) for which in (~_moved(owners), _moved(owners)))
        if moved.size == 0:
            return kept
        leaders, place = self.leaders, np.cumsum(~_moved(owners)) - 1
        self.gone = np.concatenate([self.gone, leaders[moved]])
        self.into = np.concatenate([self.into, leaders[owners[moved]]])
        self.at = np.concatenate([self.at, np.full(moved.size, time)])
        self.weights = np.bincount(place[owners], self.weights, kept.size).astype(float)
        return kept

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs besides the mergers: nothing where nobody has merged."""
        return {"clusters_weights": self.weights} if self.gone.size else {}

    @classmethod
    def restored(cls, arrays: Mapping[str, AnyArray], weights: Float) -> Clusters:
        """As they were left."""
        if "clusters_weights" not in arrays:
            return cls.of(weights)
        gone, into = (np.asarray(arrays[f"merger_{name}"]).astype(int) for name in ("token", "into"))
        return cls(arrays["clusters_weights"].copy(), weights.size, gone, into, np.array(arrays["merger_time"]))

    def rows(self) -> dict[str, Float]:
        """All mergers: those before a step are passed when it is tried."""
        return _rows_of(np.zeros(self.gone.size, dtype=int), self.gone, self.into, self.at)


class Gathered(NamedTuple):
    """A system whose clusters have become few, for an integration that goes on with them."""

    clusters: Clusters
    vectors: Float  # of those that move (a, d), on spheres unit vectors
    time: float
    counts: tuple[int, int, int]  # steps, rejected ones, evaluations
    amplification: Mapping[str, AnyArray]

    @classmethod
    def of_copy(cls, state: Mapping[str, AnyArray]) -> Gathered:
        """From the state of an integration that has gone on with them."""
        kept = {name: state[f"copies_{name}"][0] for name in ("state", "weights", "times", "counts")}
        active, steps, rejected, evaluations = kept["counts"][[ACTIVE, STEPS, REJECTED, EVALUATIONS]].tolist()
        into, at = state["copies_merged_into"].copy(), state["copies_merged_at"].copy()
        put_back(state, into, at)
        gone = np.flatnonzero(into[0] >= 0)
        clusters = Clusters(kept["weights"][:active], at.size, gone, into[0, gone], at[0, gone])
        return cls(clusters, kept["state"][:, :active].T, float(kept["times"]), (steps, rejected, evaluations), state)


def merger_rows(merged_into: Integers, merged_at: Float, passed: Truths) -> dict[str, Float]:
    """Columns of the mergers `(copies, n)` that have passed, in the order of their times."""
    copy, token = np.nonzero(passed)
    return _rows_of(copy, token, merged_into[copy, token], merged_at[copy, token])


def _rows_of(copy: Integers, token: Integers, into: Integers, time: Float) -> dict[str, Float]:
    order = np.lexsort((token, copy, time))
    columns = {"merger_time": time, "merger_copy": copy, "merger_token": token, "merger_into": into}
    return {name: column[order].astype(float) for name, column in columns.items()}


def put_back(state: Mapping[str, AnyArray], merged_into: Integers, merged_at: Float) -> None:
    """The mergers of those columns, into arrays `(copies, n)`."""
    token, into = (np.asarray(state[f"merger_{name}"]).astype(int) for name in ("token", "into"))
    copy = np.asarray(state["merger_copy"]).astype(int) if "merger_copy" in state else np.zeros_like(token)
    merged_into[copy, token], merged_at[copy, token] = into, state["merger_time"]


def _moved(owners: Integers) -> AnyArray:
    moved: AnyArray = owners != np.arange(owners.size)
    return moved


def meetings(vectors: Float, speeds: Float, merge: float) -> Integers:
    """For each of the tokens `(a, d)` the earlier one that it joins, or itself: all that lie at one place, or, where
    nobody does, pairs that are nearest to each other, less than `merge` apart, and come nearer still."""
    owners = np.arange(len(vectors))
    _, first, which = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    if first.size < owners.size:
        return first[which.ravel()]
    from scipy.spatial import KDTree

    partner = np.asarray(KDTree(vectors).query(vectors, k=[2], distance_upper_bound=merge)[1])[:, 0]
    one = np.flatnonzero(partner < owners.size)
    one = one[(partner[partner[one]] == one) & (one < partner[one])]
    other = partner[one]
    approach = np.einsum("nc,nc->n", vectors[one] - vectors[other], speeds[one] - speeds[other]) < 0
    owners[other[approach]] = one[approach]
    return owners


def centres(vectors: Float, weights: Float, owners: Integers) -> tuple[Integers, Float]:
    """Those that others join, and the mean of each with them."""
    masses, sizes = np.bincount(owners, weights)[owners], np.bincount(owners)[owners]
    shares = np.divide(weights, masses, out=1 / sizes, where=masses > 0)
    joined = np.flatnonzero((sizes > 1) & ~_moved(owners))
    sums = [np.bincount(owners, shares * column)[joined] for column in vectors.T]
    return joined, np.stack(sums, axis=1)


def crowded(vectors: Float, merge: float) -> Integers:
    """Those of the tokens `(a, d)` that have another one less than `merge` away along each axis, asked one after the
    other: hardly any of many tokens, before they cluster."""
    left = np.arange(len(vectors))
    for axis in range(vectors.shape[1]):
        order = left[np.argsort(vectors[left, axis], kind="stable")]
        close = np.diff(vectors[order, axis]) < merge
        left = np.sort(order[np.concatenate([close, [False]]) | np.concatenate([[False], close])])
        if left.size < 2:
            break
    return left

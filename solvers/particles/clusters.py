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
    """Those tokens of one system that still move, each with the mass of its cluster, and who has joined whom: arrays
    that are empty until somebody has.

    >>> pair = Clusters.of(np.array([0.25, 0.25, 0.5]))
    >>> pair.join(np.array([0, 1, 1]), 3.0).tolist(), pair.weights.tolist(), pair.merged_at[2]
    ([0, 1], [0.25, 0.75], 3.0)
    """

    weights: Float  # of those that move (a,)
    members: Integers  # of each token at first, which of those it is now (n,)
    leaders: Integers  # of those that move, the token at first that gives the cluster its number (a,)
    merged_into: (
        Integers  # of each token at first, the leader of the cluster that its own was joined to; -1 before (n,)
    )
    merged_at: Float  # and when (n,)

    @classmethod
    def of(cls, weights: Float) -> Clusters:
        """Every token alone."""
        nobody = np.zeros(0, dtype=int)
        return cls(weights, nobody, nobody, nobody, np.zeros(0))

    def join(self, owners: Integers, time: float) -> Integers:
        """Join each that moves to its owner, an earlier one that keeps its own place, or stays itself. Returns those
        that are left."""
        kept, gone = (np.flatnonzero(which) for which in (~_moved(owners), _moved(owners)))
        if gone.size == 0:
            return kept
        if self.members.size == 0:
            self.members, self.leaders = np.arange(owners.size), np.arange(owners.size)
            self.merged_into, self.merged_at = np.full(owners.size, -1), np.full(owners.size, np.nan)
        self.merged_into[self.leaders[gone]] = self.leaders[owners[gone]]
        self.merged_at[self.leaders[gone]] = time
        place = np.cumsum(~_moved(owners)) - 1
        self.weights = np.bincount(place[owners], self.weights, kept.size).astype(float)
        self.members = place[owners[self.members]]
        self.leaders = self.leaders[kept]
        return kept

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs besides the mergers: nothing where nobody has merged."""
        names = ("weights", "members", "leaders") if self.members.size else ()
        return {f"clusters_{name}": getattr(self, name) for name in names}

    @classmethod
    def restored(cls, arrays: Mapping[str, AnyArray], weights: Float) -> Clusters:
        """As they were left."""
        if "clusters_weights" not in arrays:
            return cls.of(weights)
        moving, members, leaders = (arrays[f"clusters_{name}"].copy() for name in ("weights", "members", "leaders"))
        made = cls(moving, members, leaders, np.full(weights.size, -1), np.full(weights.size, np.nan))
        put_back(arrays, made.merged_into[None], made.merged_at[None])
        return made

    def rows(self) -> dict[str, Float]:
        """All mergers: those before a step are passed when it is tried."""
        return merger_rows(self.merged_into[None], self.merged_at[None], (self.merged_into >= 0)[None])


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
        names = ("state", "weights", "members", "leaders", "merged_into", "merged_at", "times", "counts")
        kept = {name: state[f"copies_{name}"][0] for name in names}
        active, steps, rejected, evaluations = kept["counts"][[ACTIVE, STEPS, REJECTED, EVALUATIONS]].tolist()
        clusters = Clusters(
            kept["weights"][:active],
            kept["members"],
            kept["leaders"][:active],
            kept["merged_into"],
            kept["merged_at"],
        )
        return cls(clusters, kept["state"][:, :active].T, float(kept["times"]), (steps, rejected, evaluations), state)


def merger_rows(merged_into: Integers, merged_at: Float, passed: Truths) -> dict[str, Float]:
    """Columns of the mergers `(copies, n)` that have passed, in the order of their times."""
    copy, token = np.nonzero(passed)
    time, into = merged_at[copy, token], merged_into[copy, token]
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


def meetings(vectors: Float, speeds: Float, near: Integers, merge: float) -> Integers:
    """For each of the tokens `(a, d)` the earlier one that it joins, or itself: of those that are `near` others all
    that lie at one place, or, where nobody does, pairs that are nearest to each other, less than `merge` apart, and
    come nearer still."""
    owners = np.arange(len(vectors))
    _, first, which = np.unique(vectors[near], axis=0, return_index=True, return_inverse=True)
    if first.size < near.size:
        owners[near] = near[first[which.ravel()]]
        return owners
    from scipy.spatial import KDTree

    crowd = vectors[near]
    partner = np.asarray(KDTree(crowd).query(crowd, k=[2], distance_upper_bound=merge)[1])[:, 0]
    one = np.flatnonzero(partner < near.size)
    one = one[(partner[partner[one]] == one) & (one < partner[one])]
    first, second = near[one], near[partner[one]]
    approach = np.einsum("nc,nc->n", vectors[first] - vectors[second], speeds[first] - speeds[second]) < 0
    owners[second[approach]] = first[approach]
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

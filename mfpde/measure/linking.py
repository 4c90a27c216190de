"""Clusters of points: what is linked by a chain of points, each within a radius of the next."""

from __future__ import annotations

import numpy as np

from mfpde.measure.basins import Cluster
from mfpde.typing import Float, Integers

__all__ = ["MOST_LINKED", "TREE_DIMENSIONS", "clusters_of_points", "linked", "linked_on_circle"]

#: dimensions in which a tree finds neighbours, and points whose distances are all looked at beyond
TREE_DIMENSIONS, MOST_LINKED = 8, 20_000
#: pairs of neighbours that are listed; where there are more, the clusters in which they are are grown first
_MOST_PAIRS = 5_000_000
#: points whose pairs are looked at sooner than a tree is made
_PAIRED_POINTS_MAX = 256
#: points that are asked how many neighbours they have
_ASKED = 4096


def linked(points: Float, radius: float) -> Integers:
    """Number of the cluster of each point of R^d `(n, d)`, from 0 on."""
    if points.shape[1] == 1:
        return _linked_on_line(points[:, 0], radius)
    if points.shape[1] > TREE_DIMENSIONS or len(points) <= _PAIRED_POINTS_MAX:
        return _pair_by_pair(points, radius)
    different, which = np.unique(points, axis=0, return_inverse=True)  # a tree cannot tell points that are the same
    return _by_tree(different, radius)[which.ravel()]


def _by_tree(points: Float, radius: float) -> Integers:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    labels, left, count = np.full(len(points), -1), np.arange(len(points)), 0
    tree = KDTree(points)
    while left.size:
        asked = left[:: max(1, left.size // _ASKED)]
        found = tree.query_ball_point(points[asked], radius, return_length=True)
        if float(np.mean(found)) * left.size <= 2 * _MOST_PAIRS:
            break
        dense = int(asked[np.argmax(found)])
        wave, left = np.array([dense]), left[left != dense]
        while wave.size:
            labels[wave] = count
            near = np.isfinite(KDTree(points[wave]).query(points[left], distance_upper_bound=_upto(radius))[0])
            wave, left = left[near], left[~near]
        count += 1
        tree = KDTree(points[left]) if left.size else tree
    if left.size:
        pairs = tree.query_pairs(radius, output_type="ndarray").T
        graph = coo_array((np.ones(pairs.shape[1], dtype=bool), tuple(pairs)), shape=(left.size, left.size))
        labels[left] = count + connected_components(graph, directed=False)[1]
    return labels


def _upto(radius: float) -> float:
    """Trees look for what is nearer than a bound, and not for what is on it."""
    return float(np.nextafter(radius, np.inf))


def _pair_by_pair(points: Float, radius: float) -> Integers:
    from mfpde.transform.linking_kernels import link_points

    order, labels = np.empty((2, len(points)), dtype=np.int64)
    link_points(np.ascontiguousarray(points), radius, order, labels)
    return labels


def _linked_on_line(places: Float, radius: float) -> Integers:
    order = np.argsort(places, kind="stable")
    labels = np.empty(places.size, dtype=int)
    labels[order] = np.concatenate([[0], np.cumsum(np.diff(places[order]) > radius)])
    return labels


def linked_on_circle(angles: Float, radius: float) -> Integers:
    """The same for angles, whose distances are chords."""
    arc = 2 * np.arcsin(min(radius / 2, 1.0))
    turned = np.mod(angles, 2 * np.pi)
    labels = _linked_on_line(turned, arc)
    low, high = int(np.argmin(turned)), int(np.argmax(turned))
    if turned[low] + 2 * np.pi - turned[high] <= arc:
        labels[labels == labels[high]] = labels[low]
    return labels


def clusters_of_points(labels: Integers, vectors: Float, weights: Float, kind: str) -> list[Cluster]:
    """Mass, position and width of each: the mean and `sqrt(tr S / d)` in R^d, its direction on a sphere, and on the
    circle the angle of `z = sum w e^{i theta}` and `sqrt(-2 log(|z| / m))`."""
    labels = np.unique(labels, return_inverse=True)[1]
    masses = np.bincount(labels, weights)
    means = np.stack([np.bincount(labels, weights * column) for column in vectors.T], axis=1) / masses[:, None]
    squares = np.bincount(labels, weights * np.einsum("nd,nd->n", *[vectors - means[labels]] * 2)) / masses
    if kind == "circle":
        angles = np.mod(np.arctan2(means[:, 1], means[:, 0]), 2 * np.pi)
        widths = np.sqrt(-np.log1p(-np.minimum(squares, 1 - 1e-16)))  # |z|^2 / m^2 = 1 - squares
        places = [0.0 if angle >= 2 * np.pi else float(angle) for angle in angles]
        return [Cluster(*each) for each in zip(places, masses.tolist(), widths.tolist(), strict=True)]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    centres = means / np.where(lengths > 0, lengths, 1.0) if kind == "sphere" else means
    widths = np.sqrt(squares / vectors.shape[1])
    return [Cluster(*each) for each in zip(list(centres), masses.tolist(), widths.tolist(), strict=True)]

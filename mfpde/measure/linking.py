"""Clusters of points: what is linked by a chain of points, each within a radius of the next."""

from __future__ import annotations

import numpy as np

from mfpde.measure.basins import Cluster
from mfpde.typing import Float, Integers

__all__ = ["MOST_LINKED", "clusters_of_points", "linked", "linked_on_circle"]

#: points whose distances are all looked at; on the line and the circle any number is sorted
MOST_LINKED = 20_000


def linked(points: Float, radius: float) -> Integers:
    """Number of the cluster of each point of R^d `(n, d)`, from 0 on."""
    if points.shape[1] == 1:
        return _linked_on_line(points[:, 0], radius)
    labels = np.full(len(points), -1)
    left, count = np.arange(len(points)), 0
    while left.size:
        reached = [int(left[0])]
        left = left[1:]
        for point in reached:  # grows as it is gone through
            labels[point] = count
            squares = np.einsum("nd,nd->n", *[points[left] - points[point]] * 2)
            near = squares <= radius**2
            reached += left[near].tolist()
            left = left[~near]
        count += 1
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

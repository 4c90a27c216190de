"""Matrices times vectors on grids."""

from __future__ import annotations

import numpy as np

from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["mapped"]

_CELLS_PER_PIECE = 1 << 14  # whose numbers stay in the cache


def mapped(matrix: Float, vectors: Float, origin: Float | None = None) -> Float:
    """`matrix v + origin` for vectors v, `(d, n_1, ..)`.

    >>> mapped(np.array([[0.0, 2.0]]), np.array([[1.0, 1.0], [3.0, 4.0]]), np.array([1.0]))
    array([[7., 9.]])
    """
    flat = vectors.reshape(vectors.shape[0], -1)
    out, blocks = np.empty((matrix.shape[0], flat.shape[1])), pieces(flat.shape[1], _CELLS_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        np.matmul(matrix, flat[:, here], out=out[:, here])
        if origin is not None:
            out[:, here] += origin[:, None]

    run_pieces(work, len(blocks))
    return out.reshape(-1, *vectors.shape[1:])

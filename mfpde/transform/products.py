"""Thin matrix products inside kernels: no calls to BLAS, whose threads would change the bits."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.transform.register_tiles import TILE_COLUMNS, TILE_ROWS, multiply_tile
from mfpde.typing import Float

__all__ = ["multiply"]


#: rows of the right matrix whose columns of one tile, 32 KB, stay in the first-level cache
_TERMS_PER_BLOCK = 128
_BYTES = 8  # of a double


@kernel
def multiply(left: Float, right: Float, out: Float) -> None:
    """out = left right, for a multiple of four rows: in tiles where rows have no gaps."""
    (rows, terms), columns = left.shape, out.shape[1]
    close = left.strides[1] == _BYTES and right.strides[1] == _BYTES and out.strides[1] == _BYTES
    tiled = columns - columns % TILE_COLUMNS if close else 0
    apart, along, between = left.strides[0] // _BYTES, right.strides[0] // _BYTES, out.strides[0] // _BYTES
    for row in range(rows):
        line = out[row]
        for j in range(tiled):
            line[j] = 0.0
    for column in range(0, tiled, TILE_COLUMNS):
        for begin in range(0, terms, _TERMS_PER_BLOCK):
            end = min(begin + _TERMS_PER_BLOCK, terms)
            for row in range(0, rows, TILE_ROWS):
                multiply_tile(left, right, out, row, column, begin, end, apart, along, between)
    if tiled < columns:
        _multiply_rows(left, right[:, tiled:], out[:, tiled:])


@kernel
def _multiply_rows(left: Float, right: Float, out: Float) -> None:
    """Four rows by four terms at a time: sixteen multiply-adds for eight loads and four stores of a vector register."""
    (rows, terms), columns = left.shape, out.shape[1]
    whole = terms - terms % 4
    for row in range(0, rows, 4):
        o0, o1, o2, o3 = out[row], out[row + 1], out[row + 2], out[row + 3]
        for j in range(columns):
            o0[j] = 0.0
            o1[j] = 0.0
            o2[j] = 0.0
            o3[j] = 0.0
        a, b, c, d = left[row], left[row + 1], left[row + 2], left[row + 3]
        for term in range(0, whole, 4):
            r0, r1, r2, r3 = right[term], right[term + 1], right[term + 2], right[term + 3]
            a0, a1, a2, a3 = a[term], a[term + 1], a[term + 2], a[term + 3]
            b0, b1, b2, b3 = b[term], b[term + 1], b[term + 2], b[term + 3]
            c0, c1, c2, c3 = c[term], c[term + 1], c[term + 2], c[term + 3]
            d0, d1, d2, d3 = d[term], d[term + 1], d[term + 2], d[term + 3]
            for j in range(columns):
                o0[j] = fused(a3, r3[j], fused(a2, r2[j], fused(a1, r1[j], fused(a0, r0[j], o0[j]))))
                o1[j] = fused(b3, r3[j], fused(b2, r2[j], fused(b1, r1[j], fused(b0, r0[j], o1[j]))))
                o2[j] = fused(c3, r3[j], fused(c2, r2[j], fused(c1, r1[j], fused(c0, r0[j], o2[j]))))
                o3[j] = fused(d3, r3[j], fused(d2, r2[j], fused(d1, r1[j], fused(d0, r0[j], o3[j]))))
        for term in range(whole, terms):
            r0 = right[term]
            for j in range(columns):
                o0[j] = fused(a[term], r0[j], o0[j])
                o1[j] = fused(b[term], r0[j], o1[j])
                o2[j] = fused(c[term], r0[j], o2[j])
                o3[j] = fused(d[term], r0[j], o3[j])

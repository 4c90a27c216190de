"""The fast sums behind every drift, on plain arrays: `M(w) = sum_j m_j e^{<w, y_j>}`, its logarithm, and the
tilted mean `grad log M(w)`, from which every exponential kernel is made.

Masses are not negative and not all zero; sizes alone decide whether a sum is fast or direct, so the same input gives
the same bits, on any number of threads.
"""

from __future__ import annotations

from mfpde.transform.cells import cell_correction
from mfpde.transform.circle import tilted_mean_on_circle
from mfpde.transform.covariance import tilted_covariance
from mfpde.transform.direct import tilted_mean_directly
from mfpde.transform.grid import tilted_mean_on_grid
from mfpde.transform.log_sum import joined
from mfpde.transform.mapping import mapped
from mfpde.transform.masked import tilted_mean_masked
from mfpde.transform.pairwise import relu_derivative, relu_sum, sigmoid_derivative, sigmoid_sum
from mfpde.transform.scattered import tilted_mean
from mfpde.transform.sphere import tilted_mean_on_sphere

__all__ = [
    "cell_correction",
    "joined",
    "mapped",
    "relu_derivative",
    "relu_sum",
    "sigmoid_derivative",
    "sigmoid_sum",
    "tilted_covariance",
    "tilted_mean",
    "tilted_mean_directly",
    "tilted_mean_masked",
    "tilted_mean_on_circle",
    "tilted_mean_on_grid",
    "tilted_mean_on_sphere",
]

"""Models of a few numbers that whole systems of tokens come down to, exactly or in a limit."""

from mfpde.solvers.reduced.equiangular import Equiangular
from mfpde.solvers.reduced.hardmax import Hardmax

__all__ = ["Equiangular", "Hardmax"]

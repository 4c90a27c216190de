"""How tokens move each other."""

from mfpde.attention.base import Attention, Law, Zonal
from mfpde.attention.interaction import Interaction
from mfpde.attention.softmax import Softmax
from mfpde.attention.unnormalized import Unnormalized

__all__ = ["Attention", "Interaction", "Law", "Softmax", "Unnormalized", "Zonal"]

"""How tokens move each other."""

from mfpde.attention.affine import AffineDrift
from mfpde.attention.base import Attention
from mfpde.attention.interaction import Interaction
from mfpde.attention.law import Law
from mfpde.attention.softmax import Softmax
from mfpde.attention.unnormalized import Unnormalized
from mfpde.attention.velocity import Velocity
from mfpde.attention.zonal import Zonal

__all__ = ["AffineDrift", "Attention", "Interaction", "Law", "Softmax", "Unnormalized", "Velocity", "Zonal"]

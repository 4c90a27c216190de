"""How tokens move each other."""

from mfpde.attention.affine import AffineDrift
from mfpde.attention.base import Attention
from mfpde.attention.constant_drift import Constant
from mfpde.attention.convolution import Convolution
from mfpde.attention.head import Head
from mfpde.attention.interaction import Interaction
from mfpde.attention.l2 import L2
from mfpde.attention.law import Law
from mfpde.attention.linear import Linear
from mfpde.attention.masked import Masked
from mfpde.attention.mlp import Mlp
from mfpde.attention.multi_head import MultiHead
from mfpde.attention.pointwise import PointwiseDrift
from mfpde.attention.relu import Relu
from mfpde.attention.sigmoid import Sigmoid
from mfpde.attention.sinkhorn import Sinkhorn
from mfpde.attention.softmax import Softmax
from mfpde.attention.unnormalized import Unnormalized
from mfpde.attention.velocity import Velocity

__all__ = [
    "L2",
    "AffineDrift",
    "Attention",
    "Constant",
    "Convolution",
    "Head",
    "Interaction",
    "Law",
    "Linear",
    "Masked",
    "Mlp",
    "MultiHead",
    "PointwiseDrift",
    "Relu",
    "Sigmoid",
    "Sinkhorn",
    "Softmax",
    "Unnormalized",
    "Velocity",
]

"""Where a layer normalises its tokens: schemes of LayerNorm as flows of directions and norms (physics section 7)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.specification import Real, Specification, Truth, Vector
from mfpde.typing import Float

__all__ = ["Normalization", "Scheme"]

#: where LayerNorm stands; the name of each scheme in the literature
Scheme: TypeAlias = Literal["post", "pre", "peri", "mix", "ngpt", "sqrt"]
_ITS_OWN = {"switch": "mix", "rate": "ngpt"}


class Normalization(Specification):
    """`theta' = P_theta Att / s` for the direction of a token `x = r theta`, with a norm r that moves, too.

    | kind | s | r' |
    |---|---|---|
    | post | 1 | 0 |
    | pre | r | `<theta, Att>` |
    | peri | `r |Att|` | `<theta, Att> / |Att|` |
    | mix | as post until `switch`, then as pre | |
    | ngpt | `|Att| / rate` | 0 |
    | sqrt | `r sqrt(t + 1)` | `<theta, Att> / sqrt(t + 1)` |

    Attention sees `D theta`, `D = radius diag(gain)` [karagodin2025]. Under post-LN the tokens are multiples of
    `D theta` (on spheres that itself), and theta moves by `P D^{-1} Att`. Positions in files are the tokens x.

    >>> Normalization(kind="mix", switch=2.0).keeps_norms
    False
    """

    kind: Scheme = Field(description="where LayerNorm stands")
    switch: Annotated[Real, Field(gt=0)] | None = Field(default=None, description="mix: when pre follows post")
    rate: Annotated[Real, Field(gt=0)] | None = Field(default=None, description="ngpt: the step of nGPT, default 1")
    gain: Vector | None = Field(default=None, description="of LayerNorm, one number for each coordinate")
    radius: Real = Field(default=1.0, gt=0, description="of LayerNorm: the length of what attention sees")
    ellipsoid: Truth = Field(
        default=False, description="post with a gain: the flow on the ellipsoid of the tokens diag(gain) theta"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Normalization:
        for key, kind in _ITS_OWN.items():
            if getattr(self, key) is not None and self.kind != kind:
                raise ProblemError.at(key, f"belongs to kind: {kind}, not {self.kind}")
        if self.kind == "mix" and self.switch is None:
            raise ProblemError.at("switch", "is missing: when does pre-LN follow post-LN?")
        if self.gain is not None and any(not 0 < abs(number) < float("inf") for number in self.gain):
            raise ProblemError.at("gain", "must be finite and not 0")
        if self.ellipsoid and (self.kind != "post" or self.gain is None):
            raise ProblemError.at("ellipsoid", "belongs to kind: post with a gain")
        return self

    def check(self, geometry: Geometry) -> None:
        """Fail where it has no meaning, or its gain another number of coordinates."""
        dimension = geometry.ambient_dimension
        if dimension < 2:
            raise ProblemError.at("normalization", f"is of tokens that have directions: not on the {geometry.name}")
        if self.gain is not None and len(self.gain) != dimension:
            raise ProblemError.at(
                "normalization.gain", f"has {len(self.gain)} numbers; tokens in R^{dimension} need {dimension}"
            )

    @property
    def keeps_norms(self) -> bool:
        """Whether the norms of tokens never change."""
        return self.kind in ("post", "ngpt")

    def seen(self, points: Float) -> Float:
        """What attention sees of tokens of these directions, of any lengths, `(n, d)`: `radius diag(gain) x / |x|`."""
        units = points / np.linalg.norm(points, axis=1, keepdims=True)
        return units * self.factors(points.shape[1])

    def factors(self, dimension: int) -> Float:
        """What LayerNorm multiplies directions by, the diagonal of `D = radius diag(gain)`."""
        return self.radius * (np.ones(dimension) if self.gain is None else np.array(self.gain))

    def directions(self, tokens: Float) -> Float:
        """Unit vectors theta of tokens x, `(..., d)`: along x, and under post-LN, `x = r D theta`, along `D^{-1} x`."""
        theta = tokens / self.factors(tokens.shape[-1]) if self.kind == "post" else tokens
        return theta / np.sqrt(np.einsum("...c,...c->...", theta, theta))[..., None]

    @property
    def flow_unfit(self) -> str | None:
        """Why no flow stands behind the layers, or None."""
        literal = self.kind == "post" and self.gain is not None and len(set(self.gain)) > 1 and not self.ellipsoid
        return (
            "post-LN with a gain that is no multiple of I has no flow: give solver.layers, or ellipsoid: true"
            if literal
            else None
        )

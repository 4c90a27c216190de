"""The mean-field limit: do independent tokens tend to the solution, and how fast? (physics section 10)"""

from mfpde.validation.mean_field.rates import Rate
from mfpde.validation.mean_field.study import examine_limit

__all__ = ["Rate", "examine_limit"]

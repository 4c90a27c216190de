"""When errors of tails are looked at."""

from itertools import pairwise

import pytest

from mfpde.solvers.finite_volume.looks import due, to_look


@pytest.mark.parametrize("matter", [False, True])
def test_marches_end_where_a_look_is_due(matter):
    """And nowhere are looks further apart than an eighth of the steps, or than eight."""
    looks = [steps for steps in range(1, 2000) if due(steps, matter)]
    assert looks[:4] == ([1, 2, 3, 4] if matter else [2, 8, 16, 24])
    for steps in range(2 if matter else 0, 1900):
        assert steps + to_look(steps, matter) == min(look for look in looks if look > steps)
    for one, other in pairwise(looks):
        assert other - one <= max(8, one / 8)

"""What tests share."""

import numpy as np
import pytest


@pytest.fixture
def random(request):
    """A generator seeded with the name of the test: alone, chosen by `-k` or beside others, a test draws the same.

    `--hypothesis-seed=5` draws something else here, too.
    """
    path, _, name = request.node.location  # the identity, which pytest-xdist extends by the group
    return np.random.default_rng(list(f"{path}::{name}{request.config.getoption('hypothesis_seed')}".encode()))

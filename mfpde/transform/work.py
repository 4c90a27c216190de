"""How much work sums are, for budgets that are counted in operations."""

from __future__ import annotations

__all__ = ["pairs_worth"]

#: pairs that the sums by panels cost for each token, by its components; in more of them every pair is summed
_PAIRS_PER_TOKEN = {1: 200.0, 2: 4000.0}


def pairs_worth(count: int, width: int) -> float:
    """Pairs of tokens whose plain sums take as long as the sums over so many tokens of that many components.

    >>> pairs_worth(10, 1), pairs_worth(1000, 1), pairs_worth(1000, 3)
    (100.0, 200000.0, 1000000.0)
    """
    return min(float(count) ** 2, _PAIRS_PER_TOKEN.get(width, count) * count)

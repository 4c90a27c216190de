"""When errors of tails, and whether anything moves still, are looked at: after step 2, where tails matter after every
step up to the 8th, then after every 8th step, later every 16th and every 32nd."""

from __future__ import annotations

__all__ = ["SECOND_STEP", "between_looks", "is_early", "to_look"]

SECOND_STEP = 2  # that the first look comes after
_EARLY_STEPS = 8  # between two looks, and until tails that matter need no look after every step
_LATE_STEPS = {256: 32, 128: 16}  # between two looks, from so many steps on: at most an eighth of those so far


def between_looks(steps: int) -> int:
    """From one look to the next."""
    return next((gap for begin, gap in _LATE_STEPS.items() if steps >= begin), _EARLY_STEPS)


def is_early(steps: int) -> bool:
    """Whether tails that matter are looked at after every step."""
    return SECOND_STEP <= steps < _EARLY_STEPS


def to_look(steps: int, matter: bool) -> int:
    """Steps to the next look at tails, which matter or not."""
    if steps < SECOND_STEP:
        return SECOND_STEP - steps
    gap = between_looks(steps)
    return 1 if matter and is_early(steps) else gap - steps % gap

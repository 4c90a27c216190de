"""When errors of tails, and whether anything moves still, are looked at: after step 2, where tails matter after every
step up to the 8th, then after every 8th step, later every 16th, 32nd and 64th."""

from __future__ import annotations

__all__ = ["between_looks", "due", "to_look"]

_SECOND_STEP = 2  # that the first look comes after
_EARLY_STEPS = 8  # between two looks, and until tails that matter need no look after every step
_LATE_STEPS = {512: 64, 256: 32, 128: 16}  # between two looks, from so many steps on: at most an eighth of those so far


def between_looks(steps: int) -> int:
    """From one look to the next."""
    return next((gap for begin, gap in _LATE_STEPS.items() if steps >= begin), _EARLY_STEPS)


def due(steps: int, matter: bool) -> bool:
    """Whether tails, which matter or not, are looked at after so many steps."""
    return steps == _SECOND_STEP or steps % between_looks(steps) == 0 or (matter and steps < _EARLY_STEPS)


def to_look(steps: int, matter: bool) -> int:
    """Steps to the next look at tails, which matter or not."""
    if steps < _SECOND_STEP:
        return _SECOND_STEP - steps
    gap = between_looks(steps)
    return 1 if matter and steps < _EARLY_STEPS else gap - steps % gap

"""What a plain YAML 1.2 scalar means: the core schema, nothing more."""

from __future__ import annotations

import math
import re

from mfpde.spec.node import Scalar

__all__ = ["meaning"]

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NOT_A_NUMBER = {".nan", ".NaN", ".NAN"}
_MAX_DIGITS = 300  # of an integer: more take quadratic time to read


def meaning(text: str) -> Scalar:
    """Null, truth value, number or text. Numbers of more than 300 characters stay text: no double needs them.

    >>> [meaning(text) for text in ("1e-3", "yes", "true", "0x10", ".inf", "1_000")]
    [0.001, 'yes', True, 16, inf, '1_000']
    """
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text in _NOT_A_NUMBER:
        return math.nan
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    return _number(text) if len(text) <= _MAX_DIGITS else text


def _number(text: str) -> Scalar:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text

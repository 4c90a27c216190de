"""Formulas as MathML, which browsers show by themselves: the pages need no script and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

__all__ = ["setup"]

#: a function name and what it is applied to: MathML wants to be told of the space between them
_APPLIED = re.compile(r"\\(log|exp|cos|sin)(?= ?[\\a-zA-Z|])(?! ?\\(?:left|[,;]))")
_UNBRACED = re.compile(r"\\frac ?[^{ ]")  # the converter takes \frac12 for something else

_log = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer; `html_math_renderer = "mathml"` chooses it."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(_converted(node, as_block=False))
    raise nodes.SkipNode


def _block(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{_converted(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _converted(node: Any, *, as_block: bool) -> str:
    formula = node.astext()
    if _UNBRACED.search(formula):
        _log.warning("write \\frac with braces: %s", formula, location=node)
    try:
        return tex2mathml(_APPLIED.sub(r"\\\1\\,", formula), as_block=as_block)
    except MathError as error:
        _log.warning("%s in %s", error, node.astext(), location=node)
        return node.astext()

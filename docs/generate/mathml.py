"""Formulas as MathML, which browsers show by themselves: the pages need no script and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

__all__ = ["setup"]

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
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _log.warning("%s in %s", error, node.astext(), location=node)
        return node.astext()

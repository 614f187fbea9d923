"""Formulas as MathML, made when the pages are built.

Sphinx's own renderers fetch a script when a page is read, or need LaTeX when it is built. Here the
page carries the finished formula, so it reads the same without network and without scripts.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# The TeX source goes along as an annotation, so that a copied formula can be pasted as TeX.
_converter = LatexToMathML(annotation=True, fancy_error=False)


def _convert(node: nodes.math | nodes.math_block, *, display: bool) -> str:
    tex = node.astext()
    try:
        return _converter.convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        # A warning, not an exception: it names the page, and one build shows every bad formula.
        logger.warning("cannot render %r: %s", tex, error, location=node, type="mathml")
        return f"<code>{escape(tex)}</code>"


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_convert(node, display=False))
    raise nodes.SkipNode


def _visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(_convert(node, display=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name that ``html_math_renderer`` selects."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

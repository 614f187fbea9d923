"""The directive ``{generated} NAME``: one of `parts.PARTS`, headings and anchors included."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from docutils import nodes
from found import REPORTS, ROOT
from parts import PARTS
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from zoo import FILE as KILL_MATRIX


class Generated(SphinxDirective):
    """Puts the MyST text of a part in its place."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        # An incremental build makes the page anew when the code that writes it has changed.
        for package in ("rope_ref", "rope_conformance"):
            home = Path(inspect.getfile(importlib.import_module(package))).parent
            for file in home.rglob("*.py"):
                self.env.note_dependency(str(file))
        for file in (ROOT / "constraints.txt", *REPORTS.rglob("*.json"), KILL_MATRIX):
            self.env.note_dependency(str(file))
        text = PARTS[self.arguments[0]]()
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("generated", Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

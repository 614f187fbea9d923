"""Sphinx configuration: MyST pages whose code cells run on every build, formulas as MathML."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rope-ref"
author = "The rope-ref authors"
copyright = "2026, The rope-ref authors"
release = version = installed_version("rope-ref")

extensions = ["mathml", "generated", "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_ext"]

html_theme = "furo"
html_title = f"rope-ref {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["mathml.css", "pages.css"]

# Not amsmath: Sphinx and the converter would each number such an environment. A formula is written
# `$$ ... $$ (label)`, with `aligned` inside for several lines.
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

# No number is older than its page: nothing is cached, and a cell that raises fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

# In docstrings `name` is a link where that name has an entry, and code where it has none.
default_role = "py:obj"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
# The docstrings say what each argument is; the annotations repeat it at length.
autodoc_typehints = "none"

"""How the documentation is built: Sphinx with MyST, no network."""

import sys
from pathlib import Path

import discreet

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "discreet"
author = "The discreet authors"
copyright = "The discreet authors"
version = release = discreet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "commands", "docstrings", "headings", "mathml", "redirects"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"discreet {release}"
html_show_sphinx = False
html_domain_indices = False  # modules are not what one looks for: names are imported from `discreet`
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["pages.js"]
html_math_renderer = "mathml"
myst_heading_anchors = 3
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_dmath_allow_space = False  # as on GitHub: `$ x $` is no formula
# Of an extra that the pages are built without.
autodoc_mock_imports = ["pymc", "pytensor"]
default_role = "literal"  # of docstrings: `name` is code
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"undoc-members": True}  # a member whose name says everything has no docstring
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

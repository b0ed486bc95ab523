"""How the documentation is built: Sphinx with MyST, no network."""

import discreet

project = "discreet"
author = "The discreet authors"
copyright = "The discreet authors"
version = release = discreet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"discreet {release}"
html_show_sphinx = False
myst_heading_anchors = 3
# Of an extra that the pages are built without.
autodoc_mock_imports = ["pymc", "pytensor"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"undoc-members": True}  # a member whose name says everything has no docstring

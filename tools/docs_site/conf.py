"""Sphinx's configuration of the site."""

import sys
from pathlib import Path

import promptpress

sys.path.insert(0, str(Path(__file__).parent))

project = "promptpress"
version = release = promptpress.__version__
author = "The promptpress maintainers"
project_copyright = author
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings"]
myst_heading_anchors = 4

default_role = "literal"  # docstrings have code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"promptpress {release}"
html_theme_options = {"top_of_page_buttons": []}
html_copy_source = False
# The language of most pages; the search stems its words.
language = "en"
highlight_language = "text"

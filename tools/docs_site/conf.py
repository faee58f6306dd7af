"""Sphinx's configuration of the site."""

import promptpress

project = "promptpress"
version = release = promptpress.__version__
author = "The promptpress maintainers"
project_copyright = author
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4

default_role = "literal"  # docstrings have code in single backticks
smartquotes_action = "D"  # dashes only, because help has code in quotes: '{"temperature": 0}'
autodoc_default_options = {
    "members": True,
    "inherited-members": "object, list, dict, BaseException, Exception, ValueError, UserWarning, Generic",
    "special-members": "__call__",
}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"promptpress {release}"
html_theme_options = {"top_of_page_buttons": []}
html_copy_source = False
# The language of most pages; the search stems its words.
language = "en"
highlight_language = "text"

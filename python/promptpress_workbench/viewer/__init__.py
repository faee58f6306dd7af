"""`promptpress view`: a local page that shows every prompt of a file.

`sources` gives fast access to any row and its prompts, and has the renderers that can be chosen; `view` is the state of
an open page, and `search` finds the rows of its list. `guard` lets requests in, and `page` is all that needs NiceGUI.
Prompts look as they do in the terminal, because both use `promptpress_workbench.prompts`.
"""

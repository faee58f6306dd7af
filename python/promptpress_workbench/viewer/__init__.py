"""`promptpress view`: a local page that shows every prompt of a file.

`sample_store` gives fast access to any row, `catalogue` has the renderers that can be chosen, `view` is the state of an
open page, and `search` finds rows. `guard` lets requests in, and `page` is all that needs NiceGUI. Prompts look as they
do in the terminal, because both use `promptpress_workbench.prompts`.
"""

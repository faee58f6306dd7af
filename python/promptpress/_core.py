"""Stands in for the compiled core where the package has not been built; Python prefers the extension to this file.

Tools that read who imports whom find the core under this name.
"""

raise ImportError(
    "promptpress has no compiled core here: install a wheel, or build it with `maturin develop --release`"
)

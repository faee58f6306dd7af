"""A reader for a harness's Python configuration, as data and without executing it: `statements.read_python`."""

from promptpress_harness.python_subset.values import Opaque, RefusedError, Symbol

__all__ = ["Opaque", "RefusedError", "Symbol"]

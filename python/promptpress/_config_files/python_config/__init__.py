"""A harness's Python configuration, read as data and never executed: by `statements.read_python`."""

from .values import Opaque, RefusedError, Symbol

__all__ = ["Opaque", "RefusedError", "Symbol"]

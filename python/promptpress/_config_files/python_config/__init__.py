"""A harness's Python configuration, read as data and never executed."""

from .statements import read_python
from .values import Opaque, RefusedError, Symbol

__all__ = ["Opaque", "RefusedError", "Symbol", "read_python"]

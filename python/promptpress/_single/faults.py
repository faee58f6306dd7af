"""How a harness refuses: what kind of exception it raises for what."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Fault = Callable[[str], Exception]
"""A message as the exception to raise."""

Faults = Mapping[str, Fault]
"""By a word for what is wrong."""

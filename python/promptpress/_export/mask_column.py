"""The names of the mask of what is trained."""

from __future__ import annotations

from typing import Literal

__all__ = ["MaskColumn"]

MaskColumn = Literal["assistant_masks", "completion_mask"]
"""The names of the mask of what is trained, in TRL."""

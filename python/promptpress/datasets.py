"""Hugging Face datasets: prompts next to their rows, by `map` over Arrow batches."""

from promptpress_workbench.adapters import render

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["render"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})

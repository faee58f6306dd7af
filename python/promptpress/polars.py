"""Polars: the namespace `promptpress` of expressions, which have it as soon as this module is imported."""

from promptpress_workbench.adapters import PromptExpressions
from promptpress_workbench.adapters import register_namespace as _register

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["PromptExpressions"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
_register()

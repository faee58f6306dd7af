"""DuckDB: renderers as functions in SQL."""

from promptpress_workbench.adapters import register

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["register"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})

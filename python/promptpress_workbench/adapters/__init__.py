"""Renderers as functions of other packages' tables: expressions of Polars, functions of DuckDB, maps of datasets."""

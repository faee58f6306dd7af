"""Configurations from files: JSON, YAML, TOML, and Python files that are read as data."""

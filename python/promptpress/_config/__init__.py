"""Configurations: read from files and from harnesses, validated, and compiled by the core."""

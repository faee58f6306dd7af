"""Configurations: dicts of a renderer and of harnesses, validated, compiled by the core, and fingerprinted."""

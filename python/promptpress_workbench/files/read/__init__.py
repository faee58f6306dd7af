"""Samples and examples from files."""

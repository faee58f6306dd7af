"""Builds the requests of a running lm-evaluation-harness in bulk, and compiles its templates once."""

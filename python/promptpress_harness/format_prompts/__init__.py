"""Prompts with `str.format` fields, from files of EvalScope and NeMo-Skills, translated for the core."""

"""Partial evaluation of templates: what doesn't depend on a row runs now, the rest becomes a program."""

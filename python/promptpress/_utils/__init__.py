"""Helpers that know nothing of prompts: lazy imports, threads, escapes, public names. Every room may use them."""

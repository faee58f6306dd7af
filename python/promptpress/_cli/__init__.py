"""The command `promptpress`: prompts for whole files, from a configuration that stays as the harness has it."""

from .command import main

__all__ = ["main"]

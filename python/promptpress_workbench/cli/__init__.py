"""The command `promptpress`, which renders, shows and compares the prompts of whole files."""

from promptpress_workbench.cli.process import main

__all__ = ["main"]

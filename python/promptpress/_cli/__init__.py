"""The command `promptpress`, which renders, shows and compares the prompts of whole files."""

from promptpress._cli.process import main

__all__ = ["main"]

"""Rows that are made up, for runs of the harnesses' command lines."""

from __future__ import annotations

LETTERS = "ABCD"


def rows(count: int) -> list[dict[str, str]]:
    """Questions of several choices."""
    words = [f"word{n}" for n in range(40)]
    return [
        {
            "input": " ".join(words[(n * 7 + k) % 40] for k in range(25)) + f" {n}?",
            **{letter: f"choice {n * k}" for k, letter in enumerate(LETTERS)},
            "target": LETTERS[n % 4],
        }
        for n in range(count)
    ]

"""The case files of `tests/cases/`, made by the models in plain Python and never by promptpress.

A module a folder of cases, with inputs written by hand for each rule; random ones are drawn by the tests themselves.
`make_files()` gives each file's text by its path.
"""

from __future__ import annotations

from importlib import import_module

from .build import text_of

SUBJECTS = (
    *("templates", "values", "plans", "roles", "messages", "openai", "conversations", "chats", "media", "openicl"),
    "errors",
)


def make_files() -> dict[str, str]:
    """Each case file's text, by its path under `tests/cases/`."""
    files = {
        f"{subject}/{name.replace(' ', '_')}": file
        for subject in SUBJECTS
        for name, file in import_module(f".{subject}", __package__).FILES.items()
    }
    return {f"{name}.json": text_of(name, file) for name, file in files.items()}

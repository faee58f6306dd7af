"""Configuration files written for tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from promptpress_harness.configs.config_file import read_config


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return str(path)


def read(folder: Path, source: str) -> dict:
    return read_config(write(folder, "config.py", source)).value

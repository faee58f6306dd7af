"""Chat formats without a Jinja template: the Python file of a model's folder, or the library, that encodes them."""

from __future__ import annotations

import json
import re
from pathlib import Path

_FUNCTION = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w*(?:encode|render|build|format|apply)\w*)[ \t]*\("
    r"\s*(?:self\s*,\s*)?(?:messages|conversations?|chat)\b",
    re.MULTILINE,
)
"""A function that makes something of a conversation, which is its first argument."""
_NAME = re.compile(r"(?!test_|modeling_|_).*(?:encod|tokeniz|chat|template|render|prompt|message)", re.IGNORECASE)
"""The names of files that may hold such a function."""
_MAX_BYTES = 1 << 20
"""Larger files are no encoders, and aren't read."""
_LIBRARY_OF_TYPE = {"gpt_oss": "openai-harmony"}
"""The library that encodes conversations, by the type of the model in `config.json`."""
_LIBRARY_OF_FILE = {"tekken.json": "mistral-common"}
"""The library that encodes conversations, by a file that only such models have."""


def encoder_of(folder: Path) -> str | None:
    """Find what encodes the conversations of a model whose tokenizer has no chat template.

    Nothing is imported or run: files are read as texts.

    Args:
        folder: The folder of the model.

    Returns:
        The encoder, as an error names it; None if there is none.
    """
    files = [*folder.glob("*.py"), *folder.glob("encod*/*.py")]
    names = {file.relative_to(folder).as_posix(): file for file in files if _NAME.match(file.name)}
    # A tokenizer's class may have a method of its own, which calls the encoder that lies beside it.
    for name in sorted(names, key=lambda name: ("encod" not in name, name)):
        if function := _FUNCTION.search(_text(names[name])):
            return f"{name} ({function[1]})"
    try:
        config = json.loads(_text(folder / "config.json") or "{}")
    except (ValueError, RecursionError):
        config = {}
    library = _LIBRARY_OF_TYPE.get(str(config.get("model_type"))) if isinstance(config, dict) else None
    for file, name in _LIBRARY_OF_FILE.items():
        library = library or (name if (folder / file).is_file() else None)
    return library and f"the library {library}"


def _text(file: Path) -> str:
    """Read a file; return an empty text if that can't be done, or if the file is large."""
    try:
        return file.read_text(encoding="utf-8", errors="replace") if file.stat().st_size <= _MAX_BYTES else ""
    except OSError:
        return ""

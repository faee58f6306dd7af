"""Tokenizers: how many tokens a text has, counted in bulk.

The package `tokenizers` is imported only when one is loaded. Nothing is ever downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["LOAD_ERRORS", "TokenCounter", "load_tokenizer"]

LOAD_ERRORS = (ImportError, OSError, ValueError)
"""What `load_tokenizer` raises; the message says all that a user needs."""

_FILE = "tokenizer.json"
# Encodings take some hundred bytes a token: so many characters at once are many enough for all threads.
_MAX_BATCH_CHARACTERS = 1 << 20
_MAX_BATCH_TEXTS = 4096


class TokenCounter:
    """Counts tokens; made by `load_tokenizer`.

    Special tokens that a tokenizer adds around a text (BOS, EOS) aren't counted, those that stand in a text are; it
    neither truncates nor pads. It counts on all cores, as the environment's `TOKENIZERS_PARALLELISM` lets it.
    """

    __slots__ = ("_tokenizer", "name")

    name: str
    """What it was loaded by."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer = tokenizer
        self.name = name

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of texts.

        Args:
            texts: The texts, each by itself.

        Returns:
            One number a text, in their order.

        """
        counts: list[int] = []
        for batch in _batches(texts):
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts.extend(map(len, encodings))
        return counts

    def __repr__(self) -> str:
        """What it was loaded by."""
        return f"TokenCounter({self.name!r})"


def load_tokenizer(source: Any) -> TokenCounter:
    """Load a tokenizer.

    Args:
        source: A Hugging Face tokenizer's file (`tokenizer.json`), a folder that holds one, or the name of a model that
            lies in the local Hugging Face cache; or a `tokenizers.Tokenizer`, or a fast tokenizer of transformers.

    Returns:
        What counts tokens with it.

    Raises:
        ImportError: If the package `tokenizers` isn't installed.
        FileNotFoundError: If there is no such file, folder or name.
        OSError: If the file can't be read.
        ValueError: If the file holds no tokenizer.
        TypeError: If `source` is none of these.

    """
    if isinstance(source, TokenCounter):
        return source
    library = _library()
    if not isinstance(source, (str, os.PathLike)):
        return TokenCounter(_unlimited(library, _own(source, library).to_str(), repr(type(source))), "tokenizer")
    name = os.fspath(source)
    path = _file(name)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: no tokenizer: {_expected(path)}") from None
    return TokenCounter(_unlimited(library, text, str(path)), name)


def _library() -> Any:
    try:
        import tokenizers  # noqa: PLC0415 - counting tokens is an extra
    except ImportError as error:
        message = "counting tokens needs the package tokenizers: pip install 'promptpress[tokenizer]'"
        raise ImportError(message, name=error.name) from error
    return tokenizers


def _own(source: Any, library: Any) -> Any:
    """Return the `tokenizers.Tokenizer` that an object is or, as transformers' fast ones do, wraps."""
    own = getattr(source, "backend_tokenizer", source)
    if not isinstance(own, library.Tokenizer):
        message = (
            f"tokenizer: expected a file, a folder, a name or a tokenizers.Tokenizer, found a {type(source).__name__}"
        )
        raise TypeError(message)
    return own


def _unlimited(library: Any, text: str, place: str) -> Any:
    """Make a tokenizer that counts all of a text, and nothing else."""
    try:
        tokenizer = library.Tokenizer.from_str(text)
    except Exception as error:  # the library raises no class of its own
        raise ValueError(f"{place}: no tokenizer of the package tokenizers: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _file(name: str) -> Path:
    """Find the file that `name` means."""
    path = Path(name).expanduser()
    if path.is_dir():
        if (path / _FILE).is_file():
            return path / _FILE
        others = [one for one in ("tokenizer.model", "tiktoken.model", "vocab.json") if (path / one).exists()]
        found = f"; it has {', '.join(others)}, which only its own library reads" if others else ""
        raise FileNotFoundError(f"{name}: the folder has no {_FILE}{found}")
    if path.exists():
        return path
    cached = _cached(name)
    if cached is None:
        message = f"{name}: no such file or folder, and no model of that name in the local Hugging Face cache"
        raise FileNotFoundError(f"{message}; nothing is downloaded")
    return cached


def _cached(name: str) -> Path | None:
    """Find a model's tokenizer in the local Hugging Face cache."""
    try:
        from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - comes with tokenizers

        found = try_to_load_from_cache(name, _FILE)
    except (ImportError, ValueError):  # a name that no model could have
        return None
    return Path(found) if isinstance(found, str) else None


def _expected(path: Path) -> str:
    hint = " (a sentencepiece model is not one)" if path.suffix == ".model" else ""
    return f"expected a JSON file as the package tokenizers writes it, found bytes that are no UTF-8{hint}"


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (characters + len(text) > _MAX_BATCH_CHARACTERS or len(batch) == _MAX_BATCH_TEXTS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch

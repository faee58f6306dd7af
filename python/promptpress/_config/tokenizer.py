"""Tokenizers, loaded from this machine, and counts of what they encode.

The package `tokenizers` is imported only when a tokenizer is loaded. Nothing is ever downloaded.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PANIC = "PanicException"
"""The name of the library's exception for its own bugs, which is no `Exception`."""

LOAD_ERRORS = (ImportError, OSError, ValueError)
"""The errors of `load_tokenizer` whose messages are complete for users."""

_FILE = "tokenizer.json"
_MAX_LOADED = 4
_LOADED: dict[str, Any] = {}
"""Tokenizers, keyed by the digest of their files: loading one takes a second."""

_DIGESTS: dict[tuple[Any, ...], str] = {}
"""The digests of files that were read, keyed by their states: reading one takes as long as many prompts."""

_TEXT_KEYS = ("prompt", "prompt_mm", "content", "parts", "text")


class LoadedTokenizer:
    """A tokenizer, made by `load_tokenizer` from `name`; it neither truncates nor pads texts."""

    __slots__ = ("digest", "name", "tokenizer")

    def __init__(self, tokenizer: Any, name: str, digest: str) -> None:
        self.tokenizer = tokenizer
        self.name = name
        self.digest = digest
        """The digest of all that decides ids, by which a tokenizer is recognised."""

    def __repr__(self) -> str:
        return f"LoadedTokenizer({self.name!r})"


def load_tokenizer(source: Any) -> LoadedTokenizer:
    """Load a tokenizer from a file, a folder, the local Hugging Face cache or an object.

    Args:
        source: A Hugging Face tokenizer's file (`tokenizer.json`), a folder that holds one, or the name of a model in
            the local Hugging Face cache; or a `tokenizers.Tokenizer`, or a fast tokenizer of transformers.

    Raises:
        ImportError: If the package `tokenizers` isn't installed.
        OSError: If the file can't be read; `FileNotFoundError` if there is no such file, folder or name.
        ValueError: If the file holds no tokenizer.
        TypeError: If `source` is none of these.
    """
    if isinstance(source, LoadedTokenizer):
        return source
    try:
        import tokenizers  # noqa: PLC0415 - counting tokens is an extra
    except ImportError as error:
        message = "counting tokens needs the package tokenizers: pip install 'promptpress[tokenizer]'"
        raise ImportError(message, name=error.name) from error
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        path = _find_file(name)
        state: tuple[Any, ...] | None = _state(path)
        if state is not None and state in _DIGESTS and _DIGESTS[state] in _LOADED:
            return LoadedTokenizer(_LOADED[_DIGESTS[state]], name, _DIGESTS[state])
        text, described, splits = _read(path), str(path), False
    else:
        state = None
        tokenizer = getattr(source, "backend_tokenizer", source)  # transformers' fast tokenizers wrap one
        if not isinstance(tokenizer, tokenizers.Tokenizer):
            kind = type(source).__name__
            raise TypeError(f"tokenizer: expected a file, a folder, a name or a tokenizers.Tokenizer, found a {kind}")
        name, text, described = "tokenizer", tokenizer.to_str(), repr(type(source))
        splits = bool(tokenizer.encode_special_tokens or getattr(source, "split_special_tokens", False))
    # Not in the file: whether special tokens in a text are encoded as text.
    digest = hashlib.sha256(text.encode()).hexdigest() + ("-split" if splits else "")
    if state is not None:
        while len(_DIGESTS) >= _MAX_LOADED:
            _DIGESTS.pop(next(iter(_DIGESTS)), None)
        _DIGESTS[state] = digest
    tokenizer = _LOADED.get(digest)
    if tokenizer is None:
        try:
            tokenizer = tokenizers.Tokenizer.from_str(text)
        except BaseException as error:  # the library has no exception class of its own, and panics on some files
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            raise ValueError(f"{described}: no tokenizer of the package tokenizers: {error}") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = splits
        while len(_LOADED) >= _MAX_LOADED:
            _LOADED.pop(next(iter(_LOADED)), None)
        _LOADED[digest] = tokenizer
    return LoadedTokenizer(tokenizer, name, digest)


def _find_file(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_dir():
        if (path / _FILE).is_file():
            return path / _FILE
        others = [file for file in ("tokenizer.model", "tiktoken.model", "vocab.json") if (path / file).exists()]
        has = f"; it has {', '.join(others)}, which only its own library reads" if others else ""
        raise FileNotFoundError(f"{name}: the folder has no {_FILE}{has}")
    if path.exists():
        return path
    try:
        from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - comes with tokenizers

        cached = try_to_load_from_cache(name, _FILE)
    except (ImportError, ValueError):  # a name that no model could have
        cached = None
    if not isinstance(cached, str):
        message = f"{name}: no such file or folder, and no model of that name in the local Hugging Face cache"
        raise FileNotFoundError(f"{message}; nothing is downloaded")
    return Path(cached)


def _state(path: Path) -> tuple[Any, ...] | None:
    """Return what is the same as long as nobody writes to a file; None if that can't be told."""
    try:
        status = path.stat()
    except OSError:
        return None
    return path.absolute(), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        hint = " (a sentencepiece model is not one)" if path.suffix == ".model" else ""
        message = f"expected a JSON file as the package tokenizers writes it, found bytes that are no UTF-8{hint}"
        raise ValueError(f"{path}: no tokenizer: {message}") from None


def text_parts(request: Any, *, is_json: bool = False) -> Iterator[str]:
    """Yield the texts of a request that a model reads, without roles and payloads of media."""
    if is_json:
        with suppress(TypeError, ValueError):
            request = json.loads(request)
    if isinstance(request, str):
        yield request
    elif isinstance(request, list):
        for item in request:
            yield from text_parts(item)
    elif isinstance(request, dict):
        for key in _TEXT_KEYS:
            yield from text_parts(request.get(key))


@dataclass(frozen=True)
class EncodedRequests:
    """The number of requests of a run that have tokens, and of those that the library `tokenizers` has encoded.

    `reason` is why it, and not the core, has encoded the last of them.
    """

    requests: int = 0
    library: int = 0
    reason: str | None = None


MARKS = ("\ufdd0", "\ufdd1")
"""The characters before and after the text of a `{% generation %}` block where blocks are marked: noncharacters."""

"""`--tokenizer`: loads the tokenizer that counts tokens."""

from __future__ import annotations

from promptpress._errors.file_errors import UsageError
from promptpress._io.tokenizer import LOAD_ERRORS, LoadedTokenizer, load_tokenizer


def token_counter(name: str) -> LoadedTokenizer:
    """Load the tokenizer of a file, a folder or the local cache."""
    try:
        return load_tokenizer(name)
    except LOAD_ERRORS as error:
        raise UsageError(f"--tokenizer {error}") from error  # the message begins with the name

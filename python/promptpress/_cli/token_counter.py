"""`--tokenizer`: what counts tokens."""

from __future__ import annotations

from promptpress._file_errors import UsageError
from promptpress._tokenizer import LOAD_ERRORS, TokenCounter, load_tokenizer


def token_counter(name: str) -> TokenCounter:
    """Load the tokenizer that a command line names.

    Args:
        name: as `--tokenizer` has it.

    Returns:
        What counts tokens.

    Raises:
        UsageError: when there is no such tokenizer, or the package isn't installed.

    Example:
        >>> token_counter("gone.json")
        Traceback (most recent call last):
        ...
        promptpress._file_errors.UsageError: --tokenizer gone.json: no such file or folder...

    """
    try:
        return load_tokenizer(name)
    except LOAD_ERRORS as error:
        raise UsageError(f"--tokenizer {error}") from error  # it begins with the name

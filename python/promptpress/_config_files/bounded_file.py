"""Files that are read as a whole, and so have a largest size."""

from __future__ import annotations

from promptpress._file_errors import ConfigError
from promptpress._places import missing


def read_bytes(path: str, max_bytes: int) -> bytes:
    """Read a configuration file.

    Args:
        path: the file.
        max_bytes: the most that it may hold; a multiple of 1 MiB.

    Returns:
        What it holds.

    Raises:
        ConfigError: when it can't be read, or is larger.

    Example:
        >>> read_bytes("no such folder/a.json", 1 << 20)
        Traceback (most recent call last):
        ...
        promptpress._file_errors.ConfigError: no such folder/a.json: No such file or directory (there is no folder ...)

    """
    try:
        with open(path, "rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {missing(path, error)}") from None
    if len(content) > max_bytes:
        raise ConfigError(f"{path}: larger than {max_bytes >> 20} MiB")
    return content

"""A reader for configuration files with a limit on their size."""

from __future__ import annotations

from promptpress._errors.file_errors import ConfigError
from promptpress._io.paths import missing


def read_bytes(path: str, max_bytes: int) -> bytes:
    """Return the content of a configuration file.

    Args:
        path: The file.
        max_bytes: The largest allowed size, a multiple of 1 MiB.

    Raises:
        ConfigError: If the file can't be read or is larger.

    """
    try:
        with open(path, "rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {missing(path, error)}") from None
    if len(content) > max_bytes:
        raise ConfigError(f"{path}: larger than {max_bytes >> 20} MiB")
    return content

"""A reader for configuration files with a limit on their size."""

from __future__ import annotations

from promptpress import ConfigError
from promptpress.engine.configs import missing


def read_bytes(path: str, max_bytes: int) -> bytes:
    """Return the content of a configuration file; refuse one of more than `max_bytes`, a multiple of 1 MiB."""
    try:
        with open(path, "rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {missing(path, error)}") from None
    if len(content) > max_bytes:
        raise ConfigError(f"{path}: larger than {max_bytes >> 20} MiB")
    return content


def read_text(path: str, max_bytes: int) -> str:
    """Return the text of a configuration file; refuse a file that isn't UTF-8, with the line."""
    content = read_bytes(path, max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 (byte 0x{content[error.start]:02x})") from None

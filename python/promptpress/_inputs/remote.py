"""Files at an address (`s3://`, `hf://`, `https://`, ...), by fsspec, which is imported for these only."""

from __future__ import annotations

import os
import tempfile
from typing import IO, Any

from promptpress._file_errors import DataError, reason


def filesystem(url: str) -> tuple[Any, str]:
    """Find what reads an address.

    Args:
        url: the address.

    Returns:
        The file system of fsspec, and the path in it.

    Raises:
        DataError: when fsspec, or what it needs for this scheme, isn't installed; or nothing reads such a scheme.

    """
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - for addresses only
    except ImportError:
        raise DataError(f"{url}: addresses need fsspec: pip install 'promptpress[remote]'") from None
    try:
        system, path = url_to_fs(url)
    except ImportError as error:
        raise DataError(f"{url}: {reason(error)}") from error
    except ValueError as error:
        raise DataError(f"{url}: {reason(error)}") from error
    return system, str(path)


def open_remote(url: str) -> IO[bytes] | None:
    """Open a file of which any stretch can be asked for.

    Args:
        url: the address.

    Returns:
        The file; None where it can only be read from its start, or its size isn't known.

    """
    system, path = filesystem(url)
    file: IO[bytes] = system.open(path, "rb")
    try:
        file.seek(0, os.SEEK_END)
        file.seek(0)
    except (ValueError, OSError, NotImplementedError, TypeError):
        file.close()
        return None
    return file


def copy_remote(url: str) -> IO[bytes]:
    """Copy a file to a temporary one.

    Args:
        url: the address.

    Returns:
        The copy, which is gone when it is closed.

    Raises:
        DataError: when less of it arrives than there is.

    """
    system, path = filesystem(url)
    copy = tempfile.NamedTemporaryFile(prefix="promptpress-")  # noqa: SIM115 - the caller closes it
    try:
        system.get_file(path, copy.name)
        arrived, size = os.path.getsize(copy.name), _size(system, path)
        if size is not None and arrived < size:
            raise DataError(f"{url}: only {arrived:,} of {size:,} bytes arrived; try again, or download it")
    except BaseException:
        copy.close()
        raise
    return copy


def _size(system: Any, path: str) -> int | None:
    """Ask for the size, where a server tells it; compressed on its way it has another."""
    try:
        info = system.info(path)
    except (OSError, ValueError):
        return None
    size = info.get("size")
    return size if isinstance(size, int) else None


def matching(url: str) -> list[str]:
    """List the files that match an address with a pattern.

    Args:
        url: the address, with `*` in it.

    Returns:
        Their addresses.

    """
    system, path = filesystem(url)
    return [str(system.unstrip_protocol(found)) for found in system.glob(path)]


def why(error: Exception) -> str:
    """Say why an address can't be read.

    Args:
        error: what was raised there.

    Returns:
        What was said of it, with the status of a server's answer.

    Example:
        >>> why(FileNotFoundError("https://host/a.csv"))
        'not found there'

    """
    if isinstance(error, FileNotFoundError) and not isinstance(error.__cause__, Exception):
        return "not found there"
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # fsspec says so of a server that isn't there, too
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and not isinstance(error, OSError):
        return f"the server answers {status} {message or ''}".rstrip()
    return f"can't be read from there ({type(error).__name__}: {reason(error)}); download it, and give the local file"

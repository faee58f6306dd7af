"""Files at an address (`s3://`, `hf://`, `https://`, ...), read by fsspec, which is imported only for them."""

from __future__ import annotations

import os
import tempfile
from typing import IO, Any

from promptpress import DataError
from promptpress.engine.errors import counted, reason


def filesystem(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - for addresses only
    except ImportError:
        raise DataError(f"{url}: addresses need fsspec: pip install 'promptpress[remote]'") from None
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise DataError(f"{url}: {reason(error)}") from error
    return system, str(path)


def open_remote(url: str) -> IO[bytes] | None:
    """Open a file for random access; return None if it can only be read from its start, or its size isn't known."""
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
    """Copy a file to a temporary one, which is deleted when it is closed."""
    system, path = filesystem(url)
    copy = tempfile.NamedTemporaryFile(prefix="promptpress-")  # noqa: SIM115 - the caller closes it
    try:
        system.get_file(path, copy.name)
        arrived, size = os.path.getsize(copy.name), _size(system, path)
        if size is not None and arrived < size:
            raise DataError(f"{url}: only {arrived:,} of {counted(size, 'byte')} arrived; try again, or download it")
    except BaseException:
        copy.close()
        raise
    return copy


def _size(system: Any, path: str) -> int | None:
    """Return the size if the server sends one; a file that is compressed for the transfer has another."""
    try:
        info = system.info(path)
    except (OSError, ValueError):
        return None
    size = info.get("size")
    return size if isinstance(size, int) else None


def matching(url: str) -> list[str]:
    """List the addresses of the files that match an address with `*` in it."""
    system, path = filesystem(url)
    return [str(system.unstrip_protocol(match)) for match in system.glob(path)]


def why(error: Exception) -> str:
    """Return the reason why an address can't be read, with the status of the server's answer."""
    if isinstance(error, FileNotFoundError):
        if not isinstance(error.__cause__, Exception):
            return "not found there"
        error = error.__cause__  # fsspec raises the same error if there is no such server
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and not isinstance(error, OSError):
        return f"the server answers {status} {message or ''}".rstrip()
    return f"can't be read from there ({type(error).__name__}: {reason(error)}); download it, and give the local file"

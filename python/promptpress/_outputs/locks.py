"""Locks that die with the process that holds them."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["try_lock"]


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder, without waiting.

    Args:
        handle: its number. The lock is let go when it is closed, or its process ends, however that happens.

    Returns:
        Whether it is locked now; False where another process holds it, None where the file system has no locks.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     try_lock(file.fileno())
        True

    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True

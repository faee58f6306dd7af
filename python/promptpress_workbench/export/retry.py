"""Files of the requests that failed, taken from the batch files that were sent; `join` writes them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine.errors import OutputError, callers_level, render_error

from promptpress_workbench.export.line_files import Path, Written
from promptpress_workbench.export.results import file_lines, file_values
from promptpress_workbench.files.read.find_files import find_files
from promptpress_workbench.files.write.shards import sharded_lines

_BATCH_LINES = 4096


def write_retry(requests: Path | Iterable[Path], path: Path, failed: Iterable[str]) -> Written:
    """Write the requests that failed as they were sent.

    If there were several files, no file of the retry has more lines or bytes than the largest of them, so that it
    keeps the limits of the service.

    Warns:
        PromptWarning: If some of the failed requests aren't in the files.
    """
    given = [requests] if isinstance(requests, (str, os.PathLike)) else requests
    files = [file for item in given for file, _ in find_files(os.fspath(item), "jsonl")]
    if any(os.path.realpath(file) == os.path.realpath(path) for file in files):
        raise OutputError(f"{os.fspath(path)}: it is one of the files that were sent; take another name")
    left = dict.fromkeys(failed)
    count = len(left)
    with sharded_lines(os.fspath(path), *_limits(files)) as out:
        lines = (line for file in files for line in _failed_lines(file, left))
        while some := list(islice(lines, _BATCH_LINES)):
            out.write(pa.array(some, pa.large_binary()))
        if left:
            ids = ", ".join(map(repr, islice(left, _EXAMPLES))) + (", ..." if len(left) > _EXAMPLES else "")
            message = f"{len(left):,} of {count:,} failed requests are in none of the files that were sent: {ids}"
            if len(left) == count:
                raise render_error("invalid_result", f"{message}; are these the files?")
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
    return Written(out.paths, out.lines, out.bytes)


def _limits(files: list[str]) -> tuple[int | None, int | None]:
    """Return the lines and the bytes of the largest of several files; one file has no limits."""
    if len(files) == 1:
        return None, None
    sizes = [[len(line) + (not line.endswith(b"\n")) for line in file_lines(file)] for file in files]
    return max(map(len, sizes), default=0) or None, max(map(sum, sizes), default=0) or None


def _failed_lines(file: str, left: dict[str, None]) -> Iterator[bytes]:
    """Yield the lines whose ids are left, each once, and take these ids out of them."""
    for location, line, request in file_values(file):
        custom_id = request.get("custom_id") if isinstance(request, dict) else None
        if not isinstance(custom_id, str) or "body" not in request:
            message = f"{location}: it is no request of a batch: it has no custom_id, or no body"
            raise render_error("invalid_result", message)
        if custom_id in left:
            del left[custom_id]
            yield line if line.endswith(b"\n") else line + b"\n"

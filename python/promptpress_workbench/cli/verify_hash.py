"""`promptpress verify FILE`: compares the prompts of a file with the hash that the file says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import closing

import pyarrow as pa
from promptpress.engine import FORMAT, HASH, HASH_FORMAT, VERSION, RequestsHash
from promptpress.engine import core as _core
from promptpress.engine.errors import UsageError, counted
from promptpress.engine.tables import is_text
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.options import first_given
from promptpress_workbench.cli.prompt_sources import prompt_column_of, refuse_rendering
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.verify_outcomes import Verdict
from promptpress_workbench.files.read.samples import Samples


def _of_hashes(columns: Iterable[pa.Array], is_json: bool) -> str:
    """Return the hash of requests in the first format: SHA-256 of their hashes, or of zeros where there is none."""
    total = hashlib.sha256()
    for column in columns:
        hashes = pc.fill_null(_core.request_hashes(column, is_json), bytes(16))
        total.update(b"".join(hashes.to_pylist()))
    return total.hexdigest()


def _of_stream(columns: Iterable[pa.Array], is_json: bool) -> str:
    """Return the hash of requests in the present format."""
    total = RequestsHash(is_json)
    for column in columns:
        total.update(column)
    return total.hexdigest()


_FORMATS: dict[str, Callable[[Iterable[pa.Array], bool], str]] = {"": _of_hashes, str(HASH_FORMAT): _of_stream}
"""The functions that make the hash, by the format's number in a file's metadata; the first format had none."""


def hash_verdict(settings: Settings) -> Verdict:
    """Hash the prompts of a rendered file anew, and compare."""
    refuse_rendering(settings)
    path = str(settings.config)
    if (option := first_given(settings, ("limit", "shots", "examples"))) is not None:
        raise UsageError(f"{option}: {path} holds prompts, and its hash is of all of them")
    with closing(Samples([path], settings.format)) as samples:
        files = samples.parquet_files()
        if len(files) > 1:
            raise UsageError(f"{path}: holds {len(files)} files, each with a hash of its own; verify them one by one")
        about = {**samples.metadata}
        for _, file in files:
            about |= file.metadata.metadata or {}
        expected, number, version = (about.get(key.encode(), b"").decode() for key in (HASH, FORMAT, VERSION))
        if not expected:
            raise UsageError(
                f"{path}: says no hash of its prompts; Parquet that `promptpress render` writes has it"
                " (from pyarrow 18 on)"
            )
        if number not in _FORMATS:
            raise UsageError(
                f"{path}: its hash has the format {number}, and this version knows those up to {HASH_FORMAT};"
                f" promptpress {version}, which wrote it, verifies it"
            )
        column = prompt_column_of(settings, samples.schema)
        prompts = counted(samples.num_rows or 0, "prompt")
        computed = []
        # A text may be that of messages as JSON, which the file doesn't say.
        for is_json in (False, True) if is_text(samples.schema.field(column).type) else (False,):
            computed.append(_FORMATS[number]((batch.column(column) for batch in samples.reader()), is_json))
            if computed[-1] == expected:
                old = "" if number else "; it is in the format of an older version, and rendering anew gives another"
                return Verdict(ExitCode.OK, f"{prompts} with the hash {expected}{old}")
    return Verdict(
        ExitCode.DIFFERENT,
        f"in {prompts}: they aren't those that were written, or stand in another order",
        (f"  the file says  {expected}", f"  its prompts    {computed[0]}"),
    )

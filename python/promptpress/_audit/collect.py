"""Goes over the samples batch by batch, renders them, and asks each check."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.checks import CHECKS
from promptpress._audit.codes import known_codes
from promptpress._audit.finding import table_of
from promptpress._audit.subject import Subject
from promptpress._label_values import labels_of
from promptpress._model_classes import did_you_mean
from promptpress._render_options import RenderOptions
from promptpress._tables import as_reader, as_table, for_core
from promptpress._threads import Threads
from promptpress._tokenizer import load_tokenizer

if TYPE_CHECKING:
    from promptpress._renderer import Renderer

__all__ = ["audit"]

_BATCH_ROWS = 65_536
_MAX_THREADS = 4
"""More don't find enough to do beside the core's own."""
_LIMITS = ("bytes", "tokens")


def audit(renderer: Renderer, samples: Any, tokenizer: Any, limits: Mapping[str, int] | None, allow: Any) -> pa.Table:
    """Make the table that `Renderer.audit` returns.

    Args:
        renderer: What renders.
        samples: What it renders.
        tokenizer: What counts tokens, and says which are special.
        limits: How long a prompt may be.
        allow: Codes of findings that are known.

    Returns:
        The findings.

    """
    allowed = known_codes(allow)
    counter = None if tokenizer is None else load_tokenizer(tokenizer)
    limits = _checked(limits, has_tokenizer=counter is not None)
    core = renderer._core
    renderer._configuration.refuse_replies()
    table = as_table(samples) if core.label_column is not None else None
    reader = as_reader(samples) if table is None else table.to_reader()
    renderer._output_schemas.of(reader.schema, RenderOptions())  # refuses columns of one name, and the like
    labels = core.labels if table is None else labels_of(core, table, for_core(table)[0])
    subject = Subject(renderer, reader.schema, labels, limits, counter)
    checks = [check for kind in CHECKS if (check := kind.of(subject)) is not None]
    # Each check keeps what it has found to itself, and leaves Python for most of its time.
    with Threads(min(_core.threads(), _MAX_THREADS)) as threads:
        for batch in _ahead(_batches(subject, reader), threads):
            for done in [threads.submit(check.add, batch) for check in checks]:
                done.result()
    found = [finding for check in checks for finding in check.findings()]
    if any(finding.code == "answer_in_prompt" for finding in found):
        allowed |= {"unmasked_output_column"}  # which says the same of the template
    own = [(one.rows, one.first_rows) for one in found if one.code.startswith("own_example")]
    if any(one.code == "answer_in_example" and (one.rows, one.first_rows) in own for one in found):
        allowed |= {"answer_in_example"}  # of samples that are their own examples nothing else is to be expected
    return table_of(finding for finding in found if finding.code not in allowed)


def _batches(subject: Subject, reader: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
    position, first = _core.Position(), 0
    for whole in reader:
        for start in range(0, whole.num_rows, _BATCH_ROWS):
            samples = whole.slice(start, _BATCH_ROWS)
            core_table, lower = for_core(pa.Table.from_batches([samples]), first)
            begin = position.copy()
            parts = subject.core.render(core_table, subject.labels, position, False, lower)
            yield Batch(subject, samples, first, parts, (core_table, lower, begin))
            first += samples.num_rows


def _ahead(batches: Iterator[Batch], threads: Threads) -> Iterator[Batch]:
    """Render a batch while the one before is looked at."""
    following = threads.submit(next, batches, None)
    while (batch := following.result()) is not None:
        following = threads.submit(next, batches, None)
        yield batch


def _checked(limits: Mapping[str, int] | None, *, has_tokenizer: bool) -> dict[str, int]:
    out = {}
    for name, limit in (limits or {}).items():
        if name not in _LIMITS:
            hint = did_you_mean(name, _LIMITS) or f"; there are {' and '.join(map(repr, _LIMITS))}"
            message = f"limits: there is no limit of {name!r}{hint}"
            raise ValueError(message)
        try:
            out[name] = operator.index(limit)
        except TypeError:
            message = f"limits: {name!r} is a whole number, found a {type(limit).__name__}"
            raise TypeError(message) from None
        if out[name] < 0:
            message = f"limits: {name!r} is a number from 0 on, found {limit}"
            raise ValueError(message)
    if "tokens" in out and not has_tokenizer:
        message = "limits: tokens are counted by a tokenizer; give tokenizer="
        raise ValueError(message)
    return out

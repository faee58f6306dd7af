"""Finding prompts in a whole table: those that match a pattern, the longest, some at random."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import core as _core
from promptpress.engine.tables import is_text
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.prompts.layout import TextMark
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import PromptSource, RequestBatch, RequestId, message_texts

_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(frozen=True)
class RequestFilter:
    """Keeps the requests of one label, given as text, and of one turn; None keeps all."""

    label: str | None = None
    turn: int | None = None

    def apply(self, batch: RequestBatch) -> RequestBatch:
        """Return the requests of a batch that are kept."""
        mask = None
        if self.label is not None and batch.labels is not None:
            mask = pc.equal(batch.labels.cast(pa.string()), self.label)
        if self.turn is not None and batch.turns is not None:
            of_turn = pc.equal(batch.turns, self.turn)
            mask = of_turn if mask is None else pc.and_(mask, of_turn)
        return batch if mask is None else batch.take(pc.indices_nonzero(pc.fill_null(mask, False)))


@dataclass
class Matches:
    """The number of requests that were searched, the number of those that match, and the first of these."""

    requests: int
    matching: int
    first: list[RequestId]


def matching(source: PromptSource, pattern: re.Pattern[str], limit: int, kept: RequestFilter) -> Matches:
    """Search the texts of all kept requests, each message without its role, and keep the first `limit` matches."""
    out = Matches(0, 0, [])
    for batch in map(kept.apply, source.requests()):
        rows = _matching_rows(source, batch, pattern)
        out.requests += len(batch)
        out.matching += len(rows)
        remembered = rows[: limit - len(out.first)]
        if remembered:
            out.first += batch.take(pa.array(remembered, pa.int64())).ids()
    return out


def _matching_rows(source: PromptSource, batch: RequestBatch, pattern: re.Pattern[str]) -> list[int]:
    columns = None if _may_be_json(source, batch) else message_texts(batch.prompts)
    if columns is None:
        prompts = (source.request(value, 0) for value in to_pylist(batch.prompts))
        return [row for row, prompt in enumerate(prompts) if match_marks(prompt, pattern)]
    plain = not _SPECIAL.search(pattern.pattern) and pattern.flags == re.UNICODE
    rows: set[int] = set()
    for texts, parents in columns:
        if plain:
            matches = pc.indices_nonzero(pc.fill_null(pc.match_substring(texts, pattern.pattern), False))
        else:
            search, values = pattern.search, enumerate(texts.to_pylist())
            matches = pa.array([index for index, text in values if text is not None and search(text)])
        if parents is not None and len(matches):
            matches = parents.take(matches)
        rows.update(matches.to_pylist())
    return sorted(rows)


def _may_be_json(source: PromptSource, batch: RequestBatch) -> bool:
    """Return true if texts are messages in JSON, so that a prompt's text isn't the text of its column."""
    if not len(batch) or not is_text(batch.prompts.type):
        return False
    first = batch.prompts[0].as_py()
    return first is not None and source.request(first, 0).messages is not None


def match_marks(prompt: Prompt, pattern: re.Pattern[str]) -> list[TextMark]:
    """Return a mark for each match of a pattern in a prompt, empty matches included."""
    out: list[TextMark] = []
    for text in prompt.texts():
        out += [(text.number, text.part, (*match.span(), "match")) for match in pattern.finditer(text.text)]
    return out


def extremes(source: PromptSource, count: int, kept: RequestFilter, *, longest: bool) -> list[RequestId]:
    """Find the longest or the shortest requests by the bytes of their texts; among equal ones the first come first."""
    best: list[tuple[int, int, RequestId]] = []
    first = 0
    sign = -1 if longest else 1
    for batch in map(kept.apply, source.requests()):
        sizes, _ = _core.request_sizes(batch.prompts, _may_be_json(source, batch))
        sizes = pc.multiply(pc.fill_null(sizes.cast(pa.int64()), 0), sign)
        rows = pc.sort_indices(sizes).slice(0, count)  # stable
        positions = [first + row for row in rows.to_pylist()]
        best += zip(sizes.take(rows).to_pylist(), positions, batch.take(rows).ids(), strict=True)
        best = sorted(best, key=lambda entry: entry[:2])[:count]
        first += len(batch)
    return [request for _, _, request in best]

"""The tokens of each batch of an audit, encoded once for all checks that look at tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from promptpress.engine import RenderOptions, TableEngine, sample_numbers
from promptpress.engine.tables import is_text
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import Encoder, LoadedTokenizer, TokenEngine, TokenSettings
from promptpress.typing import Mask

_DATA = pa.array(["field", "filled_field", "argument", "computed"])
"""The sources of what data bring; all others are the configuration's."""

_UNKNOWN = "jinja2"


class RequestTokens(NamedTuple):
    """The tokens of one request.

    Args:
        sample: The number of its sample among all samples.
        text: The request.
        ids: The ids of its tokens.
        starts: The byte of the text at which each token begins.
        ends: The byte after each token.
        mask: A byte for each token, 1 if it is trained, else 0; None: there is no mask.
        borders: The bytes at which data begin or end next to the template's own text, in order.

    """

    sample: int
    text: bytes
    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    mask: bytes | None
    borders: Sequence[int]


class TokenBatches:
    """Encodes the requests of an audit batch by batch, in order.

    Args:
        engine: The audited engine.
        counter: The tokenizer.
        labels: The labels of ppl; None for gen.
        mask: What is trained; None: there is no mask.

    """

    def __init__(
        self, engine: TableEngine, counter: LoadedTokenizer, labels: list[Any] | None, mask: Mask | None
    ) -> None:
        self.encoder = Encoder.of(counter)
        self._engine = TokenEngine(engine, self.encoder, TokenSettings(mask=mask, offsets=True))
        self._tokens = self._engine.begin(RenderOptions(errors="column"), labels)
        self._texts = engine.begin(RenderOptions(spans="detailed"), labels)
        self._latest: tuple[pa.RecordBatch | None, list[RequestTokens], dict[int, str]] = (None, [], {})
        self._encoding = Lock()

    def check(self, schema: pa.Schema) -> None:
        """Raise the error of requests that have no tokens.

        Args:
            schema: The schema of the samples.

        Raises:
            TemplateError: If the requests are no texts.

        """
        self._engine.request_fields(schema)

    def of(self, samples: pa.RecordBatch, first: int) -> tuple[list[RequestTokens], dict[int, str]]:
        """Return the requests of a batch that have tokens, and the errors of the others, keyed by their samples.

        Args:
            samples: The batch. All checks have to see one batch before the next.
            first: The number of its first sample.

        """
        with self._encoding:  # checks of other threads wait for the finished lists
            if self._latest[0] is not samples:
                table = pa.Table.from_batches([samples])
                errors: dict[int, str] = {}
                texts = [text for part in self._texts.parts(table, first) for text in self._of_texts(part)]
                tokens = [row for part in self._tokens.parts(table, first) for row in self._of_tokens(part)]
                requests = []
                for (sample, text, borders), row in zip(texts, tokens, strict=True):
                    if isinstance(row, str):
                        errors.setdefault(sample, row)
                    else:
                        requests.append(RequestTokens(sample, text.encode(), *row, borders))
                self._latest = (samples, requests, errors)
            return self._latest[1:]

    def _of_texts(self, part: Any) -> Iterator[tuple[int, str, list[int]]]:
        """Yield the sample, the text and the borders of each request of a part."""
        samples = sample_numbers(part, self._texts.times).to_pylist()
        yield from zip(samples, part.prompts.to_pylist(), _borders(part.spans, len(samples)), strict=True)

    def _of_tokens(self, part: Any) -> Iterator[str | tuple[Any, Any, Any, bytes | None]]:
        """Yield the ids, offsets and mask of each request of a part, or its error."""
        ids, _, *masks, offsets = part.more
        numbers = [
            _numbers(ids.flatten(), "i"),
            *(_numbers(pc.struct_field(offsets.flatten(), name), "q") for name in ("start", "end")),
        ]
        trained = _numbers(masks[0].flatten().cast(pa.uint8()), "B") if masks else None
        first = 0
        for row, count in enumerate(pc.list_value_length(ids).to_pylist()):
            if count is None:
                # The message alone, without the code before it.
                yield part.errors[row].as_py().partition(": ")[2]
                continue
            of_row = slice(first, first + count)
            ids_of_row, starts, ends = (values[of_row] for values in numbers)
            yield ids_of_row, starts, ends, None if trained is None else bytes(trained[of_row])
            first += count


def token_batches(
    engine: TableEngine, schema: pa.Schema, counter: LoadedTokenizer | None, labels: list[Any] | None, mask: Mask | None
) -> TokenBatches | None:
    """Return what encodes the requests of an audit; None without a tokenizer, or for requests that are no texts.

    Args:
        engine: The audited engine.
        schema: The schema of the samples.
        counter: The tokenizer; None: there is none.
        labels: The labels of ppl; None for gen.
        mask: What is trained; None: there is no mask.

    Raises:
        TemplateError: If there is a mask, and the requests are no texts or nobody has a role in them.

    """
    if counter is None:
        return None
    if mask is None:
        *_, prompt = engine.request_fields(schema)
        if engine.writes_json or not is_text(prompt.type):
            return None
    batches = TokenBatches(engine, counter, labels, mask)
    batches.check(schema)
    return batches


def _numbers(array: pa.Array, kind: Literal["i", "q", "B"]) -> Any:
    """Return the values of an array without nulls as a view of its bytes."""
    _, values = array.buffers()
    size = array.type.bit_width // 8
    if values is None:
        return memoryview(b"").cast(kind)
    view = memoryview(values)[array.offset * size : (array.offset + len(array)) * size]
    return view.cast(kind)


def _borders(spans: pa.Array, rows: int) -> list[list[int]]:
    """Return the bytes of each text at which a span of data touches one that isn't, by rows."""
    out: list[list[int]] = [[] for _ in range(rows)]
    flat, parents = spans.flatten(), pc.list_parent_indices(spans)
    if len(flat) < 2:
        return out
    sources = pc.struct_field(flat, "source")
    is_data, is_known = pc.is_in(sources, value_set=_DATA), pc.not_equal(sources, _UNKNOWN)
    is_border = pc.and_(
        pc.and_(pc.equal(parents[1:], parents[:-1]), pc.not_equal(is_data[1:], is_data[:-1])),
        pc.and_(is_known[1:], is_known[:-1]),
    )
    numbers = pc.add(pc.indices_nonzero(is_border), 1)
    starts = pc.struct_field(flat, "start").take(numbers).to_pylist()
    for row, start in zip(parents.take(numbers).to_pylist(), starts, strict=True):
        out[row].append(start)
    return out

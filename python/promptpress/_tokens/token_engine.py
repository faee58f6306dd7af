"""The engine that turns what another engine renders into token ids, part by part."""

from __future__ import annotations

import hashlib
import json
import warnings
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from promptpress._arrow.columns import is_text
from promptpress._config.tokenizer import EncodedRequests
from promptpress._core import RenderedRows, RenderError
from promptpress._engine.notes import MisspeltColumn
from promptpress._engine.options import RenderOptions, with_distinct_names
from promptpress._engine.rendering import Part, Run, sample_numbers
from promptpress._engine.table_engine import StreamRenderer, TableEngine
from promptpress._errors.errors import (
    PromptWarning,
    callers_level,
    counted,
    did_you_mean,
    render_error,
    row_error_text,
    template_error,
)
from promptpress._tokens.encoder import Encoder
from promptpress._tokens.masks import (
    UnknownOriginError,
    assistant_spans,
    calls_tools,
    generation_spans,
    hidden_turns,
    marked_conversation,
    place_in_beginning,
    place_of_turn,
)
from promptpress._tokens.settings import TokenSettings

_Turns = tuple[list[dict[str, Any]] | None, dict[int, tuple[int, int]]]
"""The messages of a request, and the places of those that its origins don't show, keyed by the messages' numbers."""

_FIRST_UNTRAINED = 3
"""The number of requests without a trained token that a warning names."""

_ROWS = 4096
"""Samples that are rendered and encoded together, so that memory doesn't grow with the table."""


class TokenEngine(TableEngine):
    """Encodes what another engine renders."""

    def __init__(self, inner: TableEngine, encoder: Encoder, settings: TokenSettings) -> None:
        super().__init__()
        self._given = inner
        inner = inner if settings.answer is None else inner.answered(settings.answer)
        self.inner = inner
        self.encoder = encoder
        self.settings = settings
        self.warnings = inner.warnings
        self.reports_runs = inner.reports_runs
        self.token_counts = settings.names.get("n_tokens", "n_tokens")
        self.added = frozenset(token.content for token in encoder.tokenizer.get_added_tokens_decoder().values())
        self._marked = inner.marked() if settings.mask == "generation" else None
        if settings.has_assistants and not inner.has_roles:
            message = (
                "nobody has a role here, so no assistant says anything; meta_template= and chat_template= give roles"
            )
            raise template_error("unsupported_mode", "mask", message)

    @property
    def names(self) -> Mapping[str, str]:
        return {**self.inner.names, **self.settings.names}

    @property
    def required_columns(self) -> list[str]:
        return self.inner.required_columns

    @property
    def text_engine(self) -> TableEngine:
        return self.inner

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """Return the fields of label and turn, and those of tokens in the place of the prompt."""
        *others, prompt = self.inner.request_fields(schema)[: -len(self.inner.shot_fields) or None]
        if not is_text(prompt.type) or self.inner.writes_json:
            message = (
                "tokens are those of texts, and the requests are messages; output='text' writes them as one text, and "
                "chat_template= as the text that a chat model gets"
            )
            raise template_error("unsupported_mode", "output", message)
        return with_distinct_names([*others, *self.settings.fields, *self._shot_fields])

    @property
    def _shot_fields(self) -> list[pa.Field]:
        """The fields of a budget; where tokens are cut, `truncated` says so, and not that a prompt doesn't fit."""
        return self.inner.shot_fields[: 1 if self.settings.cuts else None]

    @property
    def labels(self) -> list[Any] | None:
        return self.inner.labels

    def labels_of_table(self, table: pa.Table) -> list[Any] | None:
        return self.inner.labels_of_table(table)

    def check_table(self) -> None:
        self.inner.check_table()

    def check_stream(self) -> None:
        self.inner.check_stream()

    def check_batch(self) -> None:
        self.inner.check_batch()

    def undefined_names(self, schema: pa.Schema) -> list[str]:
        return self.inner.undefined_names(schema)

    def misspelt_columns(self, schema: pa.Schema) -> list[MisspeltColumn]:
        return self.inner.misspelt_columns(schema)

    def warn(
        self, output: pa.Schema, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None, *, looks: bool = False
    ) -> None:
        self.inner.warn(output, schema, samples, looks=looks)

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:
        has_spans = self.settings.needs_origins
        texts = replace(options, keep=(), index=None, hashes=False, spans="detailed" if has_spans else False)
        marked = None
        if self._marked is not None:
            marked = self._marked.begin(replace(texts, spans=False), labels, first)
        return _TokenRun(self, self.inner.begin(texts, labels, first), marked, options, first)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        """Say what the other engine says when a run has ended."""
        assert isinstance(run, _TokenRun)
        inner = run.inner
        inner.samples, inner.errors = run.samples, run.errors
        self.inner.row_number = self.row_number
        self.inner.ended(inner, is_batch=is_batch)
        if run.untrained and self.reports_runs:
            first = ", ".join(map(str, map(self._row_number_in(run), dict.fromkeys(run.first_untrained))))
            more = ", ..." if run.untrained > len(run.first_untrained) else ""
            message = (
                f"in {run.untrained:,} of {counted(run.requests, 'request')} no token is trained: an assistant says "
                f"nothing in them, or it is cut off; first in row {first}{more}; {self._untrained_remedy}"
            )
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
        self.inner.count_tokens(EncodedRequests(run.requests, run.by_library, run.reason))
        self.last_run = self.inner.last_run
        if self._given is not self.inner:
            self._given.take_counts(self.inner)

    @property
    def _untrained_remedy(self) -> str:
        """The remedy for requests of which no token is trained: a table may have answers; conversations have theirs."""
        if self.settings.answer is None and self.inner.chat_template is not None:
            return "answer= names a column of answers"
        return "an audit with mask= lists them"

    def refuse_left_out(self, codes: frozenset[str]) -> None:
        self.inner.refuse_left_out(codes)

    def shot_columns(self, part: RenderedRows | Part) -> list[Any]:
        """Return the columns of a budget, of some requests of the other engine."""
        return list(part.more[: len(self._shot_fields)]) if isinstance(part, Part) else []

    def fingerprint(self) -> str:
        settings = {**asdict(self.settings), "names": None}
        del settings["answer"]  # it is the inner engine's
        parts = {"texts": self.inner.fingerprint(), "tokenizer": self.encoder.digest, "settings": settings}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def state(self) -> dict[str, Any]:
        return {"inner": self.inner, "encoder": self.encoder, "settings": self.settings}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> TokenEngine:
        return cls(**state)


def token_engine(inner: TableEngine, tokens: Any, options: RenderOptions) -> TokenEngine:
    """Make an engine of tokens as users ask for it.

    Args:
        inner: The engine that renders the texts.
        tokens: A tokenizer, or a dict of it (`"tokenizer"`) and of the settings of `TokenSettings`.
        options: The columns next to the tokens.

    Raises:
        TypeError: If an argument is something else, isn't known, or asks for what only prompts have.
        ValueError: If the value of an argument is wrong.
        ImportError: As `Encoder`.
        OSError: As `Encoder`.

    """
    for name, is_asked in (("hashes", options.hashes), ("spans", options.spans is not False)):
        if is_asked:
            raise TypeError(f"{name}: are of prompts, and tokenize gives tokens in their place; render gives both")
    arguments = dict(tokens) if isinstance(tokens, Mapping) else {"tokenizer": tokens}
    names = ["tokenizer", *(field.name for field in fields(TokenSettings))]
    for name in arguments:
        if name not in names:
            hint = did_you_mean(str(name), names)
            raise TypeError(f"tokenize: no argument {name!r}{hint}; there are {', '.join(names)}")
    tokenizer = arguments.pop("tokenizer", None)
    tokenizer = inner.tokenizer if tokenizer is None else tokenizer
    if tokenizer is None:
        raise TypeError(
            'tokenize: "tokenizer" is missing: a tokenizer.json, its folder, or a tokenizer; Renderer(tokenizer=) has '
            "one for all calls"
        )
    return TokenEngine(inner, Encoder.of(tokenizer), TokenSettings(**arguments))


class TokenRenderer(StreamRenderer[TokenEngine]):
    """A renderer of tokens, for files.

    >>> from promptpress import Renderer
    >>> from promptpress._engine.table_engine import engine_of
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"Q:": 0, "1+1": 1, "?": 2}, "?"))
    >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> engine = TokenEngine(engine_of(Renderer("Q: {q}")), Encoder.of(words), TokenSettings())
    >>> TokenRenderer(engine).stream(pa.table({"q": ["1+1 =", "1+1"]})).read_all().to_pylist()
    [{'input_ids': [0, 1, 2], 'n_tokens': 3}, {'input_ids': [0, 1], 'n_tokens': 2}]

    """

    __slots__ = ()
    _engine_class: ClassVar[type[TableEngine]] = TokenEngine

    def __init__(self, engine: TokenEngine) -> None:
        self._set(engine)

    def fingerprint(self) -> str:
        return self._engine.fingerprint()


class _TokenRun(Run):
    """Renders and encodes."""

    def __init__(self, engine: TokenEngine, inner: Run, marked: Run | None, options: RenderOptions, first: int) -> None:
        super().__init__(first)
        self.inner = inner
        self.times = inner.times
        self._marked = marked
        self._engine = engine
        self._collects_errors = options.collects_errors
        self.requests = 0
        """The number of requests so far that have tokens."""
        self.untrained = 0
        """The number of those in which the mask trains nothing."""
        self.first_untrained: list[int] = []
        """The numbers of the first of their samples."""
        self.by_library = 0
        """The number of requests that the library has encoded."""
        self.reason: str | None = None
        """The reason why it has encoded the last of them."""

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[Part]:
        step = max(table.num_rows if single else _ROWS, 1)
        for start in range(0, max(table.num_rows, 1), step):
            rows = table.slice(start, step)
            parts = self.inner.parts(rows, first + start, single=single)
            has_assistants = self._engine.settings.has_assistants
            messages = self._engine.inner.conversations(rows) if has_assistants else None
            if self._marked is None:
                for part in parts:
                    begin = part.start - first - start
                    yield self._encoded(part, None, messages and messages[begin:], rows.slice(begin))
                continue
            for part, marked in zip(parts, self._marked.parts(rows, first + start, single=single), strict=True):
                yield self._encoded(part, marked.prompts.to_pylist(), None, rows)

    def _encoded(
        self, part: RenderedRows | Part, marked: list[str | None] | None, messages: list[Any] | None, samples: pa.Table
    ) -> Part:
        """Return the tokens of a part, given its prompts with marks, or its conversations and samples."""
        settings, encoder = self._engine.settings, self._engine.encoder
        prompts: pa.Array = part.prompts
        special = settings.add_special_tokens
        if special is None and self._engine.inner.writes_chats:
            special = False
        of_part: Any = part.spans
        spans = None if of_part is None else of_part.to_pylist()
        has_offsets = settings.offsets or settings.mask is not None
        if settings.control_tokens == "text":
            if spans is None:
                message = "prompts that are there already don't say where their bytes come from"
                raise template_error("unsupported_mode", "control_tokens", message)
            encoded = encoder.encode_data_as_text(prompts, spans, special, offsets=has_offsets)
        else:
            encoded = encoder.encode(prompts, special, offsets=has_offsets)
        errors = dict(encoded.errors)
        self.by_library += encoded.by_library
        self.reason = encoded.reason or self.reason
        trained = None
        if settings.mask is not None:
            texts = prompts.to_pylist()
            turns = None if messages is None else self._turns(texts, spans or [], messages, samples, errors)
            trained = self._trained(texts, marked, spans, turns, errors)
        columns = encoded.rows.columns(
            trained, settings.labels, settings.max_tokens, settings.truncation, sorted(errors)
        )
        for row, count in columns.too_long:
            tokens = f"the prompt has {counted(count, 'token')}, and max_tokens= allows {settings.max_tokens:,}"
            errors[row] = render_error("limit_exceeded", f"{tokens}; truncation= cuts them")
        if errors and not self._collects_errors:
            row, error = min(errors.items(), key=lambda item: item[0])
            number = sample_numbers(part, self.times)[row].as_py()
            raise render_error(error.code, error.message, number) from None
        self.requests += len(prompts) - columns.n_tokens.null_count
        self.untrained += columns.untrained
        if columns.untrained and len(self.first_untrained) < _FIRST_UNTRAINED:
            self._add_untrained(part, columns.assistant_masks)
        error_texts = {row: row_error_text(error) for row, error in errors.items()}
        all_errors = _with_errors(part.errors, len(prompts), error_texts) if self._collects_errors else None
        more = [*(getattr(columns, name) for name in settings.columns), *self._engine.shot_columns(part)]
        return Part.of(part, None, all_errors, more=more)

    def _add_untrained(self, part: RenderedRows | Part, masks: pa.Array) -> None:
        """Keep the samples of the first requests whose mask is false throughout."""
        numbers = sample_numbers(part, self.times)
        rows = (row for row, mask in enumerate(masks) if mask.is_valid and True not in mask.as_py())
        missing = _FIRST_UNTRAINED - len(self.first_untrained)
        self.first_untrained += [numbers[row].as_py() for row in islice(rows, missing)]

    def _turns(
        self,
        texts: list[str | None],
        spans: list[Any],
        messages: list[Any],
        samples: pa.Table,
        errors: dict[int, RenderError],
    ) -> list[_Turns]:
        """Return the messages of each request, with the places of those that its origins don't show.

        Requests of which a place isn't known get an error.
        """
        out: list[_Turns] = [(of_row, {}) for of_row in messages[: len(texts)]]
        wanted = [
            (row, number)
            for row, (of_row, _) in enumerate(out)
            if texts[row] is not None and of_row is not None
            for number in hidden_turns(of_row, spans[row], self._engine.settings)
        ]
        unknown: dict[tuple[int, int], RenderError] = {}
        marked = self._texts_of(samples, wanted, [marked_conversation(messages[row], n) for row, n in wanted])
        for (row, number), text in zip(wanted, marked, strict=True):
            try:
                stretch = place_of_turn(texts[row] or "", text, number, messages[row][number])
            except UnknownOriginError as error:
                unknown[row, number] = self._without_mask(error)
            else:
                if stretch is not None:
                    out[row][1][number] = stretch
        for (row, number), refusal in unknown.items():
            begun = messages[row][: number + 1]
            beginnings = [begun, marked_conversation(begun, number)]
            stretch = place_in_beginning(texts[row] or "", *self._texts_of(samples, [(row, number)] * 2, beginnings))
            if stretch is not None:
                out[row][1][number] = stretch
            elif not self._is_left_out(texts[row], samples, messages[row], (row, number)):
                errors.setdefault(row, refusal)
        return out

    def _is_left_out(
        self, text: str | None, samples: pa.Table, messages: list[dict[str, Any]], request: tuple[int, int]
    ) -> bool:
        """Return true for an empty message that a template leaves out, so that it has no turn."""
        number = request[1]
        if calls_tools(messages[number]):
            return False
        return self._texts_of(samples, [request], [[*messages[:number], *messages[number + 1 :]]]) == [text]

    def _texts_of(
        self, samples: pa.Table, requests: list[tuple[int, int]], conversations: list[list[dict[str, Any]]]
    ) -> list[str | None]:
        """Return the texts of requests with other conversations."""
        chats: Any = self._engine.inner  # others have no conversations
        return chats.texts_of(samples, [row for row, _ in requests], conversations) if requests else []

    def _without_mask(self, error: UnknownOriginError) -> RenderError:
        return render_error("unknown_origin", f'{error}; mask="{self._engine.settings.mask}" can\'t be made')

    def _trained(
        self,
        prompts: list[str | None],
        marked: list[str | None] | None,
        spans: list[Any] | None,
        turns: list[_Turns] | None,
        errors: dict[int, RenderError],
    ) -> pa.Array:
        """Return the stretches of each prompt that are trained. Prompts of which that isn't known get an error."""
        settings, added, is_closed = self._engine.settings, self._engine.added, self._engine.inner.closes_conversations
        starts, stops, ends = array("q"), array("q"), array("i", [0])
        for row, text in enumerate(prompts):
            if text is not None and row not in errors:
                try:
                    if marked is not None:
                        trained = generation_spans(marked[row] or "", text)
                    else:
                        origins = spans[row] if spans else ()
                        of_messages, hidden = (None, None) if turns is None else turns[row]
                        trained = assistant_spans(
                            text.encode(), origins, settings, added, of_messages, hidden=hidden, is_closed=is_closed
                        )
                    starts.extend(start for start, _ in trained)
                    stops.extend(stop for _, stop in trained)
                except UnknownOriginError as error:
                    errors[row] = self._without_mask(error)
            ends.append(len(starts))
        numbers = [pa.Array.from_buffers(pa.int64(), len(of), [None, pa.py_buffer(of)]) for of in (starts, stops)]
        lists = pa.Array.from_buffers(pa.int32(), len(ends), [None, pa.py_buffer(ends)])
        return pa.ListArray.from_arrays(lists, pa.StructArray.from_arrays(numbers, ["start", "end"]))


def _with_errors(errors: Any, count: int, more: Mapping[int, str]) -> pa.Array:
    """Return the errors of requests with those of more requests."""
    texts = [None] * count if errors is None else errors.to_pylist()
    return pa.array([more.get(row, text) for row, text in enumerate(texts)], pa.string())

"""The engine that turns what another engine renders into token ids, part by part."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from promptpress._arrow.columns import is_text
from promptpress._config.tokenizer import EncodedRequests
from promptpress._core import RenderedRows
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
from promptpress._tokens.settings import TokenSettings
from promptpress._tokens.trained import TrainedStretches, TurnsPart, stretches_array

_ARGUMENTS = ("tokenizer", *(field.name for field in fields(TokenSettings)))

_FIRST_UNTRAINED = 3
"""The number of requests without a trained token that a warning names."""

_ROWS = 4096
"""Samples that are rendered and encoded together, so that memory doesn't grow with the table."""


class TokenEngine(TableEngine):
    """Encodes what another engine renders."""

    def __init__(
        self, inner: TableEngine, encoder: Encoder, settings: TokenSettings, *, has_turns: bool = False
    ) -> None:
        super().__init__()
        self._given = inner
        added = frozenset(token.content for token in encoder.tokenizer.get_added_tokens_decoder().values())
        inner = inner if settings.answer is None else inner.answered(settings.answer)
        if has_turns:
            from promptpress._tokens.turns import TurnsEngine  # noqa: PLC0415 - it needs Jinja2

            inner = TurnsEngine.of(inner, settings, added)
        self.inner = inner
        self.has_turns = has_turns
        self.encoder = encoder
        self.settings = settings
        self.warnings = inner.warnings
        self.reports_runs = inner.reports_runs
        self.token_counts = settings.names.get("n_tokens", "n_tokens")
        self._marked = inner.marked() if settings.mask == "generation" and not has_turns else None
        self.trained = TrainedStretches(inner, settings, added)
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
        # A run of turns finds itself what is trained.
        has_spans = self.settings.control_tokens == "text" if self.has_turns else self.settings.needs_origins
        texts = replace(options, keep=(), index=None, hashes=False, spans="detailed" if has_spans else False)
        marked = None
        if self._marked is not None:
            marked = self._marked.begin(replace(texts, spans=False), labels, first)
        return _TokenRun(self, self.inner.begin(texts, labels, first), marked, options, first)

    def begin_single(self, samples: Any) -> tuple[pa.Table, Run] | None:
        if self._marked is not None or self.settings.needs_origins or self.settings.has_assistants:
            return None
        single = self.inner.begin_single(samples)
        return single and (single[0], _TokenRun(self, single[1], None, RenderOptions(), 0))

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
        given = {"inner": self._given, "encoder": self.encoder, "settings": self.settings}
        return {**given, "has_turns": self.has_turns}

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
    for name in arguments:
        if name not in _ARGUMENTS:
            hint = did_you_mean(str(name), _ARGUMENTS)
            raise TypeError(f"tokenize: no argument {name!r}{hint}; there are {', '.join(_ARGUMENTS)}")
    tokenizer = arguments.pop("tokenizer", None)
    tokenizer = inner.tokenizer if tokenizer is None else tokenizer
    if tokenizer is None:
        raise TypeError(
            'tokenize: "tokenizer" is missing: a tokenizer.json, its folder, or a tokenizer; Renderer(tokenizer=) has '
            "one for all calls"
        )
    if isinstance(arguments.get("names"), Mapping):
        arguments["names"] = dict(arguments["names"])
    settings, encoder, latest = TokenSettings(**arguments), Encoder.of(tokenizer), inner.latest_tokens
    has_turns = options.turns == "each"
    if settings.last_turn and has_turns:
        raise ValueError('last_turn=True is for turns="all": with turns="each" a row trains the turns that end in it')
    if has_turns:
        return TokenEngine(inner, encoder, settings, has_turns=True)
    if not isinstance(latest, TokenEngine) or latest.encoder is not encoder or latest.settings != settings:
        latest = inner.latest_tokens = TokenEngine(inner, encoder, settings)
    latest.reports_runs = inner.reports_runs
    return latest


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
            has_assistants = self._engine.settings.has_assistants and not self._engine.has_turns
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
        if isinstance(part, TurnsPart):
            trained = part.trained
        elif settings.mask is not None:
            texts, stretches = prompts.to_pylist(), self._engine.trained
            if marked is not None:
                trained = stretches.of_marked(texts, marked, errors, self._engine.inner.prompts_of_pairs(samples))
            else:
                hidden = messages and stretches.hidden(texts, spans or [], messages, samples, errors)
                trained = stretches.of_prompts(texts, spans or [], messages, hidden, errors)
        columns = encoded.rows.columns(
            None if trained is None else stretches_array(trained),
            settings.labels,
            settings.max_tokens,
            settings.truncation,
            sorted(errors),
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


def _with_errors(errors: Any, count: int, more: Mapping[int, str]) -> pa.Array:
    """Return the errors of requests with those of more requests."""
    texts = [None] * count if errors is None else errors.to_pylist()
    return pa.array([more.get(row, text) for row, text in enumerate(texts)], pa.string())

"""A row for each turn of an assistant: the prompt that asks for it, and what the assistant says."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import pyarrow as pa

from promptpress._arrow.columns import LAYOUTS, one_array
from promptpress._core import RenderError
from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Run
from promptpress._engine.table_engine import StreamRenderer, TableEngine
from promptpress._errors.errors import (
    PromptWarning,
    callers_level,
    counted,
    render_error,
    row_error_text,
    template_error,
)
from promptpress._errors.left_out import LAST_TURN, LeftOut
from promptpress._jinja.chat.arguments import LISTS
from promptpress._jinja.chat.beginnings import Beginning
from promptpress._jinja.run import JinjaRun
from promptpress._tokens.long_talks import LongTalks
from promptpress._tokens.masks import Span
from promptpress._tokens.settings import TokenSettings
from promptpress._tokens.trained import TrainedStretches, TurnsPart
from promptpress._tokens.turn_requests import RenderedTurns, Talk, TurnRequest, TurnRow, add_row, clipped

_SAMPLES = 4096
"""Samples that are read together."""

_BYTES = 1 << 24
"""About so many bytes of messages are rendered together, where each turn has those before it."""

_MAX_FIRST = 3
"""The samples without a turn that a warning names."""

_ANSWERS = TokenSettings(mask="assistant+end", reasoning=True)
"""The settings by which the place is found where an answer begins."""


class TurnsEngine(ChatEngine):
    """Renders a row for each turn of an assistant.

    The row is the text of the conversation up to the turn, if that begins with the prompt that asks for the turn; else
    it is the prompt with what the assistant says, and the end of the text. A row that is the beginning of the sample's
    next row is merged into that one.
    """

    def __init__(self, given: ChatEngine, settings: TokenSettings | None, added: Collection[str]) -> None:
        super().__init__(given.renderer, given.column, given.strings, given.names, given.answer)
        if given.chat_settings.continued is not None:
            message = "a row ends with what an assistant says in its turn, so no message is continued"
            raise template_error("unsupported_mode", "continue_final_message", message)
        self.given = given
        self.settings = settings
        self.added = added
        self.warnings, self.reports_runs = given.warnings, given.reports_runs
        texts, prompts = given.of_turns
        # Each has counts and refusals of its own.
        self.whole_engine, self.texts_engine, self.prompts_engine = copy(texts), copy(texts), copy(prompts)
        self.prompts_engine.refused = None
        self.closes_conversations = True
        self.met: Counter[tuple[int, bool]] = Counter()
        self.mask = None if settings is None else settings.mask
        self.leaves_reasoning = settings is not None and settings.has_assistants and not settings.reasoning
        self.marked_engine = self.texts_engine.marked() if self.mask == "generation" else None
        if self.marked_engine is not None:
            self.marked_engine.refused = None
        self.trained = TrainedStretches(self.texts_engine, settings or _ANSWERS, added)
        self.answers = TrainedStretches(self.texts_engine, _ANSWERS, ())

    @classmethod
    def of(cls, engine: TableEngine, settings: TokenSettings | None = None, added: Collection[str] = ()) -> TurnsEngine:
        """Make the engine of the turns of another engine's conversations, given what of them is trained."""
        if isinstance(engine, ChatEngine):
            return cls(engine, settings, added)
        message = "turns are those of a column of conversations, which a chat template renders by itself"
        raise template_error("unsupported_mode", "turns", f'{message}; turns="all" is for all else')

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [pa.field(self.names.get("turn", "turn"), pa.int64()), *super().request_fields(schema)]

    def array(self, texts: list[str | None]) -> pa.Array:
        """Return texts in the layout of the output."""
        array = pa.array(texts, LAYOUTS[self.strings])
        return one_array(array.chunks, self.column) if isinstance(array, pa.ChunkedArray) else array

    @property
    def is_append_only(self) -> bool:
        """True if each row of a conversation is the beginning of its last one, as far as that is known beforehand."""
        proven = self.given.append_only
        of_prompt = proven.generation_prompt
        has_others = set(self.chat_settings.argument_columns or ()) - set(LISTS)
        return proven.answer == "always" and of_prompt is not None and of_prompt.example is None and not has_others

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:  # noqa: ARG002
        self.whole_engine.refused = self.refused
        self.texts_engine.refused = frozenset((code, LAST_TURN + end) for code, end in self.refused or ())
        return _TurnsRun(self, options, first)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        assert isinstance(run, _TurnsRun)
        self.last_run = run.counts
        super().ended(run, is_batch=is_batch)
        if run.unreasoned and self.reports_runs:
            message = (
                f"in {run.unreasoned:,} of {counted(run.samples, 'conversation')} an assistant's reasoning isn't "
                "trained; reasoning=True trains it"
            )
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
        if run.silent and self.reports_runs:
            first = ", ".join(map(str, map(self._row_number_in(run), run.first_silent)))
            more = ", ..." if run.silent > len(run.first_silent) else ""
            message = (
                f"{run.silent:,} of {counted(run.samples, 'conversation')} have no turn of an assistant to train, so "
                f"they have no row; first row {first}{more}"
            )
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
        self.given.take_counts(self)

    def fingerprint(self) -> str:
        return hashlib.sha256(f"turns {super().fingerprint()}".encode()).hexdigest()

    def state(self) -> dict[str, Any]:
        return {"given": self.given.state(), "settings": self.settings, "added": self.added}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> TurnsEngine:
        return cls(ChatEngine.of_state(state["given"]), state["settings"], state["added"])


class TurnsRenderer(StreamRenderer[TurnsEngine]):
    """Renders a row for each turn of an assistant, for files.

    >>> from promptpress import ChatTemplate
    >>> from promptpress._engine.table_engine import engine_of
    >>> chat = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    >>> talk = [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]
    >>> TurnsRenderer(TurnsEngine.of(engine_of(chat))).stream([{"messages": talk}]).read_all().to_pylist()
    [{'turn': 0, 'prompt': '<user>1+1?<assistant>2'}]
    """

    __slots__ = ()
    _engine_class = TurnsEngine

    def __init__(self, engine: TurnsEngine) -> None:
        self._set(engine)

    def fingerprint(self) -> str:
        """Return what is the same for all renderers that write the same rows: 64 hexadecimal digits."""
        return self._engine.fingerprint()


class _TurnsRun(Run):
    def __init__(self, engine: TurnsEngine, options: RenderOptions, first: int) -> None:
        super().__init__(first)
        self._engine = engine
        self._collects = options.collects_errors
        self._detail = options.span_detail
        self._samples = pa.table({})
        self._samples_before = first
        settings = engine.settings
        self._has_spans = self._detail is not None or (settings is not None and settings.has_assistants)
        self.counts = JinjaRun(lacking=self.lacking)
        self._long = LongTalks(engine.texts_engine, engine.met)
        self.silent = 0
        """The number of samples without a turn."""
        self.first_silent: list[int] = []
        self.unreasoned = 0
        """The number of samples with reasoning that the mask leaves out."""

    @property
    def conversations(self) -> int:
        return self.counts.rows

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[TurnsPart]:
        for start in range(0, max(table.num_rows, 1), _SAMPLES):
            self._samples, self._samples_before = table.slice(start, _SAMPLES), first + start
            talks: list[Talk] = []
            size = 0
            for row, messages in enumerate(self._engine.conversations(self._samples) or []):
                written = messages and self._engine.as_written(messages, self._samples.column_names)
                talk = Talk(row, messages, written or [])
                if talks and size + talk.bytes > _BYTES and not single:
                    yield self._part(talks)
                    talks, size = [], 0
                talks.append(talk)
                size += talk.bytes
            yield self._part(talks)

    def _part(self, talks: list[Talk]) -> TurnsPart:
        """Return the rows of consecutive conversations."""
        self._long.begin(self._samples)
        unreadable = [number for number, talk in enumerate(talks) if not talk.is_read]
        if unreadable and not self._collects:
            if talks_before := talks[: unreadable[0]]:
                self._part(talks_before)  # one of them may have an error, which then comes first
            self._unreadable(talks[unreadable[0]].row)
        first = self._samples_before
        silent = [first + talk.row for talk in talks if talk.is_read and not talk.turns]
        self.silent += len(silent)
        if self._engine.leaves_reasoning:
            self.unreasoned += sum(talk.has_reasoning for talk in talks)
        self.first_silent += silent[: _MAX_FIRST - len(self.first_silent)]
        rows = self._whole(talks)
        requests = [TurnRequest(talk, number) for talk in talks if talk.row not in rows for number in talk.turns]
        for request, row in self._each(requests):
            add_row(rows.setdefault(request.talk.row, []), row)
        rows |= {talk.row: [self._unreadable(talk.row)] for talk in talks if not talk.is_read}
        numbered = [(talk.row, row) for talk in talks for row in rows.get(talk.row, ())]
        spans = None
        if self._detail is not None:
            kind: Any = self._engine.spans_type(self._samples.schema, self._detail)
            names = [field.name for field in kind.value_type]
            lists = [row.spans and [{name: span[name] for name in names} for span in row.spans] for _, row in numbered]
            spans = pa.array(lists, kind)
        return TurnsPart(
            first + talks[0].row if talks else first,
            len(talks),
            self._engine.array([row.text for _, row in numbered]),
            pa.array([row.error for _, row in numbered], pa.string()) if self._collects else None,
            turns=pa.array([row.turn for _, row in numbered], pa.int64()),
            samples=pa.array([first + number for number, _ in numbered], pa.int64()),
            spans=spans,
            trained=None if self._engine.mask is None else [row.trained for _, row in numbered],
        )

    def _unreadable(self, row: int) -> TurnRow:
        """Return the row of a conversation that can't be read; raise its error if errors aren't collected."""
        options = RenderOptions(errors="column" if self._collects else "raise")
        run, first = self._engine.given.begin(options, None), self._samples_before + row
        (part,) = run.parts(self._samples.slice(row, 1), first)
        errors: Any = part.errors
        return TurnRow(None, None, [], error=errors[0].as_py() if self._collects else None)

    def _whole(self, talks: Sequence[Talk]) -> dict[int, list[TurnRow]]:
        """Return the rows of conversations whose texts only grow: the text up to the last turn has all turns.

        Conversations of which that isn't known, or that have an error, are left out.
        """
        engine, mask = self._engine, self._engine.mask
        requests = [TurnRequest(talk, max(talk.turns)) for talk in talks if talk.turns and engine.is_append_only]
        if mask == "generation":  # its blocks are those of untrained turns, too
            requests = [request for request in requests if request.turn + 1 == len(request.talk.turns)]
        while requests:
            texts = self._rendered(engine.whole_engine, requests, has_spans=self._has_spans, collects=True)
            prompts = self._prompts(requests, collects=True)
            errors: dict[int, RenderError] = {}
            trained = self._trained(requests, texts, errors, is_whole=True)
            failed = errors.keys() | texts.errors.keys() | prompts.errors.keys() | _with_other_headers(texts, prompts)
            if mask == "assistant+turn":
                # Within a longer text, what follows the end of a turn would be the beginning of the next one.
                open_ended = self._trained(requests, texts, {}, is_whole=True, is_closed=False)
                failed |= {row for row, stretches in enumerate(trained) if stretches != open_ended[row]}
            if not failed:
                self._count(texts.counts, requests)
                rows = [self._row(request, texts, row, trained) for row, request in enumerate(requests)]
                return {request.talk.row: [row] for request, row in zip(requests, rows, strict=True)}
            requests = [request for row, request in enumerate(requests) if row not in failed]
        return {}

    def _each(self, requests: list[TurnRequest]) -> Iterator[tuple[TurnRequest, TurnRow]]:
        """Yield each request with its row, before rows are merged."""
        if not requests:
            return
        try:
            texts = self._rendered(self._engine.texts_engine, requests, has_spans=self._has_spans)
            prompts = self._prompts(requests)
        except RenderError as refusal:
            if refusal.row is not None:  # an earlier row may have an error of another step, which then comes first
                list(self._each([request for request in requests if self._number(request) < refusal.row]))
            raise
        self._count(texts.counts, requests, is_each=True)
        errors: dict[int, RenderError] = {}
        begins = self._begins(requests, sorted(_with_other_headers(texts, prompts)), errors)
        trained = self._trained(requests, texts, errors)
        for row, request in enumerate(requests):
            if row in errors and not self._collects:
                raise self._of_turn(errors[row], request)
            error = prompts.errors.get(row, texts.errors.get(row))
            error = row_error_text(errors[row]) if error is None and row in errors else error
            if error is not None:
                yield request, TurnRow(request.turn, None, [], error=error)
                continue
            prompt = (prompts.texts[row] or "").encode()
            of_text = self._row(request, texts, row, trained)
            if row in begins:
                yield request, of_text.after_prompt(prompt, begins[row], prompts.all_spans(row))
            else:
                yield request, of_text._replace(trained=clipped(trained[row], len(prompt)))

    def _row(self, request: TurnRequest, texts: RenderedTurns, row: int, trained: Sequence[list[Span]]) -> TurnRow:
        """Return the row of a text as it is."""
        spans = None if self._detail is None else texts.all_spans(row)
        return TurnRow(request.turn, texts.texts[row], trained[row], spans)

    def _begins(self, requests: list[TurnRequest], rows: list[int], errors: dict[int, RenderError]) -> dict[int, int]:
        """Return the first bytes of what assistants say in the texts of some rows; others get an error."""
        chosen = [requests[row] for row in rows]
        if not chosen:
            return {}
        texts = self._rendered(self._engine.texts_engine, chosen, has_spans=True)
        failed: dict[int, RenderError] = {}
        stretches, hidden = self._stretches(self._engine.answers, chosen, texts, failed)
        begins = {}
        for row, request in enumerate(chosen):
            starts = [start for start, _ in (*stretches[row], *hidden[row].values())]
            if starts:
                begins[rows[row]] = min(starts)
            elif row not in failed:
                message = f"the template doesn't write what message {request.number} says, so its turn has no row"
                failed[row] = render_error("unknown_origin", message)
        errors |= {rows[row]: error for row, error in failed.items()}
        return begins

    def _trained(
        self,
        requests: list[TurnRequest],
        texts: RenderedTurns,
        errors: dict[int, RenderError],
        *,
        is_whole: bool = False,
        is_closed: bool | None = None,
    ) -> list[list[Span]]:
        """Return the stretches of texts that are trained, of the last turn or of all."""
        engine = self._engine
        if engine.mask is None:
            return [[] for _ in requests]
        if engine.marked_engine is not None:
            marked = self._rendered(engine.marked_engine, requests, collects=True)
            return engine.trained.of_marked(texts.texts, marked.texts, errors)
        return self._stretches(engine.trained, requests, texts, errors, is_whole=is_whole, is_closed=is_closed)[0]

    def _stretches(
        self,
        finder: TrainedStretches,
        requests: list[TurnRequest],
        texts: RenderedTurns,
        errors: dict[int, RenderError],
        *,
        is_whole: bool = False,
        is_closed: bool | None = None,
    ) -> tuple[list[list[Span]], list[dict[int, Span]]]:
        """Return the stretches that assistants say in the last turns of texts, or in all; and those of hidden turns."""
        numbered = list(enumerate(requests))
        spans = [texts.all_spans(row) if is_whole else texts.last_spans(row, each.number) for row, each in numbered]
        messages = [request.begun for request in requests]
        rows = [request.talk.row for request in requests]
        numbers = None if is_whole else [request.number for request in requests]

        def with_last(row: int, message: dict[str, Any]) -> str | None:
            (written,) = self._engine.as_written([message], self._samples.column_names)
            return self._long.with_last(requests[row], written)

        hidden = finder.hidden(
            texts.texts, spans, messages, self._samples, errors, rows=rows, numbers=numbers, with_last=with_last
        )
        return finder.of_prompts(texts.texts, spans, messages, hidden, errors, is_closed=is_closed), hidden

    def _prompts(self, requests: list[TurnRequest], *, collects: bool = False) -> RenderedTurns:
        """Return the texts that ask for turns; it is empty for the first message of a conversation."""
        rows = [row for row, request in enumerate(requests) if request.number]
        of_rows = [requests[row] for row in rows]
        options = {"is_prompt": True, "has_spans": self._detail is not None, "collects": collects}
        rendered = self._rendered(self._engine.prompts_engine, of_rows, **options)
        texts: list[str | None] = [""] * len(requests)
        spans: list[Any] = [None] * len(requests)
        for index, row in enumerate(rows):
            texts[row] = rendered.texts[index]
            spans[row] = rendered.spans[index] if rendered.spans else None
        return RenderedTurns(texts, spans, {rows[row]: text for row, text in rendered.errors.items()}, rendered.counts)

    def _rendered(
        self,
        engine: ChatEngine,
        requests: list[TurnRequest],
        *,
        is_prompt: bool = False,
        has_spans: bool = False,
        collects: bool = False,
    ) -> RenderedTurns:
        """Render conversations up to turns; a prompt is without the turn itself."""
        collects = collects or self._collects
        counts = JinjaRun()
        made: list[Beginning | None] = [None] * len(requests)
        if (engine is self._engine.texts_engine or engine is self._engine.prompts_engine) and self._detail is None:
            numbered = enumerate(requests)
            made = [self._long.rendered(request, row, counts, is_prompt=is_prompt) for row, request in numbered]
        numbers = [row for row, each in enumerate(made) if each is None]
        rest = [requests[row] for row in numbers]
        messages = [request.talk.json(request.number + (not is_prompt)) for request in rest]
        table = pa.table({engine.column: pa.array(messages, pa.large_string())})
        table = self._long.with_columns(table, [request.talk.row for request in rest])
        options = RenderOptions(errors="column" if collects else "raise", spans="detailed" if has_spans else False)
        engine.last_run = None
        try:
            parts: list[Any] = list(engine.begin(options, None).parts(table, 0)) if rest or not requests else []
        except RenderError as error:
            if error.row is None:
                raise
            raise self._of_turn(error, rest[error.row]) from error.__cause__
        texts: list[str | None] = [None if each is None else each.text for each in made]
        spans: list[Any] = [*made] if has_spans else []
        prompts = [text for part in parts for text in part.prompts.to_pylist()]
        of_rows = [text for part in parts for text in part.errors.to_pylist()] if collects else []
        errors = {numbers[row]: text for row, text in enumerate(of_rows) if text is not None}
        for row, text in enumerate(prompts):
            texts[numbers[row]] = text
        for row, of_row in enumerate([of_row for part in parts for of_row in part.spans] if has_spans else []):
            spans[numbers[row]] = of_row
        if engine.last_run is not None:
            lacking = engine.last_run.lacking.renumbered(lambda row: numbers[row])
            counts.add(replace(engine.last_run, lacking=lacking))
        return RenderedTurns(texts, spans, errors, counts)

    def _of_turn(self, error: RenderError, request: TurnRequest) -> RenderError:
        """Return the error of a turn, with the row of its sample."""
        return render_error(error.code, f"turn {request.turn}: {error.message}", self._number(request), error.column)

    def _number(self, request: TurnRequest) -> int:
        """Return the number of a request's sample in the run."""
        return self._samples_before + request.talk.row

    def _count(self, counts: JinjaRun, requests: Sequence[TurnRequest], *, is_each: bool = False) -> None:
        """Add the counts of the texts of requests."""
        self.counts.add(replace(counts, lacking=LeftOut()))
        lacking = counts.lacking.of_last_turns() if is_each else counts.lacking
        self.lacking.add_all(lacking.renumbered(lambda row: self._number(requests[row])))


def _with_other_headers(texts: RenderedTurns, prompts: RenderedTurns) -> set[int]:
    """Return the numbers of the texts that don't begin with what asks for their turns."""
    return {
        row
        for row, (text, prompt) in enumerate(zip(texts.texts, prompts.texts, strict=True))
        if text is not None and prompt is not None and not text.startswith(prompt)
    }

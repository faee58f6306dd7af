"""A row for each turn of an assistant: the prompt that asks for it, and what the assistant says."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress._arrow.columns import LAYOUTS
from promptpress._core import RenderError
from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, Run
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
from promptpress._jinja.chat.conversations import json_texts
from promptpress._jinja.run import JinjaRun
from promptpress._tokens.masks import ASSISTANTS, Span, is_trained
from promptpress._tokens.settings import TokenSettings
from promptpress._tokens.trained import Messages, TrainedStretches

_SAMPLES = 4096
"""Samples that are read together."""

_BYTES = 1 << 24
"""About so many bytes of messages are rendered together, where each turn has those before it."""

_LAST_SPANS = 8
"""The spans at the end of a text that are looked at first for what the last message is."""

_MAX_FIRST = 3
"""The samples without a turn that a warning names."""

_SAID = TokenSettings(mask="assistant+end", reasoning=True)
"""The settings by which the place is found where an answer begins."""


@dataclass(frozen=True)
class TurnsPart(Part):
    """The rows of turns, with the stretches of each that are trained; None: there is no mask."""

    trained: list[list[Span]] | None = None


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
        texts, asking = given.of_turns
        # Each has counts and refusals of its own.
        self.whole_engine, self.texts_engine, self.asking_engine = copy(texts), copy(texts), copy(asking)
        self.closes_conversations = True
        self.mask = None if settings is None else settings.mask
        self.marked_engine = self.texts_engine.marked() if self.mask == "generation" else None
        self.trained = TrainedStretches(self.texts_engine, settings or _SAID, added)
        self.said = TrainedStretches(self.texts_engine, _SAID, ())

    @classmethod
    def of(cls, engine: TableEngine, settings: TokenSettings | None = None, added: Collection[str] = ()) -> TurnsEngine:
        """Make the engine of the turns of another engine's conversations, given what of them is trained."""
        if isinstance(engine, ChatEngine):
            return cls(engine, settings, added)
        message = "turns are those of a column of conversations, which a chat template renders by itself"
        raise template_error("unsupported_mode", "turns", f'{message}; turns="all" is for all else')

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [pa.field(self.names.get("turn", "turn"), pa.int64()), *super().request_fields(schema)]

    @property
    def is_append_only(self) -> bool:
        """True if each row of a conversation is the beginning of its last one, as far as that is known beforehand."""
        proven = self.given.append_only
        asked = proven.generation_prompt
        has_others = set(self.chat_settings.argument_columns or ()) - set(LISTS)
        return proven.answer == "always" and asked is not None and asked.example is None and not has_others

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:  # noqa: ARG002
        self.whole_engine.refused = self.refused
        self.texts_engine.refused = frozenset((code, LAST_TURN + place) for code, place in self.refused)
        return _TurnsRun(self, options, first)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        assert isinstance(run, _TurnsRun)
        self.last_run = run.counts
        super().ended(run, is_batch=is_batch)
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


def numbered_turns(messages: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the numbers of an assistant's turns, keyed by those of the messages; untrained messages are left out.

    >>> numbered_turns([{"role": "assistant", "weight": 0}, {"role": "user"}, {"role": "assistant"}])
    {2: 1}

    """
    spoken = [number for number, message in enumerate(messages) if message.get("role") in ASSISTANTS]
    return {number: turn for turn, number in enumerate(spoken) if is_trained(messages[number])}


class _Talk:
    """A conversation with the numbers of the messages that have a row, and the JSON of its messages."""

    def __init__(self, row: int, messages: Messages | None) -> None:
        self.row = row
        self.messages = messages or []
        self.is_read = messages is not None
        self.turns = numbered_turns(self.messages)
        (self._whole,) = json_texts([self.messages]) or [None]
        is_plain = self._whole is not None and self._whole.startswith("[")
        self._items = [json.dumps(message) for message in json.loads(self._whole or "")] if is_plain else None
        self.bytes = len(self._whole or "") * (1 + len(self.turns))

    def json(self, count: int) -> str | None:
        """Return the first messages as JSON."""
        if self._items is not None:
            return f"[{', '.join(self._items[:count])}]"
        return (json_texts([self.messages[:count]]) or [None])[0]


class _Request(NamedTuple):
    """A turn of a conversation: the conversation, and the number of the assistant's message."""

    talk: _Talk
    number: int

    @property
    def begun(self) -> Messages:
        """The conversation up to the turn, with it."""
        return self.talk.messages[: self.number + 1]


class _Rendered(NamedTuple):
    """The texts of requests, with their spans if these were asked for, and errors by the requests' numbers."""

    texts: list[str | None]
    spans: pa.Array | None
    errors: dict[int, str]
    counts: JinjaRun

    def all_spans(self, request: int) -> list[dict[str, Any]]:
        """Return the spans of a text."""
        assert self.spans is not None
        spans: list[dict[str, Any]] = self.spans[request].as_py() or []
        return spans

    def last_spans(self, request: int, number: int) -> list[dict[str, Any]]:
        """Return the spans at the end of a text that begin after those of all messages but one."""
        assert self.spans is not None
        spans = self.spans[request].values
        count = _LAST_SPANS
        while True:
            last = spans.slice(max(0, len(spans) - count)).to_pylist() if spans is not None else []
            others = [place for place, span in enumerate(last) if span["message"] not in (None, number)]
            if others or spans is None or count >= len(spans):
                return last[others[-1] + 1 :] if others else last
            count *= 4


class _Row(NamedTuple):
    """A row of the output, by the number of its turn; its text is None if there is an error."""

    turn: int | None
    text: str | None
    trained: list[Span]
    spans: list[dict[str, Any]] | None = None
    error: str | None = None


class _TurnsRun(Run):
    def __init__(self, engine: TurnsEngine, options: RenderOptions, first: int) -> None:
        super().__init__(first)
        self._engine = engine
        self._collects = options.collects_errors
        self._detail = options.span_detail
        self._samples = pa.table({})
        self._samples_before = first
        self.counts = JinjaRun(lacking=self.lacking)
        self.silent = 0
        """The number of samples without a turn."""
        self.first_silent: list[int] = []

    @property
    def conversations(self) -> int:
        return self.counts.rows

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[TurnsPart]:
        for start in range(0, max(table.num_rows, 1), _SAMPLES):
            self._samples = table.slice(start, _SAMPLES)
            self._samples_before = first + start
            conversations = self._engine.conversations(self._samples) or []
            talks: list[_Talk] = []
            size = 0
            for row, messages in enumerate(conversations):
                talk = _Talk(row, messages)
                if talks and size + talk.bytes > _BYTES and not single:
                    yield self._part(talks)
                    talks, size = [], 0
                talks.append(talk)
                size += talk.bytes
            yield self._part(talks)

    def _part(self, talks: list[_Talk]) -> TurnsPart:
        """Return the rows of consecutive conversations."""
        first = self._samples_before
        silent = [first + talk.row for talk in talks if talk.is_read and not talk.turns]
        self.silent += len(silent)
        self.first_silent += silent[: _MAX_FIRST - len(self.first_silent)]
        rows = self._whole(talks)
        rest = [talk for talk in talks if talk.turns and talk.row not in rows]
        requests = [_Request(talk, number) for talk in rest for number in talk.turns]
        for request, row in zip(requests, self._each(requests), strict=True):
            _add(rows.setdefault(request.talk.row, []), row)
        for talk in talks:
            if not talk.is_read:
                rows[talk.row] = [self._unreadable(talk.row)]
        numbered = [(talk.row, row) for talk in talks for row in rows.get(talk.row, ())]
        texts = pa.array([row.text for _, row in numbered], LAYOUTS[self._engine.strings])
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        spans = None
        if self._detail is not None:
            kind: Any = self._engine.spans_type(self._samples.schema, self._detail)
            names = [field.name for field in kind.value_type]
            lists = [row.spans and [{name: span[name] for name in names} for span in row.spans] for _, row in numbered]
            spans = pa.array(lists, kind)
        return TurnsPart(
            first + talks[0].row if talks else first,
            len(talks),
            texts,
            pa.array([row.error for _, row in numbered], pa.string()) if self._collects else None,
            turns=pa.array([row.turn for _, row in numbered], pa.int64()),
            samples=pa.array([first + number for number, _ in numbered], pa.int64()),
            spans=spans,
            trained=None if self._engine.mask is None else [row.trained for _, row in numbered],
        )

    def _unreadable(self, row: int) -> _Row:
        """Return the row of a conversation that can't be read; raise its error if errors aren't collected."""
        options = RenderOptions(errors="column" if self._collects else "raise")
        run, first = self._engine.given.begin(options, None), self._samples_before + row
        parts: list[Any] = list(run.parts(self._samples.slice(row, 1), first))
        return _Row(None, None, [], error=parts[0].errors[0].as_py() if self._collects else None)

    def _whole(self, talks: Sequence[_Talk]) -> dict[int, list[_Row]]:
        """Return the rows of conversations whose texts only grow: the text up to the last turn has all turns.

        Conversations of which that isn't known, or that have an error, are left out.
        """
        engine, mask = self._engine, self._engine.mask
        # The last turn has the highest number: all are trained if there are as many.
        growing = [
            talk
            for talk in talks
            if talk.turns and (mask != "generation" or len(talk.turns) == max(talk.turns.values()) + 1)
        ]
        requests = [_Request(talk, max(talk.turns)) for talk in growing] if engine.is_append_only else []
        while requests:
            texts = self._rendered(engine.whole_engine, requests, has_spans=self._needs_spans, collects=True)
            asked = self._asked(requests, collects=True)
            errors: dict[int, RenderError] = {}
            trained = self._trained(requests, texts, errors, is_whole=True)
            bad = {
                row for row, text in enumerate(texts.texts) if text is None or not text.startswith(asked[0][row] or "")
            }
            bad |= errors.keys() | asked[1].keys()
            if mask == "assistant+turn":
                # Within a longer text, what follows the end of a turn would be the beginning of the next one.
                unclosed = self._trained(requests, texts, {}, is_whole=True, is_closed=False)
                bad |= {row for row, (one, other) in enumerate(zip(trained, unclosed, strict=True)) if one != other}
            if not bad:
                self._count(texts.counts, requests, is_whole=True)
                return {
                    request.talk.row: [
                        _Row(
                            request.talk.turns[request.number], texts.texts[row], trained[row], self._spans(texts, row)
                        )
                    ]
                    for row, request in enumerate(requests)
                }
            requests = [request for row, request in enumerate(requests) if row not in bad]
        return {}

    def _each(self, requests: list[_Request]) -> Iterator[_Row]:
        """Yield the row of each request, before rows are merged."""
        if not requests:
            return
        engine = self._engine
        texts = self._rendered(engine.texts_engine, requests, has_spans=self._needs_spans)
        self._count(texts.counts, requests)
        asked, of_asked = self._asked(requests)
        of_texts = of_asked | texts.errors
        unlike = [
            row
            for row, text in enumerate(texts.texts)
            if row not in of_texts and not (text or "").startswith(asked[row] or "")
        ]
        errors: dict[int, RenderError] = {}
        begins = self._begins([requests[row] for row in unlike], unlike, errors)
        trained = self._trained(requests, texts, errors)
        prompts = self._prompt_spans([requests[row] for row in unlike])
        for row, request in enumerate(requests):
            turn = request.talk.turns[request.number]
            if row in errors and not self._collects:
                message = f"turn {turn}: {errors[row].message}"
                raise render_error(errors[row].code, message, self._number(request), errors[row].column)
            error = of_texts.get(row) or (row_error_text(errors[row]) if row in errors else None)
            text = texts.texts[row]
            if error is not None or text is None:
                yield _Row(turn, None, [], error=error)
                continue
            prompt, spans = (asked[row] or "").encode(), self._spans(texts, row)
            if row not in begins:
                yield _Row(turn, text, _clipped(trained[row], len(prompt), 0), spans)
                continue
            begin = begins[row]
            moved = len(prompt) - begin
            joined = prompt.decode() + text.encode()[begin:].decode()
            if spans is not None:
                of_prompt = next(prompts)
                spans = [*of_prompt, *_moved_spans(spans, begin, moved)]
            yield _Row(turn, joined, _clipped(trained[row], begin, moved), spans)

    @property
    def _needs_spans(self) -> bool:
        settings = self._engine.settings
        return self._detail is not None or (settings is not None and settings.has_assistants)

    def _spans(self, texts: _Rendered, row: int) -> list[dict[str, Any]] | None:
        return None if self._detail is None else texts.all_spans(row)

    def _prompt_spans(self, requests: list[_Request]) -> Iterator[list[dict[str, Any]]]:
        """Yield the spans of what asks for turns, if spans are asked for."""
        if self._detail is None or not requests:
            return
        asked = self._rendered(self._engine.asking_engine, requests, is_asking=True, has_spans=True)
        yield from (asked.all_spans(row) for row in range(len(requests)))

    def _begins(self, requests: list[_Request], rows: list[int], errors: dict[int, RenderError]) -> dict[int, int]:
        """Return the first bytes of what assistants say in texts that don't begin with what asks for the turn.

        The keys are numbers of `rows`, and so are those of `errors`, which gets the requests of which that isn't known.
        """
        if not requests:
            return {}
        texts = self._rendered(self._engine.texts_engine, requests, has_spans=True)
        failed: dict[int, RenderError] = {}
        tails = [texts.last_spans(row, request.number) for row, request in enumerate(requests)]
        said, hidden = self._found(self._engine.said, requests, texts.texts, tails, failed)
        begins = {}
        for row, request in enumerate(requests):
            starts = [start for start, _ in (*said[row], *hidden[row].values())]
            if starts:
                begins[rows[row]] = min(starts)
            elif row not in failed:
                message = f"the template doesn't write what message {request.number} says, so its turn has no row"
                failed[row] = render_error("unknown_origin", message)
        errors |= {rows[row]: error for row, error in failed.items()}
        return begins

    def _found(
        self,
        stretches: TrainedStretches,
        requests: list[_Request],
        texts: list[str | None],
        spans: list[list[dict[str, Any]]],
        errors: dict[int, RenderError],
        *,
        is_whole: bool = False,
        is_closed: bool | None = None,
    ) -> tuple[list[list[Span]], list[dict[int, Span]]]:
        """Return the stretches that assistants say in the last turns of texts, or in all; and those of hidden turns."""
        begun = [request.begun for request in requests]
        numbers = None if is_whole else [request.number for request in requests]
        rows = [request.talk.row for request in requests]
        hidden = stretches.hidden(texts, spans, begun, self._samples, errors, rows=rows, numbers=numbers)
        return stretches.of_prompts(texts, spans, begun, hidden, errors, is_closed=is_closed), hidden

    def _trained(
        self,
        requests: list[_Request],
        texts: _Rendered,
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
        spans = [
            texts.all_spans(row) if is_whole else texts.last_spans(row, request.number)
            for row, request in enumerate(requests)
        ]
        of = (requests, texts.texts, spans, errors)
        return self._found(engine.trained, *of, is_whole=is_whole, is_closed=is_closed)[0]

    def _asked(
        self, requests: list[_Request], *, collects: bool = False
    ) -> tuple[dict[int, str | None], dict[int, str]]:
        """Return the texts that ask for turns, and the errors, by the numbers of the requests.

        Nobody asks for the first message of a conversation, so there is no such text.
        """
        rows = [row for row, request in enumerate(requests) if request.number]
        of_rows = [requests[row] for row in rows]
        asked = self._rendered(self._engine.asking_engine, of_rows, is_asking=True, collects=collects)
        texts: dict[int, str | None] = dict.fromkeys(range(len(requests)))
        texts |= dict(zip(rows, asked.texts, strict=True))
        return texts, {rows[row]: error for row, error in asked.errors.items()}

    def _rendered(
        self,
        engine: ChatEngine,
        requests: list[_Request],
        *,
        is_asking: bool = False,
        has_spans: bool = False,
        collects: bool = False,
    ) -> _Rendered:
        """Render conversations up to turns, without the turns themselves if the text asks for them."""
        collects = collects or self._collects
        names = [name for name in engine.columns_read(self._samples.column_names) if name != engine.column]
        rows = pa.array([request.talk.row for request in requests], pa.int64())
        messages = [request.talk.json(request.number + (not is_asking)) for request in requests]
        table = pa.table({engine.column: pa.array(messages, pa.large_string())})
        for name in names:
            table = table.append_column(self._samples.schema.field(name), self._samples.column(name).take(rows))
        options = RenderOptions(errors="column" if collects else "raise", spans="detailed" if has_spans else False)
        run = engine.begin(options, None)
        try:
            parts: list[Any] = list(run.parts(table, 0))
        except RenderError as error:
            if error.row is None:
                raise
            request = requests[error.row]
            message = f"turn {request.talk.turns[request.number]}: {error.message}"
            raise render_error(error.code, message, self._number(request), error.column) from error.__cause__
        texts = [text for part in parts for text in part.prompts.to_pylist()]
        of_rows = [error for part in parts for error in part.errors.to_pylist()] if collects else []
        spans = pa.concat_arrays([part.spans for part in parts]) if has_spans else None
        errors = {row: error for row, error in enumerate(of_rows) if error is not None}
        return _Rendered(texts, spans, errors, engine.last_run or JinjaRun())

    def _number(self, request: _Request) -> int:
        """Return the number of a request's sample in the run."""
        return self._samples_before + request.talk.row

    def _count(self, counts: JinjaRun, requests: Sequence[_Request], *, is_whole: bool = False) -> None:
        """Add the counts of the texts of requests."""
        self.counts.add(replace(counts, lacking=LeftOut()))
        lacking = counts.lacking if is_whole else counts.lacking.of_last_turns()
        self.lacking.add_all(lacking.renumbered(lambda row: self._number(requests[row])))


def _add(rows: list[_Row], row: _Row) -> None:
    """Add a row to those of a sample; the last one that has a text goes if the new text begins with its text."""
    last = next((index for index in reversed(range(len(rows))) if rows[index].text is not None), None)
    if last is not None and row.text is not None and row.text.startswith(rows[last].text or ""):
        row = row._replace(trained=_united([*rows.pop(last).trained, *row.trained]))
    rows.append(row)


def _clipped(spans: Sequence[Span], begin: int, moved: int) -> list[Span]:
    """Return the parts of stretches from a byte on, with other positions."""
    return [(max(start, begin) + moved, end + moved) for start, end in spans if end > begin]


def _moved_spans(spans: Sequence[Mapping[str, Any]], begin: int, moved: int) -> Iterator[dict[str, Any]]:
    for span in spans:
        if span["end"] > begin:
            yield {**span, "start": max(span["start"], begin) + moved, "end": span["end"] + moved}


def _united(spans: list[Span]) -> list[Span]:
    """Return stretches in order, with those that overlap as one."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out

"""Prompts that a renderer or a template makes from samples, with their origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import pyarrow as pa
from promptpress import RenderError, TemplateError, to_pylist
from promptpress.engine import (
    ConfiguredEngine,
    ConfiguredRenderer,
    LeftOut,
    RenderOptions,
    TableRenderer,
    engine_of,
    fitted_sample,
    sample_numbers,
)
from promptpress.engine import core as _core
from promptpress.engine.configs import label_or_text
from promptpress.engine.core import StreamState
from promptpress.engine.errors import ABOUT_THE_TABLE, of_row, render_error, row_error_text
from promptpress.engine.tables import for_core
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.prompts.failed_rows import row_values
from promptpress_workbench.prompts.prompt import Prompt, as_request, prompt_of
from promptpress_workbench.prompts.prompt_source import RequestBatch, RowEngine, SampleRows

_JOINTS = ("ice_separator", "ice_eos_token", "prompt_eos_token")

_MARK = "\ue000"
"""A character of private use, which no template has and which isn't part of a placeholder."""

_MASKED = ("masked", "filled_masked")
"""The sources of text that replaces an answer."""

_Span = dict[str, Any]


class RendererSource:
    """The prompts of a renderer and samples, with their origins.

    One sample is rendered without the others: labels that are the values of a column are collected once, and the
    examples that a retriever chooses by position are passed along. If later turns of a conversation hold the model's
    own replies, there is only the first turn.
    """

    has_origins = True

    def __init__(self, renderer: ConfiguredRenderer, rows: SampleRows, answer: str | None = None) -> None:
        self.renderer = renderer
        engine = engine_of(renderer)
        self.engine: ConfiguredEngine = engine if answer is None else cast("ConfiguredEngine", engine.answered(answer))
        self.rows = rows
        self._chosen: Any = ()
        self._shots = "promptpress.shots"
        while self._shots in rows.schema.names:
            self._shots += "_"

    @property
    def num_samples(self) -> int:
        return self.rows.num_rows

    @cached_property
    def labels(self) -> list[Any] | None:
        """The labels of ppl; None for gen."""
        name = self.engine.core.label_column
        if name is None:
            return self.engine.core.labels
        schema = pa.schema([field for field in self.rows.schema if field.name == name])
        batches = [batch.select(schema.names) for batch in self.rows.batches()] if len(schema) else []
        return self.engine.labels_of_table(pa.Table.from_batches(batches, schema))

    @cached_property
    def _row_engine(self) -> ConfiguredEngine:
        """An engine that renders a row without the rows before it: it reads the chosen examples from a column."""
        if not self.engine.core.by_position:
            return self.engine
        retriever = self.engine.settings["retriever"] or {}
        joints = {name: retriever[name] for name in _JOINTS if name in retriever}
        return self.engine.changed(retriever={"type": "IndexColumn", "column": self._shots, **joints})

    def row_engine(self, row: int) -> RowEngine | None:
        """Return what renders one sample without the others; None if later turns wait for replies."""
        if self.engine.fit is not None:
            return RowEngine(self.engine, self.rows.row(row), self.labels, row)
        if self.engine.core.wants_replies:
            return None
        return RowEngine(self._row_engine, self._row(row), self.labels)

    @cached_property
    def _marking_engine(self) -> ConfiguredEngine | None:
        return marking_engine(self._row_engine)

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        table = self._row(row) if self.engine.fit is None else self.rows.row(row)
        try:
            failed = self._failed_prompts(table, row, label)
            if failed:
                return failed
            if self.engine.fit is not None:
                return self._fitted_prompts(table, row, label, turn)
            return list(self._prompts(self._row_engine, table, row, label=label, turn=turn).values())
        except RenderError as error:
            raise of_row(error, row) from None

    def _failed_prompts(self, table: pa.Table, row: int, label: Any) -> list[Prompt]:
        """Return the errors of a sample that can't be rendered, one for each of its requests; nothing if it can."""
        of_fit = self.engine.fit is not None
        engine, first = (self.engine, row) if of_fit else (self._row_engine, 0)
        (batch,) = self._requests(engine, table.to_batches(), first)
        if not len(batch.failed):
            return []
        prompts = failed_prompts(batch, row, engine.columns_read(self.rows.schema.names), self.rows.row(row))
        if label is None:
            return prompts
        if self.labels is None:
            raise render_error("unknown_label", "there are no labels: only ppl has some")
        index = _label_index(self.labels, [prompt.label for prompt in prompts], label)
        return [replace(prompts[index], values=prompts[0].values)]

    def divergent_columns(self, row: int) -> list[str]:
        """Return the columns of a sample whose values fill in or complete a placeholder, as `Renderer.divergence`."""
        if self.engine.settings["substitution"] != "harness":
            return []
        table, python_text = for_core(self._row(row))
        divergence = self._row_engine.core.divergence(table, self.labels, python_text).to_pylist()
        return [name for entry in divergence for name in entry["columns"]]

    def _fitted_prompts(self, table: pa.Table, row: int, label: Any, turn: int | None) -> list[Prompt]:
        prompts: dict[int, Prompt] = {}
        for fitted in fitted_sample(self.engine, table, row, self.labels):
            of_group = self._prompts(fitted.engine, fitted.table, row, label=label, turn=turn)
            prompts |= {number: prompt for number, prompt in of_group.items() if number in fitted.requests}
        return [prompts[number] for number in sorted(prompts)]

    def _prompts(
        self, engine: ConfiguredEngine, table: pa.Table, row: int, *, label: Any, turn: int | None
    ) -> dict[int, Prompt]:
        """Return requests of one sample by their numbers; the table has its examples if the engine reads a column."""
        core = engine.core
        core_table, python_text = for_core(table)
        labels = self.labels
        requests: list[tuple[Any, Any, int | None]] = []
        for batch in self._requests(engine, table.to_batches()):
            requests += [(request, *of[1:]) for request, of in zip(to_pylist(batch.prompts), batch.ids(), strict=True)]
        kept = list(range(len(requests)))
        if label is not None and labels is None:
            raise render_error("unknown_label", "there are no labels: only ppl has some")
        if label is not None or turn is not None:
            # A label or turn that doesn't exist is reported as `explain` reports it.
            core.explain(core_table, 0, labels, label_or_text(label), turn, python_text)
        if label is not None and labels is not None:
            kept = [_label_index(labels, [label_text for _, label_text, _ in requests], label)]
        if turn is not None:
            kept = [index for index in kept if requests[index][2] == turn]
        prompts = {}
        lacking = LeftOut()
        of_texts = (
            None if engine.chat is None else self._spans_of_texts(engine, (core_table, python_text), lacking, table)
        )
        marking = self._marking_engine if engine is self._row_engine else marking_engine(engine)
        for index in kept:
            request, label_text, turn_number = requests[index]
            core_label = None if labels is None else labels[index]
            if of_texts is None:
                spans = self._spans((engine, marking), (core_table, 0, labels, core_label, turn_number, python_text))
            else:
                spans = of_texts[index] if of_texts else []
            prompt = self._prompt(request, row, spans, label_text, turn_number)
            prompts[index] = replace(prompt, left_out=tuple(lacking.lines()))
        return prompts

    @staticmethod
    def _spans(
        engines: tuple[ConfiguredEngine, ConfiguredEngine | None], arguments: tuple[Any, ...]
    ) -> list[dict[str, Any]]:
        """Return the spans of a request: those of an engine, with the places that its marking engine adds."""
        engine, marking = engines
        spans = list(engine.core.explain(*arguments).to_pylist())
        if marking is None:
            return spans
        try:
            return with_masked_spans(spans, marking.core.explain(*arguments).to_pylist())
        except RenderError:
            return spans

    @staticmethod
    def _spans_of_texts(
        engine: ConfiguredEngine, core_rows: tuple[pa.Table, Any], lacking: LeftOut, samples: pa.Table
    ) -> list[list[dict[str, Any]]]:
        """Return the spans of all texts of one sample that a chat template has made; none if they wait for replies.

        What the template leaves out is added to `lacking`.
        """
        core, chat = engine.core, engine.chat
        if core.wants_replies or chat is None:
            return []
        out: list[list[dict[str, Any]]] = []
        table, python_text = core_rows
        for part in core.render(table, None, StreamState(), False, python_text, True):
            options = RenderOptions.of((), spans="detailed")
            spans = chat.finished(part, 1, options, samples, lacking=lacking).spans.to_pylist()
            out += [[{**span, "message": 0, "part": None} for span in spans_of_text] for spans_of_text in spans]
        return out

    def _prompt(self, request: Any, row: int, spans: Any, label: Any, turn: int | None) -> Prompt:
        is_json = self.engine.configuration.writes_json
        return prompt_of(as_request(request, is_json=is_json), row, spans, label=label, turn=turn)

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        return self._prompt(value, sample, (), label, turn)

    def requests(self) -> Iterator[RequestBatch]:
        return self._requests(self.engine, self.rows.batches())

    def _requests(
        self, engine: ConfiguredEngine, batches: Iterable[pa.RecordBatch], first: int = 0
    ) -> Iterator[RequestBatch]:
        """Yield the requests of samples; an engine of later samples takes their examples from a column."""
        has_replies = engine.fit is None and engine.core.wants_replies
        run = None if has_replies else engine.begin(RenderOptions(errors="column"), self.labels, first)
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if run is None:
                yield from self._first_turns(engine, table, first)
            else:
                for part in run.parts(table, first):
                    samples, turns = sample_numbers(part, run.times), part.turns
                    yield RequestBatch(samples, part.prompts, part.labels, turns, "own", part.errors)
            first += batch.num_rows

    def _first_turns(self, engine: ConfiguredEngine, table: pa.Table, first: int) -> Iterator[RequestBatch]:
        """Yield the first turns of conversations whose later turns hold replies.

        If one can't be rendered, the table is halved until it stands alone.
        """
        core_table, python_text = for_core(table, first)
        replies = pa.array([[]] * len(table), pa.large_list(pa.large_string()))
        try:
            batches = []
            for turn in engine.core.turn(core_table, 0, replies, python_text):
                samples = pc.add(sample_numbers(turn, 1).cast(pa.int64()), first)
                prompts = engine.prompts(turn, 1, table.slice(turn.start, turn.rows))
                batches.append(RequestBatch(samples, prompts, turn.labels, turn.turns, "own"))
        except RenderError as error:
            if error.row is None or error.code in ABOUT_THE_TABLE:
                raise
            half = len(table) // 2
            if half:
                yield from self._first_turns(engine, table.slice(0, half), first)
                yield from self._first_turns(engine, table.slice(half), first + half)
                return
            fields = {field.name: field.type for field in engine.request_fields(table.schema)}
            *_, prompt = fields.values()
            turns = pa.nulls(1, pa.int64()) if len(fields) > 1 else None
            errors = pa.array([row_error_text(error)], pa.string())
            batches = [RequestBatch(pa.array([first], pa.int64()), pa.nulls(1, prompt), None, turns, "own", errors)]
        yield from batches

    def _row(self, row: int) -> pa.Table:
        return self._with_examples(self.rows.row(row), row)

    def _with_examples(self, table: pa.Table, start: int) -> pa.Table:
        """Append the choice of a retriever that chooses by position, for rows that begin at `start`."""
        if not self.engine.core.by_position:
            return table
        return table.append_column(self._shots, self._draws(start + len(table)).slice(start, len(table)))

    def _draws(self, stop: int) -> pa.Array:
        """Draw the examples of all rows before `stop`, or of more."""
        if stop > len(self._chosen):
            # Each draw continues from the sample before: drawing for twice as many saves most of the repetition.
            self._chosen = self.engine.retrieve(max(stop, min(2 * (stop - 1), self.num_samples)))
        return self._chosen


def failed_prompts(batch: RequestBatch, row: int, names: Sequence[str], sample: pa.Table) -> list[Prompt]:
    """Return the errors of a sample's requests; the first has the values that the sample has in some columns."""
    errors = [] if batch.errors is None else batch.errors.to_pylist()
    out = [
        Prompt(row, None, label=request.label, turn=request.turn, error=error)
        for request, error in zip(batch.ids(), errors, strict=True)
    ]
    out[0] = replace(out[0], values=row_values(sample, names))
    return out


def _label_index(labels: Sequence[Any], texts: Sequence[Any], label: Any) -> int:
    """Return the index of a label: of the very same, else of an equal one, else of the one with this text."""
    wanted = label_or_text(label)
    rules = (
        lambda index: type(labels[index]) is type(wanted) and labels[index] == wanted,
        lambda index: labels[index] == wanted,
        lambda index: str(texts[index]) == str(wanted),
    )
    for rule in rules:
        for index in range(len(labels)):
            if rule(index):
                return index
    raise render_error("unknown_label", f"there is no label {label!r}")


def marking_engine(engine: ConfiguredEngine) -> ConfiguredEngine | None:
    """Return an engine that renders a mark in place of each answer; None if no answer is masked by an empty text.

    `Renderer.explain` returns spans of bytes, so it has none for an empty text. The request is therefore explained once
    more with marks, which are removed again. That only counts if the rest equals the request to the byte, because a
    mark can keep a message that is dropped when it is empty.
    """
    if engine.core.masked_column is None:
        return None
    inferencer = dict(engine.settings["inferencer"] or {})
    if inferencer.get("gen_field_replace_token"):
        return None
    inferencer["gen_field_replace_token"] = _MARK
    marking = engine.changed(inferencer=inferencer)
    try:
        marking.core  # noqa: B018 - compiles it
    except TemplateError:
        return None
    return marking


def with_masked_spans(spans: Sequence[_Span], marked: Sequence[_Span]) -> list[_Span]:
    """Add the empty spans of masked answers, of `marking_engine`, to spans that are the same otherwise."""
    out: list[_Span] = []
    start, last_text = 0, None
    for span in marked:
        text = (span["message"], span["part"])
        start = start if text == last_text else 0
        end = start + (0 if span["source"] in _MASKED else span["end"] - span["start"])
        out.append({**span, "start": start, "end": end})
        start, last_text = end, text
    return out if _merged(out) == _merged(spans) else list(spans)


def _merged(spans: Sequence[_Span]) -> list[_Span]:
    """Drop empty spans, and join neighbours of one origin."""
    out: list[_Span] = []
    for span in spans:
        if span["start"] == span["end"]:
            continue
        if out and {**out[-1], "start": 0, "end": 0} == {**span, "start": 0, "end": 0}:
            out[-1] = {**out[-1], "end": span["end"]}
        else:
            out.append(dict(span))
    return out


class TemplateSource:
    """The texts of a Jinja template or a chat template, with their origins."""

    has_origins = True
    labels = None

    def __init__(self, renderer: TableRenderer[Any], rows: SampleRows, answer: str | None = None) -> None:
        self.renderer, self.rows = renderer, rows
        # What is left out is shown with the prompts.
        engine = engine_of(renderer)
        self.engine = copy(engine) if answer is None else engine.answered(answer)
        self.engine.reports_runs = False
        self.engine.output_schema(rows.schema, RenderOptions())  # raises an error if a column is missing

    @property
    def num_samples(self) -> int:
        return self.rows.num_rows

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        sample = self.rows.row(row)
        if label is not None:
            raise render_error("unknown_label", "there are no labels: only ppl has some")
        if turn is not None:
            message = "turn: there are no turns: only multi-turn templates have some"
            raise render_error("turn_out_of_range", message, row=row)
        try:
            rendered = self.engine.render(sample, RenderOptions(spans="detailed", errors="column"))
        except RenderError as error:
            raise of_row(error, row) from error.__cause__
        prompt, spans, reason = (column[0].as_py() for column in rendered.columns)
        if reason is not None:
            batch = RequestBatch(pa.array([row]), pa.nulls(1, pa.string()), errors=pa.array([reason]))
            return failed_prompts(batch, row, self.engine.columns_read(sample.column_names), sample)
        run = self.engine.last_run
        left_out = () if run is None else tuple(run.lacking.lines())
        return [replace(prompt_of(prompt, row, (_explained(span) for span in spans or ())), left_out=left_out)]

    def row_engine(self, row: int) -> RowEngine:
        return RowEngine(self.engine, self.rows.row(row))

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        return prompt_of(value, sample, label=label, turn=turn)

    def requests(self) -> Iterator[RequestBatch]:
        reader = pa.RecordBatchReader.from_batches(self.rows.schema, self.rows.batches())
        first = 0
        for batch in self.engine.stream(reader, RenderOptions(errors="column")):
            samples = _core.repeated_rows(first, batch.num_rows, 1)
            yield RequestBatch(samples, batch.column(0), numbering="own", errors=batch.column(1))
            first += batch.num_rows


def _explained(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span of one text as `Renderer.explain` has it: the place in a conversation belongs to the column."""
    path = f"[{span['message']}].{span['path']}" if "path" in span and span.get("message") is not None else None
    return {**span, "message": 0, "part": None, "path": path}


def source_of(
    renderer: TableRenderer[Any], rows: SampleRows, answer: str | None = None
) -> RendererSource | TemplateSource:
    """Return the prompts of a renderer; `answer` is the column of the assistant's last messages, if they have some."""
    if isinstance(engine_of(renderer), ConfiguredEngine):
        return RendererSource(renderer, rows, answer)
    return TemplateSource(renderer, rows, answer)

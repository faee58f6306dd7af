"""Looking never stops: sources of prompts with rows that can't be rendered, in all tools that look.

What the good rows give is known from the same table with other values in the place of the bad ones.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED, heavy
from promptpress_workbench.diff.comparison import compare
from promptpress_workbench.prompts.failed_rows import value_text
from promptpress_workbench.prompts.prompt_source import RequestFilter, TableRows, extremes, failing, matching
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import source_of
from promptpress_workbench.viewer.search import DifferenceSearch, RowSearch, Wanted
from promptpress_workbench.viewer.sources import SampleStore, Sources
from promptpress_workbench.viewer.view import (
    Choice,
    View,
    lengths_of,
    repeated_of,
)

ROWS, BATCH = 12, 4
LONG = "x" * 100
EXAMPLES = pa.table({"q": [f"example {n}" for n in range(5)], "a": list("ABCDE")})
ICE = {"type": "PromptTemplate", "template": "</E>Q: {q}\nA:", "ice_token": "</E>"}
SHOT = "Q: {q}\nA: {a}\n"
HUMAN = {"role": "HUMAN", "prompt": "{q}"}
MESSAGES = [{"role": "user", "content": "Q: {q}"}]
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
CHAT = "{% for m in messages %}<{{ m.role.strip() }}>{{ m.content.strip() }}{% endfor %}"
TURNS = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
POSITIONS: dict[str, Callable[[random.Random], Sequence[int]]] = {
    "none": lambda _: [],
    "first": lambda _: [0],
    "last": lambda _: [ROWS - 1],
    "all": lambda _: range(ROWS),
    "batch": lambda _: range(BATCH, 2 * BATCH),
    "some": lambda draw: sorted(draw.sample(range(ROWS), 4)),
    "most": lambda draw: sorted(draw.sample(range(ROWS), 9)),
}


def text(row: int) -> str:
    return f"question {row % 5}" + "!" * (row % 3)


def questions(bad: Sequence[int]) -> pa.Table:
    return pa.table({"q": [LONG if n in bad else text(n) for n in range(ROWS)], "a": list("ABCABCABCABC")})


def nulls(bad: Sequence[int]) -> pa.Table:
    return pa.table({"q": pa.array([None if n in bad else text(n) for n in range(ROWS)], pa.string())})


def choices(bad: Sequence[int]) -> pa.Table:
    shots = pa.array([None if n in bad else [n % 5, 2] for n in range(ROWS)], pa.list_(pa.int64()))
    return questions([]).append_column("shots", shots)


def conversations(bad: Sequence[int]) -> pa.Table:
    values = [[text(n), "and then?"][: 1 + n % 2] for n in range(ROWS)]
    question_lists = pa.array([None if n in bad else value for n, value in enumerate(values)], pa.list_(pa.string()))
    return pa.table({"question": question_lists, "answer": [["one", "two"][: 1 + n % 2] for n in range(ROWS)]})


def chats(bad: Sequence[int]) -> pa.Table:
    """JSON texts of conversations; the contents of bad ones are numbers, their roles are missing, or they are none."""
    spoilt = ['[{"role": "user", "content": 5}]', '[{"content": "no role"}]', "oops", "[]"]
    good = [[{"role": "user", "content": text(n)}, {"role": "assistant", "content": "Yes."}] for n in range(ROWS)]
    texts = [spoilt[n % 4] if n in bad else json.dumps(messages) for n, messages in enumerate(good)]
    return pa.table({"messages": texts})


def multi_turn(infer_mode: str) -> pp.Renderer:
    return pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": TURNS},
        dialect="aisbench",
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": infer_mode},
        reader={"input_columns": ["question"], "output_column": "answer"},
    )


@dataclass(frozen=True)
class Kind:
    """A renderer, and what makes its samples with some bad rows."""

    make: Callable[[], Any]
    samples: Callable[[Sequence[int]], pa.Table]
    audits: bool = True
    by_row: bool = True
    """True if what is rendered of a row depends on nothing but that row."""


SHORT: dict[str, Any] = {"limits": {"prompt_bytes": 90}}
OF_HARNESS: dict[str, Any] = {"reader": {"input_columns": ["q"], "output_column": "a"}, "ice_template": SHOT}
KINDS = {
    "text": Kind(lambda: pp.Renderer("Q: {q}", **SHORT), questions),
    "system": Kind(lambda: pp.Renderer("Q: {q}", system="Be brief.", **SHORT), questions),
    "messages": Kind(lambda: pp.Renderer(MESSAGES, **SHORT), questions),
    "json": Kind(lambda: pp.Renderer(MESSAGES, output="messages_json", **SHORT), questions),
    "labels": Kind(lambda: pp.Renderer({"A": "{q} yes", "B": "{q} no, never"}, mode="ppl", **SHORT), questions),
    "fixed": Kind(
        lambda: pp.Renderer(
            ICE, retriever={"type": "FixKRetriever", "fix_id_list": [1]}, examples=EXAMPLES, **OF_HARNESS, **SHORT
        ),
        questions,
    ),
    "random": Kind(
        lambda: pp.Renderer(
            ICE, retriever={"type": "RandomRetriever", "ice_num": 1}, examples=EXAMPLES, **OF_HARNESS, **SHORT
        ),
        questions,
        by_row=False,
    ),
    "index": Kind(
        lambda: pp.Renderer(ICE, retriever={"type": "IndexColumn", "column": "shots"}, examples=EXAMPLES, **OF_HARNESS),
        choices,
        by_row=False,
    ),
    "turns": Kind(lambda: multi_turn("every_with_gt"), conversations),
    "replies": Kind(lambda: multi_turn("every"), conversations, audits=False),
    "jinja": Kind(lambda: pp.JinjaTemplate("Q: {{ q.strip() }}"), nulls),
    "chat": Kind(lambda: pp.ChatTemplate(CHAT), chats),
    "chat after a configuration": Kind(
        lambda: pp.Renderer({"round": [HUMAN]}, meta_template=META, chat_template=pp.ChatTemplate(CHAT), **SHORT),
        questions,
    ),
}
OFTEN = ("first", "all", "batch", "some")
CASES = [(kind, positions) for kind in KINDS for positions in OFTEN]
CASES += heavy(*((kind, positions) for kind in KINDS for positions in POSITIONS if positions not in OFTEN))
EVERY = RequestFilter()


@dataclass
class Case:
    """A renderer with samples some of whose rows are bad, and with the same ones whose rows are all good."""

    kind: Kind
    bad: Sequence[int]
    renderer: Any
    samples: pa.Table
    whole: pa.Table

    @property
    def source(self) -> Any:
        return source_of(self.renderer, Batches(self.samples))

    def good(self) -> list[tuple[Any, ...]]:
        """Row, label, turn and value of each request of the good rows."""
        return [request for request in self.of_whole() if request[0] not in self.bad]

    def of_whole(self) -> list[tuple[Any, ...]]:
        return list(listed(source_of(self.renderer, TableRows(self.whole))))


class Batches(TableRows):
    """Rows in small batches."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches(max_chunksize=BATCH)


def listed(source: Any) -> Iterator[tuple[Any, ...]]:
    for batch in source.requests():
        assert len(batch.failed) == batch.prompts.null_count
        for request, value in zip(batch.ids(), pp.to_pylist(batch.prompts), strict=True):
            yield (*request, value)


def case_of(name: str, positions: str) -> Case:
    kind = KINDS[name]
    bad = POSITIONS[positions](random.Random(f"{name} {positions}"))
    return Case(kind, bad, kind.make(), kind.samples(bad), kind.samples([]))


@pytest.fixture(params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(*request.param)


@UNWARNED
def test_sources_name_every_bad_row(case: Case) -> None:
    source = case.source
    requests = list(listed(source))
    assert [request for request in requests if request[0] not in case.bad] == case.good()
    assert sorted({request[0] for request in requests if request[-1] is None}) == list(case.bad)
    for row in range(ROWS):
        prompts = source.prompts(row)
        assert all((prompt.error is not None) == (row in case.bad) for prompt in prompts)
        assert all((prompt.request is None) == (row in case.bad) for prompt in prompts)
        if row in case.bad:
            preview = str(case.renderer.preview(case.samples, rows=[row]))
            assert prompts[0].error in preview.replace("\\n", "\n")
            assert "to do: mend the row" in preview
            assert prompts[0].values
            assert all(f"({name})" in preview for name, _ in prompts[0].values)
        else:
            plain = [source.request(value, *key) for *key, value in requests if key[0] == row]
            assert [prompt.request for prompt in prompts] == [prompt.request for prompt in plain]


@UNWARNED
def test_searches_and_lengths(case: Case) -> None:
    good, source = case.good(), case.source
    matches = matching(source, re.compile("question"), 1000, EVERY)
    assert [tuple(request) for request in matches.first] == [request[:3] for request in good]
    failed = failing(source, 1000, EVERY)
    assert list(dict.fromkeys(request.sample for request in failed.first)) == list(case.bad)
    for result in (matches, failed):
        assert result.failed.rows == len(case.bad)
        assert result.requests == len(good) + failed.matching
    sizes = [source.request(value, *key).bytes for *key, value in good]
    for longest in (False, True):
        order = sorted(range(len(good)), key=lambda index: (-sizes[index] if longest else sizes[index], index))
        wanted = [good[index][:3] for index in order[:5]]
        assert [tuple(request) for request in extremes(source, 5, EVERY, longest=longest).first] == wanted
    if not case.kind.audits:
        return
    statistics = figures(case)
    assert sorted(entry["sample"] for entry in statistics.longest.to_pylist()) == sorted(
        good[index][0] for index in sorted(range(len(good)), key=lambda index: (-sizes[index], index))[:5]
    )
    assert (statistics.requests, statistics.bytes.sum) == (len(good), sum(sizes))


def figures(case: Case) -> pp.Statistics:
    return pp.stats(case.renderer, case.samples.to_batches(max_chunksize=BATCH))


@UNWARNED
def test_statistics(case: Case) -> None:
    if not case.kind.audits:
        with pytest.raises(pp.TemplateError, match="replies"):
            figures(case)
        return
    statistics = figures(case)
    assert statistics.unrendered == len(case.bad)
    assert statistics.samples == ROWS - len(case.bad)
    kinds = statistics.errors.to_pylist()
    assert sum(kind["rows"] for kind in kinds) == len(case.bad)
    assert sorted(row for kind in kinds for row in kind["first_rows"]) == list(case.bad)[: 10 * len(kinds)]
    if statistics.by_origin is not None:
        assert sum(statistics.by_origin["bytes"].to_pylist()) == statistics.bytes.sum
    rows = [row for row in range(ROWS) if row not in case.bad]
    if case.kind.by_row:
        wanted = pp.stats(case.renderer, case.samples.take(pa.array(rows, pa.int64())))
        names = ("requests", "bytes", "characters", "repeated", "duplicate_groups", "by_origin", "by_column")
        assert {name: statistics.to_dict()[name] for name in names} == {name: wanted.to_dict()[name] for name in names}
    assert (f"{len(case.bad)} row" in str(statistics)) == bool(case.bad)


@UNWARNED
def test_audits(case: Case) -> None:
    if not case.kind.audits:
        return
    rows = [row for row in range(ROWS) if row not in case.bad]
    findings = case.renderer.audit(case.samples.to_batches(max_chunksize=BATCH)).to_pylist()
    bad = [finding for finding in findings if finding["code"] == "unrenderable_row"]
    assert sorted(row for finding in bad for row in finding["first_rows"]) == list(case.bad)[: 10 * len(bad)]
    assert sum(finding["rows"] for finding in bad) == len(case.bad)
    assert all(finding["severity"] == "error" for finding in bad)
    others = [finding for finding in findings if finding not in bad and finding["rows"] is not None]
    assert set(case.bad).isdisjoint(row for finding in others for row in finding["first_rows"])
    if case.kind.by_row and rows:
        of_good = case.renderer.audit(case.samples.take(pa.array(rows, pa.int64()))).to_pylist()
        wanted = [
            (item["code"], item["column"], item["rows"], [rows[row] for row in item["first_rows"]])
            for item in of_good
            if item["rows"] is not None
        ]
        assert [(item["code"], item["column"], item["rows"], item["first_rows"]) for item in others] == wanted


@UNWARNED
def test_differences(case: Case) -> None:
    source, whole = case.source, source_of(case.renderer, Batches(case.whole))
    failed = failing(source, 1000, EVERY).matching
    same = compare(source, case.source, limit=100, prompts=100)
    assert (same.is_equal, same.errors_equal, same.compared) == (True, failed, len(case.good()) + failed)
    of_bad = len(case.of_whole()) - len(case.good())
    one_sided = compare(source, whole, limit=100, prompts=100)
    assert one_sided.errors_a == one_sided.different == of_bad
    assert (one_sided.only_a, one_sided.only_b, one_sided.errors_b) == (0, 0, 0)
    assert all(item.location.change == "error_a" and item.a.error and item.b.request for item in one_sided.first)
    other = compare(whole, source, limit=100, prompts=100)
    assert (other.errors_b, other.different) == (of_bad, of_bad)
    assert list(dict.fromkeys(item.sample for item in other.first)) == list(case.bad)
    if case.kind.audits:
        rendered = case.renderer.render(case.samples, errors="column", index="sample")
        without_reasons = rendered.drop_columns(["error"])
        for table in (rendered, without_reasons, rendered.drop_columns(["sample"])):
            file = RenderedSource(TableRows(table))
            comparison = compare(file, source, limit=100, prompts=100)
            assert (comparison.is_equal, comparison.errors_equal) == (True, failed)
            assert failing(file, 1000, EVERY).matching == failed
            statistics = pp.stats(table)
            assert (statistics.requests, sum(statistics.errors["rows"].to_pylist())) == (len(case.good()), failed)
        text = str(pp.diff(case.renderer, without_reasons, case.samples))
        assert (f"{failed} on both sides" in text) == bool(failed)


class Few:
    """Samples in small batches, as files of samples give them."""

    error = None

    def __init__(self, table: pa.Table) -> None:
        self.schema, self.num_rows, self._table = table.schema, len(table), table

    def reader(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches(max_chunksize=BATCH)

    def close(self) -> None:
        pass


class OneRenderer:
    """A catalogue of one renderer."""

    def __init__(self, renderer: Any) -> None:
        self._renderer = renderer

    def renderer(self, _: Choice) -> Any:
        return self._renderer

    def allowed(self, _: Choice) -> list[str]:
        return []


@UNWARNED
def test_the_viewer(case: Case) -> None:
    views = [(case.renderer, case.samples)]
    if case.kind.audits:
        views.append((None, case.renderer.render(case.samples, errors="column", index="sample")))
    for renderer, table in views:
        store = SampleStore(Few(table))  # type: ignore[arg-type]
        store.wait_all()
        sources = Sources(store, None if renderer is None else OneRenderer(renderer))  # type: ignore[arg-type]
        view = View(store, sources, Choice("it"))
        lines, _ = view.window(0, ROWS)
        assert [line["row"] for line in lines] == list(range(ROWS))
        assert [line["row"] for line in lines if line["size"] is None] == list(case.bad)
        assert all(line["text"] for line in lines)
        good = sorted({request[0] for request in case.good()})
        for finder, rows in (
            (RowSearch(view.source, Wanted(column="error")), list(case.bad)),
            (RowSearch(view.source, Wanted("question")), good),
            (DifferenceSearch(view.source, view.source), []),
        ):
            assert finder.wait(20)
            assert (finder.error, list(finder.rows), finder.failed) == (None, rows, len(case.bad))
            view.finder = finder
            assert [line["row"] for line in view.window(0, ROWS)[0]] == rows
        view.labels_of(view.choice)
        for row in case.bad:
            assert view.prompts(row)[0].error
            assert view.columns(row)
        store.close()


def test_rows_of_the_figures_of_the_viewer() -> None:
    case = case_of("labels", "some")
    statistics = figures(case)
    assert {row for row, _ in lengths_of(statistics.longest)}.isdisjoint(case.bad)
    assert {row for _, rows in repeated_of(statistics) for row in rows}.isdisjoint(case.bad)


def test_a_row_without_turns_stands_for_all_of_its_turns() -> None:
    case = case_of("turns", "first")
    for sides in ((case.samples, case.whole), (case.whole, case.samples)):
        sources = [source_of(case.renderer, TableRows(side)) for side in sides]
        (difference,) = compare(*sources, limit=10, prompts=10).first
        assert (difference.sample, difference.turn) == (0, 0)


def test_json_of_a_bad_row_has_a_line_for_each_item() -> None:
    assert value_text('[{"role": "user", "content": 5}, {}]') == '{"role": "user", "content": 5}\n{}'
    assert [value_text(value) for value in ("[oops", "[]", 5, [], None)] == ["[oops", "[]", "5", "[]", "null"]

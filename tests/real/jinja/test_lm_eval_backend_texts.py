"""Texts that are rendered before lm-evaluation-harness asks for them."""

from __future__ import annotations

import gc
from typing import Any

import promptpress
import pyarrow as pa
import pytest

pytest.importorskip("lm_eval.evaluator")

import jinja2
from lm_eval import utils
from promptpress_harness.lm_eval.backend import tasks, texts
from real.jinja.lm_eval_runs import built, chatml, datasets, equal, reasons_of, task_of
from real.jinja.test_lm_eval_backend import BASE, GENERATE, KINDS

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = [{"q": f" {n}?", "a": str(n), "ch": [f"{n}", "no"], "g": n % 2, "n": n} for n in range(40)]
SPLITS = {"test": datasets.Dataset.from_list(ROWS), "train": datasets.Dataset.from_list(ROWS[:20])}
CONFIG = {**BASE, "num_fewshot": 2, "description": "Think{{n}}.", "target_delimiter": "\r\n"}


WRONG: list[str] = []
"""The mark that the stand-in writes after each text."""


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Collect what is rendered ahead and for how many rows; a stand-in lets Jinja2 render."""
    calls: list[tuple[str, int]] = []

    def renderer_of(source: str) -> tuple[Any, str]:
        if "refused" in source:
            return None, "line 1: Filter isn't compiled"
        template = jinja2.Environment(keep_trailing_newline=True).from_string(source)

        def render(table: pa.Table) -> list[str]:
            calls.append((source, table.num_rows))
            return [template.render(**row) + "".join(WRONG) for row in table.to_pylist()]

        return render, ""

    monkeypatch.setattr(texts, "renderer_of", renderer_of)
    return calls


@pytest.fixture
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return reasons_of(monkeypatch)


@pytest.fixture
def by_jinja(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that Jinja2 renders, one document at a time."""
    files: list[str] = []
    original = jinja2.Template.render

    def render(self: Any, *parts: Any, **named: Any) -> str:
        files.append(self.root_render_func.__code__.co_filename)
        return original(self, *parts, **named)

    monkeypatch.setattr(jinja2.Template, "render", render)
    return files


def same(config: dict[str, Any], splits: Any = None, **options: Any) -> Any:
    off, on = (built(task_of(config, splits or SPLITS, 3), on=on, **options) for on in (False, True))
    assert equal(off, on)
    return on


def test_a_template_is_rendered_once_for_all_documents(
    rendered: list[Any], reasons: list[str], by_jinja: list[str]
) -> None:
    assert same(CONFIG)
    by_jinja.clear()
    built(task_of(CONFIG, SPLITS, 3), on=True)
    text, description = CONFIG["doc_to_text"], CONFIG["description"]
    assert rendered[-3:] == [(text, 20), (description, 40), (text, 40)]
    assert reasons == []
    # Beside the stand-in's: the first of each kind, by the constructor, by its own build, and for comparing.
    assert len(by_jinja) - sum(count for _, count in rendered[-3:]) < 15


@pytest.mark.parametrize(
    "size", [pytest.param(7, marks=pytest.mark.full), 16, pytest.param(64, marks=pytest.mark.full)]
)
def test_blocks(size: int, rendered: list[Any], reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tasks, texts):
        monkeypatch.setattr(module, "BLOCK", size)
    monkeypatch.setattr("promptpress_harness.lm_eval.backend.building.BLOCK", size)
    kinds = KINDS if size != 16 else dict(list(KINDS.items())[::4])
    for kind, config in kinds.items():
        rows = datasets.Dataset.from_list(
            [{**row, "targets": ["x", row["q"]], "f": 0.5, "prefix": "", "nested": {"x": [1, 2]}} for row in ROWS]
        )
        splits = {"test": rows, "train": rows.select(range(9))}
        for options in ({}, {"samples": [1, *range(9, 25, 2)]}, {"rank": 1, "world_size": 2}):
            for chat in ({}, {"apply_chat_template": True, "chat_template": chatml}):
                assert len(same({**config, "num_fewshot": 1}, splits, **options, **chat)) == 4, kind
    assert rendered
    assert reasons == []


def test_what_is_not_compiled_is_rendered_by_jinja_and_logged_once(
    rendered: list[Any], reasons: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "promptpress.backend"):
        same({**CONFIG, "doc_to_text": "refused {{q}}"})
    assert {source for source, _ in rendered} == {CONFIG["description"]}
    assert reasons == []
    notes = [record.getMessage() for record in caplog.records if "Jinja2" in record.getMessage()]
    assert notes == ["Jinja2 renders what isn't compiled of a template: line 1: Filter isn't compiled (task own)"]


def test_a_document_that_raises_raises_what_it_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(table: pa.Table) -> list[str]:  # noqa: ARG001
        raise promptpress.RenderError("row 30: UndefinedError: 'gone' is undefined")

    monkeypatch.setattr(texts, "renderer_of", lambda _: (refusing, ""))
    assert same({**CONFIG, "doc_to_text": "{{q}}{% if n == 30 %}{{gone}}{% endif %}"}) == (
        jinja2.UndefinedError,
        "'gone' is undefined",
    )


def test_a_text_that_differs_is_not_used(
    rendered: list[Any], reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "WRONG", ["!"])
    assert len(same({**GENERATE, "doc_to_text": "{{q}}"})) == 4
    assert rendered == [("{{q}}", 40)]
    assert reasons == ["a template's text is another (' 0?', ' 0?!')"]


def test_a_custom_environment_renders_by_itself(
    rendered: list[Any], reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(utils.env.filters, "trim", lambda text: text + "?")
    assert same({**CONFIG, "doc_to_text": "{{q|trim}}"})
    assert rendered == []
    assert reasons == ["the environment of its templates was changed"]


def test_rows_that_no_table_gives_back_are_rendered_one_by_one(rendered: list[Any], reasons: list[str]) -> None:
    rows = [
        {**row, "only" if row["n"] % 2 else "q": f"{row['n']}", "n": row["n"] if row["n"] % 3 else float(row["n"])}
        for row in ROWS[:12]
    ]
    config = {**CONFIG, "fewshot_split": None, "fewshot_config": {"samples": [{"q": "", **row} for row in rows]}}
    assert same(config)
    assert [count for _, count in rendered] == [40, 40]
    assert reasons == []


def test_the_collector_is_as_it_was(rendered: list[Any]) -> None:  # noqa: ARG001
    before = gc.get_threshold()
    built(task_of(CONFIG, SPLITS, 3), on=True)
    assert gc.get_threshold() == before
    assert built(task_of({**GENERATE, "doc_to_text": "{{4 // (9 - n)}}"}, SPLITS, 3), on=True)[0] is ZeroDivisionError
    assert gc.get_threshold() == before

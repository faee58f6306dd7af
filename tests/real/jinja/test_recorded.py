"""The recorded cases of chat templates and of lm-eval, where they are at hand, through our environments.

They are no part of the project: see tests/rendering/test_recorded_cases.py.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress._jinja.reference import Reference

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[4] / "shared")
ONE_IN = 40


def shared(*names: str) -> list[Path]:
    paths = [SHARED / name for name in names]
    for path in paths:
        if not path.exists():
            pytest.skip(f"recorded cases are not at hand: there is no {os.path.relpath(path)}")
    return paths


def runner(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SHARED / "tools"))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


class Compiled:
    """A stand-in that transformers calls in place of its compiled template."""

    def __init__(self, source: str, clock: str) -> None:
        self.reference = Reference(source, "transformers", datetime.fromisoformat(clock))

    def render(self, **names: Any) -> str:
        return self.reference.render(names)


def check_chats(monkeypatch: pytest.MonkeyPatch, file: str, sample: int) -> None:
    (path, _) = shared(f"chat_templates/{file}.jsonl.gz", "tools/chat_cases.py")
    cases = runner("chat_cases", monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        utils = pytest.importorskip("transformers.utils.chat_template_utils")
    made: dict[tuple[str, str], Compiled] = {}

    def render(source: str, conversations: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        options = dict(kwargs)
        clock = options.pop("$clock", cases.CLOCK)

        def compiled(_: str) -> Compiled:
            if (source, clock) not in made:
                made.clear()
                made[source, clock] = Compiled(source, clock)
            return made[source, clock]

        monkeypatch.setattr(utils, "_compile_jinja_template", compiled)
        out: list[Any] = []
        for chat in conversations:
            kept = [{key: value for key, value in message.items() if value is not None} for message in chat]
            try:
                out.append(utils.render_jinja_template([kept], chat_template=source, **options)[0][0])
            except pp.TemplateError as error:
                out.append(error.__cause__ or error)
            except Exception as error:
                out.append(error)
        return out

    counts = cases.check(render, [str(path)], exact_errors=True, sample=sample)
    assert counts["total"]
    assert not counts["differ"]


def test_one_line_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_chats(monkeypatch, "attack", 5)


def test_chat_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_chats(monkeypatch, "cases", ONE_IN)


@pytest.mark.full
@pytest.mark.parametrize("file", ["attack", "cases"])
def test_all_chat_templates(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_chats(monkeypatch, file, 1)


WEATHER = {"city": {"type": "string", "description": "é <b>"}, "unit": {"enum": ["c", None], "default": 1e22}}
TOOLS = [
    [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"properties": WEATHER}}}] * 2,
    [{"name": "flat", "description": "d", "parameters": {"type": "object", "properties": {}, "required": []}}],
    [{"type": "function", "function": {"name": "bare"}}],
    None,
    [],
]


def check_tools(monkeypatch: pytest.MonkeyPatch, sample: int) -> None:
    """Hold rows with tools of their own, in all forms, against transformers with the tools of one row."""
    (path, _) = shared("chat_templates/templates.jsonl.gz", "tools/chat_cases.py")
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    now = datetime(2026, 3, 5)
    monkeypatch.setattr(utils, "datetime", type("Clock", (datetime,), {"now": classmethod(lambda *_: now)}))
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
    rows = [(messages, tools) for messages in (chat, chat[1:]) for tools in TOOLS] * 3
    written = pa.array([None if tools is None else json.dumps(tools) for _, tools in rows])
    texts = pa.array([None if tools is None else list(map(json.dumps, tools)) for _, tools in rows])
    table = pa.table({"messages": [messages for messages, _ in rows]})
    forms = [[{"messages": messages, "tools": tools} for messages, tools in rows]]
    forms += [table.append_column("tools", column) for column in (written, texts)]
    for line in list(runner("chat_cases", monkeypatch).lines(str(path)))[::sample]:
        source, tokens = line["template"], line["special_tokens"]
        expected: list[str | None] = []
        for messages, tools in rows:
            try:
                expected += utils.render_jinja_template([messages], tools or None, None, source, **tokens)[0]
            except Exception:
                expected.append(None)
        template = pp.ChatTemplate(source, now=now, **tokens)
        for samples in forms:
            assert template.render(samples, errors="column")["prompt"].to_pylist() == expected, line["id"]


def test_tools_of_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    check_tools(monkeypatch, ONE_IN)


@pytest.mark.full
def test_tools_of_each_row_in_all_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_tools(monkeypatch, 1)


def shape_of(chat: list[dict[str, Any]]) -> str:
    """All of a conversation but what is said."""
    return json.dumps([{**message, "content": "?"} if "content" in message else message for message in chat])


def share_compiled(cases: Any, path: Path, sample: int) -> tuple[int, int]:
    """Return the number of shapes that programs render, and the number of all shapes of the templates."""
    compiled = total = 0
    for number, (template, _, talk, kwargs, expect, _) in enumerate(cases.blocks(str(path))):
        if number % sample:
            continue
        options = dict(kwargs)
        options["now"] = datetime.fromisoformat(options.pop("$clock", cases.CLOCK))
        shapes: dict[str, list[Any]] = {}
        for chat, want in zip(talk, expect, strict=True):
            if not isinstance(want, dict):
                shapes.setdefault(shape_of(chat), chat)
        try:
            renderer = pp.ChatTemplate(template["template"], **options)
        except pp.TemplateError:
            total += len(shapes)
            continue
        for chat in shapes.values():
            rows = pa.table({"messages": [json.dumps(chat)] * 3})
            renderer.render(rows)
            renderer.render(rows)
            total += 1
            compiled += renderer.last_run.jinja2 == 0
    return compiled, total


def check_share_compiled(monkeypatch: pytest.MonkeyPatch, sample: int) -> None:
    (path, _) = shared("chat_templates/cases.jsonl.gz", "tools/chat_cases.py")
    compiled, total = share_compiled(runner("chat_cases", monkeypatch), path, sample)
    print(f"{compiled} of {total} template x shape cells are compiled: {compiled / total:.1%}")
    assert total
    assert compiled >= 0.95 * total


def test_cells_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    check_share_compiled(monkeypatch, 20 * ONE_IN)


@pytest.mark.full
def test_every_sixth_cell_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    check_share_compiled(monkeypatch, 6)


def check_lm_eval(monkeypatch: pytest.MonkeyPatch, sample: int) -> None:
    (path, _) = shared("golden_lm_eval/jinja.jsonl.gz", "tools/lm_eval_cases.py")
    cases = runner("lm_eval_cases", monkeypatch)

    class Engine:
        def jinja(self, source: str, rows: list[dict[str, Any]]) -> list[Any]:
            try:
                reference = Reference(source, "lm_eval")
            except pp.TemplateError as error:
                return [(None, cases.problem(error.__cause__))] * len(rows)
            out: list[Any] = []
            for row in rows:
                try:
                    out.append((reference.render(row), None))
                except Exception as error:
                    out.append((None, cases.problem(error)))
            return out

    tally = cases.Tally(5, "jinja2")
    for number, case in enumerate(cases.lines(path)):
        if number % sample == 0:
            cases.check_jinja_reference(case, Engine(), tally)
    assert tally.n["equal"]
    assert not tally.n["differ"]


def test_lm_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    check_lm_eval(monkeypatch, ONE_IN)


@pytest.mark.full
def test_all_of_lm_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    check_lm_eval(monkeypatch, 1)

"""Templates of both corpora over random rows, beside the engines themselves: a million rows for fifty templates.

The corpora are no part of the project: see test_recorded.py.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections import Counter
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[4] / "shared")
TEMPLATES = 25
"""The number of templates of each corpus."""
ODD = [
    "",
    " ",
    "\n",
    "\x1c",
    "\u2003",
    "</think>",
    "<think>",
    "{{",
    "%}",
    "'",
    '"',
    "\\",
    "é",
    "ß",
    "İ",
    "\r\n",
    "<s>",
    "[INST]",
    "0",
]
"""Pieces of texts, in addition to the recorded ones."""


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def cases(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    if not (SHARED / "tools").exists():
        pytest.skip("recorded cases are not at hand")
    monkeypatch.syspath_prepend(str(SHARED / "tools"))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def text(random: Random, pool: list[str]) -> str:
    """A text of the pool, or one that is put together."""
    if random.random() < 0.4:
        return random.choice(pool)
    return "".join(
        random.choice(ODD) if random.random() < 0.5 else random.choice(pool)[:40] for _ in range(random.randint(0, 4))
    )


def changed(random: Random, value: Any, pool: list[str]) -> Any:
    """A value of the same type, with other texts in it."""
    if isinstance(value, str):
        return text(random, pool)
    if isinstance(value, list):
        return [changed(random, item, pool) for item in value]
    if isinstance(value, dict):
        return {key: changed(random, item, pool) for key, item in value.items()}
    return value


def compare(render: Any, rows: list[Any], expected: list[str | Exception], what: str) -> Counter[str]:
    """Rows that the engine renders come out the same, all in one call."""
    good = [number for number, text in enumerate(expected) if isinstance(text, str)]
    rendered = render([rows[number] for number in good]) if good else []
    for number, text in zip(good, rendered, strict=True):
        assert text == expected[number], (what, rows[number])
    for number in [number for number in range(len(rows)) if not isinstance(expected[number], str)][:3]:
        with pytest.raises(pp.RenderError):
            render([rows[number]])
    return Counter(rows=len(good), raises=len(rows) - len(good))


def check_lm_eval(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = cases("lm_eval_cases", monkeypatch)
    environment = pytest.importorskip("lm_eval.utils").env
    random = Random(16)
    path = SHARED / "golden_lm_eval" / "jinja.jsonl.gz"
    recorded = [case for case in tools.lines(path) if "{" in case["source"] and len(case["tables"]) > 1]
    seen: Counter[str] = Counter()
    for case in random.sample(recorded, TEMPLATES):
        table = case["tables"][0]
        pool = [text for doc in table["docs"] for text in texts_of(doc)] or ["a"]
        rows = [
            {name: changed(random, random.choice(table["docs"])[name], pool) for name in table["schema"]}
            for _ in range(count)
        ]
        samples = tools.table(rows, table["schema"])
        rows = samples.to_pylist()
        compiled = environment.from_string(case["source"])
        template = pp.JinjaTemplate(case["source"], environment="lm_eval")

        def render(rows: list[Any], template: Any = template, schema: Any = samples.schema) -> list[str]:
            return list(template.render(pa.Table.from_pylist(rows, schema=schema))["prompt"].to_pylist())

        seen += compare(render, rows, [rendered(compiled.render, row) for row in rows], case["id"])
    assert seen["rows"] > count * TEMPLATES // 2


def texts_of(value: Any) -> list[str]:
    """All texts in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in texts_of(item)] if isinstance(value, list) else []


def rendered(render: Any, names: dict[str, Any]) -> str | Exception:
    try:
        return str(render(**names))
    except Exception as error:
        return error


def check_chats(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = cases("chat_cases", monkeypatch)
    pytest.importorskip("transformers")
    random = Random(16)
    folder = SHARED / "chat_templates"
    templates = [line for line in tools.lines(folder / "templates.jsonl.gz") if line["kind"] == "model"]
    pool = next(line for line in tools.lines(folder / "cases.jsonl.gz") if line["record"] == "contents")["contents"]
    roles = [
        ["user"],
        ["system", "user"],
        ["user", "assistant"],
        ["system", "user", "assistant", "user"],
        ["user", "assistant"] * 5,
    ]
    seen: Counter[str] = Counter()
    for template in random.sample(templates, TEMPLATES):
        chats = [[{"role": role, "content": text(random, pool)} for role in random.choice(roles)] for _ in range(count)]
        names = {**template["special_tokens"], "add_generation_prompt": True}
        expected = tools.reference_render(template["template"], chats, names)
        now = {"now": datetime.fromisoformat(tools.CLOCK)}
        chat = pp.ChatTemplate(template["template"], **names, **now)
        kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))

        def render(rows: list[Any], chat: Any = chat, kind: Any = kind) -> list[str]:
            return list(chat.render(pa.table({"messages": pa.array(rows, kind)}))["prompt"].to_pylist())

        seen += compare(render, chats, expected, json.dumps(template["id"]))
    assert seen["rows"] > count * TEMPLATES // 2


def test_lm_eval_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_lm_eval(100, monkeypatch)


def test_chat_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_chats(100, monkeypatch)


@pytest.mark.full
def test_half_a_million_rows_of_lm_eval_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_lm_eval(20_000, monkeypatch)


@pytest.mark.full
def test_half_a_million_conversations(monkeypatch: pytest.MonkeyPatch) -> None:
    check_chats(20_000, monkeypatch)

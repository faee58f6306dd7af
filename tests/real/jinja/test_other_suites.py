"""Suites that other projects test their Jinja engines with, and templates that they test, next to transformers.

The reference is transformers, or Jinja2 where a suite has its plain environment. What a suite expects of its own engine
may be something else; such cases are counted as not comparable, if the texts here are those of the reference.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import jinja2
import pytest
from parts.suite_cases import DUMMY, Case, cpp_cases, javascript_cases, template_files

base = pytest.importorskip("transformers.tokenization_utils_base")
utils = pytest.importorskip("transformers.utils.chat_template_utils")

from promptpress import ChatTemplate  # noqa: E402 - the tests are skipped without transformers

ARGUMENTS = frozenset({"column", "environment", "fallback", "names", "now", "strings"})
NOW = datetime.datetime(2025, 7, 10, 12)
ROWS = 3
"""A program renders the last row, and Jinja2 the first one."""
ADDRESS = re.compile(r"\b0x[0-9a-f]+")


class Tokenizer(base.PreTrainedTokenizerBase):  # type: ignore[misc]
    """As much of a tokenizer as rendering needs."""

    def __init__(self, source: str) -> None:
        self.__dict__["chat_template"] = source

    @property
    def special_tokens_map(self) -> dict[str, str]:
        return {}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:  # noqa: ARG003
        return NOW


def outcome(render: Any) -> str | None:
    """Return a text; None for an error."""
    try:
        return ADDRESS.sub("0x", str(render()))
    except Exception:
        return None


def texts(case: Case, messages: Any, data: dict[str, Any]) -> str:
    environment = "transformers" if case.is_transformers else "jinja2"
    template = ChatTemplate(case.template, environment=environment, now=NOW, **data)  # type: ignore[arg-type]
    first, *others = template.render([{"messages": messages}] * ROWS)["prompt"].to_pylist()
    assert {ADDRESS.sub("0x", text) for text in others} == {ADDRESS.sub("0x", first)}
    return str(first)


def reference(case: Case, messages: Any, data: dict[str, Any]) -> str:
    if case.is_transformers:
        return str(Tokenizer(case.template).apply_chat_template(messages, tokenize=False, **data))
    return jinja2.Environment().from_string(case.template).render(messages=messages, **data)


def compare(cases: Iterable[Case]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in cases:
        counts["cases"] += 1
        data = dict(case.data)
        messages = data.pop("messages", DUMMY)
        if ARGUMENTS.intersection(data):
            counts["not comparable: a variable has the name of an argument of ChatTemplate"] += 1
            continue
        if case.is_transformers is None or "$odd" in str(data):
            counts["not comparable: data of another language, or settings of another environment"] += 1
            continue
        wanted = outcome(lambda case=case, messages=messages, data=data: reference(case, messages, data))
        if wanted != case.target and not case.is_transformers:
            # A suite's engine has some of transformers' filters in what is Jinja2's environment otherwise.
            other = case._replace(is_transformers=True)
            theirs = outcome(lambda other=other, messages=messages, data=data: reference(other, messages, data))
            case, wanted = (other, theirs) if theirs == case.target else (case, wanted)  # noqa: PLW2901
        text = outcome(lambda case=case, messages=messages, data=data: texts(case, messages, data))
        if text != wanted:
            counts["different"] += 1
            print("\ndifferent", repr(case)[:600], "\n", repr(wanted)[:300], "\n", repr(text)[:300])
        elif text not in (case.target, None) and case.target != "":
            counts["not comparable: the suite's engine gives another text than Jinja2"] += 1
        elif text is None and case.target:
            counts["not comparable: the suite's engine renders what Jinja2 refuses"] += 1
        else:
            counts["both raise" if text is None else "equal"] += 1
    print("\n", dict(counts))
    return counts


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "datetime", Clock)
    utils._compile_jinja_template.cache_clear()


@pytest.mark.parametrize("file", ["e2e.test.js", "templates.test.js", "interpreter.test.js"])
def test_huggingface_js(file: str) -> None:
    counts = compare(javascript_cases(file))
    assert counts["equal"]
    assert not counts["different"]


def test_minja() -> None:
    counts = compare(cpp_cases())
    assert counts["equal"]
    assert not counts["different"]


@pytest.mark.parametrize("suite", ["trl", "mistral-common"])
def test_templates_of_a_suite(suite: str) -> None:
    counts = compare(template_files(suite))
    assert counts["equal"]
    assert not counts["different"]

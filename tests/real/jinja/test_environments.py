"""The engines' environments beside the real ones: the same text, or the same exception and message."""

from __future__ import annotations

import copy
import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import jinja2
import promptpress as pp
import pytest
from promptpress._jinja.reference import Reference
from real.jinja.engine_templates import LM_EVAL, ROWS, TEMPLATES, TRANSFORMERS

NOW = datetime(2026, 3, 5, 14, 7, 9)

Engine = Callable[[str, dict[str, Any]], str]


@pytest.fixture(autouse=True)
def _their_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plain(template: str, row: dict[str, Any]) -> str:
    out: str = jinja2.Environment().from_string(template).render(**row)
    return out


def transformers(template: str, row: dict[str, Any]) -> str:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers isn't installed here: make test-jinja")
    from transformers.utils import chat_template_utils

    class Pinned(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:  # noqa: ARG003 - as datetime has it
            return NOW

    chat_template_utils.datetime = Pinned
    out: str = chat_template_utils._compile_jinja_template(template).render(**row)
    return out


def lm_eval(template: str, row: dict[str, Any]) -> str:
    if importlib.util.find_spec("lm_eval") is None:
        pytest.skip("lm_eval isn't installed here: make test-jinja")
    from lm_eval.utils import apply_template

    out: str = apply_template(template, row)
    return out


def outcome(render: Engine, template: str, row: dict[str, Any]) -> tuple[str, str]:
    try:
        return "text", re.sub(r"\b0x[0-9a-f]{6,}", "0x", render(template, row))
    except Exception as error:
        cause = error.__cause__ if isinstance(error, pp.TemplateError) and error.__cause__ else error
        return type(cause).__name__, re.sub(r"\b0x[0-9a-f]{6,}", "0x", str(cause))


def compare(name: str, engine: Engine, templates: list[str]) -> None:
    different = []
    for template in templates:
        for row in ROWS:
            # A template may change what it is given.
            expected = outcome(engine, template, copy.deepcopy(row))
            actual = outcome(lambda t, r: Reference(t, name, NOW).render(r), template, copy.deepcopy(row))
            if actual != expected:
                different.append((template, row, expected, actual))
    assert not different, "\n".join(map(str, different[:10]))


@pytest.mark.parametrize("subject", TEMPLATES)
def test_jinja2(subject: str) -> None:
    compare("jinja2", plain, TEMPLATES[subject])


@pytest.mark.parametrize("subject", TEMPLATES)
def test_transformers(subject: str) -> None:
    compare("transformers", transformers, TEMPLATES[subject])


def test_what_transformers_adds() -> None:
    compare("transformers", transformers, TRANSFORMERS)


@pytest.mark.parametrize("subject", TEMPLATES)
def test_lm_eval(subject: str) -> None:
    compare("lm_eval", lm_eval, TEMPLATES[subject])


def test_what_lm_eval_adds() -> None:
    compare("lm_eval", lm_eval, LM_EVAL)

"""lm-evaluation-harness's templates, compiled once with the backend on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("lm_eval.evaluator")

import jinja2
from lm_eval import utils
from promptpress import lm_eval as promptpress_lm_eval
from promptpress_harness.run import add_startup
from real.jinja.lm_eval_runs import evaluated, task_of
from real.jinja.test_lm_eval_backend import LEFT, SPLITS

pytestmark = pytest.mark.filterwarnings("ignore")
ORIGINAL = utils.apply_template


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that Jinja2 compiles."""
    sources: list[str] = []
    original = jinja2.Environment.from_string

    def from_string(self: Any, source: Any, *rest: Any) -> Any:
        sources.append(source)
        return original(self, source, *rest)

    monkeypatch.setattr(jinja2.Environment, "from_string", from_string)
    return sources


@pytest.fixture
def on() -> Iterator[None]:
    with promptpress_lm_eval.backend():
        yield


@pytest.mark.usefixtures("on")
def test_a_template_is_compiled_once(compiled: list[str]) -> None:
    assert [utils.apply_template("{{a}}!", {"a": n}) for n in range(5)] == ["0!", "1!", "2!", "3!", "4!"]
    assert compiled == ["{{a}}!"]


def test_what_stays_with_the_harness_is_compiled_once(compiled: list[str]) -> None:
    config, _ = LEFT["a target of a function"]
    for is_on in (False, True):
        compiled.clear()
        assert "error" not in evaluated(lambda: task_of(config, SPLITS), on=is_on, num_fewshot=2)
        assert (len(compiled) == len(set(compiled))) is is_on


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    "source",
    [
        "{{",
        "{{a|nofilter}}",
        "{{gone}}",
        "{{a.b.c}}",
        "{{a + 1}}",
        5,
        None,
        b"{{a}}",
        "{% for x in a %}",
        "{{ a // 0 }}",
    ],
)
def test_what_raises_raises_what_it_raised(source: Any) -> None:
    raised = []
    for function in (ORIGINAL, utils.apply_template, utils.apply_template):
        try:
            function(source, {"a": "x"})
        except Exception as error:
            raised.append((type(error), str(error)))
    assert len(raised) == 3
    assert len(set(raised)) == 1


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("doc", [{"self": 1}, {"a": 1, 2: 3}, 5, None])
def test_documents_that_are_none(doc: Any) -> None:
    with pytest.raises(TypeError) as ours:
        utils.apply_template("{{a}}", doc)
    with pytest.raises(TypeError) as theirs:
        ORIGINAL("{{a}}", doc)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.usefixtures("on")
def test_an_environment_that_changes_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "{% if 1 %}\n{{ 'a'|upper }}{{ 3 is odd }}{% endif %}"
    assert utils.apply_template(source, {}) == "\nATrue"
    monkeypatch.setitem(utils.env.filters, "upper", lambda text: text * 2)
    assert utils.apply_template(source, {}) == "\naaTrue" == ORIGINAL(source, {})
    monkeypatch.setitem(utils.env.tests, "odd", lambda _: "?")
    assert utils.apply_template(source, {}) == "\naa?" == ORIGINAL(source, {})
    monkeypatch.setattr(utils.env, "trim_blocks", True)
    assert utils.apply_template(source, {}) == "aa?" == ORIGINAL(source, {})
    monkeypatch.setattr(utils, "env", jinja2.Environment())
    assert utils.apply_template("{{ gone }}", {}) == "" == ORIGINAL("{{ gone }}", {})
    monkeypatch.setitem(utils.env.globals, "gone", "here")
    assert utils.apply_template("{{ gone }}", {}) == "here" == ORIGINAL("{{ gone }}", {})


@pytest.mark.usefixtures("on")
def test_a_template_keeps_nothing_between_documents() -> None:
    source = "{% set x = [] %}{{ x.append(a) }}{{ x }}{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}"
    for n in range(3):
        assert utils.apply_template(source, {"a": n}) == ORIGINAL(source, {"a": n}) == f"None[{n}]1"


def test_a_function_of_another_kind_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(template: str, doc: Any) -> str:  # noqa: ARG001
        return "other"

    monkeypatch.setattr(utils, "apply_template", other)
    with promptpress_lm_eval.backend():
        assert utils.apply_template is other
        assert utils.apply_template("{{a}}", {"a": 1}) == "other"


def test_off_puts_everything_back() -> None:
    from lm_eval.api.task import Task

    original = Task.build_all_requests
    with promptpress_lm_eval.backend():
        assert utils.apply_template is not ORIGINAL
        assert Task.build_all_requests is not original
        promptpress_lm_eval.enable()
    assert utils.apply_template is ORIGINAL
    assert Task.build_all_requests is original
    promptpress_lm_eval.enable()
    promptpress_lm_eval.disable()
    promptpress_lm_eval.disable()
    assert utils.apply_template is ORIGINAL


IS_WRAPPED = "from lm_eval.utils import apply_template as f; print(hasattr(f, '__wrapped__'))"


@pytest.mark.parametrize(
    ("value", "is_wrapped"), [("lm_eval", True), ("opencompass,lm_eval", True), ("opencompass", False)]
)
def test_the_variable_switches_it_on(value: str, is_wrapped: bool) -> None:
    environment = {**os.environ, "PROMPTPRESS_BACKEND": value}
    add_startup(environment)
    line = [sys.executable, "-c", IS_WRAPPED]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(is_wrapped)], done.stderr


def test_before_the_harness_is_imported() -> None:
    enabled = "from promptpress import lm_eval\nlm_eval.enable()\nimport sys\nassert 'jinja2' not in sys.modules"
    code = f"{enabled}\n{IS_WRAPPED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"], done.stderr

"""Options of environments, beside Jinja2's own environments with the same options."""

from __future__ import annotations

import pickle
from collections import Counter
from random import Random
from typing import Any, get_type_hints

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

import jinja2
from generators.random_templates import SCHEMA, Templates, rows
from promptpress._jinja.sandbox.environments import _CHECKS, changed_options, engine_options
from promptpress._jinja.sandbox.guarded_filters import LazyWrappers
from promptpress.typing import JinjaOptions

pytestmark = pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")

UNDEFINED = {
    "default": jinja2.Undefined,
    "strict": jinja2.StrictUndefined,
    "chainable": jinja2.ChainableUndefined,
    "debug": jinja2.DebugUndefined,
}
DELIMITERS = (
    ("block", "{%", "%}", [("<%", "%>"), ("[%", "%]"), ("{%%", "%%}"), ("\\BLOCK{", "}")]),
    ("variable", "{{", "}}", [("<<", ">>"), ("${", "}"), ("[[", "]]"), ("{{{", "}}}"), ("\\VAR{", "}")]),
    ("comment", "{#", "#}", [("<#", "#>"), ("/*", "*/")]),
)


def random_options(random: Random, source: str) -> tuple[str, dict[str, Any]]:
    """Draw options, and write a template with their delimiters."""
    options: dict[str, Any] = {}
    for name in ("trim_blocks", "lstrip_blocks", "keep_trailing_newline"):
        if random.random() < 0.4:
            options[name] = random.random() < 0.7
    if random.random() < 0.2:
        options["newline_sequence"] = random.choice(["\n", "\r\n", "\r"])
    if random.random() < 0.7:
        options["undefined"] = random.choice(list(UNDEFINED))
    if random.random() < 0.15:
        options["autoescape"] = True
    if random.random() < 0.4:
        options["extensions"] = random.choice([["do"], ["loopcontrols"], ["do", "jinja2.ext.loopcontrols"]])
        if "do" in options["extensions"]:
            source += "{% do [q, missing] %}"
    for kind, start, end, others in DELIMITERS:
        if random.random() < 0.3:
            options[f"{kind}_start_string"], options[f"{kind}_end_string"] = random.choice(others)
            source = source.replace(start, options[f"{kind}_start_string"])
            source = source.replace(end, options[f"{kind}_end_string"])
    if random.random() < 0.15:
        options["line_statement_prefix"] = random.choice(["%%", "#", "@"])
        source += f"\n{options['line_statement_prefix']} if q\nyes\n  {options['line_statement_prefix']} endif\n"
    if random.random() < 0.1:
        options["line_comment_prefix"] = "##"
        source += "\nx ## no text\n"
    return source, options


def jinja2_environment(options: dict[str, Any]) -> jinja2.Environment:
    """The environment that Jinja2 makes of options."""
    given = {**options, "undefined": UNDEFINED[options.get("undefined", "default")]}
    given["extensions"] = ["jinja2.ext." + name.removeprefix("jinja2.ext.") for name in options.get("extensions", ())]
    return jinja2.Environment(**given)


def compared(seed: int, seen: Counter[str]) -> None:
    """Hold a random template with random options against Jinja2."""
    random = Random(seed)
    source, options = random_options(random, Templates(random).template())
    try:
        wanted = jinja2_environment(options).from_string(source)
    except Exception as error:
        with pytest.raises(pp.TemplateError, match=type(error).__name__):
            pp.JinjaTemplate(source, **options)
        seen["refused"] += 1
        return
    template = pp.JinjaTemplate(source, **options)
    table = pa.Table.from_pylist(rows(random), schema=SCHEMA)
    got = template.render(table, errors="column").to_pylist()
    for row, ours in zip(table.to_pylist(), got, strict=True):
        try:
            text = wanted.render(row)
        except Exception:
            assert ours["error"] is not None, (seed, source, options, row)
            seen["raised"] += 1
            continue
        if "0x" not in text:
            assert ours["prompt"] == text, (seed, source, options, row, ours["error"])
            seen["same"] += 1
    assert template.last_run is not None
    seen["compiled"] += template.last_run.compiled
    if options.get("autoescape"):
        assert template.last_run.compiled == 0


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_options(start: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(start, start + 50):
        compared(seed, seen)
    assert seen["same"] > 50
    assert seen["compiled"] > seen["same"] / 3


@pytest.mark.full
def test_many_random_options() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1000, 20_000):
        compared(seed, seen)
    print(dict(seen))
    assert seen["compiled"] > seen["same"] / 2


def test_options_of_the_other_environments_are_kept_with_new_ones() -> None:
    samples = pa.table({"q": ["a"]})
    strict = pp.JinjaTemplate("{% if q %}\n{{ q }}\n{% endif %}\n", environment="lm_eval", trim_blocks=True)
    assert strict.render(samples)["prompt"].to_pylist() == ["a\n"]
    with pytest.raises(pp.RenderError, match="'z' is undefined"):
        pp.JinjaTemplate("{{ z }}", environment="lm_eval", trim_blocks=True).render(samples)
    lenient = pp.JinjaTemplate("{{ z }}|", environment="lm_eval", undefined="default")
    assert lenient.render(samples)["prompt"].to_pylist() == ["|"]
    source = "{% for x in [1, 2] %}\n  {% if x == 2 %}{% break %}{% endif %}{% do [] %}{{ x }}{% endfor %}"
    chat = pp.JinjaTemplate(source, environment="transformers", extensions=["do"])
    assert chat.render(samples)["prompt"].to_pylist() == ["1"]


def test_an_option_that_changes_nothing_is_none() -> None:
    plain, same = pp.JinjaTemplate("{{ q }}"), pp.JinjaTemplate("{{ q }}", trim_blocks=False, undefined="default")
    assert plain == same
    assert plain.fingerprint() == same.fingerprint()
    assert repr(plain) == repr(same).replace(repr(same._engine.arguments["now"]), repr(plain._engine.arguments["now"]))
    other = pp.JinjaTemplate("{{ q }}", extensions=["do"], block_start_string="<%")
    assert other not in (plain, pp.JinjaTemplate("{{ q }}", extensions=["do"]))
    assert other.fingerprint() != plain.fingerprint()
    assert pickle.loads(pickle.dumps(other)) == other
    assert hash(pickle.loads(pickle.dumps(other))) == hash(other)
    assert "extensions=('do',)" in repr(other)


def test_the_type_names_each_option() -> None:
    assert set(get_type_hints(JinjaOptions)) == set(_CHECKS)
    assert changed_options("jinja2", {"undefined": "default"}) == {}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("undefined", "strct", "did you mean 'strict'"),
        ("undefined", jinja2.StrictUndefined, "is not one of 'default', 'strict'"),
        ("trim_block", True, "did you mean 'trim_blocks'"),
        ("trim_blocks", 1, "expected True or False"),
        ("extensions", "do", "expected a list of names"),
        ("extensions", ["jinja2.ext.i18n"], "run code of their own"),
        ("newline_sequence", "\n\n", "is not one of"),
        ("variable_start_string", "", "a text that isn't empty"),
        ("block_start_string", "{{", "Jinja2 refuses the delimiters"),
    ],
)
def test_what_no_environment_takes(option: str, value: Any, message: str) -> None:
    with pytest.raises(pp.TemplateError, match=message):
        pp.JinjaTemplate("{{ q }}", **{option: value})


def test_autoescape_is_refused_where_jinja2_may_not_render() -> None:
    with pytest.raises(pp.TemplateError, match="autoescape"):
        pp.JinjaTemplate("{{ q }}", fallback="refuse", autoescape=True)
    (part, *_) = [part for part in pp.JinjaTemplate("{{ q }}", autoescape=True).compiled.to_pylist() if part["reason"]]
    assert "autoescape" in part["reason"]


def test_options_are_added_to_those_of_an_engine() -> None:
    assert changed_options("lm_eval", {"undefined": "strict", "trim_blocks": True}) == {"trim_blocks": True}
    assert engine_options("lm_eval", {"extensions": ("do",)})["extensions"] == ["jinja2.ext.do"]


def test_a_filter_is_wrapped_once() -> None:
    filters = LazyWrappers({"upper": str.upper}, lambda name, function: lambda text: function(text) + name)
    assert filters["upper"]("a") == "Aupper"
    assert filters["upper"] is filters.get("upper")
    assert "lower" not in filters

"""Equality, membership and arguments of compiled templates, beside the engines: random, and corners by name."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

pytest.importorskip("jinja2")

import jinja2
from fuzz import jinja_values

from jinja import engines

pytestmark = UNWARNED

CASES = 50
MANY_CASES = 10_000

TABLE = pa.table(
    {
        "n": pa.array([0, 1, 2, None, 3]),
        "f": [0.0, 2.5, 1.0, None, 3.0],
        "b": [None, True, False, True, None],
        "s": ["a", None, "b", "c", "k"],
        "big": pa.array([0, 2**63, 2**64 - 1, 1, None], pa.uint64()),
        "lists": [[["a"]], [["b", "c"]], [], None, [["k"]]],
        "numbers": [[1, 2], [], [3], [0], [None]],
    }
)


def check(start: int, stop: int) -> tuple[int, Counter[str]]:
    """Compare cases; gives how many rows were compared, and what became of them."""
    rows = 0
    outcomes: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(start, stop):
            case = jinja_values.make(11, number)
            try:
                rows += jinja_values.check(11, number, case)
            except Exception as error:
                error.args = (f"case {number}, {case.environment}: {case.source}", *error.args)
                raise
            outcomes.update(case.outcomes)
    return rows, outcomes


def test_random_values() -> None:
    rows, outcomes = check(0, CASES)
    assert rows > 20 * CASES
    assert outcomes["compiled"] > outcomes["by jinja2"] / 2
    assert outcomes["raised"] > CASES / 4


@pytest.mark.full
def test_many_random_values() -> None:
    rows, _ = check(CASES, MANY_CASES)
    assert rows > 50 * MANY_CASES


def outcome(render: Any) -> Any:
    """Return a text, or what is raised and said."""
    try:
        return render()
    except pp.RenderError as error:
        return str(error).removeprefix("row 0: ")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def same_as_engine(source: str, environment: str = "jinja2", table: pa.Table = TABLE) -> int:
    """Render each row by itself and the table without rows that raise; gives how many rows were compiled."""
    theirs = engines.compiler(environment)(source)
    ours = pp.JinjaTemplate(source, environment=environment)  # type: ignore[arg-type]
    rows = table.to_pylist()
    wanted = [outcome(lambda row=row: theirs.render(**row)) for row in rows]
    single = [
        outcome(lambda row_number=row_number: ours.render(table.slice(row_number, 1))["prompt"][0].as_py())
        for row_number in range(len(rows))
    ]
    assert single == wanted
    fine = [row_number for row_number, row in enumerate(rows) if not is_raised(theirs, row)]
    if not fine:
        return 0
    assert ours.render(table.take(fine))["prompt"].to_pylist() == [wanted[row_number] for row_number in fine]
    assert ours.last_run is not None
    return ours.last_run.compiled


def is_raised(template: Any, row: dict[str, Any]) -> bool:
    try:
        template.render(**row)
    except Exception:
        return True
    return False


@pytest.mark.parametrize(
    "source",
    [
        "{{ n in {1: 'one', 3: 'three'} }}",
        "{{ s in {none: 0, 'b': 1} }}{{ s not in {none: 0} }}",
        "{{ f in {2.5: 'x', 3: 'y'} }}{{ f is in({true: 1}) }}{{ b in {1: 2} }}",
        "{{ {0: 'zero', none: 'nothing', 2.0: 'two'}.get(n, 'more') }}",
        "{{ 'a' in [s, 'z'] }}{{ [s] in [['a'], ('a',)] }}{{ (n, s) == [n, s] }}{{ (n,) == (n, 1) }}",
        "{{ numbers == [1, 2] }}{{ numbers in [[3], (3,)] }}{{ s == ('a'|safe) }}{{ [s] == ['a'|safe] }}",
    ],
)
def test_values_are_found_by_any_key_and_stay_compiled(source: str) -> None:
    assert same_as_engine(source) == len(TABLE)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ('a',) in lists }}{{ (s,) in lists }}{{ ['a'] in lists }}",
        "{{ ('b', 'c') not in lists }}{{ [(s,)] == lists }}",
        "{{ big in [18446744073709551615] }}{{ big in (9223372036854775808, 1) }}{{ big == 18446744073709551615 }}",
        "{{ {'a': 18446744073709551616, 'b': 1}[s] }}{{ [2**64, n]|max }}{{ [10**20, 1][n] }}",
        "{{ n in {1: 2, missing: 3} }}{{ s in [missing, 'b'] }}{{ s == missing }}{{ [s, missing] == ['a', missing] }}",
        "{{ f == ('inf'|float) }}{{ f in {'nan'|float: 1} }}",
        "{{ numbers in {1: 2} }}",
    ],
)
@pytest.mark.parametrize("environment", engines.NAMES)
def test_what_is_not_certain_is_the_engines(source: str, environment: str) -> None:
    same_as_engine(source, environment)


def test_a_template_gives_the_same_at_each_call() -> None:
    template = pp.JinjaTemplate("{{ big in [18446744073709551615] }}")
    texts = [template.render(TABLE)["prompt"].to_pylist() for _ in range(3)]
    assert texts == [["False", "False", "True", "False", "False"]] * 3


@pytest.mark.parametrize(
    "options",
    [
        *(
            "indent=true",
            "indent=false",
            "indent=-3",
            "indent=3",
            "indent='--'",
            "indent=1.5",
            "indent=missing",
            "indent=s",
        ),
        *("sort_keys=missing", "sort_keys=''", "ensure_ascii=0", "ensure_ascii=[s]", "false, n", "true, 2, none, true"),
        *(
            "separators=()",
            "separators=(',', ':', ';')",
            "separators=[', ', '=']",
            "separators='ab'",
            "separators=(s, ':')",
        ),
        *("zz=1", "1, 2, 3, 4, 5", "*[true, 1]", "**{'indent': 1}", "indent=1, **{'indent': 2}", "**[('indent', 1)]"),
    ],
)
def test_options_of_json(options: str) -> None:
    for guard in ("%s", "{%% if s == 'k' %%}%s{%% endif %%}"):
        same_as_engine(guard % f"{{{{ [s, {{'é': n}}]|tojson({options}) }}}}", "transformers")


@pytest.mark.parametrize("environment", engines.NAMES)
@pytest.mark.parametrize(
    "expression",
    [
        "s|default('x', missing)",
        "s|default('x', n)",
        "f|round(1, missing)",
        "f|round(none)",
        "s|replace('a', 'b', missing)",
        "s|join(missing)",
        "s is eq(b=1)",
        "[s]|select('string', zz=1)|list",
        "[n]|select('divisibleby', num=2)|list",
        "s|trim(*missing)",
        "s|replace('a', 'b', count=1, **{'count': 2})",
        "s.rjust(s, 1, 2)",
        "s.upper(**[('d', 1)])",
        "(3|sum(2, start=1, zz=2))",
        "(3|join(zz=2))",
    ],
)
def test_arguments(expression: str, environment: str) -> None:
    same_as_engine(f"{{% if n != 0 %}}{{{{ {expression} }}}}{{% endif %}}", environment)


def test_what_raises_when_a_template_is_compiled() -> None:
    source = "{% if s == 'zz' %}{{ {}.a or s }}{% endif %}"
    with pytest.raises(jinja2.UndefinedError):
        engines.compiler("lm_eval")(source)
    with pytest.raises(pp.TemplateError, match="source: UndefinedError: 'dict object' has no attribute 'a'"):
        pp.JinjaTemplate(source, environment="lm_eval")
    assert same_as_engine(source) == len(TABLE)


def test_a_program_that_is_nested_too_deep_is_left_to_jinja2() -> None:
    source = "{% set x = s|string %}" + "{% set x = x|upper|lower %}" * 200 + "{{ x }}"
    assert same_as_engine(source) == 0


def test_a_text_beyond_the_limit_is_an_error_that_names_it() -> None:
    """The limit is that of Jinja2's bounded run, whichever of the rows are compared with it."""
    source = "{% set x = s * 60000 %}" + "{{ x }}" * 300
    with pytest.raises(pp.RenderError, match=r"^row 0: limit exceeded: a text of 18,000,000 characters"):
        pp.JinjaTemplate(source).render(pa.table({"s": ["a", "b"]}))


def test_a_text_of_a_chat_beyond_the_limit_is_an_error_that_names_it() -> None:
    source = "{% for message in messages %}" + "{{ message.content }}" * 300 + "{% endfor %}"
    chat = pp.ChatTemplate(source)

    def rendered(*contents: str) -> list[str]:
        table = pa.table({"messages": [[{"role": "user", "content": content}] for content in contents]})
        texts: list[str] = chat.render(table)["prompt"].to_pylist()
        return texts

    # Jinja2 renders the first row of a shape; then the first row of a table is compared.
    assert rendered("c") == ["c" * 300]
    with pytest.raises(pp.RenderError, match=r"^row 0, .*limit exceeded: a text of 18,000,000 characters"):
        rendered("a" * 60_000, "b" * 60_000, "c")


@pytest.mark.parametrize("environment", engines.NAMES)
@pytest.mark.parametrize(
    "source",
    [
        "{{ -2 ** n }}{{ (-1.5) ** n }}{{ -2 ** 2 }}{{ (-2) ** 3 ** n }}{{ n ** -2 }}",
        "{% set k = 2 %}{{ -2 ** k }}{{ (1 - 3) ** k }}{{ ('-2'|int) ** k }}{{ (-k) ** 2 }}",
        "{{ '%s' % 1e400 }}{{ '%s' % (1e308 * 10) }}",
        "{{ s ~ (1e308 * 10) }}",
        "{{ n > 1e400 }}{{ s ~ ('inf'|float) }}",
        "{{ s ~ ((10 ** 5000) % 7) }}{{ ('ab' * 3) ~ s }}{{ ([1] * 2) ~ n }}",
    ],
)
def test_constants_are_computed_as_the_engine_computes_them(source: str, environment: str) -> None:
    same_as_engine(source, environment)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ s ~ 10 ** 5000 }}", "ValueError: Exceeds the limit"),
        ("{{ (([1] if 7 else s).x ~ s) }}", "UndefinedError: 'list object' has no attribute 'x'"),
        ("{{ (1 + 1).a or s }}", "UndefinedError: 'int object' has no attribute 'a'"),
    ],
)
def test_constants_that_stop_the_engine_from_compiling(source: str, message: str) -> None:
    with pytest.raises(Exception, match=message.split(": ")[1]) as raised:
        engines.compiler("lm_eval")(source)
    assert type(raised.value).__name__ == message.split(":", maxsplit=1)[0]
    with pytest.raises(pp.TemplateError, match=f"source: {message}"):
        pp.JinjaTemplate(source, environment="lm_eval")

"""JinjaTemplate: its verbs, its errors, and what it is as an object."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress._engine.table_engine import engine_of

jinja2 = pytest.importorskip("jinja2")

pytestmark = UNWARNED

SAMPLES = pa.table({"id": [1, 2, 3], "q": [" a ", "b", None]})
CLOCK = "{{ strftime_now('%Y') }}"


def test_render() -> None:
    template = pp.JinjaTemplate("Q: {{ q }}")
    assert template.render(SAMPLES)["prompt"].to_pylist() == ["Q:  a ", "Q: b", "Q: None"]
    out = template.render(SAMPLES, keep=["id"], index="row")
    assert out.schema == pa.schema([("row", pa.int64()), ("id", pa.int64()), ("prompt", pa.string())])
    assert out.to_pylist()[2] == {"row": 2, "id": 3, "prompt": "Q: None"}
    assert out.schema == template.output_schema(SAMPLES.schema, ["id"], index="row")


@pytest.mark.parametrize("layout", ["string", "large_string", "string_view"])
def test_layouts_and_names(layout: Any) -> None:
    template = pp.JinjaTemplate("{{ q }}", names={"prompt": "text"}, strings=layout)
    out = template.render(SAMPLES)
    assert out.schema == pa.schema([("text", getattr(pa, layout)())])
    assert out["text"].to_pylist() == [" a ", "b", "None"]
    assert template.render(SAMPLES.slice(0, 0)).schema == out.schema


@pytest.mark.parametrize(
    "make",
    [
        lambda table: table.to_batches()[0],
        lambda table: table.to_reader(),
        lambda table: table.to_pylist(),
        lambda table: table.to_pydict(),
        lambda table: pa.Table.from_batches(table.to_batches(max_chunksize=2)),
    ],
)
def test_any_table(make: Callable[[pa.Table], Any]) -> None:
    template = pp.JinjaTemplate("{{ q }}")
    assert template.render(make(SAMPLES))["prompt"].to_pylist() == [" a ", "b", "None"]


def test_stream_counts_rows_over_all_batches() -> None:
    template = pp.JinjaTemplate("{{ 1 // id }}")
    batches = pa.table({"id": [1, 2, 3, 0]}).to_batches(max_chunksize=2)
    reader = template.stream(batches, keep=["id"], index="row")
    assert reader.schema.names == ["row", "id", "prompt"]
    assert reader.read_next_batch().to_pylist() == [
        {"row": 0, "id": 1, "prompt": "1"},
        {"row": 1, "id": 2, "prompt": "0"},
    ]
    with pytest.raises(pp.RenderError, match="row 3: ZeroDivisionError: ") as error:
        reader.read_next_batch()
    assert error.value.row == 3


def test_call_keeps_all_columns() -> None:
    template = pp.JinjaTemplate("{{ q }}")
    (batch,) = SAMPLES.to_batches()
    out = template(batch)
    assert isinstance(out, pa.RecordBatch)
    assert out.schema.names == ["id", "q", "prompt"]
    assert isinstance(template(SAMPLES), pa.Table)
    assert template(SAMPLES).equals(pa.Table.from_batches([out]))


def test_required_columns() -> None:
    source = (
        "{% for i in items %}{{ loop.index }}{{ i.a }}{{ b }}{% endfor %}{{ range(3) }}{% set c = d %}{{ c }}{{ b }}"
    )
    assert pp.JinjaTemplate(source).required_columns == ["items", "b", "d"]
    assert pp.JinjaTemplate("{{ raise_exception(m) }}", "transformers").required_columns == ["m"]


def test_a_column_shadows_what_the_environment_has() -> None:
    template = pp.JinjaTemplate("{{ range }}")
    assert template.required_columns == []
    assert template.render(pa.table({"q": ["q"], "range": ["r"]}))["prompt"].to_pylist() == ["r"]


def test_a_template_without_columns() -> None:
    template = pp.JinjaTemplate("{{ 1 + 1 }}")
    assert template.render(SAMPLES)["prompt"].to_pylist() == ["2"] * 3
    assert template.render(SAMPLES.select([]))["prompt"].to_pylist() == ["2"] * 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("{% if %}",), None, "source: line 1: TemplateSyntaxError: Expected an expression"),
        (("a\n{{ x|nothing }}",), None, "source: line 2: TemplateAssertionError: No filter named 'nothing'"),
        (("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",), None, "source: RecursionError"),
        ((3,), "wrong_type", "source: expected a str, found a int"),
        (("x", "django"), "unknown_name", "environment: 'django' is not one of 'jinja2', 'transformers', 'lm_eval'"),
        (("x", "jinja2", "guess"), "unknown_name", "fallback: 'guess' is not one of"),
        (("x", "jinja2", "jinja2", {"text": "t"}), "unknown_name", "names: 'text' is not one of"),
        (("x", "jinja2", "jinja2", None, "utf8"), "unknown_name", "strings: 'utf8' is not one of"),
        (("x", "jinja2", "jinja2", None, "string", "today"), "wrong_type", "now: expected a datetime"),
    ],
)
def test_refused_arguments(arguments: Sequence[Any], code: str | None, message: str) -> None:
    with pytest.raises(pp.TemplateError) as error:
        pp.JinjaTemplate(*arguments)
    assert str(error.value).startswith(message)
    assert code is None or error.value.code == code


@pytest.mark.parametrize(
    ("source", "environment", "message"),
    [
        ("{{ q + 1 }}", "jinja2", 'row 0: TypeError: can only concatenate str (not "int") to str'),
        ("{{ id.a.b }}", "jinja2", "row 0: UndefinedError: 'int object' has no attribute 'a'"),
        ("{{ nothing }}", "lm_eval", "row 0: UndefinedError: 'nothing' is undefined"),
        ("{% if id == 2 %}{{ raise_exception('no ' ~ q) }}{% endif %}", "transformers", "row 1: TemplateError: no b"),
        ("{{ q.strip() }}", "jinja2", "row 2: UndefinedError: 'None' has no attribute 'strip'"),
        ("{{ q.__class__ }}", "jinja2", "row 0: SecurityError: access to attribute '__class__' of 'str' object"),
        ("{{ '%c' % 0xD800 }}", "jinja2", "row 0: its text isn't Unicode"),
        ("{% for i in range(10 ** 9) %}{% endfor %}", "jinja2", "row 0: limit exceeded: a range of more than"),
    ],
)
def test_rows_that_raise(source: str, environment: Any, message: str) -> None:
    with pytest.raises(pp.RenderError) as error:
        pp.JinjaTemplate(source, environment).render(SAMPLES)
    assert str(error.value).startswith(message)
    assert error.value.row == int(message[4])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.render(SAMPLES, keep=["nothing"]), "keep: the table has no column 'nothing'"),
        (lambda t: t.render(SAMPLES, index="prompt"), "index: an output column is called 'prompt' too"),
        (lambda t: t(pa.table({"prompt": ["x"]})), "column 'prompt' is kept and has the name of an output column"),
        (lambda t: t.render(pa.table([pa.array([1])] * 2, ["q", "q"])), 'column "q": the table has two columns'),
    ],
)
def test_refused_tables(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(pp.RenderError) as error:
        call(pp.JinjaTemplate("{{ q }}"))
    assert str(error.value).startswith(message)


def test_a_column_named_self_is_what_the_engine_makes_of_it() -> None:
    table = pa.table({"self": ["x"], "q": ["y"]})
    with pytest.raises(pp.RenderError, match=r"row 0: TypeError: .*multiple values"):
        pp.JinjaTemplate("{{ q }}").render(table)


def test_it_can_not_be_changed() -> None:
    template = pp.JinjaTemplate("x")
    with pytest.raises(AttributeError, match="a JinjaTemplate can't be changed: 'source' is set when it is made"):
        template.source = "y"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="can't be deleted"):
        del template._engine


def test_equality_and_pickles() -> None:
    template = pp.JinjaTemplate("{{ q }}", names={"prompt": "t"})
    assert template == pp.JinjaTemplate("{{ q }}", names={"prompt": "t"})
    assert hash(template) == hash(pp.JinjaTemplate("{{ q }}", names={"prompt": "t"}))
    others = [pp.JinjaTemplate("{{ q }}"), pp.JinjaTemplate("{{ q }}", "lm_eval", names={"prompt": "t"})]
    assert template not in others
    assert template != "{{ q }}"
    for again in (pickle.loads(pickle.dumps(template)), copy.copy(template), copy.deepcopy(template)):
        assert again == template
        assert again.render(SAMPLES).equals(template.render(SAMPLES))
    assert repr(template) == "JinjaTemplate('{{ q }}', names={'prompt': 't'})"


def test_the_clock_stands_still() -> None:
    template = pp.JinjaTemplate(CLOCK, "transformers", now=datetime(1999, 12, 31))
    assert template.render(SAMPLES)["prompt"].to_pylist() == ["1999"] * 3
    assert pickle.loads(pickle.dumps(template)) == template
    assert template != pp.JinjaTemplate(CLOCK, "transformers", now=datetime(2000, 1, 1))
    assert pp.JinjaTemplate("x", now=datetime(1999, 1, 1)) == pp.JinjaTemplate("x", now=datetime(2000, 1, 1))
    made = pp.JinjaTemplate("{{ strftime_now('%S%f') }}", "transformers")
    assert made.render(SAMPLES).equals(pickle.loads(pickle.dumps(made)).render(SAMPLES))


def test_last_run_counts_rows() -> None:
    template = pp.JinjaTemplate("{{ q }}")
    assert template.last_run is None
    template.render(SAMPLES)
    run = template.last_run
    assert run is not None
    assert run.rows == run.compiled + run.jinja2 == 3
    assert sum(run.reasons.values()) == run.jinja2
    for _ in template.stream(SAMPLES.to_batches(max_chunksize=1)):
        pass
    assert template.last_run is not None
    assert template.last_run.rows == 3


def test_rows_that_fell_back_are_noted_once() -> None:
    template = pp.JinjaTemplate("{{ q }}")
    engine_of(template).runner.noted = False
    engine_of(template).runner.programs_for = lambda _: ([None], None)
    with pytest.warns(pp.PromptWarning, match="3 of 3 rows were rendered by Jinja2 itself") as caught:
        template.render(SAMPLES)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        template.render(SAMPLES)
    assert template.last_run is not None
    assert template.last_run.jinja2 == 3


def test_refused_rows() -> None:
    template = pp.JinjaTemplate("{{ q }}", fallback="refuse")
    engine_of(template).runner.programs_for = lambda _: ([None], None)
    with pytest.raises(pp.RenderError, match=r'row 0: it can.t be compiled: .*; fallback="jinja2" has') as error:
        template.render(SAMPLES)
    assert error.value.row == 0


def test_a_program_that_differs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptpress._jinja import run

    def wrong(_programs: Any, _which: Any, table: pa.Table, *_: Any) -> Any:
        return [pa.array(["wrong"] * len(table))], []

    monkeypatch.setattr(run, "render_rows", wrong)
    template = pp.JinjaTemplate("{{ q }}")
    engine_of(template).runner.programs_for = lambda _: ([object()], None)
    with pytest.raises(pp.RenderError, match="row 0: the compiled template gives 'wrong', and Jinja2 ' a '"):
        template.render(SAMPLES)
    template = pp.JinjaTemplate("{{ q.strip() }}")
    engine_of(template).runner.programs_for = lambda _: ([object()], None)
    with pytest.raises(pp.RenderError, match="gives 'wrong', and Jinja2 raises UndefinedError"):
        template.render(SAMPLES.slice(2))


def test_which_rows_are_checked() -> None:
    from promptpress._jinja.run import CHECKED_FIRST, CHECKED_ONE_IN

    runner = engine_of(pp.JinjaTemplate("{{ q }}")).runner
    first, second = object(), object()
    which = pa.array([0, 1, 0, 1, 0, 1, 0, 0], pa.uint32())
    assert runner._rows_to_check([first, second, None], which, 8, {1}) == [0, 2, 3, 5]
    assert runner._rows_to_check([first, second, None], which, 8, {1}) == []
    rows = runner._rows_to_check([first], None, 2 * CHECKED_ONE_IN, set())
    assert rows == [CHECKED_ONE_IN - 16, 2 * CHECKED_ONE_IN - 16]
    assert CHECKED_FIRST == 2


def test_compiled_lists_nodes() -> None:
    nodes = pp.JinjaTemplate("{{ a.strip() }}\n{{ b }}").compiled
    assert nodes.schema.names == ["line", "node", "compiled", "reason"]
    assert {row["line"] for row in nodes.to_pylist()} >= {1, 2}


VALUES: list[pa.Array] = [
    pa.array([1, None, -3], pa.int8()),
    pa.array([2**63, None], pa.uint64()),
    pa.array([1.5, float("nan"), -0.0, 1e22], pa.float32()),
    pa.array([1.5, 65504], pa.float16()),
    pa.array([True, None]),
    pa.array([None, None], pa.null()),
    pa.array(["ä\x1c", "", None], pa.large_string()),
    pa.array(["ä", "a long text that isn't kept inline"], pa.string_view()),
    pa.array(["a", "b", "a", None]).dictionary_encode(),
    pa.array([b"\xff", None], pa.binary()),
    pa.array([b"abc"], pa.binary(3)),
    pa.array([date(2020, 1, 2), None]),
    pa.array([time(1, 2, 3, 4)]),
    pa.array([datetime(2020, 1, 2, 3, 4, 5, 6), None], pa.timestamp("us")),
    pa.array([datetime(2020, 1, 2)], pa.timestamp("s", "Europe/Berlin")),
    pa.array([timedelta(days=1, seconds=2)]),
    pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
    pa.array([[1, None], [], None], pa.list_(pa.int64())),
    pa.array([["a"], None], pa.large_list(pa.string())),
    pa.array([[1, 2]], pa.list_(pa.int64(), 2)),
    pa.array([["a"], None, []], pa.list_view(pa.string())),
    pa.array([{"a": 1, "b": [{"c": None}]}, None]),
    pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    pa.array([1, 1, 2]).dictionary_encode(),
    pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"])),
    pa.array(["00000000-0000-0000-0000-000000000001"] * 0, pa.string()),
]
LOOKS = [
    "{{ v }}",
    "{{ [v, v] }}|{{ v is none }}|{{ v is string }}|{{ v is mapping }}|{{ 1 if v else 2 }}",
    "{{ v == w }}|{{ v|string|length }}|{% if v is iterable %}{% for x in v %}{{ x }};{% endfor %}{% endif %}",
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.type))
@pytest.mark.parametrize("source", LOOKS)
def test_values_are_those_of_to_pylist(values: pa.Array, source: str) -> None:
    table = pa.table(
        {"v": pa.chunked_array([values, values.slice(1)]), "w": pa.nulls(2 * len(values) - min(len(values), 1))}
    )
    expected = [jinja2.Environment().from_string(source).render(**row) for row in table.to_pylist()]
    assert pp.JinjaTemplate(source).render(table)["prompt"].to_pylist() == expected


def test_jinja2_is_imported_by_templates_alone() -> None:
    code = "import sys\nfrom promptpress import *\nRenderer('{q}').render({'q': ['1']})\nprint('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

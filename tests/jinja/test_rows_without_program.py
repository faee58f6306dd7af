"""Rows that no program is made for, and why; and rows whose values Python doesn't have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress._engine.table_engine import engine_of
from promptpress._jinja.chat import shape_programs
from promptpress._jinja.compiler import compilation

pytestmark = UNWARNED

LOOP = "{% for x in xs %}{{ loop.index }}. {{ x }}\n{% endfor %}"


def lists(lengths: list[int]) -> pa.Table:
    return pa.table({"xs": pa.array([[f"a{n}" for n in range(length)] for length in lengths], pa.list_(pa.string()))})


def run_of(template: Any) -> Any:
    assert template.last_run is not None
    return template.last_run


def texts(lengths: list[int]) -> list[str]:
    return ["".join(f"{n + 1}. a{n}\n" for n in range(length)) for length in lengths]


def test_rare_lengths_are_left_to_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of hundreds of lengths with few rows each has a bounded number of programs."""
    monkeypatch.setattr(compilation, "CHEAP_EXPRESSIONS", 0)
    lengths = [*range(60), *([70] * compilation.WORTHWHILE_ROWS), *range(60)]
    template = pp.JinjaTemplate(LOOP)
    assert template.render(lists(lengths))["prompt"].to_pylist() == texts(lengths)
    run = run_of(template)
    # The first ones have two rows each, and the frequent one is met behind them.
    assert run.compiled == 2 * compilation.CHEAP_PROGRAMS + compilation.WORTHWHILE_ROWS
    assert run.reasons == {"few rows have had lists of its lengths so far": len(lengths) - run.compiled}


def test_lengths_become_frequent_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "CHEAP_EXPRESSIONS", 0)
    monkeypatch.setattr(compilation, "CHEAP_PROGRAMS", 1)
    template = pp.JinjaTemplate(LOOP)
    compiled = []
    for _ in range(4):
        lengths = [1, *[2] * 6, 3]
        assert template.render(lists(lengths))["prompt"].to_pylist() == texts(lengths)
        compiled.append(run_of(template).compiled)
    assert compiled == [1, 1, 7, 7]


def test_few_and_short_lengths_have_programs_at_once() -> None:
    lengths = list(range(40))
    template = pp.JinjaTemplate(LOOP)
    template.render(lists(lengths))
    assert (run_of(template).compiled, run_of(template).reasons) == (40, {})


def test_refuse_makes_a_program_for_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row isn't refused because its length is rare."""
    monkeypatch.setattr(compilation, "CHEAP_EXPRESSIONS", 0)
    lengths = list(range(60))
    template = pp.JinjaTemplate(LOOP, fallback="refuse")
    assert template.render(lists(lengths))["prompt"].to_pylist() == texts(lengths)
    lengths = list(range(compilation.MAX_PROGRAMS + 1))
    with pytest.raises(pp.RenderError, match=r"row 256: .*programs are made for 256 combinations") as caught:
        pp.JinjaTemplate("{{ xs|length }}{% for x in xs %}{% endfor %}", fallback="refuse").render(lists(lengths))
    assert caught.value.code == "not_compiled"


def test_counted_lengths_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, bound in (("CHEAP_EXPRESSIONS", 0), ("CHEAP_PROGRAMS", 1), ("MAX_COUNTED", 5)):
        monkeypatch.setattr(compilation, name, bound)
    template = pp.JinjaTemplate(LOOP)
    template.render(lists(list(range(40))))
    (programs,) = engine_of(template).runner._programs.values()
    assert len(programs._rows) <= 5


def test_the_reason_past_the_last_program_is_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "MAX_PROGRAMS", 3)
    template = pp.JinjaTemplate(LOOP)
    lengths = [1, 2, 3, 4, 5, 1]
    assert template.render(lists(lengths))["prompt"].to_pylist() == texts(lengths)
    ((reason, rows),) = run_of(template).reasons.items()
    assert "combinations of lengths of lists" in reason
    assert rows == 2


def test_the_reason_of_too_many_lists_is_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "MAX_KEYS", 0)
    template = pp.JinjaTemplate(LOOP)
    template.render(lists([1, 2]))
    assert run_of(template).reasons == {"the template asks for more than 64 lengths of lists": 2}


def test_the_reason_past_the_last_shape_is_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_programs, "MAX_PROGRAMS", 1)
    chat = pp.ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}")
    talks = [[{"role": "user", "content": "a"}] * (1 + n % 3) for n in range(60)]
    chat.render(pa.table({"messages": talks}))
    chat.render(pa.table({"messages": talks}))
    assert any("its own is a further one" in reason for reason in run_of(chat).reasons)
    assert not any("often" in reason for reason in run_of(chat).reasons)


# ---------------------------------------------------------------------------------------------------------------------
# Values that Python doesn't have.

LOOKS = ["{{ c is none }}", "{{ 1 if c else 2 }}", "{{ c }}", "{% if 0 %}{{ c }}{% endif %}"]
LACKING = [
    (pa.timestamp("ns"), 1000, 1),
    (pa.duration("ns"), 1000, 1),
    (pa.time64("ns"), 1000, 1),
    (pa.timestamp("ns", "UTC"), 1000, 1),
    (pa.timestamp("s"), 1000, 2**60),
    (pa.date32(), 1000, 2**30),
    (pa.duration("s"), 1000, 2**60),
    (pa.list_(pa.timestamp("ns")), [1000], [1]),
    (pa.struct([("a", pa.duration("ns"))]), {"a": 1000}, {"a": 1}),
]


@pytest.mark.parametrize(
    "source", ["{{ c is none }}", "{{ 1 if c else 2 }}", "{{ c }}", "{% if 0 %}{{ c }}{% endif %}"]
)
@pytest.mark.parametrize("row", [0, 1, 5])
@pytest.mark.parametrize(("kind", "value", "lacking"), LACKING, ids=lambda value: str(value) if value in KINDS else "")
def test_a_value_that_python_lacks_is_an_error_checked_or_not(
    kind: pa.DataType, value: Any, lacking: Any, row: int, source: str
) -> None:
    """The first two rows of a program are checked and the sixth isn't: the same error."""
    values = [value] * 6
    template = pp.JinjaTemplate(source)
    template.render(pa.table({"c": pa.array(values, kind)}))
    values[row] = lacking
    broken = pa.table({"c": pa.array(values, kind)})
    for jinja_template in (template, pp.JinjaTemplate(source)):
        with pytest.raises(pp.RenderError, match=f'row {row}, column "c": ') as caught:
            jinja_template.render(broken)
        assert (caught.value.code, caught.value.row, caught.value.column) == ("unconvertible_value", row, "c")


KINDS = [kind for kind, _, _ in LACKING]


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.duration("ns"), pa.timestamp("s"), pa.date32()])
@pytest.mark.parametrize("source", ["{{ c is none }}", "{{ c }}"])
def test_values_that_python_has_are_still_compiled(kind: pa.DataType, source: str) -> None:
    template = pp.JinjaTemplate(source)
    template.render(pa.table({"c": pa.array([1000, 2000, None], kind)}))
    assert (run_of(template).compiled, run_of(template).jinja2) == (3, 0)


@pytest.mark.parametrize("depth", [100, 600, 890, 5000])
@pytest.mark.parametrize("source", ["{{ q }}", "{{ q is iterable }}", "{{ q[0] if q is iterable }}"])
def test_deep_json_is_a_value_or_an_error_of_its_row(tmp_path: Path, source: str, depth: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"q": 1}\n{"q": ' + "[" * depth + "]" * depth + "}\n")
    first, second = pp.JinjaTemplate(source).render(str(path), errors="column", spans="detailed").to_pylist()
    assert first["prompt"] == {"{{ q }}": "1", "{{ q is iterable }}": "False"}.get(source, "")
    if depth > 1000:
        assert second["error"].startswith('unconvertible_value: column "q": RecursionError')
    else:
        wanted = {"{{ q }}": "[" * depth + "]" * depth, "{{ q is iterable }}": "True"}
        assert second["prompt"] == wanted.get(source, "[" * (depth - 1) + "]" * (depth - 1))

"""Nested columns whose arrays begin past their buffers' start: each verb reads the rows that the table shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from fuzz import fresh, kinds, layouts, stages
from marks import UNWARNED

pytestmark = UNWARNED

ANSWER = pa.struct([("text", pa.string()), ("score", pa.int64())])
NESTED: dict[str, tuple[pa.DataType, Callable[[int], Any], str]] = {
    "a struct in a struct": (
        pa.struct([("answer", ANSWER)]),
        lambda n: {"answer": {"text": f"t{n}", "score": n}},
        "{{ x.answer.text }}",
    ),
    "a list of a fixed size of structs": (
        pa.list_(ANSWER, 2),
        lambda n: [{"text": f"t{n}", "score": n}, {"text": "-", "score": 0}],
        "{{ x[0].text }}",
    ),
    "a struct in a list of structs": (
        pa.list_(pa.struct([("answer", ANSWER)])),
        lambda n: [{"answer": {"text": f"t{n}", "score": n}}],
        "{% for one in x %}{{ one.answer.text }}{% endfor %}",
    ),
    "a struct in a struct in a map": (
        pa.map_(pa.string(), pa.struct([("answer", ANSWER)])),
        lambda n: [("k", {"answer": {"text": f"t{n}", "score": n}})],
        "{{ x[0][1].answer.text }}",
    ),
}


def column(kind: str, rows: int) -> pa.Array:
    data_type, value, _ = NESTED[kind]
    return pa.array([value(n) for n in range(rows)], data_type)


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("start", [1, 3, 8])
def test_a_slice_has_the_texts_of_its_rows(kind: str, start: int) -> None:
    table = pa.table({"x": column(kind, 9)}).slice(start)
    template, wanted = pp.JinjaTemplate(NESTED[kind][2]), [f"t{n}" for n in range(start, 9)]
    assert template.render(table)["prompt"].to_pylist() == wanted
    assert template(table)["prompt"].to_pylist() == wanted
    assert template.stream(table.to_batches(max_chunksize=2)).read_all()["prompt"].to_pylist() == wanted
    renderer = pp.Renderer("{x}", reader={"input_columns": ["x"], "output_column": None})
    assert renderer.render(table)["prompt"].to_pylist() == [str(value) for value in table["x"].to_pylist()]


@pytest.mark.parametrize("kind", NESTED)
def test_tasks_of_lm_eval_read_slices(kind: str) -> None:
    task = {"task": "t", "test_split": "test", "doc_to_text": NESTED[kind][2], "doc_to_target": "-"}
    task |= {"output_type": "generate_until", "generation_kwargs": {"until": ["\n"]}}
    whole = pp.lm_eval.requests(task, pa.table({"x": column(kind, 9)}).slice(4))
    copied = pp.lm_eval.requests(task, pa.table({"x": fresh.fresh_array(column(kind, 9)[4:])}))
    assert whole.num_rows == 5
    assert whole.equals(copied)


def test_children_may_begin_in_the_middle_too() -> None:
    scores = pa.array(range(20)).slice(3)
    inner = pa.StructArray.from_arrays([scores], ["score"]).slice(2)
    outer = pa.StructArray.from_arrays([inner], ["inner"]).slice(1)
    union = pa.UnionArray.from_sparse(pa.array([0] * len(inner), pa.int8()), [inner], ["inner"]).slice(1)
    wanted = [str(n) for n in range(6, 20)]
    assert pp.JinjaTemplate("{{ x.inner.score }}").render(pa.table({"x": outer}))["prompt"].to_pylist() == wanted
    texts = pp.JinjaTemplate("{{ x.score }}").render(pa.table({"x": union}))["prompt"].to_pylist()
    assert texts == wanted


def test_requests_after_a_chat_template_may_be_views() -> None:
    chat = pp.ChatTemplate("{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}")
    turns = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    for strings in ("string", "large_string", "string_view"):
        renderer = pp.Renderer(turns, chat_template=chat, strings=strings)  # type: ignore[arg-type]
        assert renderer.render(pa.table({"q": ["hi"]}))["prompt"].to_pylist() == ["user: hi\n;"]


def test_columns_of_a_type_that_a_user_defines_have_programs() -> None:
    from fuzz.arrays import Labelled

    for storage in (pa.string(), pa.int64()):
        values = pa.ExtensionArray.from_storage(Labelled(storage), pa.array([7]).cast(storage))
        assert pp.JinjaTemplate("{{ x }}").render(pa.table({"x": values}))["prompt"].to_pylist() == ["<7>"]


def test_what_stands_below_a_null_list_is_no_finding() -> None:
    texts = pa.array(["{q}", "plain", "{q}"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), texts, mask=pa.array([True, False, False]))
    renderer = pp.Renderer("{x}|{q}", reader={"input_columns": ["x", "q"], "output_column": None})
    findings = renderer.audit(pa.table({"q": ["1", "2", "3"], "x": lists})).to_pylist()
    assert [finding["first_rows"] for finding in findings if finding["code"] == "placeholder_in_value"] == [[2]]


def test_maps_of_unions_are_refused_as_labels() -> None:
    union = pa.UnionArray.from_sparse(
        pa.array([0, 1], pa.int8()), [pa.array([1, 2], pa.duration("ns")), pa.array([3, 4])]
    )
    kind = pa.map_(pa.string(), union.type)
    entry, all_valid = pa.struct([kind.key_field, kind.item_field]), pa.py_buffer(b"\x03")
    entries = pa.Array.from_buffers(entry, 2, [all_valid], children=[pa.array(["k", "k"]), union])
    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    maps = pa.Array.from_buffers(kind, 2, [None, offsets], children=[entries])
    renderer = pp.Renderer("{q}", mode="ppl", reader={"input_columns": ["q"], "output_column": "x"})
    with pytest.raises(pp.RenderError, match="would be the labels"):
        renderer.render(pa.table({"q": ["1"], "x": maps.slice(1)}))


def cases(kind: str, numbers: range) -> int:
    """Run cases of a kind of fuzzing; a difference is raised."""
    module, count = kinds.module(kind), 0
    for number in numbers:
        try:
            count += module.run(0, number)
        except stages.Unbuildable:
            continue
    return count


def test_layouts_make_no_difference() -> None:
    assert cases("layouts", range(part_of(400))) > part_of(350)


@pytest.mark.full
def test_layouts_make_no_difference_in_many_tables() -> None:
    assert cases("layouts", range(400, 6_000)) > 5_000


@pytest.mark.parametrize("seed", range(4))
def test_fresh_copies_have_the_same_values(seed: int) -> None:
    """The reference of the comparison is itself right."""
    for number in range(60):
        case = layouts.make(seed, number)
        case.whole.validate(full=True)
        assert case.whole.schema == case.table.schema
        assert layouts.layout_verbs.plain(case.whole) == layouts.layout_verbs.plain(case.table)


def test_a_lost_offset_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = pp.JinjaTemplate.render

    def careless(self: Any, table: pa.Table, *arguments: Any, **more: Any) -> pa.Table:
        """Render the first row for each where a column is a slice of structs."""
        x = table.column("x")
        sliced = any(pa.types.is_struct(chunk.type) and chunk.offset for chunk in x.chunks)
        return right(self, table.take([0] * len(table)) if sliced else table, *arguments, **more)

    monkeypatch.setattr(pp.JinjaTemplate, "render", careless)
    table = pa.table({"q": ["a"] * 9, "x": column("a struct in a struct", 9)}).slice(1)
    case = layouts.Case(table, layouts.copied(table, whole=False), layouts.copied(table, whole=True), "jinja")
    errors = 0
    for number in range(40):
        try:
            layouts.check(0, number, case)
        except layouts.DifferenceError:
            errors += 1
    assert errors > 5

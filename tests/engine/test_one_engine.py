"""Abilities of all three renderers: hashes, errors in a column, index, kept columns, streams, batches, pickles.

Random tables are rendered whole, cut into batches, and row by row. A row that can't be rendered alone is the only one
with an error, whatever stands around it; the others have the prompts that they have without it.
"""

from __future__ import annotations

import pickle
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress._errors.errors import row_error_text

pytestmark = pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")

Rows = Callable[[random.Random], pa.Table]


def _texts(draw: random.Random) -> pa.Table:
    """Rows of which some have no integer where the templates need one."""
    rows = draw.choice([0, 1, 2, 7, 40])
    return pa.table(
        {
            "n": pa.array([draw.choice(["1", "22", "x", "", None]) for _ in range(rows)], pa.string()),
            "id": pa.array(range(rows), pa.int32()),
        }
    )


def _chats(draw: random.Random) -> pa.Table:
    """Rows of which some hold no conversation, or one that the template raises for."""
    rows = draw.choice([0, 1, 2, 7, 40])
    values = [
        '[{"role": "user", "content": "Hi."}]',
        '[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello!"}]',
        '[{"role": "tool", "content": "no"}]',
        "no JSON",
        "7",
        None,
    ]
    return pa.table(
        {"messages": pa.array([draw.choice(values) for _ in range(rows)], pa.string()), "id": pa.array(range(rows))}
    )


_CHAT = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}"
)
_CASES: dict[str, tuple[Any, Rows]] = {
    "text": (lambda **names: pp.Renderer("N: {n}", **names), _texts),
    "turns": (
        lambda **names: pp.Renderer(
            {"type": "MultiTurnPromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "{question}"}]}},
            inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
            dialect="aisbench",
            **names,
        ),
        lambda draw: pa.table(
            {
                name: pa.array([draw.choice([["a"], ["a", "b"], [], None]) for _ in range(6)], pa.list_(pa.string()))
                for name in ("question", "answer")
            }
        ).append_column("id", pa.array(range(6))),
    ),
    "compiled": (lambda **names: pp.JinjaTemplate("{{ n + '!' }}", **names), _texts),
    "raising": (lambda **names: pp.JinjaTemplate("{{ 1 // (n | int - 1) }}", **names), _texts),
    "jinja2": (lambda **names: pp.JinjaTemplate("{{ n.zfill(3) | striptags }}{{ n | pprint }}", **names), _texts),
    "refuse": (
        lambda **names: pp.JinjaTemplate(
            "{% if n == 'x' %}{{ n | pprint }}{% else %}{{ n }}{% endif %}", fallback="refuse", **names
        ),
        _texts,
    ),
    "chat": (lambda **names: pp.ChatTemplate(_CHAT, **names), _chats),
    "chat, refuse": (lambda **names: pp.ChatTemplate(_CHAT, fallback="refuse", **names), _chats),
}


@pytest.fixture(params=[pytest.param(case, id=name) for name, case in _CASES.items()])
def case(request: pytest.FixtureRequest) -> tuple[Any, Rows]:
    made: tuple[Any, Rows] = request.param
    return made


def _alone(renderer: Any, table: pa.Table) -> list[tuple[list[Any], str | None]]:
    """Return the prompts of each row that is rendered alone, or its error."""
    out: list[tuple[list[Any], str | None]] = []
    for row in range(len(table)):
        try:
            out.append((renderer.render(table.slice(row, 1))["prompt"].to_pylist(), None))
        except pp.RenderError as error:
            out.append(([None], row_error_text(error)))
    return out


def _cut(table: pa.Table, draw: random.Random) -> Iterator[pa.RecordBatch]:
    start = 0
    while start < len(table):
        size = draw.choice([1, 2, 5, 64])
        yield from table.slice(start, size).combine_chunks().to_batches()
        start += size


@pytest.mark.parametrize("seed", range(12))
def test_a_row_that_fails_alone_has_the_only_error(case: tuple[Any, Rows], seed: int) -> None:
    make, rows = case
    draw = random.Random(seed)
    renderer, table = make(), rows(draw)
    expected = _alone(make(), table)
    out = renderer.render(table, ["id"], index="row", hashes=True, errors="column")
    assert out.column_names[:2] == ["row", "id"]
    assert out.column_names[-2:] == ["hash", "error"]
    outcomes: list[tuple[list[Any], str | None]] = [([], None) for _ in range(len(table))]
    for line in out.to_pylist():
        assert line["row"] == line["id"]
        before, _ = outcomes[line["row"]]
        outcomes[line["row"]] = ([*before, line["prompt"]], line["error"])
    assert outcomes == expected
    streamed = renderer.stream(
        pa.RecordBatchReader.from_batches(table.schema, _cut(table, draw)),
        ["id"],
        index="row",
        hashes=True,
        errors="column",
    ).read_all()
    assert streamed.to_pylist() == out.to_pylist()
    assert out.schema.equals(renderer.output_schema(table.schema, ["id"], index="row", hashes=True, errors="column"))


@pytest.mark.parametrize("seed", range(6))
def test_hashes_are_those_of_the_prompts(case: tuple[Any, Rows], seed: int) -> None:
    make, rows = case
    renderer, table = make(), rows(random.Random(seed))
    good = [row for row, (_, error) in enumerate(_alone(renderer, table)) if error is None]
    table = table.take(pa.array(good, pa.int64()))
    out = renderer.render(table, hashes=True)
    other = make(strings="large_string").render(table, hashes=True)
    assert out["hash"].to_pylist() == other["hash"].to_pylist()
    assert (out["hash"].null_count, out["hash"].type) == (0, pa.binary(16))
    keys = out["prompt"].to_pylist()
    by_prompt = dict(zip(map(repr, keys), out["hash"].to_pylist(), strict=True))
    assert len(set(by_prompt.values())) == len(by_prompt)
    metadata = out.schema.metadata
    assert metadata[b"promptpress.fingerprint"].decode() == renderer.fingerprint()
    assert len(metadata[b"promptpress.hash"]) == 64


def test_output_columns_have_the_names_that_are_given(case: tuple[Any, Rows]) -> None:
    make, rows = case
    names = {"prompt": "text", "hash": "key", "error": "fault"}
    out = make(names=names).render(rows(random.Random(1)).slice(0, 0), hashes=True, errors="column")
    assert [name for name in out.column_names if name in names.values()] == list(names.values())


def test_a_pickle_renders_the_same(case: tuple[Any, Rows]) -> None:
    make, rows = case
    renderer, table = make(), rows(random.Random(3))
    again = pickle.loads(pickle.dumps(renderer))
    assert again == renderer
    assert hash(again) == hash(renderer)
    assert repr(again) == repr(renderer)
    assert again.render(table, errors="column").equals(renderer.render(table, errors="column"))


def test_what_is_wrong_with_the_table_is_raised() -> None:
    with pytest.raises(pp.RenderError, match="no such column"):
        pp.ChatTemplate(_CHAT).render({"id": [1]}, errors="column")


@pytest.mark.parametrize(
    "renderer",
    [pp.Renderer("{n}"), pp.JinjaTemplate("{{ n }}"), pp.ChatTemplate("{{ messages | tojson }}", column="n")],
)
def test_rows_that_cant_be_read_have_separate_errors(renderer: Any) -> None:
    good = b'[{"role": "user"}]'
    values = [b"\xff", good, good, b"\xfe", b"\xfd", good]
    offsets = struct.pack("<7i", *(sum(map(len, values[:end])) for end in range(7)))
    column = pa.Array.from_buffers(pa.string(), 6, [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])
    batches = pa.table({"n": column}).slice(1).to_batches(max_chunksize=2)
    with pytest.raises(pp.RenderError, match=r'row 2, column "n"'):
        renderer.stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches)).read_all()
    out = renderer.render({"n": column}, errors="column")
    assert out["prompt"].to_pylist() == [None if value != good else good.decode() for value in values]
    assert [None if error is None else error.partition(":")[0] for error in out["error"].to_pylist()] == [
        None if value == good else "invalid_utf8" for value in values
    ]


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_errors_in_any_layout(strings: Any) -> None:
    template = pp.JinjaTemplate("{{ 1 // n }}", strings=strings)
    out = template.render({"n": [1, 0, 2]}, errors="column")
    assert out["prompt"].to_pylist() == ["1", None, "0"]
    assert out["error"].to_pylist() == [
        None,
        "template_raised: ZeroDivisionError: integer division or modulo by zero",
        None,
    ]
    out.validate(full=True)


@pytest.mark.parametrize("renderer", [pp.JinjaTemplate("{{ q }}!"), pp.ChatTemplate("{{ messages[0].content }}")])
def test_stats_and_diff_take_any_renderer(renderer: Any) -> None:
    table = pa.table({"q": ["a", "b"], "messages": ['[{"role": "user", "content": "x"}]'] * 2})
    assert pp.stats(renderer, table).requests == 2
    assert not pp.diff(renderer, renderer.render(table), table)

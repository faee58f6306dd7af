"""Columns of conversations as the core reads them: shapes and slots, put together again, are the conversation."""

from __future__ import annotations

import json
import math
from typing import Any

import promptpress._core as _core
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpress import RenderError

NO_SHAPE = 2**32 - 1
MESSAGES = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello!"}]


KINDS = {"?": str, "i": int, "f": float, "{": dict, "[": list}
"""The type of a slot's value, by its mark in a skeleton."""


def read(column: pa.Array) -> list[Any]:
    """Put each row together from its skeleton and slots; None for one without a shape."""
    rows, *opened = (rows_of_shapes(column, opening) for opening in (0, 1, 2))
    assert all(all(map(same, rows, others)) for others in opened)
    return rows


def rows_of_shapes(column: pa.Array, opening: int) -> list[Any]:
    shapes = _core.ConversationShapes(1000, 1 << 20)
    shapes.read(column, 0, len(column), 0, opening)  # a shape is kept when it is met for the second time
    ids, slots, counts = shapes.read(column, 0, len(column), 0, opening)
    assert ids.type == pa.uint32()
    kept = [number for number in ids.to_pylist() if number != NO_SHAPE]
    assert counts == sorted((number, kept.count(number)) for number in set(kept))
    slots.validate(full=True)
    return [
        None if number == NO_SHAPE else filled(json.loads(shapes.skeleton(number)), iter(texts))
        for number, texts in zip(ids.to_pylist(), slots.to_pylist(), strict=True)
    ]


def filled(skeleton: Any, slots: Any) -> Any:
    if isinstance(skeleton, str) and skeleton.startswith("="):
        return skeleton[1:]
    if isinstance(skeleton, str):
        slot = next(slots)
        value = slot if skeleton == "?" else json.loads(slot)
        assert type(value) is KINDS[skeleton]
        return value
    if isinstance(skeleton, list):
        return [filled(item, slots) for item in skeleton]
    if isinstance(skeleton, dict):
        return {key: filled(value, slots) for key, value in skeleton.items()}
    return skeleton


def same(first: Any, second: Any) -> bool:
    """Equal in value, in type, in the order of keys, and NaN is NaN."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(map(same, first.values(), second.values()))
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float):
        both_nan = math.isnan(first) and math.isnan(second)
        return both_nan or (first, math.copysign(1, first)) == (second, math.copysign(1, second))
    return bool(first == second)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ROLES = st.sampled_from(["user", "assistant", "system", 'o"dd\\\n', "", "?", "=x"])
PLAIN = st.lists(st.lists(st.fixed_dictionaries({"role": ROLES, "content": TEXTS}), max_size=4), max_size=6)
KEYS = st.sampled_from(
    ["role", "content", "value", "thinking", "tool_calls", "function", "arguments", "text", "a\u2028"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("lists", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
@pytest.mark.parametrize("names", [("role", "content"), ("content", "role"), ("from", "value")])
@settings(max_examples=15)
@given(chats=PLAIN)
def test_plain_conversations_of_any_layout(
    layout: pa.DataType, lists: Any, names: tuple[str, str], chats: list[Any]
) -> None:
    rename = {"role": "from", "content": "value"} if names[0] == "from" else {}
    chats = [[{rename.get(key, key): text for key, text in message.items()} for message in chat] for chat in chats]
    expected = [[{name: message[name] for name in names} for message in chat] for chat in chats]
    assert read(pa.array(chats, lists(pa.struct([(name, layout) for name in names])))) == expected


@given(chats=st.lists(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=4), max_size=4))
def test_json_is_read_as_python_reads_it(chats: list[Any]) -> None:
    texts = [json.dumps(chat, ensure_ascii=number % 2 == 0) for number, chat in enumerate(chats)]
    assert all(map(same, read(pa.array(texts, pa.string())), map(json.loads, texts)))
    held = [json.dumps({"id": [1], "messages": chat, "x": {"y": "z"}}, indent=1) for chat in chats]
    assert all(map(same, read(pa.array(held, pa.large_string())), map(json.loads, texts)))


@given(chats=st.lists(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=3), max_size=3))
def test_structs_of_any_fields(chats: list[Any]) -> None:
    try:
        column = pa.array(chats)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return  # Arrow has no type for them together
    if not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        return
    assert all(map(same, read(column), column.to_pylist()))


def test_types_of_all_widths_and_nulls_at_every_depth() -> None:
    message = pa.struct(
        [
            ("role", pa.dictionary(pa.int8(), pa.string())),
            ("content", pa.list_(pa.struct([("type", pa.string()), ("text", pa.large_string())]))),
            ("small", pa.int8()),
            ("large", pa.uint64()),
            ("half", pa.float32()),
            ("flag", pa.bool_()),
            ("fixed", pa.list_(pa.int16(), 2)),
            ("nothing", pa.null()),
        ]
    )
    part = {"type": "text", "text": "a"}
    first = {"role": "user", "content": [part, None, {"type": None, "text": None}], "small": -1, "large": 2**64 - 1}
    second = {"half": 0.1, "flag": True, "fixed": [1, None]}
    column = pa.array([[first, None], None, [], [second]], pa.list_(message))
    assert all(map(same, read(column), column.to_pylist()))
    assert all(map(same, read(column.slice(2)), column.to_pylist()[2:]))


def test_a_value_without_a_form_here_leaves_its_row_to_python() -> None:
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("at", pa.timestamp("s"))])
    column = pa.array([[{"role": "u", "content": "a", "at": 5}], [{"role": "u", "content": "b"}]], pa.list_(message))
    assert read(column) == [None, [{"role": "u", "content": "b", "at": None}]]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "{}", "[]]", '[{"a":1,"a":2}]', '[{"a" 1}]', "[01]", "[1.]", "[.5]", "[+1]", "[1e]", "[-]", "[tru]"),
        *(
            '["\\ud83d"]',
            '["\\udc00\\ud800"]',
            '["\\ud83d\\u0041"]',
            '["\\u12"]',
            '["\\x"]',
            '["\t"]',
            '["a',
            "\ufeff[]",
        ),
        *('{"messages":{}}', '{"messages":[],"tools":[]}', '{"messages":[],"conversations":[]}', "7", '"x"', "null"),
        *("[" * 200 + "]" * 200, "[" + "1" * 5000 + "]", '[{"\\u0061":1,"a":2}]', "[1,]", '[{"a":1,}]', "[1 2]"),
    ],
)
def test_what_is_no_json_or_close_to_a_limit_is_left_to_python(text: str) -> None:
    assert read(pa.array([text, None, "[]", '[{"\\u0061":1}]'], pa.string())) == [None, None, [], [{"a": 1}]]


def test_a_shape_is_kept_when_it_is_met_again_and_there_is_room() -> None:
    shapes = _core.ConversationShapes(1, 1 << 20)
    column = pa.array([MESSAGES, MESSAGES[:1], MESSAGES, MESSAGES[:1], MESSAGES[:1]])
    ids, _, counts = shapes.read(column, 0, 5, 0, 0)
    assert (ids.to_pylist(), counts, len(shapes)) == ([NO_SHAPE, NO_SHAPE, 0, NO_SHAPE, NO_SHAPE], [(0, 1)], 1)
    ids, holes, _ = shapes.read(pa.array([json.dumps(MESSAGES)]), 0, 1, 0, 0)
    assert (ids.to_pylist(), holes.to_pylist()) == ([0], [["Hi.", "Hello!"]])
    with pytest.raises(IndexError):
        shapes.skeleton(1)


def test_contents_stay_where_they_are() -> None:
    contents = pa.array(["a" * 100, "b" * 100] * 50)
    messages = pa.StructArray.from_arrays([pa.array(["user"] * 100), contents], ["role", "content"])
    column = pa.ListArray.from_arrays(pa.array(range(0, 101, 2), pa.int32()), messages)
    _, holes, _ = _core.ConversationShapes(9, 999).read(column, 10, 5, 0, 0)
    assert holes.to_pylist() == [["a" * 100, "b" * 100]] * 5
    assert holes.values.buffers()[2].address == contents.buffers()[2].address


def test_faults_name_their_row() -> None:
    shapes = _core.ConversationShapes(9, 999)
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]
    )
    with pytest.raises(RenderError, match="row 101") as caught:
        shapes.read(broken, 0, 2, 100, 0)
    assert caught.value.code == "invalid_utf8"
    roles = pa.StructArray.from_arrays([broken, pa.array(["x", "y"])], ["role", "content"])
    column = pa.ListArray.from_arrays(pa.array([0, 0, 1, 2], pa.int32()), roles)
    with pytest.raises(RenderError, match="row 2"):
        shapes.read(column, 0, 3, 0, 0)
    with pytest.raises(RenderError, match="expected conversations"):
        shapes.read(pa.array([1]), 0, 1, 0, 0)
    with pytest.raises(RenderError):
        shapes.read(pa.array(["[]"]), 0, 2, 0, 0)


def test_texts_of_calls_are_opened_in_any_order_of_keys() -> None:
    call = {"name": "f", "arguments": {"a": "ü"}}
    text, arguments = json.dumps(call), json.dumps({"b": 1.5})
    nested = {"name": "g", "arguments": arguments}
    rows: list[list[dict[str, Any]]] = [
        [{"from": "function_call", "value": text}, {"from": "human", "value": text}],
        [{"value": f" [{text}]\n", "from": "FUNCTION_CALL"}, {"role": "user", "from": "function_call", "value": text}],
        [{"role": "assistant", "tool_calls": [{"function": nested}, nested]}],
        [
            {"role": "function_call", "content": "No"},
            {"role": None, "from": "function_call", "value": json.dumps(nested)},
        ],
        [{"from": "function_call", "value": "{No"}],
        [{"role": "user", "content": arguments, "arguments": arguments}],
    ]
    decoded = {"name": "g", "arguments": {"b": 1.5}}
    opened = [
        [{"from": "function_call", "value": call}, rows[0][1]],
        [{"value": [call], "from": "FUNCTION_CALL"}, rows[1][1]],
        [{"role": "assistant", "tool_calls": [{"function": decoded}, decoded]}],
        [rows[3][0], {"role": None, "from": "function_call", "value": decoded}],
        None,  # what is wrong with it is Python's to say
        rows[5],
    ]
    texts = pa.array([json.dumps(row, ensure_ascii=False) for row in rows])
    structs = [pa.array([row]) for row in rows]
    for column, wanted in ((texts, opened), *zip(structs, [[row] for row in opened], strict=True)):
        for opening in (0, 2):
            shapes = _core.ConversationShapes(1000, 1 << 20, ["function_call"], True)
            shapes.read(column, 0, len(column), 0, opening)
            ids, slots, _ = shapes.read(column, 0, len(column), 0, opening)
            made = [
                None if number == NO_SHAPE else filled(json.loads(shapes.skeleton(number)), iter(of_row))
                for number, of_row in zip(ids.to_pylist(), slots.to_pylist(), strict=True)
            ]
            # In Arrow all messages of a column have the same fields.
            assert without_nulls(made) == without_nulls(wanted)


def without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}

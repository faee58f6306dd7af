"""Conversations that are Python objects, one at a time: programs give what Jinja2 gives, or are given up."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import promptpress._core as _core
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("jinja2")

from promptpress._jinja.chat import conversation_texts
from promptpress._jinja.chat.conversation_texts import MAX_MESSAGES, ConversationTexts, frozen, shape_of, skeleton
from promptpress._jinja.chat.conversations import normalised
from promptpress._jinja.reference import Reference

SOURCES = {
    "chat": "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}",
    "json": "{{ messages | tojson }}{{ tools | tojson }}",
    "parts": (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}"
        "{{ p.text or p.type or p }}{% endfor %}{% endif %}{% for c in m.tool_calls or [] %}{{ c.function.name }}"
        "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    ),
    "strict": "{% for m in messages %}{% if m.content == 'no' %}{{ raise_exception('no!') }}{% endif %}{% endfor %}",
    "syntax": "{% if %}",
}
TEXTS = st.sampled_from(["", " a\n", "é\x1c", "no", "?", "=", '"\\', "\0", "\ud800"]) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2) | st.tuples(inner),
    max_leaves=4,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])},
    optional={
        "content": TEXTS | st.lists(st.fixed_dictionaries({"type": TEXTS}, optional={"text": TEXTS}), max_size=2),
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {"function": st.fixed_dictionaries({"name": TEXTS, "arguments": VALUES})}, optional={"id": TEXTS}
            ),
            max_size=2,
        ),
        "reasoning": TEXTS,
        "name": VALUES,
    },
)


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_texts, "WORTHWHILE_CONVERSATIONS", 1)


class Original:
    """Renders conversations by Jinja2, and counts them."""

    def __init__(self, source: str, arguments: dict[str, Any]) -> None:
        self.source = source
        self.arguments = arguments
        self.count = 0

    def __call__(self, conversation: Any) -> str:
        self.count += 1
        names = {"messages": normalised(conversation), "tools": None, **self.arguments}
        return Reference(self.source, "transformers").render(names)


def outcome(function: Any) -> str:
    try:
        return f"= {function()!r}"
    except Exception as error:
        return f"! {type(error).__name__}: {error}"


@settings(max_examples=part_of(40), deadline=None)
@given(chats=st.lists(st.lists(MESSAGES, min_size=1, max_size=3), min_size=1, max_size=4))
@pytest.mark.parametrize("source", SOURCES)
def test_texts_and_errors(source: str, chats: list[Any]) -> None:
    arguments = {"bos_token": "^", "tools": [{"name": "f", "n": 1.5}]}
    original, texts = Original(SOURCES[source], arguments), ConversationTexts()
    call = texts.call(SOURCES[source], arguments)
    assert call is not None
    for chat in chats * 3:
        wanted = outcome(lambda chat=chat: original(chat))
        before = json.dumps(chat)
        got = outcome(lambda chat=chat: texts.text(call, chat, original))
        assert got in {wanted, "= None"}
        assert json.dumps(chat) == before


@pytest.mark.parametrize(
    "source",
    [
        "{{ tools | tojson(indent=2) }}{% for t in tools %}{{ t | tojson }}{% endfor %}",
        "{% for t in tools %}{{ t.function.name }}{{ t.function.parameters }}{% endfor %}",
        "{% for t in tools %}{% for k in t.function.parameters %}{{ k }}{% endfor %}{% endfor %}{{ documents }}",
    ],
)
def test_calls_with_other_tools_share_programs(source: str) -> None:
    texts, count = ConversationTexts(), 0
    for number in range(20):
        function = {"name": f"f{number}", "parameters": {"a": number, "b": [None, {"é": 1e22}]}}
        arguments = {"tools": [{"type": "function", "function": function}], "documents": [{"text": str(number)}]}
        original, chat = Original(source, arguments), [{"role": "user", "content": " Hi. "}]
        call = texts.call(source, arguments)
        assert call is not None
        text = texts.text(call, chat, original)
        assert text in (None, Original(source, arguments)(chat))
        count += original.count if text is not None else 1
    assert count <= 4


def test_programs_take_over() -> None:
    original, texts = Original(SOURCES["chat"], {}), ConversationTexts()
    call = texts.call(original.source, {})
    assert call is not None
    chats = [[{"role": "user", "content": f" {number} "}] for number in range(20)]
    assert [texts.text(call, chat, original) for chat in chats] == [f"<user>{number}" for number in range(20)]
    assert original.count == 1


def test_rows_are_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_texts, "CHECKED_ONE_IN", 5)
    original, texts = Original(SOURCES["chat"], {}), ConversationTexts()
    call = texts.call(original.source, {})
    assert call is not None
    for _ in range(21):
        texts.text(call, [{"role": "user", "content": "x"}], original)
    assert original.count == 5


@settings(max_examples=part_of(200), deadline=None)
@given(chat=st.lists(MESSAGES, min_size=1, max_size=3))
def test_a_shape_has_all_but_the_slots(chat: list[Any]) -> None:
    for is_open in (False, True):
        read = shape_of(chat, is_open=is_open)
        if read is not None:
            check_shape(*read, chat)


def check_shape(shape: Any, texts: list[str], chat: list[Any]) -> None:
    slots = iter(texts)

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            if value.startswith("="):
                return value[1:]
            return next(slots) if value == "?" else json.loads(next(slots))
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {name: filled(item) for name, item in value.items()} if isinstance(value, dict) else value

    assert repr(filled(json.loads(json.dumps(skeleton(shape))))) == repr(chat)
    assert next(slots, None) is None


def test_what_is_not_read() -> None:
    good = {"role": "user", "content": "x"}
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    for more in (
        *({"n": None}, {1: "x"}, {"n": (1,)}, {"n": 2**63}, {"n": float("inf")}, {"n": b"x"}, {"n": {1: 2}}),
        *({"n": {"a": object()}}, {"n": deep}),
    ):
        assert shape_of([good, {**good, **more}]) is None
    assert shape_of([]) is None
    assert shape_of([{"content": "x"}]) is None
    assert shape_of(["x"]) is None
    assert shape_of([good] * MAX_MESSAGES) is not None
    assert shape_of([good] * (MAX_MESSAGES + 1)) is None
    assert shape_of([{**good, "n": [None, True, -(2**63), 1.5, "x", {"a": {}}]}]) is not None


def test_equal_values_of_other_types_are_different() -> None:
    values = [0, False, 0.0, -0.0, None, "", "0", [], {}, [0], [False], {"a": 0}, {"a": False}, ["list"], [["list"]]]
    values += [{"a": 1, "b": 2}, {"b": 2, "a": 1}, ["dict", "a"], "int", ["int", 0], [None], ["NoneType", None]]
    assert len({frozen(value) for value in values}) == len(values)


def test_one_row_of_a_program() -> None:
    nodes: list[Any] = [("column", 0), ("const", 0), ("item", 0, 1), ("const", 1), ("item", 0, 3)]
    program = _core.JinjaProgram(["slots"], nodes, [("emit", 2), ("lit", "|é|"), ("emit", 4)], [])
    assert program.row(["a\0", "😀"]) == ("a\0|é|😀", [])
    assert program.row(["", ""]) == ("|é|", [])
    assert program.row(["a"]) is None
    assert program.row([]) is None
    assert program.row(["\ud800", ""]) is None
    with pytest.raises(TypeError):
        program.row(["a", 1])  # type: ignore[list-item]
    assert _core.JinjaProgram([], [], [("lit", "x")], []).row(["a"]) == ("x", [])
    assert _core.JinjaProgram(["slots"], [], [("bail", 0)], ["why"]).row([]) is None


@pytest.mark.parametrize(
    ("source", "is_covered"),
    [
        ("{{ strftime_now('%d %b') }}{{ messages[0].content }}", True),
        ("{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% endif %}", True),
        ("{% macro f() %}{{ strftime_now('%H') }}{{ strftime_now('%M') }}{% endmacro %}{{ f() }}", True),
        ("{# strftime_now #}x", False),
        ("{{ strftime_now(format) }}", False),
        ("{{ strftime_now('%d' ~ '%b') }}", False),
        ("{{ strftime_now(*['%d']) }}", False),
        ("{{ strftime_now(format='%d') }}", False),
        ("{% set now = strftime_now %}{{ now('%d') }}", False),
        ("{% set strftime_now = 1 %}{{ strftime_now }}", False),
        ("{% if strftime_now %}", False),
    ],
)
def test_the_clock(source: str, is_covered: bool) -> None:
    texts, chat = ConversationTexts(), [{"role": "user", "content": "x"}]
    assert texts.call(source, {}) is None
    for time in [datetime(2026, 3, 5, 14, 7)] * 3 + [datetime(2026, 3, 6, 15, 8)] * 3:
        call = texts.call(source, {}, lambda time=time: time)
        assert (call is not None) == is_covered
        if call is None:
            continue

        def original(conversation: Any, time: datetime = time) -> str:
            return Reference(source, "transformers", time).render({"messages": conversation})

        assert texts.text(call, chat, original) == original(chat)


def test_only_the_original_takes_tools_that_are_functions() -> None:
    assert ConversationTexts().call("", {"tools": [{"name": "f"}]}) is not None
    assert ConversationTexts().call("", {"tools": [print]}) is None

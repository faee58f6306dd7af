"""Changes to a conversation before a template sees it, and to the text after it."""

from __future__ import annotations

import datetime
import enum
import pickle
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from promptpress import ChatTemplate, JinjaTemplate, Renderer, RenderError, stats
from promptpress._arrow import as_table
from promptpress._jinja.chat.chat_renderer import misspelt
from promptpress._jinja.chat.conversations import (
    TAG,
    conversation_of,
    conversations_as_texts,
    cut,
    is_message,
    json_texts,
    normalised,
    plain,
    tagged,
    with_shared_texts,
)
from promptpress._jinja.chat.roles import as_openai
from promptpress._jinja.reference import Reference

SEEN = "{% for m in messages %}{% for k in m %}{{ k }}={{ m[k] }};{% endfor %}|{% endfor %}"


def texts(template: ChatTemplate, chats: Any, **how: Any) -> list[str]:
    """Return texts of conversations, rendered twice: Jinja2 renders the first of each shape, a program the second."""
    column = pa.array([*chats, *chats], **how)
    rendered = template.render(pa.table({"messages": column}))["prompt"].to_pylist()
    assert rendered[: len(chats)] == rendered[len(chats) :]
    return rendered[: len(chats)]


def test_null_keys_are_no_keys_of_a_message() -> None:
    chat = [{"role": "user", "content": "a", "name": None, "n": {"x": None}}]
    assert texts(ChatTemplate(SEEN), [chat]) == ["role=user;content=a;n={'x': None};|"]


def test_reasoning_stands_under_all_of_its_names() -> None:
    for name in ("reasoning_content", "thinking", "reasoning"):
        (message,) = normalised([{"role": "assistant", name: "hm"}])
        assert (message["thinking"], message["reasoning_content"]) == ("hm", "hm")
        assert list(message) == list(dict.fromkeys(["thinking", "role", name, "reasoning_content"]))
    both = normalised([{"reasoning": "old", "thinking": "t", "role": "a"}])
    assert both == [{"thinking": "t", "reasoning": "old", "role": "a", "reasoning_content": "t"}]
    assert normalised([{"role": "a", "reasoning": None}]) == [{"role": "a"}]


@pytest.mark.parametrize(
    ("speaker", "role"),
    [("human", "user"), ("gpt", "assistant"), ("system", "system"), ("observation", "tool"), ("narrator", "narrator")],
)
def test_sharegpt_is_openai_by_other_names(speaker: str, role: str) -> None:
    assert texts(ChatTemplate(SEEN), [[{"from": speaker, "value": "a"}]]) == [f"role={role};content=a;|"]
    assert texts(ChatTemplate(SEEN), [[{"value": "a", "weight": 1, "from": speaker}]]) == [
        f"content=a;weight=1;role={role};|"
    ]


def test_a_message_with_a_role_is_no_sharegpt() -> None:
    message = {"role": "user", "content": "a", "from": "human", "value": "b"}
    assert normalised([message]) == [message]


class Word(str, enum.Enum):
    FIRST = "one"


@dataclass
class Point:
    x: int
    day: datetime.date


def test_a_template_sees_nothing_but_plain_values() -> None:
    class Model:
        def model_dump(self) -> dict[str, Any]:
            return {"d": Decimal(1)}

    given = {"w": Word.FIRST, "p": Point(1, datetime.date(2026, 3, 5)), "m": Model(), "t": (True, None), "s": {1}}
    expected = {"w": "one", "p": {"x": 1, "day": "<date>"}, "m": {"d": "<Decimal>"}, "t": (True, None), "s": "<set>"}
    value = plain(given)
    assert value == expected
    assert type(value["w"]) is str


def test_numpy_values_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert plain([numpy.int64(3), numpy.float32(0.5), numpy.bool_(False)]) == [3, 0.5, False]


@dataclass
class Message:
    role: str
    content: Any
    name: str | None = None


class Model:
    """As a pydantic model, as far as anybody looks at one."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class Talk:
    def __init__(self, *messages: Any) -> None:
        self.messages = list(messages)


CALL = Model(role="assistant", tool_calls=[Model(id=None, function=Message("f", {"x": (1, 2)}))], content=None)


@pytest.mark.parametrize(
    ("chat", "seen"),
    [
        (
            [Message("user", "a"), {"role": "assistant", "content": "b"}],
            "role=user;content=a;|role=assistant;content=b;|",
        ),
        ([Model(role="user", content="é\0", name=None)], "role=user;content=é\0;|"),
        (Talk(Message("user", "a", "n")), "role=user;content=a;name=n;|"),
        ({"messages": [Message("user", "a")], "id": 7}, "role=user;content=a;|"),
        (
            [CALL],
            "role=assistant;tool_calls=[{'id': None, 'function': {'role': 'f', 'content': {'x': (1, 2)}, "
            "'name': None}}];|",
        ),
        (
            [{"role": "user", "content": [Model(type="image", image=object()), "b"]}],
            "role=user;content=[{'type': 'image', 'image': '<object>'}, 'b'];|",
        ),
        (
            [{"role": "user", "content": {1: ({2}, None), "b": {None: b"", "promptpress:tuple": [3]}}}],
            "role=user;content={1: ('<set>', None), 'b': {None: '<bytes>', 'promptpress:tuple': [3]}};|",
        ),
        (
            [{"role": "user", "content": Decimal(1), "n": float("inf"), "o": object()}],
            "role=user;content=<Decimal>;n=inf;o=<object>;|",
        ),
        (
            [{"role": "user", "content": "a"}, {"role": "user", "content": [{"text": "b"}]}],
            "role=user;content=a;|role=user;content=[{'text': 'b'}];|",
        ),
    ],
    ids=[
        "dataclass",
        "model",
        "object with messages",
        "dict with messages",
        "nested",
        "parts",
        "keys",
        "values",
        "two kinds",
    ],
)
def test_messages_that_are_objects(chat: Any, seen: str) -> None:
    template = ChatTemplate(SEEN)
    rows = [{"messages": chat, "id": number} for number in range(3)]
    assert template.render(rows)["prompt"].to_pylist() == [seen] * 3
    assert template.render({"messages": [chat, None, '[{"role": "u"}]'][::2]})["prompt"].to_pylist() == [
        seen,
        "role=u;|",
    ]
    kept = template.render(rows, keep="all", order="prefix")
    assert template.render(kept.select(["messages"]))["prompt"].to_pylist() == [seen] * 3
    assert template.stream(iter(rows)).read_all()["prompt"].to_pylist() == [seen] * 3
    assert template(rows)["prompt"].to_pylist() == [seen] * 3
    assert template.audit(rows).num_rows >= 0
    assert stats(template, rows).requests == 3
    assert len(template.preview(rows, 1)) == 1


@pytest.mark.parametrize(
    "chats",
    [
        [{"content": [{"type": "image"}, {"type": "text", "text": "b"}]}],
        [{"tool_calls": [{"function": {"arguments": arguments}}]} for arguments in ({}, {"x": 1}, {"y": 1.5})],
        [{"n": 1}, {"n": 1.5}],
        [{"n": [1, 2]}, {"n": [0.5]}],
        [{"n": True}, {"n": 1}, {"n": {"a": None}}],
        [{"content": "a"}, {"name": "b", "n": 2**60}],
    ],
    ids=["parts", "arguments", "numbers", "lists of numbers", "several types", "keys of messages"],
)
@pytest.mark.parametrize("form", ["rows", "columns", "objects", "stream"])
def test_values_of_python_stay_as_they_are(chats: list[Any], form: str) -> None:
    """Arrow has one type for all values under one key, and a null for a key that only other dicts have."""
    template = ChatTemplate(SEEN)
    talks = [[{"role": "user", **message}] for message in chats] * 2
    rows: Any = [{"messages": {"messages": talk} if form == "objects" else talk} for talk in talks]
    if form == "columns":
        rows = {"messages": talks}
    made = template.stream(iter(rows)).read_all() if form == "stream" else template.render(rows)
    wanted = ["".join(f"{key}={value};" for key, value in talk[0].items()) + "|" for talk in talks]
    assert made["prompt"].to_pylist() == wanted


def test_later_batches_of_a_stream_are_written_as_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_table, "_STREAM_ROWS", 2)
    contents: list[Any] = [[{"type": "image"}, {"type": "text", "text": "b"}], "c", "d", "e"]
    chats = [[{"role": "user", "content": content}] for content in contents]
    made = ChatTemplate(SEEN).stream({"messages": chat} for chat in chats).read_all()
    assert made["prompt"].to_pylist() == [f"role=user;content={content};|" for content in contents]


def test_a_column_stays_arrow_s_if_that_holds_it() -> None:
    rows = [{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}], "n": 1}]}]
    kept = ChatTemplate(SEEN).render(rows, keep=["messages"])
    assert kept["messages"].to_pylist() == [rows[0]["messages"]]


@pytest.mark.parametrize(
    "chat",
    [[object()], ["text", object()], object(), [Message]],
    ids=["object", "text", "no list", "class"],
)
def test_what_is_no_message_has_no_type(chat: Any) -> None:
    with pytest.raises(RenderError) as caught:
        ChatTemplate(SEEN).render([{"messages": chat}])
    assert (caught.value.code, caught.value.row, caught.value.column) == ("unconvertible_value", 0, "messages")


def test_objects_of_another_column_or_renderer_are_no_messages() -> None:
    rows = [{"talk": [Message("user", "a")]}]
    assert ChatTemplate(SEEN, column="talk").render(rows)["prompt"].to_pylist() == ["role=user;content=a;|"]
    for renderer in (ChatTemplate(SEEN), Renderer("{talk}"), JinjaTemplate("{{ talk }}")):
        with pytest.raises(RenderError, match="did not recognize Python value type"):
            renderer.render(rows)


def test_a_message_that_is_no_dict_is_named() -> None:
    with pytest.raises(RenderError, match=r"TypeError: Chat messages should be dicts, .*, but got 'text'"):
        ChatTemplate(SEEN).render(pa.table({"messages": ['["text"]']}))


def continued(messages: list[Any], field: str = "content", source: str = "content thinking reasoning") -> Any:
    final = tagged(messages, field, source, lambda text, tag: text + tag, lambda a, b: bool(a == b))
    return final, messages[-1]


def test_the_tag_is_put_after_the_last_text() -> None:
    assert continued([{"content": "a"}]) == ("a", {"content": "a" + TAG})
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
    final, message = continued([{"content": parts}])
    assert (final, message["content"][1]["text"]) == ("b", "b" + TAG)
    reasoning = normalised([{"role": "assistant", "reasoning": "r", "thinking": "r", "content": "c"}])
    _, message = continued(reasoning, "thinking")
    assert {name for name, text in message.items() if text == "r" + TAG} == {
        "reasoning",
        "thinking",
        "reasoning_content",
    }


@pytest.mark.parametrize(
    ("messages", "field", "message"),
    [
        ([{"role": "a"}], "content", 'no "content" to continue'),
        ([{"content": "a"}], "prefix", 'no "prefix" to continue'),
        ([{"content": [{"type": "image"}]}], "content", "could not find any text"),
        ([{"prefix": "a"}], "prefix", "not an accepted field"),
    ],
)
def test_what_can_t_be_continued(messages: list[Any], field: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        continued(messages, field)


def test_a_text_is_cut_at_the_last_tag() -> None:
    assert cut(f"<a> b {TAG}</a>", " b ") == "<a> b "
    assert cut(f"<a> b {TAG.strip()}</a>", " b ") == "<a> b"
    assert cut(f"{TAG} b {TAG}c", "b") == f"{TAG} b "
    for text in ("<a> b </a>", TAG):
        with pytest.raises(ValueError, match="does not appear in the chat"):
            cut(text, "b")


CHATML = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\n{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        CHATML,
        CHATML.replace("m.content }}", "m.content | trim }}"),
        CHATML.replace("m.content }}", "m.content.rstrip() }}"),
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% else %}"
        "[{{ m.content.strip() }}]{% endif %}{% endfor %}",
        "{{ messages | map(attribute='content') | join('/') }}.",
        "{{ messages[-1].content[:-20] }}",
        "{{ messages[0].content }}",
    ],
)
def test_programs_cut_as_jinja2_does(source: str) -> None:
    random.seed(source)
    pool = ["", " ", "a", " b \n", "a b", TAG, "CONTINUE", "</>", "é\x1c"]
    chats = [[{"role": role, "content": random.choice(pool)} for role in ("user", "assistant")] for _ in range(60)]
    template = ChatTemplate(source, continue_final_message=True)
    alone = [outcome(ChatTemplate(source, continue_final_message=True), [chat]) for chat in chats]
    good = [(chat, text) for chat, text in zip(chats, alone, strict=True) if isinstance(text, list)]
    rendered = template.render(pa.table({"messages": pa.array([chat for chat, _ in good], pa.array(chats).type)}))
    assert rendered["prompt"].to_pylist() == [text[0] for _, text in good]
    for chat, text in zip(chats, alone, strict=True):
        if not isinstance(text, list):
            again = outcome(template, [*(chat for chat, _ in good[:2]), chat])
            assert isinstance(again, str)
            assert again.split(": ", 1)[1] == text.split(": ", 1)[1]


def outcome(template: ChatTemplate, chats: list[Any]) -> Any:
    try:
        return template.render(pa.table({"messages": chats}))["prompt"].to_pylist()
    except RenderError as error:
        return str(error)


def test_a_clock_that_nobody_reads_is_no_difference() -> None:
    assert ChatTemplate("a") == ChatTemplate("a", now=datetime.datetime(2020, 1, 1))
    clock = ChatTemplate("{{ strftime_now('%Y') }}", now=datetime.datetime(2020, 1, 1))
    assert texts(clock, [[{"role": "user", "content": ""}]]) == ["2020"]
    assert pickle.loads(pickle.dumps(clock)) == clock != ChatTemplate("{{ strftime_now('%Y') }}")


def test_parts_of_conversations() -> None:
    assert (is_message({"role": "user"}), is_message("user")) == (True, False)
    assert as_openai({"from": "gpt", "value": "Yes?"}) == {"role": "assistant", "content": "Yes?"}
    table = pa.table({"c": pa.array([["x"]])})
    assert conversations_as_texts(table, "c").schema.field("c").type == pa.list_(pa.string())
    written = json_texts([[{"role": "user", "content": ("Hi.", {1: {2}})}]])
    assert written is not None
    assert conversation_of(written[0]) == [{"role": "user", "content": ("Hi.", {1: "<set>"})}]
    first, second = with_shared_texts(["a b", "".join(["a", " b"])])
    assert first is second


def test_a_misspelt_variable_is_named() -> None:
    template = Reference("{{ bos_token if enable_thinking }}", "transformers")
    message = "enable_thinkng: the template doesn't read it; did you mean 'enable_thinking'?"
    assert misspelt(template, ["enable_thinkng", "eos_token", "style"]) == message
    assert misspelt(template, ["enable_thinking", "style"]) == ""

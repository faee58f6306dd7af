"""ChatTemplate beside transformers' `apply_chat_template`: conversations of all forms, texts and errors alike."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

base = pytest.importorskip("transformers.tokenization_utils_base")
utils = pytest.importorskip("transformers.utils.chat_template_utils")
pytest.importorskip("jinja2")

from promptpress import ChatTemplate, RenderError  # noqa: E402 - skipped without Jinja2

NOW = datetime.datetime(2026, 3, 5, 14, 7, 9)
CHATML = (
    "{{ bos_token }}{% for m in messages %}\n<{{ m.role }}>{{ m.content }}</>\n  {%- endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SOURCES = {
    "chatml": CHATML,
    "trim": CHATML.replace("m.content }}", "m.content | trim }}"),
    "alternating": CHATML.replace(
        "\n<{{ m.role",
        "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles!') }}{% endif %}<{{ m.role",
    ),
    "keys": "{% for m in messages %}{% for k, v in m.items() %}{{ k }}: {{ v }};{% endfor %}|{% endfor %}{{ tools }}",
    "json": "{{ messages | tojson(indent=1) }}{{ documents | tojson }}{{ thinking is defined }}",
    "thinking": (
        "{% for m in messages %}{% set c = m.content if m.content is string else '' %}{% if '</think>' in c %}"
        "{% set c = c.split('</think>')[-1] %}{% endif %}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}"
        "</think>{% endif %}{{ c }}{% endfor %}"
    ),
    "calls": (
        "{% for m in messages %}{{ m.role }}{% if m.tool_calls %}{% for t in m.tool_calls %}"
        "{% set f = t.function or t %}<{{ f.name }}>"
        "{{ f.arguments if f.arguments is string else f.arguments | tojson }}{% endfor %}"
        "{% elif m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
        "{{ p.text if p.type == 'text' else '[' ~ p.type ~ ']' }}{% endfor %}{% endif %}{% endfor %}"
    ),
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "clock": "{{ strftime_now('%d %b %Y') }}{{ messages[0]['content'] }}{{ eos_token }}",
}

TEXTS = st.sampled_from(["", " ", "a", " b\n", "</think>c", "é\x1c", "{{ x }}", "CONTINUE_FINAL_MESSAGE_TAG ", '"\\'])
PARTS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image"])}, optional={"text": TEXTS | st.none()}),
    max_size=2,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["1", "2"])},
        optional={
            "function": st.fixed_dictionaries(
                {"name": st.sampled_from(["f", "g"])},
                optional={"arguments": TEXTS | st.dictionaries(st.just("x"), st.integers() | st.floats(), max_size=1)},
            )
        },
    ),
    max_size=2,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool"])},
    optional={
        "content": st.one_of(TEXTS, TEXTS, TEXTS, st.none(), PARTS, st.integers(0, 3)),
        "tool_calls": CALLS | st.none(),
        "reasoning_content": TEXTS | st.none(),
        "thinking": TEXTS | st.none(),
        "reasoning": TEXTS,
        "name": st.sampled_from(["n", None]),
    },
)
PLAIN = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXTS}), max_size=4)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "continue_final_message": st.sampled_from([True, "content", "thinking", "reasoning_content"]),
        "tools": st.sampled_from([[], [{"type": "function", "function": {"name": "é<"}}]]),
        "documents": st.just([{"title": "t", "text": "x"}]),
        "thinking": st.booleans(),
        "add_generation_prompt": st.just(True),
    },
)


class Tokenizer(base.PreTrainedTokenizerBase):
    """As much of a tokenizer as rendering needs."""

    def __init__(self, source: str) -> None:
        self.__dict__["chat_template"] = source

    @property
    def special_tokens_map(self) -> dict[str, str]:
        return {"bos_token": "<s>", "eos_token": "</s>"}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:  # noqa: ARG003
        return NOW


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "datetime", Clock)
    utils._compile_jinja_template.cache_clear()


def outcome(function: Any) -> str:
    try:
        return f"= {function()}"
    except RenderError as error:
        return f"! {error.message}"
    except Exception as error:
        return f"! {type(error).__name__}: {error}"


def compare(source: str, chats: list[Any], column: pa.Array, arguments: dict[str, Any]) -> None:
    """Each row in a table of rows like it, by a program, and as transformers has it."""
    tokenizer = Tokenizer(SOURCES[source])
    template = ChatTemplate.from_tokenizer(tokenizer, now=NOW, **arguments)
    wanted = [
        outcome(lambda chat=chat: tokenizer.apply_chat_template(chat, tokenize=False, **arguments)) for chat in chats
    ]

    def text(numbers: list[int]) -> Any:
        return template.render(pa.table({"messages": column.take(pa.array(numbers, pa.int64()))}))["prompt"].to_pylist()

    good = [number for number, want in enumerate(wanted) if want.startswith("=")]
    assert text(good * 3) == [wanted[number][2:] for number in good] * 3
    for number, want in enumerate(wanted):
        if want.startswith("!"):
            assert outcome(lambda number=number: text([*good, number])) == want


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(chats=st.lists(st.lists(MESSAGES, max_size=3), min_size=1, max_size=5), arguments=ARGUMENTS)
@pytest.mark.parametrize("source", SOURCES)
def test_conversations_as_json(source: str, chats: list[Any], arguments: dict[str, Any]) -> None:
    if "continue_final_message" in arguments:
        arguments.pop("add_generation_prompt", None)
    compare(source, chats, pa.array([json.dumps(chat) for chat in chats]), arguments)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(chats=st.lists(PLAIN, min_size=1, max_size=5), arguments=ARGUMENTS)
@pytest.mark.parametrize("source", SOURCES)
def test_conversations_as_structs(source: str, chats: list[Any], arguments: dict[str, Any]) -> None:
    if "continue_final_message" in arguments:
        arguments.pop("add_generation_prompt", None)
    kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    column = pa.array(chats, kind)
    compare(source, column.to_pylist(), column, arguments)


@dataclasses.dataclass
class Message:
    role: str
    content: Any = None
    thinking: str | None = None
    tool_calls: Any = None


class Model:
    """As a pydantic model, as far as transformers looks at one."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def object_of(kind: str, message: dict[str, Any]) -> Any:
    if kind == "dataclass":
        return Message(**{key: value for key, value in message.items() if key in Message.__annotations__})
    return message if kind == "dict" else Model(message)


@pytest.mark.skipif(not hasattr(utils, "_normalize_chat_messages"), reason="transformers 5.23 takes dicts alone")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    chats=st.lists(
        st.lists(st.tuples(st.sampled_from(["dict", "dataclass", "model"]), MESSAGES), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
    arguments=ARGUMENTS,
)
@pytest.mark.parametrize("source", SOURCES)
def test_message_objects(source: str, chats: list[Any], arguments: dict[str, Any]) -> None:
    if "continue_final_message" in arguments:
        arguments.pop("add_generation_prompt", None)
    # One message that Arrow knows nothing of: the column is of objects, whatever else has been drawn.
    talks: list[Any] = [[*(object_of(*drawn) for drawn in chat), Message("user", "b")] for chat in chats]
    tokenizer = Tokenizer(SOURCES[source])
    template = ChatTemplate.from_tokenizer(tokenizer, now=NOW, **arguments)
    for talk in talks:
        want = outcome(lambda talk=talk: tokenizer.apply_chat_template(talk, tokenize=False, **arguments))
        got = outcome(lambda talk=talk: "\1".join(template.render([{"messages": talk}] * 3)["prompt"].to_pylist()))
        assert got == ("= " + "\1".join([want[2:]] * 3) if want.startswith("=") else want)


def test_functions_become_the_schemas_that_transformers_makes() -> None:
    def multiply(a: float, b: int = 2) -> float:
        """Multiply.

        Args:
            a: One.
            b: The other.

        Returns:
            The product.

        """
        return a * b

    tokenizer = Tokenizer("{{ tools | tojson }}")
    chat = [{"role": "user", "content": "x"}]
    want = tokenizer.apply_chat_template(chat, tools=[multiply], tokenize=False)
    table = pa.table({"messages": [chat]})
    assert ChatTemplate.from_tokenizer(tokenizer, tools=[multiply]).render(table)["prompt"].to_pylist() == [want]

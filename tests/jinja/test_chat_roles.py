"""Roles of messages: other names, ShareGPT's calls, decoded arguments, and system texts without a role."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from amounts import part_of
from marks import UNWARNED
from models import chat_roles_model as model
from promptpress import ChatTemplate, RenderError, TemplateError
from promptpress._engine.ordered_rendering import render_table
from promptpress.engine import PromptColumn, RenderOptions, engine_of

pytestmark = UNWARNED

SEEN = "{% for m in messages %}<{{ m.role }}>{{ m | tojson }};{% endfor %}"
CALLS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %};{% endfor %}"
)
NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}<{{ m.role }}>"
    "{% if m.content is string %}{{ m.content | trim }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}"
    "{% endif %};{% endfor %}"
)
TURNS = "{% for m in messages if m.role in ('user', 'assistant') %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
CALL = {"name": "area", "arguments": {"a": 3}}


def prompts(chat: ChatTemplate, conversations: list[Any]) -> list[str]:
    """Return texts of conversations, each twice: Jinja2 renders the first of a shape, and a program the second."""
    table = chat.render([{chat._engine.column: conversation} for conversation in conversations for _ in range(2)])
    texts = table["prompt"].to_pylist()
    assert texts[::2] == texts[1::2]
    return texts[::2]


def owners(spans: list[Any] | None) -> list[Any]:
    """Return the message that each byte comes from. (An empty text within a whole message has a path of its own.)"""
    return [
        (span["source"], span["message"], span["role"])
        for span in spans or ()
        for _ in range(span["start"], span["end"])
    ]


class Conversations:
    """Random conversations."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        return self.random.choice(["Hi.", "", " a ", '"q"\n', "{", "[1]", '{"a": 1}', "null", "ü"])

    def arguments(self) -> Any:
        values = [{}, {"a": 1}, {"n": [1, 2.5, None]}, [1], "text", '{"a": "ü"}', ' {"b": {}}', "{x", "", None, 5]
        return self.random.choice(values)

    def call(self) -> Any:
        call = {"name": self.random.choice(["f", "g"]), "arguments": self.arguments()}
        forms = [call, call, dict(reversed(call.items())), {"id": "1", **call}, {"type": "function", "function": call}]
        return self.random.choice([*forms, {"name": 5, "arguments": {}}, {"name": "f"}])

    def call_text(self) -> str:
        value = self.random.choice([self.call(), [self.call()], [self.call(), self.call()], [], "a"])
        text = json.dumps(value, ensure_ascii=self.random.random() < 0.5)
        return self.random.choice([text, text, f" {text}\n", "Hello.", "{x", '{"name": "f", "name": "g"}'])

    def message(self, keys: tuple[str, str], roles: list[str]) -> dict[str, Any]:
        role = self.random.choice(roles)
        is_call = role.lower() in model.CALLS and self.random.random() < 0.8
        content: Any = self.call_text() if is_call else self.text()
        if self.random.random() < 0.1:
            content = self.random.choice([None, [{"type": "text", "text": self.text()}]])
        message = {keys[0]: role, keys[1]: content}
        if self.random.random() < 0.2:
            message = dict(reversed(message.items()))
        if role in ("assistant", "gpt") and self.random.random() < 0.5:
            function = {"name": "f", "arguments": self.arguments()}
            message["tool_calls"] = [{"type": "function", "function": function}]
        if self.random.random() < 0.05:
            message[self.random.choice(["name", "from", "content"])] = self.random.choice(["function_call", "{}"])
        return message

    def conversation(self) -> list[dict[str, Any]]:
        roles = ["system", "tool", "function_call", "tool_call", "developer", "critic", "observation"]
        if self.random.random() < 0.5:
            keys, roles = (
                ("from", "value"),
                [*roles, "human", "gpt", "HUMAN", "Gpt", "SYSTEM", "FUNCTION_CALL", "model"],
            )
        else:
            keys, roles = ("role", "content"), [*roles, "user", "assistant", "USER"]
        begin = self.random.choice([[], ["system"], ["system", roles[7]]])
        return [
            *(self.message(keys, [role]) for role in begin),
            *(self.message(keys, roles) for _ in range(self.random.randrange(1, 4))),
        ]


ROLES: list[dict[str, str]] = [
    *({}, {"developer": "system"}, {"critic": "user", "tool": "ipython"}, {"user": "assistant", "assistant": "user"}),
    *({"function_call": "assistant"}, {"critic": "function_call"}, {"gpt": "model"}),
]


@pytest.mark.parametrize("seed", range(part_of(40)))
def test_messages_are_rendered_as_those_that_plain_python_makes(seed: int) -> None:
    drawn = Conversations(seed)
    source = drawn.random.choice([SEEN, CALLS, NO_SYSTEM, TURNS])
    roles, decodes = drawn.random.choice(ROLES), drawn.random.random() < 0.5
    system: Any = drawn.random.choice([None, "merge"])
    chat = ChatTemplate(source, roles=roles, decode_arguments=decodes, system=system)
    plain = ChatTemplate(source)
    conversations = [drawn.conversation() for _ in range(8)]
    rows = [conversation for conversation in conversations for _ in range(3)]
    expected: list[str | None] = []
    for conversation in rows:
        try:
            messages = model.as_openai(conversation, roles, decodes=decodes)
            merges = system is not None and source in (NO_SYSTEM, TURNS)
            expected.append(plain._engine.renderer.text(model.merged(messages) if merges else messages))
        except Exception:  # a template may raise anything
            expected.append(None)
    texts = pa.table({"messages": [json.dumps(row, ensure_ascii=False) for row in rows]})
    for table in ([{"messages": row} for row in rows], texts):
        made = chat.render(table, spans="detailed", errors="column")
        assert made["prompt"].to_pylist() == expected
        spans = [owners(row) for row in made["spans"].to_pylist()]
        # Jinja2 has rendered the first of three, and the last one a program if there is any.
        assert spans[::3] == spans[2::3]


def test_a_call_of_sharegpt_is_a_call_of_a_tool_in_any_column() -> None:
    turns = [("HUMAN", "Area?"), ("function_call", json.dumps(CALL)), ("observation", "9"), ("GPT", "It is 9.")]
    talk = [{"from": name, "value": text} for name, text in turns]
    wanted = '<user>Area?;<assistant>[area {"a": 3}];<tool>9;<assistant>It is 9.;'
    chat = ChatTemplate(CALLS)
    assert prompts(chat, [talk]) == [wanted]
    table = pa.table({"messages": [talk] * 4})
    made = chat.render(table, spans="detailed")
    assert made["prompt"].to_pylist() == [wanted] * 4
    assert chat.last_run is not None
    assert chat.last_run.compiled == 4
    paths = {(span["message"], span["path"]) for span in made["spans"][3].as_py() if span["path"]}
    assert {(1, "tool_calls[0].function.name"), (1, "tool_calls[0].function.arguments")} < paths
    openai = json.loads(
        render_table(engine_of(PromptColumn("messages")), table, RenderOptions())["messages"][0].as_py()
    )
    assert openai == model.as_openai(talk, {}, decodes=False)


def test_a_turn_of_calls_without_one_is_an_error_with_its_row_and_message() -> None:
    rows = [[{"from": "human", "value": "Hi."}, {"from": "tool_call", "value": text}] for text in ('{"name": 1}', "No")]
    table = pa.table({"messages": rows})
    for engine in (engine_of(ChatTemplate(CALLS)), engine_of(PromptColumn("messages"))):
        with pytest.raises(RenderError, match=r"row 0, column \"messages\": message 1: .*'tool_call'.*name") as caught:
            render_table(engine, table, RenderOptions())
        assert caught.value.code == "unconvertible_value"
        assert render_table(engine, table, RenderOptions(errors="column"))["error"].null_count == 0
    kept = [[{"role": "function_call", "content": "No"}]]
    assert prompts(ChatTemplate(CALLS), kept) == ["<function_call>No;"]


def test_a_system_text_is_merged_where_the_template_has_no_role_for_it() -> None:
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    for source in (NO_SYSTEM, TURNS):
        chat = ChatTemplate(source, system="merge")
        assert prompts(chat, [talk])[0].strip(";") == "<user>Be brief.\n\nHi."
        assert repr(chat).endswith("system='merge' <the template has no system role>)")
    assert prompts(ChatTemplate(CALLS, system="merge"), [talk]) == ["<system>Be brief.;<user>Hi.;"]
    assert "<the template has a system role>" in repr(ChatTemplate(CALLS, system="merge"))
    parts = [talk[0], {"role": "user", "content": [{"type": "text", "text": "Hi."}]}]
    empty = [{"role": "system", "content": ""}, talk[1]]
    alone = [talk[0], {"role": "assistant", "content": "Hi."}]
    chat = ChatTemplate(NO_SYSTEM, system="merge")
    wanted = ["<user>Be brief.\n\nHi.;", "<user>Hi.;", "<user>Be brief.;<assistant>Hi.;"]
    assert prompts(chat, [parts, empty, alone]) == wanted


def test_the_arguments_are_part_of_the_template() -> None:
    more: list[dict[str, Any]] = [{}, {"roles": {"a": "b"}}, {"system": "merge"}, {"decode_arguments": True}]
    chats = [ChatTemplate(CALLS, **arguments) for arguments in more]
    assert len({chat.fingerprint() for chat in chats}) == len({repr(chat) for chat in chats}) == len(chats)
    for chat in chats:
        assert pickle.loads(pickle.dumps(chat)) == chat
        assert [chat == other for other in chats].count(True) == 1
    wrong: list[dict[str, Any]] = [{"roles": ["a"]}, {"roles": {"a": ""}}, {"system": "x"}, {"decode_arguments": 1}]
    for arguments in wrong:
        with pytest.raises(TemplateError) as caught:
            ChatTemplate(CALLS, **arguments)
        assert caught.value.path == next(iter(arguments))


def test_an_assistant_that_calls_has_the_other_name_of_its_role() -> None:
    chat = ChatTemplate(SEEN, roles={"assistant": "model"})
    turns = [{"from": "gpt", "value": "a"}, {"from": "function_call", "value": json.dumps(CALL)}]
    messages = [{"role": "assistant", "content": "a"}, {"role": "tool_call", "content": json.dumps(CALL)}]
    for text in prompts(chat, [turns, messages]):
        assert text.count("<model>") == 2
        assert "assistant" not in text

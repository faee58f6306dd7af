"""The drop-in for transformers' `apply_chat_template`: whatever is asked, what the method itself returns and raises."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import json
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    jinja2 = pytest.importorskip("jinja2")
    hub = pytest.importorskip("transformers")
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    base = pytest.importorskip("transformers.tokenization_utils_base")
    tokenizers = pytest.importorskip("tokenizers")

import promptpress.transformers as drop_in_of_transformers
from promptpress._jinja.chat import conversation_texts
from promptpress_harness import transformers as drop_in_module
from promptpress_harness.transformers import drop_in, replacement

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[4] / "shared")
ONE_IN = 40

if replacement(utils.render_jinja_template) is utils.render_jinja_template:
    pytest.skip(f"the drop-in doesn't know transformers {hub.__version__}", allow_module_level=True)

CHATML = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}{% if documents %}{{ documents[0].title }}{% endif %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}{{ mood }}"
)
WITH_MASK = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %} {% endfor %}"
PARTS = "{% for m in messages %}{% for p in m.content %}{{ p.text or p.type }}|{% endfor %}{% endfor %}"
CALLS = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments | tojson }}){% endfor %}"
    "{% endfor %}"
)
CHAT = [{"role": "user", "content": "one two"}, {"role": "assistant", "content": "three"}]
OTHER = [{"role": "user", "content": "two"}, {"role": "assistant", "content": " one "}]


def tokenizer_of(template: Any) -> Any:
    """Return a tokenizer in memory that splits at blanks."""
    words = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", "one", "two", "three", "|", "<", ">"])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made = hub.PreTrainedTokenizerFast(
        tokenizer_object=model, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )
    made.chat_template = template
    return made


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(conversation_texts, "WORTHWHILE_CONVERSATIONS", 1)
    monkeypatch.setattr(drop_in, "texts", conversation_texts.ConversationTexts())
    utils._compile_jinja_template.cache_clear()
    yield
    drop_in_of_transformers.disable()


def outcome(call: Any) -> Any:
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return type(result), dict(result) if hasattr(result, "keys") else result


def both(tokenizer: Any, *arguments: Any, times: int = 3, **named: Any) -> Any:
    """Assert that the drop-in returns or raises what the method does, each time; return it."""
    wanted = outcome(lambda: tokenizer.apply_chat_template(*arguments, **named))
    for _ in range(times):
        called = outcome(lambda: drop_in_of_transformers.apply_chat_template(tokenizer, *arguments, **named))
        assert repr(called) == repr(wanted)
        with drop_in_of_transformers.backend():
            assert repr(outcome(lambda: tokenizer.apply_chat_template(*arguments, **named))) == repr(wanted)
    return wanted[1]


class Calls:
    """Counts the conversations that Jinja2 renders."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original = jinja2.Template.render

        def render(template: Any, /, *arguments: Any, **named: Any) -> str:
            self.count += 1
            return original(template, *arguments, **named)

        monkeypatch.setattr(jinja2.Template, "render", render)


def test_conversations_and_batches() -> None:
    tokenizer = tokenizer_of(CHATML)
    assert both(tokenizer, CHAT, tokenize=False) == "<s><|user|>one two<|end|><|assistant|>three<|end|>"
    assert len(both(tokenizer, [CHAT, OTHER, CHAT[:1]], tokenize=False)) == 3
    assert isinstance(both(tokenizer, (CHAT, OTHER), tokenize=False), list)
    assert both(tokenizer, CHAT, tokenize=False, add_generation_prompt=True).endswith("<|assistant|>")
    both(tokenizer, tuple(CHAT), tokenize=False)


def test_programs_render_after_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, calls = tokenizer_of(CHATML), Calls(monkeypatch)
    with drop_in_of_transformers.backend():
        texts = [tokenizer.apply_chat_template(chat, tokenize=False) for chat in [CHAT, OTHER, CHAT]]
        assert calls.count == 1
        tokenizer.apply_chat_template([CHAT] * 100, tokenize=False)
        assert calls.count == 1
    assert texts == [tokenizer.apply_chat_template(chat, tokenize=False) for chat in [CHAT, OTHER, CHAT]]


def test_a_shape_is_compiled_only_after_it_was_met_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_texts, "WORTHWHILE_CONVERSATIONS", 5)
    tokenizer, calls = tokenizer_of(CHATML), Calls(monkeypatch)
    with drop_in_of_transformers.backend():
        for _ in range(9):
            tokenizer.apply_chat_template(CHAT, tokenize=False)
    assert calls.count == 5


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"return_dict": False},
        {"return_tensors": "np"},
        {"padding": "max_length", "max_length": 20},
        {"truncation": True, "max_length": 3},
        {"tokenizer_kwargs": {"return_attention_mask": False}},
        {"sanitize_control_tokens": True},
        {"continue_final_message": True},
        {"continue_final_message": "content", "tokenize": False},
        {"continue_final_message": "thinking", "tokenize": False},
        {"continue_final_message": True, "add_generation_prompt": True},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"x": 1.5, "y": [None, True]}}}]},
        {"tools": [], "tokenize": False},
        {"tools": ["no tool"], "tokenize": False},
        {"documents": [{"title": "t", "text": "x"}], "tokenize": False},
        {"documents": ["no document"], "tokenize": False},
        {"mood": "good", "tokenize": False},
        {"mood": object, "tokenize": False},
        {"mood": {"a": (1, 2)}, "tokenize": False},
        {"bos_token": "<other>", "tokenize": False},
        {"messages": [], "tokenize": False},
        {"chat_template": "{{ messages[0].content }}", "tokenize": False},
        {"chat_template": "{% if %}", "tokenize": False},
        {"return_assistant_tokens_mask": True, "tokenize": False},
        {"no_such": 1, "return_tensors": "none"},
    ],
    ids=str,
)
def test_arguments(arguments: dict[str, Any]) -> None:
    both(tokenizer_of(CHATML), CHAT, **arguments)
    both(tokenizer_of(CHATML), [CHAT, OTHER[:1], OTHER], times=1, **{"padding": True, **arguments})


def test_functions_as_tools() -> None:
    def add(x: int) -> int:
        """Add.

        Args:
            x: A number.
        """
        return x + 1

    assert '"name": "add"' in both(tokenizer_of(CHATML), CHAT, tools=[add], tokenize=False)


def test_a_tool_that_is_changed_is_another_tool() -> None:
    tokenizer, tools = tokenizer_of("{{ tools | tojson }}"), [{"name": "f", "n": 1}]
    for n in (1, True, 1.0, "1", None):
        tools[0]["n"] = n
        both(tokenizer, CHAT, tools=tools, tokenize=False)


def test_templates_by_name() -> None:
    tokenizer = tokenizer_of({"default": CHATML, "tool_use": "{{ tools | length }}", "rag": "{{ documents | length }}"})
    both(tokenizer, CHAT, tokenize=False)
    assert both(tokenizer, CHAT, tools=[{}, {}], tokenize=False) == "2"
    assert both(tokenizer, CHAT, chat_template="rag", documents=[{}], tokenize=False) == "1"
    both(tokenizer_of({"rag": CHATML}), CHAT, tokenize=False)
    both(tokenizer_of(None), CHAT, tokenize=False)


def test_masks_of_the_assistants_texts() -> None:
    tokens = both(tokenizer_of(WITH_MASK), CHAT, return_assistant_tokens_mask=True, return_dict=True)
    assert len(tokens["assistant_masks"]) == 3
    both(tokenizer_of(WITH_MASK), CHAT, tokenize=False)


@pytest.mark.parametrize(
    "chat",
    [
        [],
        [[]],
        [CHAT, []],
        "no chat",
        None,
        [None],
        ["text"],
        [{"role": "user"}],
        [{"content": "one"}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": 1}],
        [{"role": "user", "content": ("a", "b")}],
        [{"role": "user", "content": "half a pair \ud800"}],
        [{"role": "user\ud800", "content": "x"}],
        [{"role": "user", "content": "\0 \u2028 é 😀"}],
        [{"from": "human", "value": "one"}],
        [{"role": "user", "content": "a", 1: "b"}],
        [{"role": "user", "content": "a", "thinking": "b", "reasoning": "c"}],
        [{"role": "user", "content": "a", "n": float("nan"), "big": 10**30, "at": object()}],
    ],
    ids=lambda chat: ascii(chat)[:40],
)
@pytest.mark.parametrize(
    "template", [CHATML, PARTS, CALLS, "{{ messages | tojson }}"], ids=["chat", "parts", "calls", "json"]
)
def test_conversations_of_other_forms(chat: Any, template: str) -> None:
    both(tokenizer_of(template), chat, times=2, tokenize=False)


def test_message_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Release 5.24 makes dicts of them, which the programs render; 5.23 refuses them."""

    @dataclasses.dataclass
    class Message:
        role: str
        content: Any
        name: str | None = None

    class Model:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}

    class Talk:
        messages = (Message("user", "one"), Message("assistant", [{"type": "text", "text": "two"}]))

    tokenizer = tokenizer_of(CALLS)
    for chat in ([Message("user", "one")], [Message("user", "one"), Model()], Talk(), [Talk(), Talk()], [object()]):
        both(tokenizer, chat, tokenize=False)
    both(tokenizer, [{"role": "user", "content": [Message("a", "b")]}], tokenize=False)
    if hasattr(utils, "_normalize_chat_messages"):
        calls = Calls(monkeypatch)
        with drop_in_of_transformers.backend():
            for text in ("one", "two"):
                assert tokenizer.apply_chat_template([Message("user", text)], tokenize=False) == f"user:{text}"
        assert calls.count == 0


def test_parts_and_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "image"}, "bare"]}]
    calls = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1.0, "é"]}}}],
        },
        {"role": "assistant", "content": "a", "tool_calls": [{"function": {"name": "g", "arguments": '{"x": 1}'}}]},
    ]
    both(tokenizer_of(PARTS), parts, tokenize=False)
    both(tokenizer_of(CALLS), calls, tokenize=False)
    counted = Calls(monkeypatch)
    with drop_in_of_transformers.backend():
        for _ in range(3):
            tokenizer_of(CALLS).apply_chat_template(calls, tokenize=False)
    assert counted.count == 0


def test_the_first_error_of_a_batch_is_raised() -> None:
    template = (
        "{% for m in messages %}{% if m.content == 'one' %}{{ raise_exception('one!') }}{% endif %}"
        "{{ m.content }}{{ m.extra.deep }}{% endfor %}"
    )
    good = [{"role": "user", "content": "x", "extra": {"deep": 1}}]
    bad = [{"role": "user", "content": "one", "extra": {"deep": 1}}]
    odd = [{"role": "user", "content": "x", "extra": (1,)}, {"role": "user", "content": "y"}]
    for batch in ([good, bad, odd], [good, odd, bad], [odd, good, bad], [good, odd[:1]], [good, good]):
        both(tokenizer_of(template), batch, tokenize=False)


def test_objects_stay_as_they_are() -> None:
    chat = json.loads(json.dumps(CHAT))
    for arguments in ({}, {"continue_final_message": True}):
        both(tokenizer_of(CHATML), chat, tokenize=False, **arguments)
        assert chat == CHAT


def test_the_clock_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, calls = tokenizer_of("{{ strftime_now('%Y') }}"), Calls(monkeypatch)
    with drop_in_of_transformers.backend():
        for year in [*range(2020, 2024)] * 3:

            class Clock:
                @staticmethod
                def now() -> datetime.datetime:
                    return datetime.datetime(year, 1, 1)  # noqa: B023 - called in this turn

            monkeypatch.setattr(utils, "datetime", Clock)
            assert tokenizer.apply_chat_template(CHAT, tokenize=False) == str(year)
    assert calls.count == 4


def test_another_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokenizer_of(CHATML)
    with drop_in_of_transformers.backend():
        for _ in range(3):
            tokenizer.apply_chat_template(CHAT, tokenize=False)

        class Other:
            def render(self, **_: Any) -> str:
                return "other"

        monkeypatch.setattr(utils, "_compile_jinja_template", lambda _: Other())
        assert tokenizer.apply_chat_template(CHAT, tokenize=False) == "other"


def test_a_wrong_program_is_given_up(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong:
        def row(self, _: list[str]) -> tuple[str, list[int]]:
            return "wrong", []

    monkeypatch.setattr(
        conversation_texts._Template,
        "compile",
        lambda *_: conversation_texts._CompiledShape(Wrong()),  # type: ignore[arg-type]
    )
    both(tokenizer_of(CHATML), CHAT, tokenize=False)
    assert "a program differs" in caplog.text


def test_a_fault_of_the_drop_in_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: Any) -> str:
        raise ZeroDivisionError

    both(tokenizer_of("{{ raise_exception('no') }}"), CHAT, tokenize=False)
    assert not caplog.records
    monkeypatch.setattr(conversation_texts.ConversationTexts, "text", fails)
    both(tokenizer_of(CHATML), [CHAT, OTHER], tokenize=False, times=1)
    assert "ZeroDivisionError" in caplog.text


def test_errors_have_no_context_of_ours() -> None:
    with pytest.raises(Exception, match="no!") as raised:
        drop_in_of_transformers.apply_chat_template(tokenizer_of("{{ raise_exception('no!') }}"), CHAT, tokenize=False)
    assert raised.value.__context__ is None


def test_the_function_of_transformers_is_put_back() -> None:
    processing = importlib.import_module("transformers.processing_utils")
    assert base.render_jinja_template is utils.render_jinja_template
    drop_in_of_transformers.enable()
    drop_in_of_transformers.enable()
    assert base.render_jinja_template is replacement(utils.render_jinja_template)
    assert processing.render_jinja_template is base.render_jinja_template
    with drop_in_of_transformers.backend():
        pass
    assert base.render_jinja_template is not utils.render_jinja_template
    drop_in_of_transformers.disable()
    drop_in_of_transformers.disable()
    assert base.render_jinja_template is processing.render_jinja_template is utils.render_jinja_template


def test_a_function_that_others_replaced_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def theirs(conversations: Any, **_: Any) -> Any:
        return ["theirs"] * len(conversations), []

    monkeypatch.setattr(base, "render_jinja_template", theirs)
    with drop_in_of_transformers.backend():
        assert tokenizer_of(CHATML).apply_chat_template(CHAT, tokenize=False) == "theirs"
    assert base.render_jinja_template is theirs


def test_an_unknown_release_renders_everything(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(drop_in_module, "KNOWN_CODE", {"0": "1.2.3"})
    replacement.cache_clear()
    with drop_in_of_transformers.backend():
        assert base.render_jinja_template is utils.render_jinja_template
    replacement.cache_clear()
    assert "its code isn't that of a known release (1.2.3)" in caplog.text


def test_a_single_call_leaves_other_calls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, calls = tokenizer_of(CHATML), Calls(monkeypatch)
    drop_in_of_transformers.apply_chat_template(tokenizer, CHAT, tokenize=False)
    for _ in range(3):
        tokenizer.apply_chat_template(CHAT, tokenize=False)
    assert calls.count == 4
    assert pickle.loads(pickle.dumps(tokenizer)).apply_chat_template(CHAT, tokenize=False)


def test_threads() -> None:
    tokenizer, wrong = tokenizer_of(CHATML), []
    chats = [[{"role": "user", "content": str(n)}] * (1 + n % 7) for n in range(200)]
    wanted = [tokenizer.apply_chat_template(chat, tokenize=False) for chat in chats]

    def run() -> None:
        for chat, want in zip(chats, wanted, strict=True):
            if drop_in_of_transformers.apply_chat_template(tokenizer, chat, tokenize=False) != want:
                wrong.append(chat)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_shapes_and_templates_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_texts, "MAX_SHAPES", 3)
    monkeypatch.setattr(conversation_texts, "MAX_TEMPLATES", 2)
    monkeypatch.setattr(conversation_texts, "MAX_COUNTED", 5)
    for mood in ("a", "b", "c"):
        for count in range(1, 6):
            both(tokenizer_of(CHATML), CHAT * count, times=1, tokenize=False, mood=mood)
    assert len(drop_in.texts._templates) == 2
    assert all(len(template.shapes) == 3 for template in drop_in.texts._templates.values())


def check_recorded(monkeypatch: pytest.MonkeyPatch, file: str, sample: int) -> None:
    """Run the recorded cases one conversation at a time, through a tokenizer that has their template."""
    path = SHARED / f"chat_templates/{file}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"recorded cases are not at hand: there is no {os.path.relpath(path)}")
    monkeypatch.syspath_prepend(str(SHARED / "tools"))
    monkeypatch.delitem(sys.modules, "chat_cases", raising=False)
    cases = importlib.import_module("chat_cases")
    rendered = by_transformers = 0

    class Tokenizer(base.PreTrainedTokenizerBase):  # type: ignore[misc]
        def __init__(self, source: str) -> None:
            self.__dict__["chat_template"] = source

        @property
        def special_tokens_map(self) -> dict[str, str]:
            return {}

    calls = Calls(monkeypatch)

    def render(source: str, conversations: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        nonlocal rendered
        options = dict(kwargs)
        clock = options.pop("$clock", cases.CLOCK)

        class Clock(datetime.datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:  # noqa: ARG003
                return datetime.datetime.fromisoformat(clock)

        monkeypatch.setattr(utils, "datetime", Clock)
        tokenizer, out = Tokenizer(source), []
        for chat in conversations:
            rendered += 1
            try:
                out.append(drop_in_of_transformers.apply_chat_template(tokenizer, chat, tokenize=False, **options))
            except TypeError as error:
                # The method names the argument, and the recorded function had it by its position.
                is_double = "got multiple values" in str(error)
                text = "render_jinja_template() got multiple values for argument 'conversations'"
                out.append(TypeError(text) if is_double else error)
            except Exception as error:
                out.append(error)
        return out

    counts = cases.check(render, [str(path)], exact_errors=True, sample=sample)
    by_transformers = calls.count
    print(f"{rendered:,} conversations one at a time, of these {by_transformers:,} by transformers: {counts}")
    assert counts["total"]
    assert not counts["differ"]


def test_recorded_one_line_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_recorded(monkeypatch, "attack", 20)


def test_recorded_chat_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    check_recorded(monkeypatch, "cases", 20 * ONE_IN)


@pytest.mark.full
@pytest.mark.parametrize("file", ["attack", "cases"])
def test_all_recorded_chats(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_recorded(monkeypatch, file, 1)


def test_the_example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "examples" / "engines"))
    example = importlib.import_module("on_transformers")
    example.main(tmp_path)
    assert (tmp_path / "chats.txt").read_text(encoding="utf-8").count("<|im_start|>user\nWhat is ") == 101

"""Sources of chat templates and special tokens."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from promptpress import ChatTemplate, ConfigError, JinjaTemplate, TemplateError
from promptpress._jinja.chat.settings import templates_of

TOKENS = {"bos_token": "<s>", "eos_token": {"content": "</s>", "__type": "AddedToken"}, "pad_token": None}
MORE = {
    "add_bos_token": True,
    "image_token": "<img>",
    "extra_special_tokens": {"audio_bos": "<a>"},
    "model_max_length": 9,
}
TOKENS_TEMPLATE = "{{ bos_token }}|{{ eos_token }}|{{ pad_token is defined }}|{{ image_token }}|{{ audio_bos }}"
CHATS = pa.table({"messages": [[{"role": "user", "content": "Hi."}]]})


def rendered(tokenizer: Any, **arguments: Any) -> str:
    (text,) = ChatTemplate.from_tokenizer(tokenizer, **arguments).render(CHATS)["prompt"].to_pylist()
    return str(text)


def write(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_json", ".json").replace("_jinja", ".jinja").replace(
            "_py", ".py"
        )
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def test_a_configuration() -> None:
    config = {"chat_template": TOKENS_TEMPLATE, **TOKENS, **MORE}
    assert rendered(config) == "<s>|</s>|False|<img>|<a>"
    assert rendered(config, bos_token="<b>") == "<b>|</s>|False|<img>|<a>"


def test_a_tokenizer_in_memory() -> None:
    tokenizer = SimpleNamespace(
        chat_template=TOKENS_TEMPLATE, special_tokens_map={"bos_token": "<s>", "eos_token": "</s>"}
    )
    assert rendered(tokenizer) == "<s>|</s>|False||"
    assert rendered(SimpleNamespace(chat_template=TOKENS_TEMPLATE, tokenizer=tokenizer)) == "<s>|</s>|False||"


def test_named_templates_are_chosen_as_the_tokenizer_does() -> None:
    named = [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}]
    for templates in (named, {"default": "one", "tool_use": "two"}):
        config = {"chat_template": templates}
        assert (rendered(config), rendered(config, tools=[{}]), rendered(config, template="tool_use")) == (
            "one",
            "two",
            "two",
        )
    with pytest.raises(TemplateError, match="no chat template 'rag'; it has 'default', 'tool_use'"):
        ChatTemplate.from_tokenizer({"chat_template": named}, template="rag")
    with pytest.raises(TemplateError, match="no chat template 'default'; it has 'rag'; name one by template="):
        ChatTemplate.from_tokenizer({"chat_template": {"rag": ""}})


@pytest.mark.parametrize(
    "source", ["{% for m in messages %}\n  {{ m.content }}\n{% endfor %}\n", "  {% set a = 1 %}\n{{ a }} "]
)
@pytest.mark.parametrize(
    "with_tools", ["\n{{ tools[0].name }}\n  {% if a %}b{% endif %}", "  {{ tools | length }}\n\n"]
)
def test_each_row_takes_the_template_for_its_tools(source: str, with_tools: str) -> None:
    templates = {"default": source, "tool_use": with_tools}
    config = {"chat_template": [{"name": name, "template": text} for name, text in templates.items()]}
    message = {"role": "user", "content": "x"}
    tools = [None, [{"name": "f"}], [], [{"name": "g"}]] * 2
    rows = [{"messages": [message], "tools": of_row} for of_row in tools]
    made = ChatTemplate.from_tokenizer(config).render(rows)["prompt"].to_pylist()
    alone = {name: ChatTemplate(text) for name, text in templates.items()}
    assert made == [alone["tool_use" if row["tools"] else "default"].render([row])["prompt"][0].as_py() for row in rows]
    for arguments in ({"template": "default"}, {"argument_columns": {}}, {"environment": "jinja2"}):
        chat = ChatTemplate.from_tokenizer(config, **arguments)  # type: ignore[arg-type]
        assert chat == ChatTemplate(source, **{k: v for k, v in arguments.items() if k != "template"})  # type: ignore[arg-type]


def test_a_folder_s_files_come_before_its_configuration(tmp_path: Path) -> None:
    config = {"chat_template": "config " + TOKENS_TEMPLATE, **TOKENS}
    write(tmp_path, tokenizer_config_json=config)
    assert rendered(tmp_path) == "config <s>|</s>|False||"
    assert rendered(str(tmp_path / "tokenizer_config.json")) == "config <s>|</s>|False||"
    write(tmp_path, chat_template_jinja="file " + TOKENS_TEMPLATE)
    assert rendered(str(tmp_path)) == "file <s>|</s>|False||"
    assert rendered(tmp_path / "chat_template.jinja", eos_token="</e>") == "file |</e>|False||"
    write(tmp_path, additional_chat_templates__tool_use_jinja="tools")
    assert (rendered(tmp_path), rendered(tmp_path, tools=[])) == ("file <s>|</s>|False||", "tools")


def test_old_folders(tmp_path: Path) -> None:
    tokens = {"bos_token": {"content": "<old>", "lstrip": False}}
    write(tmp_path, chat_template_json={"chat_template": TOKENS_TEMPLATE}, special_tokens_map_json=tokens)
    assert rendered(tmp_path) == "<old>||False||"
    assert rendered(tmp_path / "chat_template.json", bos_token="<s>") == "<s>||False||"
    write(tmp_path, tokenizer_config_json={"added_tokens_decoder": {}, "bos_token": "<new>"})
    assert rendered(tmp_path) == "<new>||False||"


def test_line_ends_of_a_file_belong_to_the_template(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_bytes(b"a\r\nb\n\n")
    assert rendered(tmp_path) == "a\nb\n"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ({}, "missing_template"),
        ({"chat_template": 7}, "wrong_type"),
        ({"chat_template": [{"name": "default"}]}, "wrong_type"),
        ("/no/such/place", "unreadable_config"),
        (7, "wrong_type"),
        (SimpleNamespace(chat_template=None, special_tokens_map={}), "missing_template"),
    ],
)
def test_what_has_no_template(source: Any, code: str) -> None:
    with pytest.raises(TemplateError) as caught:
        ChatTemplate.from_tokenizer(source)
    assert caught.value.code == code


def test_files_that_can_t_be_read(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_config_json="{", chat_template_json="[]")
    for name in ("tokenizer_config.json", "chat_template.json", "missing.json", "missing.jinja"):
        with pytest.raises(TemplateError, match=name) as caught:
            templates_of(tmp_path / name)
        assert caught.value.code == "unreadable_config"


ENCODER = "from typing import Any\n\n\ndef {name}(\n    messages: list[Any], {more}\n) -> str:\n    raise SystemExit\n"
"""The code of an encoder, which nothing may run."""


TOKENIZER = "class T:\n    def apply_chat_template(self, conversation, tools=None):\n        ...\n"


def encoder(name: str, more: str = "thinking_mode: str = 'chat'") -> str:
    return "raise SystemExit\n" + ENCODER.format(name=name, more=more)


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (
            {
                "encoding__encoding_v9.py": encoder("encode_messages"),
                "encoding__test_encoding_v9.py": encoder("encode_other"),
                "modeling_v9.py": encoder("encode_model"),
            },
            "encoding/encoding_v9.py (encode_messages)",
        ),
        (
            {"encoding__encoding.py": "import re\n\n" + encoder("encode_messages")},
            "encoding/encoding.py (encode_messages)",
        ),
        (
            {
                "encoding_k9.py": encoder("build_chat_segments"),
                "tokenization_k9.py": TOKENIZER,
            },
            "encoding_k9.py (build_chat_segments)",
        ),
        (
            {"tokenization_k9.py": TOKENIZER},
            "tokenization_k9.py (apply_chat_template)",
        ),
        ({"config_json": {"model_type": "gpt_oss"}}, "the library openai-harmony"),
        ({"tekken_json": {}, "config_json": {"model_type": "mistral"}}, "the library mistral-common"),
    ],
    ids=["folder", "plain name", "beside", "tokenizer's class", "harmony", "mistral"],
)
@pytest.mark.parametrize("given", ["folder", "file", "tokenizer"])
def test_conversations_that_python_code_encodes(tmp_path: Path, files: Any, names: str, given: str) -> None:
    write(tmp_path, tokenizer_config_json={"bos_token": "<s>"}, **files)
    tokenizer = SimpleNamespace(chat_template=None, special_tokens_map={}, name_or_path=str(tmp_path))
    source = {"folder": tmp_path, "file": tmp_path / "tokenizer_config.json", "tokenizer": tokenizer}[given]
    with pytest.raises(ConfigError) as caught:
        ChatTemplate.from_tokenizer(source)
    assert (caught.value.code, caught.value.path) == ("missing_template", "source")
    assert f"has no Jinja template, for {names} encodes the conversations" in caught.value.message
    assert str(caught.value).startswith("source: ")


def test_a_template_next_to_an_encoder_is_rendered(tmp_path: Path) -> None:
    write(tmp_path, encoding__encoding_v9_py=encoder("encode_messages"), chat_template_jinja="theirs")
    assert rendered(tmp_path) == "theirs"
    write(tmp_path, tokenizer_config_json={})
    with pytest.raises(TemplateError, match="may be it: give the folder"):
        ChatTemplate.from_tokenizer(tmp_path / "tokenizer_config.json")


@pytest.mark.parametrize(
    "files",
    [
        {"encoding__encoding_v9.py": "def encode_text(text):\n    return text\n"},
        {"encoding__encoding_v9.py": encoder("encode_messages") + "#" * (1 << 20)},
        {"train.py": encoder("format_messages")},
        {"config_json": "[]"},
        {"config_json": "{"},
        {"config_json": {"model_type": ["gpt_oss"]}},
    ],
    ids=["of texts", "large", "another name", "list", "no JSON", "odd type"],
)
def test_other_files_are_no_encoders(tmp_path: Path, files: Any) -> None:
    write(tmp_path, tokenizer_config_json={}, **files)
    with pytest.raises(TemplateError, match="has no chat template; give its source") as caught:
        ChatTemplate.from_tokenizer(tmp_path)
    assert not isinstance(caught.value, ConfigError)


def test_a_tokenizer_s_class_that_encodes_itself() -> None:
    class Tokenizer:
        def apply_chat_template(self, conversation: Any) -> str:
            return str(conversation)

    with pytest.raises(ConfigError, match=r"Tokenizer\.apply_chat_template in .*test_chat_sources encodes"):
        ChatTemplate.from_tokenizer(Tokenizer())
    Tokenizer.apply_chat_template.__module__ = "transformers.tokenization_utils_base"
    with pytest.raises(TemplateError, match="found a Tokenizer, which has no chat_template"):
        ChatTemplate.from_tokenizer(Tokenizer())


def test_texts_of_an_encoder_stay_as_they_are() -> None:
    made = JinjaTemplate("{{ text }}").render([{"text": "<|open|>{{ x }} {y}\n", "id": 7}], keep=["id"])
    assert made.to_pylist() == [{"id": 7, "prompt": "<|open|>{{ x }} {y}\n"}]


def test_tokens_of_a_configuration() -> None:
    config = {"chat_template": "{{ bos_token }}", "bos_token": {"content": "<s>"}, "add_bos_token": True}
    sources = templates_of(config)
    assert (sources.templates, sources.tokens) == ({"default": "{{ bos_token }}"}, {"bos_token": "<s>"})

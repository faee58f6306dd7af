"""Sources of chat templates and special tokens."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from promptpress import ChatTemplate, TemplateError
from promptpress._jinja.chat.sources import templates_of

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
        path = folder / name.replace("__", "/").replace("_json", ".json").replace("_jinja", ".jinja")
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

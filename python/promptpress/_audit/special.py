"""Which texts steer a model: the tokens of its meta template, its chat template, its tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from promptpress._audit.control_tokens import FAMILIES
from promptpress._audit.subject import Subject, strings_within

__all__ = ["LIKELY_TOKENS", "bos_tokens", "special_tokens", "tokens_in"]

_TOKEN = re.compile(
    r"<\|[^|<>{}\s][^|<>{}\n]{0,60}\|>|<\uff5c[^\uff5c<>{}\n]{1,60}\uff5c>"
    r"|<(?:extra_id_\d+|reserved_\d+)>"
)
"""Texts with the look of a control token, which no text has by itself; those without it are named in `FAMILIES`."""

_NAMED_TOKEN = re.compile("|".join(map(re.escape, sorted(FAMILIES, key=len, reverse=True))))

LIKELY_TOKENS = tuple(FAMILIES)
"""Control tokens of well-known models, looked for where nothing says which model it is."""

_BOS = (
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<|endoftext|>",
    "<\uff5cbegin▁of▁sentence\uff5c>",
    "[BOS]",
)
_NAMED = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")


def tokens_in(texts: Iterable[str]) -> list[str]:
    r"""List what looks like a control token in some texts.

    >>> tokens_in(["<|im_start|>user\n", "[INST] {q} [/INST]", "a < b"])
    ['<|im_start|>', '[INST]', '[/INST]']

    """
    found: dict[str, None] = {}
    for text in texts:
        places = {(match.start(), match[0]) for kind in (_TOKEN, _NAMED_TOKEN) for match in kind.finditer(text)}
        found |= dict.fromkeys(token for _, token in sorted(places))
    return list(found)


def special_tokens(subject: Subject) -> list[str]:
    """List the tokens that steer the model.

    Args:
        subject: What is audited: its meta template, the chat template behind the messages, the tokenizer.

    Returns:
        The tokens; none where nothing says which there are.

    """
    found = dict.fromkeys(tokens_in(strings_within(subject.settings["meta_template"])))
    chat = subject.renderer._configuration.chat
    if chat is not None:
        settings = chat.chat._renderer.settings
        found |= dict.fromkeys(tokens_in([settings.source]))
        found |= dict.fromkeys(_of_config(settings.variables))
    if subject.counter is not None:
        found |= dict.fromkeys(_of_tokenizer(subject.counter._tokenizer))
        found |= dict.fromkeys(_of_folder(subject.counter.name))
    return [token for token in found if token.strip()]


def bos_tokens(subject: Subject) -> list[str]:
    """List the tokens that a text may begin with, as far as they are known."""
    found = dict.fromkeys(_BOS)
    chat = subject.renderer._configuration.chat
    if chat is not None:
        own = chat.chat._renderer.settings.variables.get("bos_token")
        found |= dict.fromkeys([own] if isinstance(own, str) and own else [])
    return list(found)


def _of_tokenizer(tokenizer: Any) -> list[str]:
    added = tokenizer.get_added_tokens_decoder() if hasattr(tokenizer, "get_added_tokens_decoder") else {}
    return [token.content for token in added.values() if token.special]


def _of_folder(name: str) -> list[str]:
    """The tokens of a configuration that lies beside a tokenizer's file."""
    path = Path(name).expanduser()
    path = path / "tokenizer_config.json" if path.is_dir() else path.with_name("tokenizer_config.json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return _of_config(config) if isinstance(config, dict) else []


def _of_config(config: Mapping[str, Any]) -> list[str]:
    found = [_content(config.get(name)) for name in _NAMED]
    extra = config.get("additional_special_tokens")
    found += map(_content, extra) if isinstance(extra, (list, tuple)) else []
    added = config.get("added_tokens_decoder")
    if isinstance(added, Mapping):
        found += [_content(one) for one in added.values() if isinstance(one, Mapping) and one.get("special")]
    return [token for token in found if token]


def _content(token: Any) -> str:
    own = token.get("content") if isinstance(token, Mapping) else token
    return own if isinstance(own, str) else ""

"""Tokens that control the model: in values, and twice at the beginning of a prompt.

The tokens are those of the meta template, the chat template and the tokenizer, and those of well-known models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import Batch
from promptpress_workbench.audit.checks.check import Check
from promptpress_workbench.audit.finding import Finding, Rows, finding_of
from promptpress_workbench.audit.searches import TextMatches, example_columns, finding_of_examples
from promptpress_workbench.audit.subject import Subject
from promptpress_workbench.prompts.control_tokens import FAMILIES, families_of

_TOKEN = re.compile(
    r"<\|[^|<>{}\s][^|<>{}\n]{0,60}\|>|<\uff5c[^\uff5c<>{}\n]{1,60}\uff5c>"
    r"|<(?:extra_id_\d+|reserved_\d+)>"
)
"""Texts that look like a control token and like nothing else; tokens that don't look so are listed in `FAMILIES`."""

_NAMED_TOKEN = re.compile("|".join(map(re.escape, sorted(FAMILIES, key=len, reverse=True))))

_BOS = (
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<|endoftext|>",
    "<\uff5cbegin▁of▁sentence\uff5c>",
    "[BOS]",
)
_CONFIG_KEYS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_MAX_LISTED = 5
_KINDS = (
    ("special_token", "which steers the model", None),
    ("likely_special_token", "a control token of well-known models", lambda token: f" ({families_of(token)})"),
)


class SpecialTokens(Check):
    """Values with special tokens of this model, or with control tokens of well-known models."""

    codes = tuple(code for code, _, _ in _KINDS)
    reads_columns = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        special = _special_tokens(subject)
        likely = [token for token in FAMILIES if token not in special]
        self._searches = [
            (tokens if code in subject.codes else (), _core.TextFinder(tokens))
            for tokens, (code, _, _) in zip((special, likely), _KINDS, strict=True)
        ]
        self._matches: dict[str, list[TextMatches]] = {}
        self._tokens = [(code, tokens) for tokens, (code, _, _) in zip((special, likely), _KINDS, strict=True)]

    def add(self, batch: Batch) -> None:
        for name in batch.names:
            if name not in self._matches:
                self._matches[name] = [TextMatches(*search) for search in self._searches]
            for matches in self._matches[name]:
                matches.search(batch, name)

    def findings(self) -> Iterator[Finding]:
        for name in self._subject.schema.names:
            for matches, (code, meaning, note) in zip(self._matches.get(name, ()), _KINDS, strict=False):
                if matches.rows:
                    message = f"a value of column {name!r} has {matches.describe(note=note)} in it, {meaning}"
                    yield finding_of(code, message, matches.rows, name)
        yield from self._of_arguments()
        for examples, name in example_columns(self._subject):
            for search, (code, meaning, note) in zip(self._searches, _KINDS, strict=True):
                matches = TextMatches(*search)
                matches.search(examples, name)
                if matches.rows:
                    message = f"the value has {matches.describe(note=note)} in it, {meaning}"
                    yield finding_of_examples(code, message, matches.rows, name)

    def _of_arguments(self) -> Iterator[Finding]:
        """Yield the findings about arguments of a chat template that hold tokens."""
        settings = self._subject.chat_settings
        if settings is None:
            return
        for name, value in settings.data().items():
            text = "\0".join(_texts_of(value))
            for (code, tokens), (_, meaning, note) in zip(self._tokens, _KINDS, strict=True):
                present = [token for token in tokens if token in text] if code in self._subject.codes else []
                if present and name in settings.source:
                    listed = ", ".join(repr(token) + (note(token) if note else "") for token in present[:_MAX_LISTED])
                    yield finding_of(code, f"the argument {name} has {listed} in it, {meaning}")


def _texts_of(value: Any) -> Iterator[str]:
    """Yield the texts within an argument, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts_of([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts_of(item)


class DoubleBos(Check):
    """Texts that begin with a BOS token twice, or once if the tokenizer adds it. Messages become texts elsewhere."""

    codes = ("double_bos", "bos_beside_tokenizer")
    reads_requests = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._added = None if subject.counter is None else _added_token(subject.counter.tokenizer)
        tokens = _bos_tokens(subject)
        self._tokens = tokens if self._added is None or self._added in tokens else [*tokens, self._added]
        self._longest = 2 * max(len(token.encode()) for token in self._tokens)
        self._first_bytes = bytes({token.encode()[0] for token in self._tokens if token})
        self._twice = {token: Rows() for token in self._tokens}
        self._once = Rows()

    def add(self, batch: Batch) -> None:
        for requests in batch.requests:
            texts = requests.texts[0] if len(requests.texts) == 1 else None
            if texts is None or texts.parents is not None:
                continue
            # Few texts begin with the first byte of a token, and looking at one byte of each costs almost nothing.
            candidates = _core.begin_with(texts.array, self._first_bytes)
            if len(candidates) == len(texts.array):
                self._add(texts.array, requests.samples)
            elif len(candidates):
                self._add(texts.array.take(candidates), requests.samples.take(candidates))

    def _add(self, texts: pa.Array, samples: pa.Array) -> None:
        kind = pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary()
        # Each text is read from memory once, and most texts begin alike.
        beginnings = pc.binary_slice(texts.cast(kind), 0, self._longest)
        unique = pc.unique(beginnings)
        for token in self._tokens:
            if pc.any(pc.starts_with(unique, token * 2)).as_py():
                twice = pc.fill_null(pc.starts_with(beginnings, token * 2), False)
                self._twice[token].add(pc.unique(samples.filter(twice)), 0, 2 * len(token.encode()))
        if self._added is not None and pc.any(pc.starts_with(unique, self._added)).as_py():
            once = pc.and_not(pc.starts_with(beginnings, self._added), pc.starts_with(beginnings, self._added * 2))
            self._once.add(pc.unique(samples.filter(pc.fill_null(once, False))), 0, len(self._added.encode()))

    def findings(self) -> Iterator[Finding]:
        for token, rows in self._twice.items():
            if rows:
                yield finding_of("double_bos", f"the prompt begins with {token!r} twice", rows)
        if self._once:
            message = f"the prompt begins with {self._added!r}, which the tokenizer puts before each text too"
            yield finding_of("bos_beside_tokenizer", message, self._once)


def _tokens_in(texts: Iterable[str]) -> list[str]:
    r"""Return what looks like a control token in some texts.

    >>> _tokens_in(["<|im_start|>user\n", "[INST] {q} [/INST]", "a < b"])
    ['<|im_start|>', '[INST]', '[/INST]']

    """
    tokens: dict[str, None] = {}
    for text in texts:
        matches = {(match.start(), match[0]) for kind in (_TOKEN, _NAMED_TOKEN) for match in kind.finditer(text)}
        tokens |= dict.fromkeys(token for _, token in sorted(matches))
    return list(tokens)


def _special_tokens(subject: Subject) -> list[str]:
    """Return the tokens of the meta template or the template, of the chat template, and of the tokenizer."""
    tokens = _tokens_in(subject.control_texts)
    settings = subject.chat_settings
    if settings is not None:
        tokens += [*_tokens_in([settings.source]), *_config_tokens(settings.variables)]
    if subject.counter is not None:
        tokenizer = subject.counter.tokenizer
        added = tokenizer.get_added_tokens_decoder() if hasattr(tokenizer, "get_added_tokens_decoder") else {}
        tokens += [token.content for token in added.values() if token.special]
        tokens += _folder_tokens(subject.counter.name)
    return [token for token in dict.fromkeys(tokens) if token.strip()]


def _bos_tokens(subject: Subject) -> list[str]:
    """Return the known tokens that may begin a text."""
    tokens = [*_BOS]
    if subject.chat_settings is not None:
        bos = subject.chat_settings.variables.get("bos_token")
        tokens += [bos] if isinstance(bos, str) and bos else []
    return list(dict.fromkeys(tokens))


def _folder_tokens(name: str) -> list[str]:
    """Return the tokens of the configuration in the folder of a tokenizer's file."""
    path = Path(name).expanduser()
    path = path / "tokenizer_config.json" if path.is_dir() else path.with_name("tokenizer_config.json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return _config_tokens(config) if isinstance(config, dict) else []


def _config_tokens(config: Mapping[str, Any]) -> list[str]:
    tokens = [config.get(key) for key in _CONFIG_KEYS]
    extra = config.get("additional_special_tokens")
    tokens += extra if isinstance(extra, (list, tuple)) else []
    added = config.get("added_tokens_decoder")
    if isinstance(added, Mapping):
        tokens += [token for token in added.values() if isinstance(token, Mapping) and token.get("special")]
    contents = (token.get("content") if isinstance(token, Mapping) else token for token in tokens)
    return [content for content in contents if isinstance(content, str) and content]


def _added_token(tokenizer: Any) -> str | None:
    """Return the token that a tokenizer puts before each text; None if it doesn't."""
    special = tokenizer.encode("a", add_special_tokens=True)
    plain = tokenizer.encode("a", add_special_tokens=False)
    if not special.ids or not plain.ids or special.ids[0] == plain.ids[0]:
        return None
    token: str | None = tokenizer.id_to_token(special.ids[0])
    return token

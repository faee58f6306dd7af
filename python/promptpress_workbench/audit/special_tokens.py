"""Values with tokens of the template or tags of AISBench; tokens that control the model, in values or twice at a begin.

Tokens that control the model are those of the meta template, the chat template and the tokenizer, and those of
well-known models.
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

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch, texts_within
from promptpress_workbench.audit.check import Check, ConfiguredCheck, TextMatches, example_columns, findings_of_examples
from promptpress_workbench.audit.findings import Finding, Rows, finding_of, without
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject
from promptpress_workbench.prompts.kinds import FAMILIES, families_of

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

_HARNESSES = ("opencompass", "aisbench")
_TAGS = ("<AIS_TEXT_START>", "<AIS_IMAGE_START>", "<AIS_VIDEO_START>", "<AIS_AUDIO_START>", "<AIS_CONTENT_TAG>")


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
                message = f"a value of column {name!r} has {matches.describe(note=note)} in it, {meaning}"
                yield finding_of(code, message, matches.rows, name)
        yield from self._of_arguments()
        for examples, name in example_columns(self._subject):
            for search, (code, meaning, note) in zip(self._searches, _KINDS, strict=True):
                matches = TextMatches(*search)
                matches.search(examples, name)
                message = f"the value has {matches.describe(note=note)} in it, {meaning}"
                yield from findings_of_examples(code, message, matches.rows, name)

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
            yield finding_of("double_bos", f"the prompt begins with {token!r} twice", rows)
        message = f"the prompt begins with {self._added!r}, which the tokenizer puts before each text too"
        yield finding_of("bos_beside_tokenizer", message, self._once)


def _tokens_in(texts: Iterable[str]) -> list[str]:
    """Return what looks like a control token in some texts."""
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


class TemplateTokens(ConfiguredCheck):
    """Values with the `ice_token` or the `sep_token`."""

    codes = ("template_token_removed", "template_token_in_value")
    reads_columns = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        tokens = _template_tokens(subject)
        # Examples lose the sep_token where harnesses write them for generation, wherever it comes from.
        removes = subject.is_gen and subject.settings["dialect"] in _HARNESSES
        self._removed_tokens = _template_tokens(subject, ("sep_token",)) if removes else []
        finder = _core.TextFinder(tokens)
        self._matches = {name: TextMatches(tokens, finder) for name in subject.schema.names}
        self._removed = {name: Rows() for name in subject.schema.names}

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        return bool(_template_tokens(subject))

    def add(self, batch: ConfiguredBatch) -> None:
        for name in batch.names:
            rows = self._matches[name].search(batch, name)
            if len(rows) and batch.is_flat(name):
                self._removed[name].add(_changed_rows(batch, name, rows))

    def findings(self) -> Iterator[Finding]:
        for name, matches in self._matches.items():
            removed = self._removed[name]
            message = f"a value of column {name!r} has {matches.describe()} in it, a token of the template"
            if removed:
                yield finding_of("template_token_removed", f"{message}, and comes out otherwise", removed, name)
            else:
                yield finding_of("template_token_in_value", message, matches.rows, name)
        for examples, name in example_columns(self._subject):
            matches = TextMatches(self._removed_tokens)
            matches.search(examples, name)
            message = f"the value has {matches.describe()} in it, a token of the template, and loses it"
            yield from findings_of_examples("template_token_removed", message, matches.rows, name)


def _template_tokens(subject: ConfiguredSubject, keys: tuple[str, ...] = ("ice_token", "sep_token")) -> list[str]:
    templates = [subject.settings[part] for part in ("prompt_template", "ice_template")]
    tokens = [template.get(key) for template in templates if isinstance(template, Mapping) for key in keys]
    return list(dict.fromkeys(token for token in tokens if isinstance(token, str) and token))


def _changed_rows(batch: ConfiguredBatch, name: str, rows: pa.Array) -> pa.Array:
    """Return the numbers of the samples whose value is in none of their requests' texts."""
    values = next(texts_within(batch.column(name))).array.take(rows)
    numbers = pc.add(rows, batch.first)
    unchanged = pa.array([], pa.int64())
    for requests in batch.requests:
        for texts in requests.message_texts:
            samples = texts.spread(requests.samples)
            is_searched = pc.is_in(samples, value_set=numbers)
            samples = samples.filter(is_searched)
            needles = values.take(pc.index_in(samples, value_set=numbers))
            starts = _core.find_row_texts(texts.array.filter(is_searched), needles, False)
            unchanged = pa.concat_arrays([unchanged, samples.filter(starts.is_valid())])
    return without(numbers, unchanged)


class MediaTags(ConfiguredCheck):
    """Values with tags of AISBench that aren't meant as tags; only for AISBench's configurations."""

    codes = ("media_tag", "untagged_text", "media_tag_in_value")
    reads_columns = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        self._of_tags: dict[tuple[str, str], Rows] = {}
        finder = _core.TextFinder(list(_TAGS))
        self._matches = {name: TextMatches(_TAGS, finder) for name in subject.schema.names}

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        return bool(subject.settings["dialect"] == "aisbench")

    def add(self, batch: ConfiguredBatch) -> None:
        """Search for tags, or let the core find the wrong ones if the template reads tags."""
        if self._subject.family != "MMPromptTemplate":
            for name in batch.names:
                self._matches[name].search(batch, name)
            return
        for finding in self._subject.core.findings(batch.core_table, batch.python_text).to_pylist():
            rows = self._of_tags.setdefault((finding["finding"], finding["column"]), Rows())
            number = batch.first + finding["row"]
            if number not in rows.first[-1:]:
                rows.add([number])

    def findings(self) -> Iterator[Finding]:
        for (code, name), rows in self._of_tags.items():
            meaning = "a media tag that isn't meant" if code == "media_tag" else "text outside every media tag"
            yield finding_of(code, f"a value of column {name!r} has {meaning}", rows, name)
        for name, matches in self._matches.items():
            message = f"a value of column {name!r} has {matches.describe()} in it, which this template doesn't read"
            yield finding_of("media_tag_in_value", message, matches.rows, name)

"""Tokens of the template, and media tags of AISBench, in values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.audit.batch import ConfiguredBatch
from promptpress_workbench.audit.checks.check import ConfiguredCheck
from promptpress_workbench.audit.finding import Finding, Rows, finding_of, without
from promptpress_workbench.audit.searches import TextMatches, example_columns, finding_of_examples
from promptpress_workbench.audit.subject import ConfiguredSubject
from promptpress_workbench.audit.texts import texts_within

_HARNESSES = ("opencompass", "aisbench")
_TAGS = ("<AIS_TEXT_START>", "<AIS_IMAGE_START>", "<AIS_VIDEO_START>", "<AIS_AUDIO_START>", "<AIS_CONTENT_TAG>")


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
            if not matches.rows:
                continue
            removed = self._removed[name]
            message = f"a value of column {name!r} has {matches.describe()} in it, a token of the template"
            if removed:
                yield finding_of("template_token_removed", f"{message}, and comes out otherwise", removed, name)
            else:
                yield finding_of("template_token_in_value", message, matches.rows, name)
        for examples, name in example_columns(self._subject):
            matches = TextMatches(self._removed_tokens)
            matches.search(examples, name)
            if matches.rows:
                message = f"the value has {matches.describe()} in it, a token of the template, and loses it"
                yield finding_of_examples("template_token_removed", message, matches.rows, name)


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
        self._rows: dict[tuple[str, str], Rows] = {}
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
            rows = self._rows.setdefault((finding["finding"], finding["column"]), Rows())
            number = batch.first + finding["row"]
            if number not in rows.first[-1:]:
                rows.add([number])

    def findings(self) -> Iterator[Finding]:
        for (code, name), rows in self._rows.items():
            meaning = "a media tag that isn't meant" if code == "media_tag" else "text outside every media tag"
            yield finding_of(code, f"a value of column {name!r} has {meaning}", rows, name)
        for name, matches in self._matches.items():
            if matches.rows:
                message = f"a value of column {name!r} has {matches.describe()} in it, which this template doesn't read"
                yield finding_of("media_tag_in_value", message, matches.rows, name)

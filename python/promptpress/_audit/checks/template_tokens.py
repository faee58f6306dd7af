"""The template's own tokens, and AISBench's media tags, in values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch
from promptpress._audit.example_rows import ExampleRows, finding_of_examples
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.places import Places
from promptpress._audit.subject import Subject
from promptpress._audit.texts import texts_within

__all__ = ["MediaTags", "TemplateTokens"]

_HARNESSES = ("opencompass", "aisbench")
_TAGS = ("<AIS_TEXT_START>", "<AIS_IMAGE_START>", "<AIS_VIDEO_START>", "<AIS_AUDIO_START>", "<AIS_CONTENT_TAG>")


class TemplateTokens:
    """Values that have the `ice_token` or the `sep_token` in them."""

    def __init__(self, subject: Subject, tokens: list[str], removed: list[str]) -> None:
        self._examples = ExampleRows.of(subject)
        self._of_examples = removed
        finder = _core.TextFinder(tokens)
        self._places = {name: Places(tokens, finder) for name in subject.schema.names}
        self._removed = {name: Rows() for name in subject.schema.names}

    @classmethod
    def of(cls, subject: Subject) -> TemplateTokens | None:
        """Where a template has such a token."""
        found: dict[str, None] = {}
        removed: dict[str, None] = {}
        for part in ("prompt_template", "ice_template"):
            template = subject.settings[part]
            for key in ("ice_token", "sep_token"):
                token = template.get(key) if isinstance(template, Mapping) else None
                if isinstance(token, str) and token:
                    found[token] = None
                    # Examples lose it where harnesses write them for generation, wherever it comes from.
                    if key == "sep_token" and subject.is_gen and subject.settings["dialect"] in _HARNESSES:
                        removed[token] = None
        return cls(subject, list(found), list(removed)) if found else None

    def add(self, batch: Batch) -> None:
        """Look for them, and whether the value comes out as it is."""
        for name in batch.names:
            rows = self._places[name].look(batch, name)
            if len(rows) and batch.is_flat(name):
                self._removed[name].add(self._changed(batch, name, rows))

    @staticmethod
    def _changed(batch: Batch, name: str, rows: pa.Array) -> pa.Array:
        """The rows whose value stands in none of their requests' texts."""
        values = next(texts_within(batch.column(name))).array.take(rows)
        numbers = pc.add(rows, batch.first)
        whole = pa.array([], pa.int64())
        for requests in batch.requests:
            for texts in requests.message_texts:
                samples = requests.samples if texts.parents is None else requests.samples.take(texts.parents)
                here = pc.is_in(samples, value_set=numbers)
                own = samples.filter(here)
                wanted = values.take(pc.index_in(own, value_set=numbers))
                starts = _core.find_own(texts.array.filter(here), wanted, False)
                whole = pa.concat_arrays([whole, own.filter(starts.is_valid())])
        return numbers.filter(pc.invert(pc.is_in(numbers, value_set=whole)))

    def findings(self) -> Iterator[Finding]:
        """Name the columns."""
        for name, places in self._places.items():
            if not places.rows:
                continue
            removed = self._removed[name]
            message = f"a value of column {name!r} has {places.named()} in it, a token of the template"
            if removed:
                yield finding_of("template_token_removed", f"{message}, and comes out otherwise", removed, name)
            else:
                yield finding_of("template_token_in_value", message, places.rows, name)
        for examples, name in ExampleRows.names_of(self._examples):
            places = Places(self._of_examples)
            places.look(examples, name)
            if places.rows:
                message = f"the value has {places.named()} in it, a token of the template, and loses it"
                yield finding_of_examples("template_token_removed", message, places.rows, name)


class MediaTags:
    """Values that have tags of AISBench in them, where they aren't meant."""

    def __init__(self, subject: Subject) -> None:
        self._core = subject.core
        self._reads = subject.family == "MMPromptTemplate"
        self._found: dict[tuple[str, str], Rows] = {}
        finder = _core.TextFinder(list(_TAGS))
        self._places = {name: Places(_TAGS, finder) for name in subject.schema.names}

    @classmethod
    def of(cls, subject: Subject) -> MediaTags | None:
        """For AISBench's configurations."""
        return cls(subject) if subject.settings["dialect"] == "aisbench" else None

    def add(self, batch: Batch) -> None:
        """Look for tags."""
        if not self._reads:
            for name in batch.names:
                self._places[name].look(batch, name)
            return
        for one in self._core.findings(batch.core_table, batch.lower).to_pylist():
            rows = self._found.setdefault((one["finding"], one["column"]), Rows())
            number = batch.first + one["row"]
            if number not in rows.first[-1:]:
                rows.add([number])

    def findings(self) -> Iterator[Finding]:
        """Name the columns."""
        for (code, name), rows in self._found.items():
            what = "a media tag that isn't meant" if code == "media_tag" else "text outside every media tag"
            yield finding_of(code, f"a value of column {name!r} has {what}", rows, name)
        for name, places in self._places.items():
            if places.rows:
                message = f"a value of column {name!r} has {places.named()} in it, which this template doesn't read"
                yield finding_of("media_tag_in_value", message, places.rows, name)

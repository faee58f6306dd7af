"""Requests without text, and requests that are equal: of different samples, or of one sample's labels."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.batch import Batch, Requests
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject
from promptpress._audit.taken import taken

__all__ = ["EmptyPrompts", "EqualLabels", "EqualPrompts"]

_SHORT = 64
"""Bytes of a request that may be white space alone; no template is longer and says nothing."""


class EmptyPrompts:
    """Requests that say nothing."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._rows = Rows()

    @classmethod
    def of(cls, subject: Subject) -> EmptyPrompts:
        """Any configuration may have some."""
        return cls(subject)

    def add(self, batch: Batch) -> None:
        """Look at the short ones."""
        for requests in batch.requests:
            silent: pa.Array | None = None
            for texts in requests.texts:
                lengths = pc.fill_null(pc.binary_length(texts.array), 0)
                if texts.parents is None:
                    silent = pc.indices_nonzero(pc.less_equal(lengths, _SHORT)).cast(pa.int64())
                    continue
                # Few messages are short in all requests of a conversation: those that aren't rule a request out.
                if silent is None:
                    silent = _core.repeated_rows(0, len(requests.prompts), 1)
                speaking = pc.unique(texts.parents.filter(pc.greater(lengths, _SHORT)))
                silent = silent.filter(pc.invert(pc.is_in(silent, value_set=speaking)))
            if silent is not None and len(silent):
                self._look(requests, silent)

    def _look(self, requests: Requests, silent: pa.Array) -> None:
        for texts in requests.texts:
            if texts.parents is None:
                speaking = silent.filter(_says_something(texts.array.take(silent)))
            else:
                here = pc.is_in(texts.parents, value_set=silent)
                speaking = texts.parents.filter(here).filter(_says_something(texts.array.filter(here)))
            silent = silent.filter(pc.invert(pc.is_in(silent, value_set=speaking)))
        self._rows.add(pc.unique(requests.samples.take(silent)))

    def findings(self) -> Iterator[Finding]:
        """Say how many there are."""
        if self._rows:
            yield finding_of("empty_prompt", "the prompt has no text, or white space alone", self._rows)


def _says_something(texts: pa.Array) -> pa.Array:
    return pc.not_equal(pc.utf8_trim_whitespace(pc.fill_null(texts, "")), "")


class EqualLabels:
    """Labels of one sample with equal prompts."""

    def __init__(self, subject: Subject) -> None:
        self._is_json = subject.is_json
        self._labels = subject.labels or []
        self._rows = Rows()
        self._pair = ""

    @classmethod
    def of(cls, subject: Subject) -> EqualLabels | None:
        """Where samples have a request for each of several labels."""
        return cls(subject) if subject.labels is not None and len(subject.labels) > 1 else None

    def add(self, batch: Batch) -> None:
        """Compare the requests of each sample."""
        for requests in batch.requests:
            hashes = _core.request_hashes(requests.prompts, self._is_json)
            table = pa.table({"sample": requests.samples, "hash": hashes.cast(pa.binary())})
            counted = table.group_by(["sample", "hash"], use_threads=False).aggregate([([], "count_all")])
            found = counted.filter(pc.greater(counted["count_all"], 1))
            if len(found):
                rows = pc.unique(found["sample"].combine_chunks())
                rows = rows.take(pc.sort_indices(rows))
                self._name(table, rows[0])
                self._rows.add(rows)

    def _name(self, table: pa.Table, sample: pa.Scalar) -> None:
        if self._pair:
            return
        own = table.filter(pc.equal(table["sample"], sample))["hash"].to_pylist()
        second = next(at for at, value in enumerate(own) if value in own[:at])
        self._pair = f"{self._labels[own.index(own[second])]!r} and {self._labels[second]!r}"

    def findings(self) -> Iterator[Finding]:
        """Say how many samples there are."""
        if self._rows:
            message = f"labels of one sample have equal prompts; in the first row {self._pair}"
            yield finding_of("equal_labels", message, self._rows)


class EqualPrompts:
    """Equal prompts of different samples: 40 bytes a sample are kept."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._answers = subject.output_column
        self._seen: list[pa.Table] = []

    @classmethod
    def of(cls, subject: Subject) -> EqualPrompts | None:
        """Of conversations the turns of one sample begin alike by design, and so may those of two."""
        return None if subject.core.has_turns or subject.labels == [] else cls(subject)

    def add(self, batch: Batch) -> None:
        """Remember what each sample's prompts are, and its answer."""
        rows = _core.repeated_rows(batch.first, batch.samples.num_rows, 1)
        self._seen.append(pa.table({"prompt": self._hashes(batch), "answer": batch.answers, "row": rows}))

    def _hashes(self, batch: Batch) -> pa.Array:
        """Hash the first request of each sample."""
        times = 1 if self._subject.labels is None else len(self._subject.labels)
        out = []
        for requests in batch.requests:
            firsts = requests.prompts
            if times > 1:
                count = requests.stop - requests.start
                firsts = taken(firsts, pc.multiply(_core.repeated_rows(0, count, 1), times))
            for prompts in firsts.chunks if isinstance(firsts, pa.ChunkedArray) else (firsts,):
                out.append(_core.content_hashes(pa.table({"prompt": prompts}), False).cast(pa.binary()))
        return pa.concat_arrays(out) if out else pa.array([], pa.binary())

    def findings(self) -> Iterator[Finding]:
        """Group them."""
        if not self._seen:
            return
        table = pa.concat_tables(self._seen)
        counted = table.group_by("prompt").aggregate([("row", "count"), ("answer", "count_distinct")])
        counted = counted.filter(pc.greater(counted["row_count"], 1))
        if not len(counted):
            return
        several = pc.greater(counted["answer_count_distinct"], 1)
        for code, mask in (("equal_prompts", several), ("duplicate_samples", pc.invert(several))):
            prompts = counted.filter(mask)["prompt"]
            if not len(prompts):
                continue
            own = table.filter(pc.is_in(table["prompt"], value_set=prompts.combine_chunks()))
            rows = Rows()
            rows.add(own["row"].combine_chunks())
            others = (
                own["row"].take(pc.indices_nonzero(pc.equal(own["prompt"], own["prompt"][0])).slice(0, 2)).to_pylist()
            )
            said = "and their answers differ" if code == "equal_prompts" else "and so are their answers"
            if self._answers is None:
                said = "and no column of answers tells them apart"
            message = (
                f"{len(prompts):,} prompt{'s are' if len(prompts) > 1 else ' is'} of several samples each, {said}; "
                f"rows {others[0]} and {others[1]}, say"
            )
            yield finding_of(code, message, rows)

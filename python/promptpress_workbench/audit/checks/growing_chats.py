"""Conversations whose beginnings a chat template renders otherwise once they go on."""

from __future__ import annotations

import copy
import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from promptpress.engine import RenderOptions
from promptpress.engine.templates import ChatEngine

from promptpress_workbench.audit.batch import Batch
from promptpress_workbench.audit.checks.check import Check
from promptpress_workbench.audit.finding import Finding, Rows, finding_of
from promptpress_workbench.audit.subject import Subject, TemplateSubject

_MAX_ENDS = 4
"""So many of the first turns, and of the last ones, are looked at."""

_MAX_EXCERPT = 40
"""The most characters of a text that a message shows."""


class GrowingChats(Check):
    """Chat templates that write the beginning of a conversation anew when it grows.

    A model is served the shorter conversation and trained on the longer one, so both should begin alike.
    """

    codes = ("changing_prefix",)

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        assert isinstance(subject, TemplateSubject)
        assert isinstance(subject.engine, ChatEngine)
        self._engine = copy.copy(subject.engine)  # whose runs leave the counts of the audit's own alone
        self._run = self._engine.begin(RenderOptions(errors="column"), None)
        self._rows = Rows()
        self._example = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true for chat templates that don't continue the last message."""
        settings = subject.chat_settings
        return isinstance(subject, TemplateSubject) and settings is not None and settings.continued is None

    def add(self, batch: Batch) -> None:
        """Render the conversations up to each turn of the assistant."""
        conversations = self._engine.conversations(pa.Table.from_batches([batch.samples])) or []
        texts: list[str] = []
        rows: list[tuple[int, int | None, str]] = []
        for row, messages in enumerate(conversations):
            ends = [] if messages is None else _ends(messages)
            if messages is None or not ends:
                continue
            try:
                texts += [json.dumps(messages[:end], ensure_ascii=False) for end in (None, *ends)]
            except (TypeError, ValueError):  # a value without JSON, such as a date
                continue
            rows += [(row, None, ""), *((row, end, messages[end - 1]["content"]) for end in ends)]
        if not texts:
            return
        table = pa.table({self._engine.column: pa.array(texts, pa.large_string())})
        prompts = [text for part in self._run.parts(table, 0) for text in part.prompts.to_pylist()]
        whole = ""
        changes: dict[int, tuple[int, int]] = {}
        for (row, end, content), text in zip(rows, prompts, strict=True):
            if end is None:
                whole = text
            elif text is not None and whole is not None and row + batch.first not in changes:
                index = _changed(text, whole, content)
                if index is not None:
                    self._note(changes, row + batch.first, (end, index), text, whole)
        self._rows.add(changes, *next(iter(changes.values()), (None, None)))

    def _note(
        self, changes: dict[int, tuple[int, int]], sample: int, change: tuple[int, int], text: str, whole: str
    ) -> None:
        end, index = change
        before, after = text[index : index + _MAX_EXCERPT], whole[index : index + _MAX_EXCERPT]
        start = len(whole[:index].encode())
        changes[sample] = (start, start + len(after.encode()))
        if not self._rows and len(changes) == 1:
            self._example = f"{before!r} becomes {after!r} after message {end - 1}"

    def findings(self) -> Iterator[Finding]:
        if self._rows:
            message = f"the beginning of a conversation is rendered otherwise once it goes on; {self._example}"
            yield finding_of("changing_prefix", message, self._rows)


def _ends(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return how many messages there are up to each text of the assistant but the last message.

    >>> _ends([{"role": role, "content": "x"} for role in ("user", "assistant", "user", "assistant")])
    [2]

    """
    ends = [
        number + 1
        for number, message in enumerate(messages[:-1])
        if message.get("role") == "assistant" and isinstance(message.get("content"), str) and message["content"].strip()
    ]
    return ends if len(ends) <= 2 * _MAX_ENDS else [*ends[:_MAX_ENDS], *ends[-_MAX_ENDS:]]


def _changed(text: str, whole: str, content: str) -> int | None:
    """Return where a shorter conversation's text differs from a longer one's; None if they begin alike.

    What stands after the content of the last message needn't be the same: it ends the text, or asks for an answer.

    >>> _changed("<u>a<m>b<end>", "<u>a<m>b<u>c", "b"), _changed("<think><m>b", "<m>b<u>c", "b")
    (None, 1)

    """
    if whole.startswith(text):
        return None
    index = bisect_left(range(len(text)), True, key=lambda last: not whole.startswith(text[: last + 1]))
    content = content.strip()
    last = text.rfind(content)
    return None if last >= 0 and last + len(content) <= index else index

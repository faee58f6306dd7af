"""Tokens that a mask trains, that hold text of the template and of data, or that a budget leaves out; growing chats."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from promptpress.engine import ExampleChoices, Part, RenderOptions, Run, sample_numbers
from promptpress.engine.errors import counted

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch
from promptpress_workbench.audit.check import Check, ConfiguredCheck
from promptpress_workbench.audit.findings import Finding, Rows, finding_of
from promptpress_workbench.audit.subject import ConfiguredSubject, RequestTokens, Subject, TemplateSubject

if TYPE_CHECKING:
    from promptpress.engine.templates import ChatEngine  # needs Jinja2

_MAX_BETWEEN = 8
"""The most tokens between what is trained and the token that would end it."""

_MAX_NUMBERS = 5
"""The numbers of examples that a message lists."""

_MAX_ENDS = 4
"""So many of the first turns, and of the last ones, are looked at."""

_MAX_EXCERPT = 40
"""The most characters of a text that a message shows."""


class TrainedTokens(Check):
    """Masks that train nothing, that don't train the token that ends a turn, or that aren't known."""

    codes = ("unknown_mask", "empty_mask", "untrained_stop")

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        tokens = subject.tokens
        assert tokens is not None  # validated together with the mask
        self._tokens = tokens
        self._added = frozenset(tokens.encoder.tokenizer.get_added_tokens_decoder())
        self._empty, self._unended, self._unknown = Rows(), Rows(), Rows()
        self._end: str | None = None
        self._error = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        return subject.mask is not None

    def add(self, batch: Batch) -> None:
        requests, errors = self._tokens.of(batch.samples, batch.first)
        empty: dict[int, None] = {}
        unended: dict[int, tuple[int, int]] = {}
        for request in requests:
            mask = request.mask or b""
            if 1 not in mask:
                empty[request.sample] = None
                continue
            last = next((last for last in _last_trained(mask) if not self._is_ended(request, last)), None)
            if last is not None and request.sample not in unended:
                unended[request.sample] = (request.starts[last], request.ends[last])
                if not self._unended and len(unended) == 1:
                    self._end = self._token_after(request, last)
        self._empty.add(empty)
        self._unended.add(unended, *next(iter(unended.values()), (None, None)))
        if errors and not self._unknown:
            self._error = next(iter(errors.values()))
        self._unknown.add(errors)

    def _is_ended(self, request: RequestTokens, last: int) -> bool:
        """Return true if a stretch of trained tokens ends with an added token, or blanks after one."""
        mask = request.mask or b""
        while last >= 0 and mask[last]:
            if request.ids[last] in self._added:
                return True
            if not request.text[request.starts[last] : request.ends[last]].isspace():
                return False
            last -= 1
        return False

    def _token_after(self, request: RequestTokens, last: int) -> str | None:
        """Return the first added token after a stretch of trained tokens; None if none is near."""
        for number in request.ids[last + 1 : last + 1 + _MAX_BETWEEN]:
            if number in self._added:
                token: str | None = self._tokens.encoder.tokenizer.id_to_token(number)
                return token
        return None

    def findings(self) -> Iterator[Finding]:
        yield finding_of("unknown_mask", f"which tokens are trained isn't known: {self._error}", self._unknown)
        yield finding_of("empty_mask", "no token of the prompt is trained", self._empty)
        end = "no token that ends the turn is near" if self._end is None else f"{self._end!r} follows, untrained"
        message = f"what is trained doesn't end with a token that ends the turn; in the first row {end}"
        yield finding_of("untrained_stop", message, self._unended)


class TokenBorders(Check):
    """Tokens that hold the end of the template's text and the beginning of data, or the other way round."""

    codes = ("straddling_token",)

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        tokens = subject.tokens
        assert tokens is not None  # as in `applies_to`
        self._tokens = tokens
        self._token = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true if there is a tokenizer, and requests are texts."""
        return subject.tokens is not None

    def add(self, batch: Batch) -> None:
        requests, _ = self._tokens.of(batch.samples, batch.first)
        tokens: dict[int, tuple[int, int]] = {}
        for request in requests:
            if request.sample in tokens:
                continue
            count = len(request.ends)
            # Special tokens after a text have no place in it.
            while count and request.ends[count - 1] == 0:
                count -= 1
            for border in request.borders:
                number = bisect_right(request.ends, border, 0, count)
                if number < count and request.starts[number] < border:
                    tokens[request.sample] = (request.starts[number], request.ends[number])
                    if not self._rows and len(tokens) == 1:
                        self._token = request.text[slice(*tokens[request.sample])].decode(errors="replace")
                    break
        self._rows.add(tokens, *next(iter(tokens.values()), (None, None)))

    def findings(self) -> Iterator[Finding]:
        message = f"a token holds text of the template and of data; in the first row {self._token!r}"
        yield finding_of("straddling_token", message, self._rows)


def _last_trained(mask: bytes) -> Iterator[int]:
    """Yield the last token of each stretch of trained tokens."""
    end = mask.find(b"\1\0")
    while end >= 0:
        yield end
        end = mask.find(b"\1\0", end + 1)
    if mask.endswith(b"\1"):
        yield len(mask) - 1


class Budgets(ConfiguredCheck):
    """Examples that are left out, and requests that don't fit without any."""

    codes = ("examples_left_out", "prompt_truncated")

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        self._run: Run | None = None
        self._choices = ExampleChoices(subject.engine.configuration)
        self._shorter, self._long = Rows(), Rows()
        self._shots: Counter[int] = Counter()

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        return subject.engine.fit is not None

    def add(self, batch: ConfiguredBatch) -> None:
        engine, table = self._subject.engine, pa.Table.from_batches([batch.samples])
        if self._run is None:
            self._run = engine.begin(RenderOptions(errors="column"), self._subject.labels)
        choices = self._choices.of_samples(table, batch.first)
        for part in self._run.parts(table, batch.first):
            assert isinstance(part, Part)
            counts: list[int | None] = part.more[0].to_pylist()
            truncated: list[bool | None] = part.more[1].to_pylist()
            samples: Any = sample_numbers(part, self._run.times).to_pylist()
            shorter = [
                sample
                for sample, count in zip(samples, counts, strict=True)
                if count is not None and count < len(choices[sample - batch.first])
            ]
            self._shots.update(count for count in counts if count is not None)
            self._shorter.add(dict.fromkeys(shorter))
            long = [sample for sample, is_long in zip(samples, truncated, strict=True) if is_long]
            self._long.add(dict.fromkeys(long))

    def findings(self) -> Iterator[Finding]:
        fit = self._subject.engine.fit
        assert fit is not None
        numbers = sorted(self._shots.items(), reverse=True)
        listed = ", ".join(f"{count:,} of {shots}" for shots, count in numbers[:_MAX_NUMBERS])
        more = ", ..." if len(numbers) > _MAX_NUMBERS else ""
        most = counted(fit.limit, "token")
        message = f"examples are left out to have at most {most}; requests by examples: {listed}{more}"
        yield finding_of("examples_left_out", message, self._shorter)
        what = "without any example" if fit.drops is not None else "with the examples that the harness keeps"
        message = f"the prompt has more than {most} {what}, so the model cuts it"
        yield finding_of("prompt_truncated", message, self._long)


class GrowingChats(Check):
    """Chat templates that write the beginning of a conversation anew when it grows.

    A model is served the shorter conversation and trained on the longer one, so both should begin alike.
    """

    codes = ("changing_prefix",)

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        assert isinstance(subject, TemplateSubject)
        self._engine = copy.copy(
            cast("ChatEngine", subject.engine)
        )  # whose runs leave the counts of the audit's own alone
        self._example = ""

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        """Return true for chat templates that don't continue the last message."""
        settings = subject.chat_settings
        return isinstance(subject, TemplateSubject) and settings is not None and settings.continued is None

    def add(self, batch: Batch) -> None:
        """Render the conversations up to each turn of the assistant."""
        samples = pa.Table.from_batches([batch.samples])
        samples = samples.select(self._engine.columns_read(samples.column_names))
        conversations = self._engine.conversations(samples) or []
        beginnings: list[list[dict[str, Any]]] = []
        rows: list[tuple[int, int | None, str]] = []
        for row, messages in enumerate(conversations):
            ends = [] if messages is None else _ends(messages)
            if messages is None or not ends:
                continue
            beginnings += [messages[:end] for end in (None, *ends)]
            rows += [(row, None, ""), *((row, end, messages[end - 1]["content"]) for end in ends)]
        if not rows:
            return
        prompts = self._engine.texts_of(samples, [row for row, *_ in rows], beginnings)
        whole: str | None = ""
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
        message = f"the beginning of a conversation is rendered otherwise once it goes on; {self._example}"
        yield finding_of("changing_prefix", message, self._rows)


def _ends(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return how many messages there are up to each text of the assistant but the last message."""
    ends = [
        number + 1
        for number, message in enumerate(messages[:-1])
        if message.get("role") == "assistant" and isinstance(message.get("content"), str) and message["content"].strip()
    ]
    return ends if len(ends) <= 2 * _MAX_ENDS else [*ends[:_MAX_ENDS], *ends[-_MAX_ENDS:]]


def _changed(text: str, whole: str, content: str) -> int | None:
    """Return where a shorter conversation's text differs from a longer one's; None if they begin alike.

    What stands after the content of the last message needn't be the same: it ends the text, or asks for an answer.
    """
    if whole.startswith(text):
        return None
    index = bisect_left(range(len(text)), True, key=lambda last: not whole.startswith(text[: last + 1]))
    content = content.strip()
    last = text.rfind(content)
    return None if last >= 0 and last + len(content) <= index else index

"""Requests that a budget of tokens shortens, or that are too long for it still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from promptpress.engine import ExampleChoices, Part, RenderOptions, Run, sample_numbers
from promptpress.engine.errors import counted

from promptpress_workbench.audit.batch import ConfiguredBatch
from promptpress_workbench.audit.checks.check import ConfiguredCheck
from promptpress_workbench.audit.finding import Finding, Rows, finding_of
from promptpress_workbench.audit.subject import ConfiguredSubject

_MAX_NUMBERS = 5
"""The numbers of examples that a message lists."""


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
        if self._shorter:
            numbers = sorted(self._shots.items(), reverse=True)
            listed = ", ".join(f"{count:,} of {shots}" for shots, count in numbers[:_MAX_NUMBERS])
            more = ", ..." if len(numbers) > _MAX_NUMBERS else ""
            most = counted(fit.limit, "token")
            message = f"examples are left out to have at most {most}; requests by examples: {listed}{more}"
            yield finding_of("examples_left_out", message, self._shorter)
        if self._long:
            what = "without any example" if fit.drops is not None else "with the examples that the harness keeps"
            message = f"the prompt has more than {counted(fit.limit, 'token')} {what}, so the model cuts it"
            yield finding_of("prompt_truncated", message, self._long)

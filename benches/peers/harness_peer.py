"""Common parts of the real harnesses as peers: their import, and the dataset that their retrievers read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer
from peers.bare_import import Layout


class HarnessPeer(Peer):
    layout: Layout

    @classmethod
    def harness(cls) -> SimpleNamespace:
        """The harness's classes, loaded once."""
        if "_loaded" not in vars(cls):
            cls._loaded = cls.load()
        return cls._loaded

    @classmethod
    def load(cls) -> SimpleNamespace:
        return cls.layout.load()

    def missing(self) -> str | None:
        return self.layout.missing()

    def version(self) -> str:
        return self.layout.version(self.harness())

    def dataset(self, workload: Workload, samples: pa.Table) -> Any:
        """A workload's rows as a harness's dataset."""
        from datasets import Dataset, DatasetDict

        examples = workload.examples() if workload.examples else samples.slice(0, 1)
        splits = DatasetDict(train=Dataset(examples), test=Dataset(samples))
        reader = self.harness().DatasetReader(splits, **workload.config["reader"])
        return SimpleNamespace(
            reader=reader, train=reader.dataset["train"], test=reader.dataset["test"], abbr=workload.id
        )


def plain(request: Any) -> Any:
    """A request without the harness's own class of lists."""
    return list(request) if isinstance(request, list) else request

"""Models that answer at once and a dataset that is made up, for runs of AISBench's command line."""

from __future__ import annotations

import zlib
from typing import Any

from ais_bench.benchmark.datasets.base import BaseDataset
from ais_bench.benchmark.models.api_models.base_api import BaseAPIModel
from ais_bench.benchmark.models.local_models.base import BaseModel
from datasets import Dataset, DatasetDict
from made_up import LETTERS, rows


class Questions(BaseDataset):
    """Questions of several choices."""

    @staticmethod
    def load(count: int) -> DatasetDict:
        """As many test rows, and five examples."""
        return DatasetDict(test=Dataset.from_list(rows(count)), dev=Dataset.from_list(rows(5)))


def answer(request: Any) -> str:
    """A letter that depends on every byte of a request."""
    return LETTERS[zlib.crc32(repr(request).encode()) % 4]


class Echo(BaseModel):
    """Answers by a rule."""

    def __init__(self, max_out_len: int, **others: Any) -> None:
        super().__init__(path="", **others)
        self.max_out_len = max_out_len

    def get_token_len(self, prompt: str) -> int:
        return len(prompt.split())

    def generate(self, inputs: list[Any], max_out_len: int, **_: Any) -> list[str]:  # noqa: ARG002
        return [answer(prompt) for prompt in inputs]


class EchoApi(BaseAPIModel):
    """The same, as a service."""

    def __init__(self, max_out_len: int, **others: Any) -> None:
        super().__init__(path="", max_out_len=max_out_len, **others)

    def get_token_len(self, prompt: str) -> int:
        return len(prompt.split())

    async def generate(self, request: Any, max_out_len: int, output: Any, **_: Any) -> None:  # noqa: ARG002
        output.content = answer(request)
        output.success = True

    async def get_ppl(self, request: Any, max_out_len: int, output: Any, **_: Any) -> None:  # noqa: ARG002
        output.input = request
        output.ppl = zlib.crc32(repr(request).encode()) / 2**32
        output.origin_prompt_logprobs = []
        output.success = True

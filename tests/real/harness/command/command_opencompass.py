"""A model that answers at once and a dataset that is made up, for runs of OpenCompass's command line."""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict
from made_up import LETTERS, rows
from opencompass.datasets.base import BaseDataset
from opencompass.models.base import BaseModel
from opencompass.models.base_api import BaseAPIModel


class Questions(BaseDataset):
    """Questions of several choices."""

    @staticmethod
    def load(count: int) -> DatasetDict:
        """As many test rows, and five examples."""
        return DatasetDict(test=Dataset.from_list(rows(count)), dev=Dataset.from_list(rows(5)))


class Echo(BaseModel):
    """Answers by a rule that depends on every byte of a request."""

    def get_token_len(self, prompt: str) -> int:
        return len(prompt.split())

    def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:  # noqa: ARG002
        return [LETTERS[zlib.crc32(repr(prompt).encode()) % 4] for prompt in inputs]

    def get_ppl(self, inputs: list[Any], mask_length: Any = None) -> Any:  # noqa: ARG002
        return np.array([zlib.crc32(prompt.encode()) / 2**32 for prompt in inputs])


class EchoApi(BaseAPIModel):
    """The same, as a service."""

    generate = Echo.generate


if os.environ.get("PROMPTPRESS_TEST_COMMAND") == "changed":
    # A user's own change of the harness, which a task's process makes as well.
    from opencompass.utils.prompt import PromptList

    _original_format = PromptList.format

    def _format(self: Any, **values: Any) -> Any:
        return _original_format(self, **values)

    PromptList.format = _format

"""Chat templates of installed trainers, and small tokenizers that know their control tokens."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from parts.small_tokenizers import small_tokenizer
from tokenizers import AddedToken, Tokenizer

VARIABLES = {"bos_token": "<s>", "eos_token": "</s>"}
_CONTROL = re.compile(r"<[|\uff5ca-zA-Z/_]+[^<>\s'\"{}]*>|\[/?INST\]")


def folder(package: str = "trl", name: str = "chat_templates") -> Path:
    """Return the folder of an installed package's templates; skip the tests where the package is absent."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} isn't installed", allow_module_level=True)
    return Path(spec.submodule_search_locations[0], name)


def tokenizer_of(*sources: str, **variables: str) -> Any:
    """Return a tokenizer that knows the control tokens of some templates."""
    transformers = pytest.importorskip("transformers")
    tokenizer = Tokenizer.from_str(small_tokenizer("qwen").to_str())
    marks = sorted({mark for source in sources for mark in _CONTROL.findall(source)})
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in marks])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{**VARIABLES, **variables})

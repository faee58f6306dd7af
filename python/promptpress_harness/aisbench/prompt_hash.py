"""AISBench's prompt hash."""

from __future__ import annotations

from collections.abc import Sequence

from promptpress.typing import ConfigLike

from promptpress_harness.single.prompt_hash import hash_of


def get_prompt_hash(dataset_cfg: ConfigLike | Sequence[ConfigLike]) -> str:
    """Return the hash of a dataset's prompt configuration as AISBench computes it; summaries show six digits of it.

    Except for a dataset without an `infer_cfg`, it is that of `promptpress.opencompass.get_prompt_hash`.

    Args:
        dataset_cfg: A dataset's dict, a list of such dicts, or a file of them, as for OpenCompass's function.

    Returns:
        64 hexadecimal digits; `/` for a dataset without an `infer_cfg`.

    Raises:
        TemplateError: If there is no retriever, or the file has code there.
        TypeError: If it holds a value that JSON doesn't have, or a dict's keys can't be sorted.

    Example:
        >>> get_prompt_hash({"abbr": "gsm8k"})
        '/'
    """
    return hash_of(dataset_cfg, empty="/")

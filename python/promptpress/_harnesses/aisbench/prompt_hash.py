"""AISBench's prompt hash."""

from __future__ import annotations

from collections.abc import Sequence

from promptpress._harnesses.single.prompt_hash import prompt_hash
from promptpress.typing import ConfigLike


def get_prompt_hash(dataset_cfg: ConfigLike | Sequence[ConfigLike]) -> str:
    """Return the hash of a dataset's prompt configuration as AISBench computes it; summaries show six digits of it.

    It is SHA-256 of `infer_cfg` as JSON, after the harness's own changes. It covers neither the content of examples and
    samples nor the model: `Renderer.fingerprint` covers the examples and the meta template.

    Args:
        dataset_cfg: A dataset's dict, as a configuration has it or as AISBench has loaded it; a list of such dicts,
            which have one hash together; or a file of them, as `load_config` reads it. It isn't changed. A class stands
            for its dotted name, as in the file that the harness dumps.

    Returns:
        64 hexadecimal digits; `/` for a dataset without an `infer_cfg`.

    Raises:
        TemplateError: If there is no retriever, or the file has code there.
        TypeError: If it holds a value that JSON doesn't have, or a dict's keys can't be sorted.

    Example:
        >>> dataset = {
        ...     "infer_cfg": {
        ...         "prompt_template": {"type": "PromptTemplate", "template": "Q: {q}"},
        ...         "retriever": {"type": "ZeroRetriever"},
        ...         "inferencer": {"type": "GenInferencer"},
        ...     },
        ... }
        >>> get_prompt_hash(dataset)[:6]
        '8de0b9'
    """
    return prompt_hash(dataset_cfg, empty="/")

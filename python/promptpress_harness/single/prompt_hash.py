"""Computes the prompt hash of OpenCompass and AISBench, the `version` column of their summaries."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from promptpress.engine.errors import template_error
from promptpress.typing import ConfigFile, ConfigLike

_READER = "DatasetReader"


def get_prompt_hash(dataset_cfg: ConfigLike | Sequence[ConfigLike]) -> str:
    """Return the hash of a dataset's prompt configuration as OpenCompass computes it; summaries show six digits of it.

    It is SHA-256 of `infer_cfg` as JSON, after the harness's own changes. It covers neither the content of examples and
    samples nor the model: `Renderer.fingerprint` covers the examples and the meta template.

    Args:
        dataset_cfg: A dataset's dict, as a configuration has it or as OpenCompass has loaded it; a list of such dicts,
            which have one hash together; or a file of them, as `load_config` reads it. It isn't changed. A class stands
            for its dotted name, as in the file that the harness dumps.

    Returns:
        64 hexadecimal digits.

    Raises:
        TemplateError: If there is no `infer_cfg` with a retriever, or the file has code there.
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
    return hash_of(dataset_cfg)


def hash_of(dataset_cfg: ConfigLike | Sequence[ConfigLike], empty: str | None = None) -> str:
    """Return the hash; `empty` is that of a dataset without an `infer_cfg`, which is refused if it is None."""
    import hashlib  # noqa: PLC0415 - seldom needed

    if not isinstance(dataset_cfg, (list, Mapping)) and isinstance(dataset_cfg, (str, os.PathLike, ConfigFile)):
        dataset_cfg = _of_file(dataset_cfg)
    if isinstance(dataset_cfg, list):
        if len(dataset_cfg) != 1:
            hashes = ",".join(hash_of(dataset, empty) for dataset in dataset_cfg)
            return hashlib.sha256(hashes.encode()).hexdigest()
        return hash_of(dataset_cfg[0], empty)
    if not isinstance(dataset_cfg, Mapping):
        message = f"expected a dataset's dict or a list of them, found a {type(dataset_cfg).__name__}"
        raise template_error("wrong_type", "dataset_cfg", message)
    dataset = _plain(dataset_cfg)
    if empty is not None and not dataset.get("infer_cfg"):
        return empty
    infer = _part(dataset, "infer_cfg")
    retriever = _part(infer, "retriever", "infer_cfg.")
    if "reader_cfg" in infer:
        _move_reader(infer, _part(dataset, "reader_cfg"), retriever)
    if "fix_id_list" in retriever:
        _part(infer, "inferencer", "infer_cfg.")["fix_id_list"] = retriever.pop("fix_id_list")
    return hashlib.sha256(json.dumps(infer, sort_keys=True).encode()).hexdigest()


def _move_reader(infer: dict[str, Any], reader: dict[str, Any], retriever: dict[str, Any]) -> None:
    """Change `infer_cfg` as the harness does if it has a reader."""
    columns = ("input_columns", "output_column")
    missing = next((key for key in columns if key not in reader), None)
    if missing is not None:
        raise template_error("missing_key", f"reader_cfg.{missing}", "missing; the prompt hash is made of it, too")
    infer["reader"] = {"type": _READER, **{key: reader[key] for key in columns}}
    infer_reader = _part(infer, "reader_cfg", "infer_cfg.")
    for split, name in (("train_split", "index_split"), ("test_split", "test_split")):
        if split in infer_reader:
            retriever[name] = infer_reader[split]
    for key in infer:
        part = _part(infer, key, "infer_cfg.")
        if not isinstance(part.get("type"), str):
            raise template_error("missing_key", f"infer_cfg.{key}.type", "the name of a class is needed here")
        part["type"] = part["type"].rpartition(".")[2]


def _part(parent: dict[str, Any], key: str, path: str = "") -> dict[str, Any]:
    part = parent.get(key)
    if part is None:
        raise template_error("missing_key", f"{path}{key}", "missing; the prompt hash is made of it")
    if not isinstance(part, dict):
        raise template_error("wrong_type", f"{path}{key}", f"expected a dict, found a {type(part).__name__}")
    return part


def _plain(value: Any) -> Any:
    """Return a copy with names for classes; the imports of mmengine's lazy objects aren't run."""
    if isinstance(value, Mapping):
        # The items() of mmengine's own dict imports lazy objects.
        items = dict.items(value) if isinstance(value, dict) else value.items()
        return {key: _plain(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    kind = type(value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if kind.__module__.startswith("mmengine.config") and kind.__name__ in {"LazyObject", "LazyAttr"}:
        return f"{value.module}.{value}"
    return value


def _of_file(file: Any) -> list[Any]:
    from promptpress import load_config  # noqa: PLC0415

    from promptpress_harness.configs.as_read import datasets_as_read  # noqa: PLC0415 - files are read by few

    loaded = file if isinstance(file, ConfigFile) else load_config(file)
    return datasets_as_read(loaded)

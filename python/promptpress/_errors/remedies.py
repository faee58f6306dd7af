"""Error messages for wrong arguments that tell the user what to pass instead; used by the renderers and readers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

_SAMPLES = re.compile(r"\bsamples\b")
_ITEM_REMEDIES = (
    (Mapping, "dicts", "put them into a list: {}; stream takes them as they are"),
    (pa.RecordBatch, "record batches", "make a table of them: pyarrow.Table.from_batches({}); stream takes them"),
    (pa.Table, "tables", "make one of them: pyarrow.concat_tables({})"),
    (
        (list, tuple),
        "rows without names",
        'name the columns: [dict(zip(["question", "answer"], row)) for row in {}]',
    ),
    (str, "strings", 'name the column: pyarrow.table({{"question": {}}})'),
)
_ENGINES = ("pyspark", "dask", "ray", "daft")


def of_examples(error: TypeError) -> TypeError:
    """Return an error of `not_a_table` with "examples" in place of "samples".

    >>> print(of_examples(not_a_table({"q": "1+1=?"})))  # doctest: +ELLIPSIS
    examples: expected a table (...), found a dict; a dict is one row: put it into a list: [examples]

    """
    remedy = vars(error).get("remedy", "")
    return TypeError(f"examples: {str(error).removesuffix(remedy)}{_SAMPLES.sub('examples', remedy)}")


def not_a_table(samples: Any, first: Any = None) -> TypeError:
    """Make the error for samples that aren't a table; the text tells how to make a table of them, if possible.

    Args:
        samples: The wrong argument.
        first: The first item that was read from it, if it is an iterator.

    >>> print(not_a_table({"q": "1+1=?"}))  # doctest: +ELLIPSIS
    expected a table (...), found a dict; a dict is one row: put it into a list: [samples]

    """
    description, remedy = _description_and_remedy(samples, first)
    article = "an" if description[0].lower() in "aeiou" else "a"
    message = (
        "expected a table (anything with the Arrow PyCapsule interface, a Hugging Face dataset, a Polars LazyFrame,"
        f" a list of dicts, a dict of lists, or a path), found {article} {description}"
    )
    error = TypeError(f"{message}; {remedy}" if remedy else message)
    vars(error)["remedy"] = remedy  # for `of_examples`
    return error


def _description_and_remedy(samples: Any, first: Any) -> tuple[str, str]:  # noqa: PLR0911, PLR0912 - for each kind
    name, package = type(samples).__name__, type(samples).__module__.partition(".")[0]
    if isinstance(samples, os.PathLike):
        return name, "a path is text, not bytes: os.fsdecode(samples)"
    if isinstance(samples, Mapping):
        return name, _mapping_remedy(samples, name, package)
    if isinstance(samples, (list, tuple)):
        if not samples:
            return f"{name} without rows", 'name its columns: pyarrow.table({"question": []})'
        if any(isinstance(row, Mapping) for row in samples):
            index = next(index for index, row in enumerate(samples) if not isinstance(row, Mapping))
            return f"{name} of dicts", f"item {index} is no dict but {type(samples[index]).__name__}"
        return _of_items(name, next(iter(samples), None), "samples")
    if first is not None:
        return _of_items(name, first, "list(samples)")
    if isinstance(samples, (pa.Array, pa.ChunkedArray)):
        return f"{name} of {samples.type}", 'name the column: pyarrow.table({"question": samples})'
    if name == "Series":
        return name, "make a frame of it: samples.to_frame()"
    if package == "pandas":
        return f"pandas {name}", "convert it: pyarrow.Table.from_pandas(samples)"
    if name == "ParquetFile":
        return name, "read it: samples.read(); stream takes samples.iter_batches()"
    if name == "Renderer" and package == "promptpress":
        return name, "it makes one: renderer.render(samples)"
    if hasattr(samples, "__next__"):
        return name, "put its rows into a list: list(samples); stream takes generators of dicts or record batches"
    if package in _ENGINES:
        return f"{package} {name}", "hand the renderer to its map over batches (docs/scale.md)"
    return name, ""


def _mapping_remedy(samples: Mapping[Any, Any], name: str, package: str) -> str:
    values = list(samples.values())
    if package == "datasets" or any(hasattr(value, "column_names") or hasattr(value, "schema") for value in values):
        return f"choose one of its splits: {', '.join(f'samples[{key!r}]' for key in samples) or 'it has none'}"
    scalars = [key for key, value in samples.items() if not _is_column(value)]
    if len(scalars) == len(values):
        return f"a {name} is one row: put it into a list: [samples]"
    if scalars:
        key = scalars[0]
        return f"as columns every value is a list, and {key!r} has a {type(samples[key]).__name__}"
    key = next(key for key, value in samples.items() if len(getattr(value, "shape", (0,))) != 1)
    return f"a column has one dimension, and {key!r} has another number; make lists of it: .tolist()"


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or hasattr(value, "__array__")


def _of_items(name: str, first: Any, samples: str) -> tuple[str, str]:
    for kind, items, remedy in _ITEM_REMEDIES:
        if isinstance(first, kind):
            return f"{name} of {items}", remedy.format(samples)
    return f"{name} of {type(first).__name__}", "rows are dicts, whose keys are columns"

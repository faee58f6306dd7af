"""What errors of use add to what was found: how to go on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa

from promptpress._core import TemplateError
from promptpress._errors import template_error
from promptpress._model_classes import did_you_mean, last_part

__all__ = ["known_arguments", "not_a_table", "of_examples", "with_remedy"]

P = ParamSpec("P")
R = TypeVar("R")

_HARNESS_ARGUMENTS = {"template": "prompt_template", "reader_cfg": "reader"}
_COMMAND_OPTIONS = {
    "system": 'a turn of the template: [{"role": "system", "content": ...}, {"role": "user", "content": ...}]',
    "shots": 'examples=, an ice_template and retriever={"type": "FixKRetriever", "fix_id_list": [0, 1, 2]}',
    "output_column": 'reader={"output_column": ...}',
    "model": "meta_template=; Renderer.from_config takes a model's configuration",
    "data": "an argument of render, stream and preview",
}
"""What options of the command are here."""

_SAMPLES = re.compile(r"\bsamples\b")
_ENGINES = ("pyspark", "dask", "ray", "daft")


def known_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function say which argument a misspelt one may be.

    Args:
        function: One without `**` arguments.

    Returns:
        The same; of an argument that it doesn't take the TypeError says what was probably meant.

    >>> @known_arguments
    ... def render(samples, keep=()): ...
    >>> render([], keeep=())
    Traceback (most recent call last):
    ...
    TypeError: render() got an unexpected keyword argument 'keeep'; did you mean 'keep'?

    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*arguments: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in names:
                message = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
                known = names[1:] if names[0] == "self" else names
                # What harnesses call it, though another name is nearer.
                meant = _HARNESS_ARGUMENTS.get(name)
                if "prompt_template" in known and name in _COMMAND_OPTIONS:
                    raise TypeError(f"{message}; it is {_COMMAND_OPTIONS[name]}")
                raise TypeError(message + did_you_mean(meant if meant in known else name, known))
        return function(*arguments, **options)

    return checked


def with_remedy(error: TemplateError, settings: Mapping[str, Any], *, has_examples: bool) -> TemplateError:
    """Say how to go on after an error of the core that doesn't know what else was given.

    Args:
        error: The core's.
        settings: The renderer's arguments.
        has_examples: Whether there is a table of examples.

    Returns:
        The same error, or one that says more.

    """
    if not has_examples and error.code in ("missing_examples", "example_index_out_of_range"):
        retriever = settings.get("retriever")
        kind = last_part(retriever.get("type")) if isinstance(retriever, Mapping) else ""
        message = (
            f"none are given, and {kind or 'the retriever'} takes in-context examples from them; "
            "give the rows that it chooses from, usually the train split, as examples="
        )
        return template_error("missing_examples", "examples", message)
    if error.code == "missing_output_column":
        message = (
            "in-context examples need it, and none is named; "
            'give reader={"input_columns": [...], "output_column": "..."}, a dataset\'s reader_cfg'
        )
        return template_error(error.code, "reader.output_column", message)
    return error


def of_examples(error: TypeError) -> TypeError:
    """Say of the error for samples that aren't a table that it is about the examples.

    Args:
        error: As `not_a_table` makes it.

    Returns:
        The error to raise.

    >>> print(of_examples(not_a_table({"q": "1+1=?"})))  # doctest: +ELLIPSIS
    examples: expected a table (...), found a dict; a dict is one row: put it into a list: [examples]

    """
    remedy = vars(error).get("remedy", "")
    of_them = _SAMPLES.sub("examples", remedy)
    return TypeError(f"examples: {str(error).removesuffix(remedy)}{of_them}")


def not_a_table(samples: Any, first: Any = None) -> TypeError:
    """Make the error for samples that aren't a table.

    Args:
        samples: What was given.
        first: Its first item, where it was an iterator from which one was taken.

    Returns:
        The error to raise. It names what was found, and what makes a table of it where that can be told by its class.

    >>> print(not_a_table({"q": "1+1=?"}))  # doctest: +ELLIPSIS
    expected a table (...), found a dict; a dict is one row: put it into a list: [samples]

    """
    found, remedy = _found(samples, first)
    article = "an" if found[0].lower() in "aeiou" else "a"
    message = (
        "expected a table (anything with the Arrow PyCapsule interface, a Hugging Face dataset, a Polars LazyFrame,"
        f" a list of dicts, a dict of lists, or a path), found {article} {found}"
    )
    error = TypeError(f"{message}; {remedy}" if remedy else message)
    vars(error)["remedy"] = remedy  # for `of_examples`
    return error


def _found(samples: Any, first: Any) -> tuple[str, str]:  # noqa: PLR0911 - a return for each kind of thing
    kind = type(samples)
    name, package = kind.__name__, kind.__module__.partition(".")[0]
    if isinstance(samples, os.PathLike):
        return name, "a path is text, not bytes: os.fsdecode(samples)"
    if isinstance(samples, Mapping):
        return name, _of_mapping(samples, name, package)
    if isinstance(samples, (list, tuple)):
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
    if package in _ENGINES:
        return f"{package} {name}", "hand the renderer to its map over batches (docs/scale.md)"
    return name, ""


def _of_mapping(samples: Mapping[Any, Any], name: str, package: str) -> str:
    values = list(samples.values())
    if package == "datasets" or any(hasattr(one, "column_names") or hasattr(one, "schema") for one in values):
        return f"choose one of its splits: {', '.join(f'samples[{key!r}]' for key in samples) or 'it has none'}"
    if any(isinstance(one, (list, tuple)) or hasattr(one, "__array__") for one in values):
        other = next(
            key for key, one in samples.items() if not (isinstance(one, (list, tuple)) or hasattr(one, "__array__"))
        )
        return f"as columns every value is a list, and {other!r} has a {type(samples[other]).__name__}"
    return f"a {name} is one row: put it into a list: [samples]"


def _of_items(name: str, first: Any, samples: str) -> tuple[str, str]:
    if isinstance(first, Mapping):
        return f"{name} of dicts", f"put them into a list: {samples}"
    if isinstance(first, pa.RecordBatch):
        return (
            f"{name} of record batches",
            f"make a table of them: pyarrow.Table.from_batches({samples}); stream takes them",
        )
    if isinstance(first, pa.Table):
        return f"{name} of tables", f"make one of them: pyarrow.concat_tables({samples})"
    if isinstance(first, str):
        return f"{name} of strings", f'name the column: pyarrow.table({{"question": {samples}}})'
    return name, ""

"""A task's configuration with the harness's defaults, the task with its documents, and the choice of its shots.

Shots are drawn by the harness's samplers, over row numbers, from documents that don't equal the evaluated one.
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random
from typing import Any

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import close_names, template_error
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_harness.lm_eval.documents import (
    Column,
    Documents,
    TableDocuments,
    as_array,
    as_sequence,
    document_error,
    values,
)
from promptpress_harness.lm_eval.fields import Fields

_CHECKED = 3
"""Number of documents for which `random.sample` draws as well, to check the core."""
_MAX_POOL = 2**31 - 1


@dataclass(frozen=True)
class Groups:
    """The group (int64) of each document of the pool and of each evaluated document.

    Documents of the same group are equal. A document with a number below 0 equals none.
    """

    pool: pa.Array
    documents: pa.Array


def draw(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Draw shots for each document, in order, as the harness's default sampler does; return their rows (int32).

    The core draws what `random.sample` would. The draws of the first documents are compared. If they differ, or if the
    generator is of another class, `random.sample` draws for each document. The generator is left in the state in which
    the sampler would leave it. `groups` keeps documents of the pool from evaluated documents that equal them.
    """
    if type(random) is Random and pool <= _MAX_POOL:
        initial_state = random.getstate()
        version, words, *others = initial_state
        group_arrays = None if groups is None else (groups.pool, groups.documents)
        rows, state = _core.drawn_rows(words, pool, shots, count, group_arrays)
        checked = min(count, _CHECKED)
        expected = list(chain.from_iterable(_sample_each(random, pool, shots, groups, checked)))
        if expected == rows.slice(0, checked * shots).to_pylist():
            random.setstate((version, tuple(state), *others))
            return rows
        random.setstate(initial_state)
    return pa.array(list(chain.from_iterable(_sample_each(random, pool, shots, groups, count))), pa.int32())


def _sample_each(random: Random, pool: int, shots: int, groups: Groups | None, count: int) -> Iterator[list[int]]:
    if groups is None:
        yield from (random.sample(range(pool), shots) for _ in range(count))
        return
    pool_groups = as_sequence(groups.pool)
    for group in as_sequence(groups.documents)[:count]:
        drawn = random.sample(range(pool), shots + 1)
        if group >= 0:
            drawn = [row for row in drawn if pool_groups[row] != group]
        if len(drawn) < shots:
            # More than one copy of the document was drawn.
            drawn = random.sample([row for row in range(pool) if pool_groups[row] != group], shots)
        yield drawn[:shots]


def first_n(pool: int, shots: int, groups: Groups | None, count: int) -> pa.Array:
    """Return the first shots of the pool for each document, as the sampler `first_n` does; see `draw`."""
    try:
        if groups is not None:
            return _core.first_rows(shots, groups.pool, groups.documents)
        unequal = pa.array([-1], pa.int64())
        rows = _core.first_rows(shots, _core.repeated_rows(0, min(pool, shots), 1), unequal)
    except ValueError as error:
        raise AssertionError(str(error)) from error  # as the harness raises
    return pa.concat_arrays([rows] * count or [rows.slice(0, 0)])


def equal_rows(evaluated: Documents, pool: Documents, same: bool) -> Groups:
    """Return the groups of documents that are equal to each other; NaN equals nothing.

    With `same`, the numbers of the evaluated documents are their rows in the pool.
    """
    numbers = evaluated.numbers
    groups = Groups(*(pa.repeat(pa.scalar(-1, pa.int64()), len(documents)) for documents in (pool, evaluated)))
    if not isinstance(evaluated, TableDocuments) or not isinstance(pool, TableDocuments):
        return _compared(evaluated, range(len(numbers)), pool, range(len(pool)), groups)
    if evaluated.names != pool.names:
        return groups
    if same and (duplicates := _possible_duplicates(pool.table)) is not None:
        groups = Groups(as_array(range(len(pool))), as_array(numbers))
        suspects = [row for row, number in enumerate(numbers) if number in duplicates] if duplicates else []
        return _compared(evaluated, suspects, pool, sorted(duplicates), groups)
    suspects, candidates = (
        _rows_with_values_of(table, other)
        for table, other in ((evaluated.table, pool.table), (pool.table, evaluated.table))
    )
    return _compared(evaluated, suspects, pool, candidates, groups)


def _compared(
    evaluated: Documents, suspects: Sequence[int], pool: Documents, candidates: Sequence[int], groups: Groups
) -> Groups:
    """Compare some rows as Python values, and return the groups with these rows regrouped."""
    if not suspects or not candidates:
        return groups
    first_group = len(pool)  # after the groups of the rows that aren't compared
    group_of: dict[Any, int] = {}
    of_pool, of_documents = (array("q", bytes(as_sequence(part))) for part in (groups.pool, groups.documents))
    for row, document in zip(candidates, pool.take(candidates).rows(), strict=True):
        of_pool[row] = group_of.setdefault(_hashable(document), first_group + row)
    for row, document in zip(suspects, evaluated.take(suspects).rows(), strict=True):
        of_documents[row] = group_of.get(_hashable(document), -1)
    return Groups(as_array(of_pool), as_array(of_documents))


def _hashable(value: Any) -> Any:
    """Return a hashable value that equals another such value only if the originals are equal, in any order of keys."""
    if isinstance(value, dict):
        return frozenset([(key, _hashable(item)) for key, item in value.items()])
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _rows_with_values_of(table: pa.Table, other: pa.Table) -> list[int]:
    """Return the rows whose plain values all occur in another table, so that they may equal one of its rows."""
    rows = pa.chunked_array([_core.repeated_rows(0, len(table), 1)])
    for field in _plain_fields(table):
        if field.type == other.schema.field(field.name).type and len(rows):
            column = table.column(field.name).take(rows)
            rows = rows.filter(pc.is_in(column, value_set=other.column(field.name).combine_chunks()))
    return rows.to_pylist()  # type: ignore[no-any-return]


def _possible_duplicates(table: pa.Table) -> set[int] | None:
    """Return the rows that may equal another row; None if a row may not equal itself, because it holds NaN."""
    if any(_may_hold_nan(column) for column in table.columns):
        return None
    plain = [field.name for field in _plain_fields(table)]
    if not plain:
        return set(range(len(table)))
    # A single column of distinct values is enough.
    for name in plain:
        if pc.count_distinct(table.column(name), mode="all").as_py() == len(table):
            return set()
    rows = pa.chunked_array([_core.repeated_rows(0, len(table), 1)])
    number = "".join(table.column_names) + "#"  # no column of the table has this name
    groups = table.select(plain).append_column(number, rows).group_by(plain).aggregate([(number, "list")])
    lists = groups.column(f"{number}_list")
    return set(pc.list_flatten(lists.filter(pc.greater(pc.list_value_length(lists), 1))).to_pylist())


def _plain_fields(table: pa.Table) -> list[pa.Field]:
    """Return the fields of integers, which are compared fastest, and then those of texts."""
    return sorted(
        (field for field in table.schema if _is_plain(field.type)), key=lambda field: not types.is_integer(field.type)
    )


def _is_plain(data_type: pa.DataType) -> bool:
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_integer(data_type))


def _may_hold_nan(column: pa.Array | pa.ChunkedArray) -> bool:
    data_type = column.type
    if _is_plain(data_type) or types.is_boolean(data_type) or types.is_null(data_type):
        return False
    if types.is_floating(data_type):
        return bool(pc.any(pc.is_nan(column.cast(pa.float64()))).as_py())
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if types.is_list(data_type) or types.is_large_list(data_type):
        return any(_may_hold_nan(chunk.flatten()) for chunk in chunks)
    if types.is_struct(data_type):
        # `flatten` ends the process if a field is a union.
        return any(_may_hold_nan(chunk.field(n)) for chunk in chunks for n in range(data_type.num_fields))
    return True


_OUTPUT_TYPES = ("loglikelihood", "loglikelihood_rolling", "generate_until", "multiple_choice")

_FIELDS = ("doc_to_text", "doc_to_target", "doc_to_choice", "gen_prefix")

_SPLITS = ("training_split", "validation_split", "test_split")

_KEYS_OF_REQUESTS = frozenset(
    {
        *_FIELDS,
        *_SPLITS,
        *("task", "output_type", "description", "target_delimiter", "fewshot_delimiter", "num_fewshot", "repeats"),
        *("fewshot_split", "fewshot_config"),
        *("generation_kwargs", "metric_list", "process_docs", "use_prompt", "doc_to_image", "doc_to_audio"),
    }
)

_TASK_KEYS = _KEYS_OF_REQUESTS | {
    *("task_alias", "tag", "custom_dataset", "dataset_path", "dataset_name", "dataset_kwargs", "unsafe_code"),
    *("process_results", "filter_list", "should_decontaminate", "doc_to_decontamination_query", "metadata"),
}

_FEWSHOT_KEYS = frozenset(
    {*_FIELDS, "sampler", "split", "samples", "process_docs", "fewshot_indices"}
    | {"fewshot_delimiter", "target_delimiter"}
)


@dataclass(frozen=True)
class FewshotConfig:
    """The configuration of few-shot documents; a key that isn't written has the task's value."""

    sampler: str
    split: str | None
    samples: Any
    doc_to_text: Any
    doc_to_target: Any
    doc_to_choice: Any
    gen_prefix: Any
    target_delimiter: str | None
    fewshot_delimiter: str | None


@dataclass(frozen=True)
class TaskConfig:
    """The part of a task's configuration that its requests depend on."""

    task: str | None
    output_type: str
    training_split: str | None
    validation_split: str | None
    test_split: str | None
    doc_to_text: Any
    doc_to_target: Any
    doc_to_choice: Any
    gen_prefix: str | None
    description: str | None
    target_delimiter: str | None
    fewshot_delimiter: str | None
    num_fewshot: int
    repeats: int
    generation_kwargs: dict[Any, Any] | None
    mutual_information: bool
    fewshot: FewshotConfig

    @property
    def evaluated_split(self) -> str:
        """The split whose documents are evaluated."""
        split = self.validation_split if self.test_split is None else self.test_split
        assert split is not None
        return split

    @property
    def pool_split(self) -> str | None:
        """The split that shots are drawn from; None if the configuration lists the few-shot documents."""
        if self.fewshot.split is not None:
            return self.fewshot.split
        if self.fewshot.samples is not None:
            return None
        splits = (self.training_split, self.validation_split, self.test_split)
        return next((split for split in splits if split is not None), None)

    @property
    def excludes_evaluated_document(self) -> bool:
        """True if a document is never its own shot: the splits are the same, or neither is configured."""
        return self.fewshot.split == self.test_split

    @classmethod
    def of(cls, written: Mapping[str, Any], num_fewshot: int | None = None) -> TaskConfig:
        r"""Read a task's configuration."""
        if not isinstance(written, Mapping):
            raise template_error("wrong_type", "task_config", f"expected a task's dict; found {_excerpt(written)}")
        _refuse_unknown(written, _TASK_KEYS, "")
        _refuse_functions({key: written[key] for key in _KEYS_OF_REQUESTS & written.keys()}, "")
        for key in ("use_prompt", "doc_to_image", "doc_to_audio"):
            if written.get(key) is not None:
                message = "only lm-evaluation-harness itself can make such requests"
                raise template_error("unsupported_class", key, message)
        # A delimiter may be None, which the harness refuses only where it uses it.
        fewshot_delimiter = _string(written.get("fewshot_delimiter", "\n\n"), "fewshot_delimiter")
        target_delimiter = _string(written.get("target_delimiter", " "), "target_delimiter")
        if target_delimiter is None and written.get("doc_to_choice") is not None:
            message = "AttributeError: a task with choices has to have a string here; found None"
            raise template_error("wrong_type", "target_delimiter", message)
        output_type = written.get("output_type", "generate_until")
        if output_type not in _OUTPUT_TYPES:
            message = f"ValueError: found {output_type!r}, which is none of {', '.join(_OUTPUT_TYPES)}"
            raise template_error("unknown_name", "output_type", message)
        splits = {key: _string(written.get(key), key, "expected a split's name") for key in _SPLITS}
        if splits["validation_split"] is None and splits["test_split"] is None:
            message = "ValueError: neither test_split nor validation_split says which documents are evaluated"
            raise template_error("missing_key", "test_split", message)
        return cls(
            output_type=output_type,
            **splits,
            **{key: _string(written.get(key), key) for key in ("task", "gen_prefix", "description")},
            **{key: written.get(key) for key in ("doc_to_text", "doc_to_target", "doc_to_choice")},
            target_delimiter=target_delimiter,
            fewshot_delimiter=fewshot_delimiter,
            num_fewshot=_shot_count(written, num_fewshot),
            repeats=_repeats(written),
            generation_kwargs=_generation_kwargs(written, output_type, fewshot_delimiter),
            mutual_information=_needs_mutual_information(written),
            fewshot=_fewshot_config(written, fewshot_delimiter, target_delimiter),
        )


def _fewshot_config(
    task: Mapping[str, Any], fewshot_delimiter: str | None, target_delimiter: str | None
) -> FewshotConfig:
    written = task.get("fewshot_config")
    written = {} if written is None else written
    if not isinstance(written, Mapping):
        raise template_error("wrong_type", "fewshot_config", f"expected a dict; found {_excerpt(written)}")
    _refuse_unknown(written, _FEWSHOT_KEYS, "fewshot_config.")
    _refuse_functions(written, "fewshot_config.")
    sampler = written.get("sampler", "default")
    if sampler not in ("default", "first_n"):
        message = f"KeyError: found {sampler!r}; the samplers are default and first_n"
        raise template_error("unknown_name", "fewshot_config.sampler", message)
    split = written["split"] if "split" in written else task.get("fewshot_split")
    samples = written.get("samples")
    are_dicts = isinstance(samples, list) and all(isinstance(sample, dict) for sample in samples)
    if split is None and samples is not None and not are_dicts:
        message = f"Exception: expected a list of documents, each a dict; found {_excerpt(samples)}"
        raise template_error("wrong_type", "fewshot_config.samples", message)
    delimiters = {"target_delimiter": target_delimiter, "fewshot_delimiter": fewshot_delimiter}
    return FewshotConfig(
        sampler=sampler,
        split=_string(split, "fewshot_config.split", "expected a split's name"),
        samples=samples,
        **{key: written[key] if key in written else task.get(key) for key in _FIELDS},
        **{key: _string(written.get(key, default), f"fewshot_config.{key}") for key, default in delimiters.items()},
    )


def _generation_kwargs(written: Mapping[str, Any], output_type: str, delimiter: str | None) -> dict[Any, Any] | None:
    settings = written.get("generation_kwargs")
    if settings is None:
        if output_type != "generate_until":
            return None
        until = [] if delimiter is None else [delimiter]
        return {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256, "until": until}
    if not isinstance(settings, dict):
        message = f"TypeError: expected a dict; found {_excerpt(settings)}"
        raise template_error("wrong_type", "generation_kwargs", message)
    out = copy.deepcopy(settings)
    if "temperature" in out:
        try:
            out["temperature"] = float(out["temperature"])
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{type(error).__name__}: {error}"
            raise template_error("invalid_number", "generation_kwargs.temperature", message) from error
    out.setdefault("until", [delimiter])
    return out


def _needs_mutual_information(written: Mapping[str, Any]) -> bool:
    metrics = written.get("metric_list")
    if metrics is None:
        return False
    if not isinstance(metrics, Sequence) or not all(isinstance(metric, Mapping) for metric in metrics):
        raise template_error("wrong_type", "metric_list", "expected a list of dicts")
    for index, metric in enumerate(metrics):
        if "metric" not in metric:
            message = "ValueError: no metric is named"
            raise template_error("missing_key", f"metric_list[{index}]", message)
    names = [metric["metric"] for metric in metrics]
    return "acc_mutual_info" in [getattr(name, "__name__", name) for name in names]


def _shot_count(written: Mapping[str, Any], num_fewshot: int | None) -> int:
    number = written.get("num_fewshot") if num_fewshot is None else num_fewshot
    if number is None:
        return 0
    if not isinstance(number, int):
        raise template_error("wrong_type", "num_fewshot", f"TypeError: expected an int; found {_excerpt(number)}")
    return max(number, 0)


def _repeats(written: Mapping[str, Any]) -> int:
    repeats = written.get("repeats", 1)
    if type(repeats) is not int or not -(2**63) <= repeats < 2**63:
        raise template_error("wrong_type", "repeats", f"expected an int; found {_excerpt(repeats)}")
    return repeats


def _string(value: Any, location: str, expected: str = "TypeError: expected a string") -> Any:
    """Return a value that is a string or None, and refuse others."""
    if value is not None and not isinstance(value, str):
        raise template_error("wrong_type", location, f"{expected}; found {_excerpt(value)}")
    return value


def _refuse_unknown(written: Mapping[str, Any], keys: frozenset[str], prefix: str) -> None:
    for key in written:
        if key not in keys:
            close = close_names(str(key), keys)
            suggestion = f"; did you mean {close[0]}?" if close else ""
            message = f"TypeError: no task has this key{suggestion}"
            raise template_error("unknown_key", f"{prefix}{key}", message)


def _refuse_functions(written: Mapping[str, Any], prefix: str) -> None:
    """Refuse functions, because they know documents that only the harness's code can make."""
    for key, value in written.items():
        if callable(value):
            remedy = "it is a function, which is never called here; "
            if key == "process_docs":
                remedy += "give the documents that it returns, and leave it out"
            else:
                remedy += "put what it returns into a column of the documents, and name that"
            raise template_error("unsupported_class", f"{prefix}{key}", remedy)


def _excerpt(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) < 80 else text[:80] + '…'}, a {type(value).__name__}"


class Task:
    """A task with its documents."""

    def __init__(self, config: TaskConfig, documents: TableDocuments, pool: Documents | None) -> None:
        self.config = config
        self.documents = documents
        self.pool = pool
        self.fields = Fields(documents.names, config.doc_to_choice is not None)
        self.several_inputs = self._has_several_inputs()

    def _has_several_inputs(self) -> bool:
        """Look at the first document, which decides for all of them in the harness."""
        if not len(self.documents):
            raise document_error(IndexError("there are no documents"), "row", 0)
        first = self.documents.take(range(1))
        (text,), (target,) = values(self.text(first)), values(self.target(first))
        if self.config.doc_to_choice is None:
            return False
        (choices,) = values(self.choices(first))
        try:
            if isinstance(text, int) and not isinstance(choices, list):
                raise UnboundLocalError("the choices are no list")
            if isinstance(target, int):
                target = choices[target]
            for choice in choices:
                bool(choice[0].isspace())
        except Exception as error:
            raise first.raised_at(error, 0) from error
        return isinstance(text, int) and bool(choices)

    def draw_shots(self, random: Random, documents: Documents) -> pa.Array:
        """Return the rows (int32) of the pool that are the first document's shots, then the second's, and so on."""
        shots, pool = self.config.num_fewshot, self.pool
        assert pool is not None
        groups = None
        if self.config.excludes_evaluated_document:
            same = isinstance(pool, TableDocuments) and pool.table is self.documents.table
            groups = equal_rows(documents, pool, same)
        try:
            if self.config.fewshot.sampler == "first_n":
                return first_n(len(pool), shots, groups, len(documents))
            if not len(pool):
                raise AssertionError("there are no few-shot documents")
            return draw(random, len(pool), shots, groups, len(documents))
        except (AssertionError, ValueError) as error:
            raise template_error("too_few_examples", "num_fewshot", f"{type(error).__name__}: {error}") from error

    def text(self, documents: Documents) -> Column:
        """Return the documents' texts."""
        return self.fields.text(self.config.doc_to_text, documents)

    def target(self, documents: Documents) -> Column:
        """Return the documents' targets."""
        return self.fields.target(self.config.doc_to_target, documents)

    def choices(self, documents: Documents) -> Column:
        """Return the documents' choices."""
        return self.fields.choices(self.config.doc_to_choice, documents)


def choose_documents(
    count: int, limit: Any = None, samples: Sequence[int] | None = None, rank: int = 0, world_size: int = 1
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the numbers of the evaluated documents, as the harness counts them, and their rows.

    The options are those of `requests`. If one makes no sense, TemplateError is raised.
    """
    try:
        if samples:
            if not all(row < count for row in samples):
                message = f"a number is past the {count} documents"
                raise AssertionError(message)
            chosen = set(samples)
            rows = [row for row in range(count) if row in chosen]
            pairs = list(islice(enumerate(rows), int(rank), None, int(world_size)))
            return [number for number, _ in pairs], [row for _, row in pairs]
        if limit and int(limit) < 0:
            raise ValueError("limit is negative")
        if rank < 0 or world_size < 1:
            raise ValueError("rank is at least 0 and world_size at least 1")
        numbers = range(count)[: int(limit) if limit else None][int(rank) :: int(world_size)]
        return numbers, numbers
    except (AssertionError, TypeError, ValueError, OverflowError) as error:
        location = "samples" if samples else "limit"
        raise template_error("invalid_number", location, f"{type(error).__name__}: {error}") from error

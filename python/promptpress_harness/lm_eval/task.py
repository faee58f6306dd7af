"""A task's configuration with the harness's defaults, the task with its documents, and the choice of evaluated ones."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import close_names, template_error

from promptpress_harness.lm_eval.documents import Column, Documents, TableDocuments, document_error, values
from promptpress_harness.lm_eval.fewshot_sampling import draw, equal_rows, first_n
from promptpress_harness.lm_eval.fields import Fields

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
    count: int,
    limit: Any = None,
    samples: Sequence[int] | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the numbers of the evaluated documents, as the harness counts them, and their rows.

    The options are those of `requests`. If one makes no sense, TemplateError is raised.

    >>> choose_documents(9, samples=[7, 2, 4], rank=1, world_size=2)
    ([1], [4])
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

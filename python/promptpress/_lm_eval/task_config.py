"""A task's configuration: what requests depend on, with the harness's defaults."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpress._errors import template_error

__all__ = ["Shots", "TaskConfig"]

_OUTPUT_TYPES = ("loglikelihood", "loglikelihood_rolling", "generate_until", "multiple_choice")

_FIELDS = ("doc_to_text", "doc_to_target", "doc_to_choice", "gen_prefix")

_READ = frozenset(
    {
        *_FIELDS,
        *("task", "output_type", "description", "target_delimiter", "fewshot_delimiter", "num_fewshot", "repeats"),
        *("training_split", "validation_split", "test_split", "fewshot_split", "fewshot_config"),
        *("generation_kwargs", "metric_list", "process_docs", "use_prompt", "doc_to_image", "doc_to_audio"),
    }
)

_KNOWN = _READ | {
    *("task_alias", "tag", "custom_dataset", "dataset_path", "dataset_name", "dataset_kwargs", "unsafe_code"),
    *("process_results", "filter_list", "should_decontaminate", "doc_to_decontamination_query", "metadata"),
}

_KNOWN_OF_SHOTS = frozenset(
    {*_FIELDS, "sampler", "split", "samples", "process_docs", "fewshot_indices"}
    | {"fewshot_delimiter", "target_delimiter"}
)


@dataclass(frozen=True)
class Shots:
    """What is written about few-shot documents; what isn't is the task's own."""

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
    """A task, as far as its requests depend on it."""

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
    shots: Shots

    @property
    def evaluated_split(self) -> str:
        """The split whose documents are evaluated."""
        split = self.validation_split if self.test_split is None else self.test_split
        assert split is not None
        return split

    @property
    def pool_split(self) -> str | None:
        """The split that shots are drawn from; None where the configuration lists them itself."""
        if self.shots.split is not None:
            return self.shots.split
        if self.shots.samples is not None:
            return None
        for split in (self.training_split, self.validation_split, self.test_split):
            if split is not None:
                return split
        return None

    @property
    def keeps_own_document_out(self) -> bool:
        """Whether a document is never its own shot. No split of either kind counts as the same one."""
        return self.shots.split == self.test_split

    @classmethod
    def of(cls, written: Mapping[str, Any], num_fewshot: int | None = None) -> TaskConfig:
        r"""Read a task's configuration.

        Args:
            written: The task's YAML, includes merged.
            num_fewshot: Shots before each document; None: as the configuration says, else none.

        Returns:
            The task.

        Raises:
            TemplateError: If the harness would refuse it, or it holds functions, or what needs the harness itself.

        >>> TaskConfig.of({"test_split": "test", "doc_to_text": "{{q}}", "doc_to_target": "a"}).generation_kwargs
        {'temperature': 0.0, 'do_sample': False, 'max_gen_toks': 256, 'until': ['\n\n']}

        """
        if not isinstance(written, Mapping):
            raise template_error("wrong_type", "task_config", f"expected a task's dict; found {_found(written)}")
        _refuse_unknown(written, _KNOWN, "")
        _refuse_functions({key: written[key] for key in _READ & written.keys()}, "")
        for key in ("use_prompt", "doc_to_image", "doc_to_audio"):
            if written.get(key) is not None:
                message = "only lm-evaluation-harness itself can make such requests"
                raise template_error("unsupported_class", key, message)
        fewshot_delimiter = _delimiter(written, "fewshot_delimiter", "\n\n")
        target_delimiter = _delimiter(written, "target_delimiter", " ")
        if target_delimiter is None and written.get("doc_to_choice") is not None:
            message = "AttributeError: a task with choices has to have a string here; found None"
            raise template_error("wrong_type", "target_delimiter", message)
        output_type = written.get("output_type", "generate_until")
        if output_type not in _OUTPUT_TYPES:
            known = ", ".join(_OUTPUT_TYPES)
            message = f"ValueError: found {output_type!r}, which is none of {known}"
            raise template_error("unknown_name", "output_type", message)
        splits = {key: _split(written, key) for key in ("training_split", "validation_split", "test_split")}
        if splits["validation_split"] is None and splits["test_split"] is None:
            message = "ValueError: neither test_split nor validation_split says which documents are evaluated"
            raise template_error("missing_key", "test_split", message)
        return cls(
            task=_optional(written, "task", str),
            output_type=output_type,
            **splits,
            doc_to_text=written.get("doc_to_text"),
            doc_to_target=written.get("doc_to_target"),
            doc_to_choice=written.get("doc_to_choice"),
            gen_prefix=_optional(written, "gen_prefix", str),
            description=_optional(written, "description", str),
            target_delimiter=target_delimiter,
            fewshot_delimiter=fewshot_delimiter,
            num_fewshot=_number(written, num_fewshot),
            repeats=_repeats(written),
            generation_kwargs=_generation_kwargs(written, output_type, fewshot_delimiter),
            mutual_information=_asks_for_mutual_information(written),
            shots=_shots(written, fewshot_delimiter, target_delimiter),
        )


def _shots(written: Mapping[str, Any], fewshot_delimiter: str | None, target_delimiter: str | None) -> Shots:
    own = written.get("fewshot_config")
    own = {} if own is None else own
    if not isinstance(own, Mapping):
        raise template_error("wrong_type", "fewshot_config", f"expected a dict; found {_found(own)}")
    _refuse_unknown(own, _KNOWN_OF_SHOTS, "fewshot_config.")
    _refuse_functions(own, "fewshot_config.")
    sampler = own.get("sampler", "default")
    if sampler not in ("default", "first_n"):
        message = f"KeyError: found {sampler!r}; the samplers are default and first_n"
        raise template_error("unknown_name", "fewshot_config.sampler", message)
    split = own["split"] if "split" in own else written.get("fewshot_split")
    samples = own.get("samples")
    if split is None and samples is not None and not _is_rows(samples):
        message = f"Exception: expected a list of documents, each a dict; found {_found(samples)}"
        raise template_error("wrong_type", "fewshot_config.samples", message)
    return Shots(
        sampler=sampler,
        split=_split({"fewshot_config.split": split}, "fewshot_config.split"),
        samples=samples,
        **{key: own[key] if key in own else written.get(key) for key in _FIELDS},
        target_delimiter=_delimiter(own, "target_delimiter", target_delimiter, "fewshot_config."),
        fewshot_delimiter=_delimiter(own, "fewshot_delimiter", fewshot_delimiter, "fewshot_config."),
    )


def _is_rows(samples: Any) -> bool:
    return isinstance(samples, list) and all(isinstance(sample, dict) for sample in samples)


def _generation_kwargs(written: Mapping[str, Any], output_type: str, delimiter: str | None) -> dict[Any, Any] | None:
    own = written.get("generation_kwargs")
    if own is None:
        if output_type != "generate_until":
            return None
        until = [] if delimiter is None else [delimiter]
        return {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256, "until": until}
    if not isinstance(own, dict):
        raise template_error("wrong_type", "generation_kwargs", f"TypeError: expected a dict; found {_found(own)}")
    out = copy.deepcopy(own)
    if "temperature" in out:
        try:
            out["temperature"] = float(out["temperature"])
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{type(error).__name__}: {error}"
            raise template_error("invalid_number", "generation_kwargs.temperature", message) from error
    out.setdefault("until", [delimiter])
    return out


def _asks_for_mutual_information(written: Mapping[str, Any]) -> bool:
    metrics = written.get("metric_list")
    if metrics is None:
        return False
    if not isinstance(metrics, Sequence) or not all(isinstance(metric, Mapping) for metric in metrics):
        raise template_error("wrong_type", "metric_list", "expected a list of dicts")
    for at, metric in enumerate(metrics):
        if "metric" not in metric:
            message = "ValueError: no metric is named"
            raise template_error("missing_key", f"metric_list[{at}]", message)
    names = [metric["metric"] for metric in metrics]
    return "acc_mutual_info" in [getattr(name, "__name__", name) for name in names]


def _number(written: Mapping[str, Any], num_fewshot: int | None) -> int:
    number = written.get("num_fewshot") if num_fewshot is None else num_fewshot
    if number is None:
        return 0
    if not isinstance(number, int):
        raise template_error("wrong_type", "num_fewshot", f"TypeError: expected an int; found {_found(number)}")
    return max(number, 0)


def _repeats(written: Mapping[str, Any]) -> int:
    repeats = written.get("repeats", 1)
    if type(repeats) is not int or not -(2**63) <= repeats < 2**63:
        raise template_error("wrong_type", "repeats", f"expected an int; found {_found(repeats)}")
    return repeats


def _delimiter(written: Mapping[str, Any], key: str, default: str | None, place: str = "") -> str | None:
    """Return a delimiter; None where None is written, which the harness refuses only where it uses it."""
    value = written.get(key, default)
    if value is not None and not isinstance(value, str):
        raise template_error("wrong_type", f"{place}{key}", f"TypeError: expected a string; found {_found(value)}")
    return value


def _optional(written: Mapping[str, Any], key: str, kind: type) -> Any:
    value = written.get(key)
    if value is not None and not isinstance(value, kind):
        raise template_error("wrong_type", key, f"TypeError: expected a string; found {_found(value)}")
    return value


def _split(written: Mapping[str, Any], key: str) -> str | None:
    split = written.get(key)
    if split is not None and not isinstance(split, str):
        raise template_error("wrong_type", key, f"expected a split's name; found {_found(split)}")
    return split


def _refuse_unknown(written: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    for key in written:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            message = f"TypeError: no task has this key{meant}"
            raise template_error("unknown_key", f"{place}{key}", message)


def _refuse_functions(written: Mapping[str, Any], place: str) -> None:
    """Functions know documents that only the harness's own code makes."""
    for key, value in written.items():
        if callable(value):
            remedy = "it is a function, which is never called here; "
            if key == "process_docs":
                remedy += "give the documents that it returns, and leave it out"
            else:
                remedy += "put what it returns into a column of the documents, and name that"
            raise template_error("unsupported_class", f"{place}{key}", remedy)


def _found(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) < 80 else text[:80] + '…'}, a {type(value).__name__}"

"""Requests as the harness's own objects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from promptpress._harnesses.lm_eval.backend.contexts import Parts
from promptpress._harnesses.lm_eval.backend.coverage import TASK


class InstanceBuilder:
    """Builds the requests of a document from its context, its choices and its target."""

    def __init__(self, task: Any, *, apply_chat_template: bool) -> None:
        module = vars(sys.modules[TASK])
        self._instance = module["Instance"]
        config = task.config
        self._type = task.OUTPUT_TYPE
        self._has_several_inputs = bool(task.multiple_input)
        self._has_mutual_information = "acc_mutual_info" in vars(task)["_metric_fn_list"]
        self._delimiter = config.target_delimiter
        prefix = config.gen_prefix
        if apply_chat_template and not (prefix and not module["ends_with_whitespace"](prefix)):
            self._delimiter = ""
        self._copy_settings = copier(config.generation_kwargs)

    def build(self, doc: dict[str, Any], parts: Parts, metadata: tuple[Any, ...]) -> Any:
        """Return a document's requests: a list if it has choices, else a single request."""
        context, choices, target = parts
        make = self._instance
        if self._type != "multiple_choice":
            arguments = (context, target) if self._type == "loglikelihood" else (target,)
            if self._type == "generate_until":
                arguments = (context, self._copy_settings())
            return make(request_type=self._type, doc=doc, arguments=arguments, idx=0, metadata=metadata)
        delimiter = self._delimiter
        if self._has_several_inputs:
            pairs = [(text, f"{delimiter}{target}") for text in context]
        else:
            pairs = [(context, f"{delimiter}{choice}") for choice in choices]
        if self._has_mutual_information:
            pairs += [("", f"{delimiter}{choice}") for choice in choices]
        return [
            make(request_type="loglikelihood", doc=doc, arguments=pair, idx=index, metadata=metadata)
            for index, pair in enumerate(pairs)
        ]


def copier(value: Any) -> Callable[[], Any]:
    """Return a function that makes deep copies of a setting, fast if its lists and dicts hold plain values.

    >>> value = {"until": ["Q:"], "temperature": 0.0}
    >>> copy = copier(value)
    >>> copy() == value, copy()["until"] is copy()["until"]
    (True, False)
    """
    seen: set[int] = set()

    def is_plain(part: Any) -> bool:
        if part is None or type(part) in {str, int, float, bool}:
            return True
        if type(part) not in {dict, list} or id(part) in seen:
            return False
        seen.add(id(part))
        return all(map(is_plain, [*part, *part.values()] if type(part) is dict else part))

    return (lambda: _copied(value)) if is_plain(value) else lambda: deepcopy(value)


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value

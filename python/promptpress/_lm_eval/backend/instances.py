"""Requests as the harness's own objects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from promptpress._lm_eval.backend.contexts import Parts
from promptpress._lm_eval.backend.covered import TASK


class Instances:
    """What makes the requests of a document from its context, its choices and its target.

    Args:
        task: The harness's task.
        apply_chat_template: Whether contexts are chats' texts.
    """

    def __init__(self, task: Any, *, apply_chat_template: bool) -> None:
        module = vars(sys.modules[TASK])
        self._instance = module["Instance"]
        config = task.config
        self._type = task.OUTPUT_TYPE
        self._inputs = bool(task.multiple_input)
        self._unconditional = "acc_mutual_info" in task._metric_fn_list
        self._delimiter = config.target_delimiter
        prefix = config.gen_prefix
        if apply_chat_template and not (prefix and not module["ends_with_whitespace"](prefix)):
            self._delimiter = ""
        self._settings = copier(config.generation_kwargs)

    def made(self, doc: dict[str, Any], parts: Parts, metadata: tuple[Any, ...]) -> Any:
        """The requests of a document: a list for choices, else one.

        Args:
            doc: The document.
            parts: Its context, choices and target.
            metadata: What the harness notes on it.
        """
        context, choices, target = parts
        make = self._instance
        if self._type != "multiple_choice":
            return make(
                request_type=self._type, doc=doc, arguments=self._arguments(context, target), idx=0, metadata=metadata
            )
        delimiter = self._delimiter
        if self._inputs:
            arguments = [(one, f"{delimiter}{target}") for one in context]
        else:
            arguments = [(context, f"{delimiter}{choice}") for choice in choices]
        if self._unconditional:
            arguments += [("", f"{delimiter}{choice}") for choice in choices]
        return [
            make(request_type="loglikelihood", doc=doc, arguments=pair, idx=place, metadata=metadata)
            for place, pair in enumerate(arguments)
        ]

    def _arguments(self, context: Any, target: Any) -> tuple[Any, ...]:
        if self._type == "generate_until":
            return context, self._settings()
        return (context, target) if self._type == "loglikelihood" else (target,)


def copier(value: Any) -> Callable[[], Any]:
    """What makes deep copies of a value.

    Args:
        value: A value of a configuration.

    Returns:
        A function that gives a copy at each call, quickly where lists and dicts hold plain values.

    Example:
        >>> value = {"until": ["Q:"], "temperature": 0.0}
        >>> copy = copier(value)
        >>> copy() == value, copy()["until"] is copy()["until"]
        (True, False)
    """
    seen: set[int] = set()

    def is_plain(one: Any) -> bool:
        if one is None or type(one) in {str, int, float, bool}:
            return True
        if type(one) not in {dict, list} or id(one) in seen:
            return False
        seen.add(id(one))
        return all(map(is_plain, [*one, *one.values()] if type(one) is dict else one))

    return (lambda: _copied(value)) if is_plain(value) else lambda: deepcopy(value)


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if type(value) is list else value

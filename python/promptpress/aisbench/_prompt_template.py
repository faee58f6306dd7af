"""AISBench's templates for strings, dialogues and label maps."""

# ruff: noqa: ARG002 - the arguments are the harness's

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Any, TypeVar

from promptpress._single.prompt_template import BaseTemplate, FilledTemplate
from promptpress.aisbench._exceptions import fault
from promptpress.aisbench._prompt_list import PromptList

T = TypeVar("T")


class BasePromptTemplate(BaseTemplate):
    """What AISBench's templates have in common.

    Args:
        template: A string; a dialogue, whose keys are among `begin`, `round` and `end`; or a label map.
        ice_token: What stands for the examples.
        sep_token: What is taken away from prompts.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue has a marker of its own.

    Raises:
        AISBenchValueError: For what can't be a template, and for a string without the ice_token.
        AISBenchInvalidTypeException: For tokens that are no str.

    Example:
        >>> isinstance(PromptTemplate("Q: {q}"), BasePromptTemplate)
        True
    """

    _faults = {  # noqa: RUF012
        "template": fault("AISBenchValueError", "ICLR-TYPE-001"),
        "token": fault("AISBenchInvalidTypeException", "UTILS-TYPE-001"),
        "value": fault("AISBenchValueError", "ICLR-TYPE-002"),
        "no ice token": fault("AISBenchValueError", "ICLR-PARAM-001"),
        "not here": fault("AISBenchImplementationError", "ICLR-UNK-001"),
        "entries": fault("AISBenchValueError", "ICLR-PARAM-003"),
    }
    _list = PromptList

    def __init__(
        self, template: Any, ice_token: str | None = None, sep_token: str | None = None, *, documented: bool = False
    ) -> None:
        self.logger = logging.getLogger("ais_bench")
        super().__init__(template, ice_token, sep_token, documented=documented)

    def generate_ice_item(self, entry: Any, label: Hashable) -> Any:
        """One example.

        Args:
            entry: The row of the train split.
            label: The value of its output column.

        Returns:
            Nothing here; see the templates that have examples.

        Raises:
            AISBenchImplementationError: By templates that have none.
        """
        raise self._faults["not here"](f"{self._name()} makes no examples")

    def generate_label_prompt_item(self, entry: Any, ice: Any, label: Hashable, remain_sep: bool | None = False) -> Any:
        """The prompt of a sample for one label.

        Args:
            entry: The sample.
            ice: Its examples.
            label: The label.
            remain_sep: Whether `sep_token` stays.

        Returns:
            Nothing here; see the templates that have labels.

        Raises:
            AISBenchImplementationError: By templates that have none.
        """
        raise self._faults["not here"](f"{self._name()} makes no prompts for labels")

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> Any:
        """The prompt of a sample, for generation.

        Args:
            entry: The sample.
            output_field: The field that holds the answer.
            output_field_replace_token: What is shown in its place.
            ice_field_replace_token: The examples.

        Returns:
            Nothing here; see the templates that generate.

        Raises:
            AISBenchImplementationError: By templates that don't.
        """
        raise self._faults["not here"](f"{self._name()} makes no prompts")

    def _check_prompt_template(self: T) -> T:
        """Whatever is given, if it is a template; called on the class."""
        if not isinstance(self, BasePromptTemplate):
            raise BasePromptTemplate._faults["template"](f"a template is needed, not {type(self).__name__}")
        return self


class PromptTemplate(FilledTemplate, BasePromptTemplate):
    """A template of strings, dialogues or labels; its arguments are `BasePromptTemplate`'s.

    Example:
        >>> template = PromptTemplate({"A": "{q} yes", "B": "{q} no"})
        >>> template.generate_label_prompt_item({"q": 1}, "", "B")
        '1 no'
    """

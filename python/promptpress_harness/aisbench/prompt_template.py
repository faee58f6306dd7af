"""AISBench's templates for strings, dialogues, label maps, and conversations of several turns."""

# ruff: noqa: ARG002 - the arguments are the harness's

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Any, TypeVar

from promptpress_harness.aisbench.exceptions import fault
from promptpress_harness.aisbench.prompt_list import PromptList, get_round_index
from promptpress_harness.single.prompt_template import BaseTemplate, FilledTemplate

T = TypeVar("T")


class BasePromptTemplate(BaseTemplate):
    """The base of AISBench's templates.

    Args:
        template: A string; a dialogue, whose keys are among `begin`, `round` and `end`; or a label map.
        ice_token: The text that stands for the examples.
        sep_token: The text that is removed from prompts.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue has a marker of its own.

    Raises:
        AISBenchValueError: For a value that can't be a template, and for a string without the ice_token.
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
        """Return one example.

        Args:
            entry: The row of the train split.
            label: The value of its output column.

        Returns:
            A string or a prompt list.

        Raises:
            AISBenchImplementationError: By templates that don't override it.
        """
        raise self._faults["not here"](f"{self._name()} makes no examples")

    def generate_label_prompt_item(self, entry: Any, ice: Any, label: Hashable, remain_sep: bool | None = False) -> Any:
        """Return the prompt of a sample for one label.

        Args:
            entry: The sample.
            ice: Its examples.
            label: The label.
            remain_sep: True if `sep_token` stays.

        Returns:
            A string or a prompt list.

        Raises:
            AISBenchImplementationError: By templates that don't override it.
        """
        raise self._faults["not here"](f"{self._name()} makes no prompts for labels")

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> Any:
        """Return the prompt of a sample, for generation.

        Args:
            entry: The sample.
            output_field: The field of the answer. Only templates of strings and labels use it and what follows.
            output_field_replace_token: The text in place of the answer.
            ice_field_replace_token: The examples.

        Returns:
            A string or a prompt list.

        Raises:
            AISBenchImplementationError: By templates that don't override it.
        """
        raise self._faults["not here"](f"{self._name()} makes no prompts")

    def _check_prompt_template(self: T) -> T:
        """Return the object if it is a template; the harness calls this on the class."""
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


class MultiTurnPromptTemplate(BasePromptTemplate):
    """A dialogue template whose round is spoken once for each turn; its arguments are `BasePromptTemplate`'s.

    A sample's `question` and `answer` are lists, and the shorter one counts. They are filled into the round alone, and
    nothing else is. A template with strings among its items is an AttributeError.

    Example:
        >>> turn = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
        >>> template = MultiTurnPromptTemplate({"round": turn})
        >>> prompt = template.generate_item({"question": ["1?", "2?"], "answer": ["1", "2"]})
        >>> [item["prompt"] for item in prompt if "prompt" in item]
        ['1?', '1', '2?', '2']
    """

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> PromptList:
        prompt = self._encode_template(self.template, ice=False)
        start, end = get_round_index(prompt)
        turn = PromptList(prompt[start:end], documented=self.documented)
        turns = PromptList(documented=self.documented)
        for question, answer in zip(entry["question"], entry["answer"], strict=False):
            turns += turn.format(question=question, answer=answer)
        return PromptList([*prompt[:start], *turns, *prompt[end:]], documented=self.documented)

"""The bases of the harnesses' templates of strings, dialogues and label maps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from promptpress_harness.single.harness import Faults
from promptpress_harness.single.prompt_list import PromptList
from promptpress_harness.single.text import safe_format

SECTIONS = ("begin", "round", "end")


class BaseTemplate:
    """A template that checks its configuration and lays a dialogue out as a prompt list."""

    _faults: ClassVar[Faults]
    _list: ClassVar[type[PromptList]]

    template: Any
    """The template, as it was given."""
    ice_token: str | None
    """The text that stands for the examples."""
    sep_token: str | None
    """The text that is removed from prompts."""
    prompt_type: str
    """`meta` for a dialogue, `origin` for strings and label maps."""

    def __init__(
        self, template: Any, ice_token: str | None = None, sep_token: str | None = None, *, documented: bool = False
    ) -> None:
        self.documented = documented
        self.template = template
        if not isinstance(template, (str, dict)):
            raise self._faults["template"](f"a template is a str or a dict, not {type(template).__name__}")
        for name, token in (("ice_token", ice_token), ("sep_token", sep_token)):
            if token is not None and not isinstance(token, str):
                raise self._faults["token"](f"{name} is a str or None, not {type(token).__name__}: {token!r}")
        self.ice_token = ice_token
        self.sep_token = sep_token
        self.prompt_type = "origin"
        self._check_template_legacy()

    def _check_template_legacy(self) -> None:
        """Set `prompt_type`, and refuse a value that can't be a template."""
        texts: list[Any] = [self.template]
        if isinstance(self.template, dict):
            sections = sum(name in self.template for name in SECTIONS)
            self.prompt_type = "meta" if sections == len(self.template) else "origin"
            texts = list(self.template.values())
        for text in texts:
            if not isinstance(text, (str, list, dict)):
                raise self._faults["value"](f"a template holds str, list or dict, not {type(text).__name__}: {text!r}")
            if isinstance(text, str) and self.ice_token and self.ice_token not in text:
                raise self._faults["no ice token"](f"the ice_token {self.ice_token!r} isn't in {text!r}")

    def _encode_template(self, prompt_template: Any, ice: bool) -> Any:
        """Return a string as it is, or a dialogue as a prompt list with markers; an example has no begin and end."""
        if isinstance(prompt_template, str):
            return prompt_template
        prompt = self._list(documented=self.documented)
        if "begin" in prompt_template and not ice:
            self._add_section(prompt, "begin", prompt_template["begin"], "begin")
        name = "ice" if ice else "round"
        prompt.append({"section": name, "pos": "begin"})
        prompt += prompt_template["round"]
        prompt.append({"section": name, "pos": "end"})
        if "end" in prompt_template and not ice:
            # Both harnesses write two closing markers here; the parsers know.
            self._add_section(prompt, "end", prompt_template["end"], "begin" if self.documented else "end")
        return prompt

    def _add_section(self, prompt: PromptList, name: str, items: Any, opening: str) -> None:
        prompt.append({"section": name, "pos": opening})
        if isinstance(items, list):
            prompt += items
        else:
            prompt.append(items)
        prompt.append({"section": name, "pos": "end"})

    def __repr__(self) -> str:
        return f"{self._name()}({{\n\ttemplate: {self.template},\n\tice_token: {self.ice_token}\n}})"

    def _name(self) -> str:
        """Return the name of the harness's class, which its subclasses show too."""
        return next(base.__name__ for base in type(self).__mro__ if base.__module__.startswith("promptpress."))


class FilledTemplate(BaseTemplate):
    """A template that is filled with samples and examples: the harnesses' `PromptTemplate`."""

    def generate_ice_item(self, entry: Any, label: Hashable) -> Any:
        """Return one example.

        Args:
            entry: The row of the train split.
            label: The value of its output column, which selects the template in a label map.

        Returns:
            A string, or a prompt list for a dialogue.

        Raises:
            KeyError: If a label map lacks the label, or a dialogue has no `round`.

        Example:
            >>> from promptpress.opencompass import PromptTemplate
            >>> PromptTemplate("</E>{q}={a}", ice_token="</E>").generate_ice_item({"q": 1, "a": 2}, 2)
            '1=2'
        """
        example = self._encode_template(self._of_label(label), ice=True)
        if self.sep_token is not None:
            example.replace(self.sep_token, "")  # The token stays, but the harnesses raise what this raises.
        if self.ice_token is not None:
            example = example.replace(self.ice_token, "")
        return self._filled(example, entry)

    def generate_label_prompt_item(self, entry: Any, ice: Any, label: Hashable, remain_sep: bool | None = False) -> Any:
        """Return the prompt of a sample for one label.

        Args:
            entry: The sample.
            ice: Its examples, a string or a prompt list.
            label: The label.
            remain_sep: True if `sep_token` stays.

        Returns:
            A string, or a prompt list for a dialogue.

        Raises:
            KeyError: If a label map lacks the label.
            TypeError: If examples of dialogues go into a string or a turn (AISBenchTypeError in AISBench's turns).

        Example:
            >>> from promptpress.opencompass import PromptTemplate
            >>> PromptTemplate({"A": "{q} yes", "B": "{q} no"}).generate_label_prompt_item({"q": 1}, "", "B")
            '1 no'
        """
        prompt = self._encode_template(self._of_label(label), ice=False)
        if not remain_sep and self.sep_token is not None:
            prompt = prompt.replace(self.sep_token, "")
        if self.ice_token is not None:
            prompt = prompt.replace(self.ice_token, ice)
        return self._filled(prompt, entry)

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> Any:
        """Return the prompt of a sample, for generation.

        Args:
            entry: The sample. It isn't changed.
            output_field: The field of the answer, which is hidden; None hides nothing.
            output_field_replace_token: The text in place of the answer.
            ice_field_replace_token: The examples, a string or a prompt list.

        Returns:
            A string, or a prompt list for a dialogue. A label map is filled as its first template.

        Raises:
            TypeError: If examples of dialogues go into a string or a turn (AISBenchTypeError in AISBench's turns).

        Example:
            >>> from promptpress.opencompass import PromptTemplate
            >>> PromptTemplate("{q}={a}").generate_item({"q": 1, "a": 2}, output_field="a")
            '1='
        """
        if isinstance(self.template, str):
            prompt: Any = self.template
        else:
            template = self.template
            if self.prompt_type == "origin":
                template = template[list(template.keys())[0]]  # noqa: RUF015 - an IndexError without any
            prompt = self._encode_template(template, ice=False)
        if self.ice_token is not None:
            prompt = prompt.replace(self.ice_token, ice_field_replace_token)
        if self.sep_token is not None:
            prompt = prompt.replace(self.sep_token, "")
        if output_field is not None:
            # The harnesses deep-copy the sample to change one field of it.
            entry = {**entry, output_field: output_field_replace_token}
        return self._filled(prompt, entry)

    def _of_label(self, label: Hashable) -> Any:
        if isinstance(self.template, str) or self.prompt_type == "meta":
            return self.template
        return self.template[label]

    @staticmethod
    def _filled(prompt: Any, entry: Any) -> Any:
        return safe_format(prompt, **entry) if isinstance(prompt, str) else prompt.format(**entry)

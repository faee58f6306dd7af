"""OpenICL's template, in which tokens from the configuration stand for columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class PromptTemplate:
    """A template of strings or labels.

    Args:
        template: A string, or a dict of label to string.
        column_token_map: The token that stands for each column, in the order of replacing.
        selected_column_name: The column whose text depends on the label.
        selected_column_map: The texts of that column, by label.
        ice_token: The text that stands for the examples.
        sep_token: Kept for the inferencers; no method removes it.
        documented: Accepted as by the other harnesses; the documents promise nothing here that fails.

    Raises:
        TypeError: For an argument of the wrong type, and for labels whose template is no string.
        ValueError: If a token stands for two things, or one of the `selected` arguments is missing.
        LookupError: For a string without the ice_token.

    Example:
        >>> template = PromptTemplate("</E>Q: </Q> A: </A>", {"q": "</Q>", "a": "</A>"}, ice_token="</E>")
        >>> template.generate_ice_item({"q": "1+1?", "a": 2}, 2)
        'Q: 1+1? A: 2'
    """

    def __init__(  # noqa: PLR0917 - the harness has this many
        self,
        template: dict[Any, str] | str,
        column_token_map: dict[str, str],
        selected_column_name: str | None = None,
        selected_column_map: dict[Any, Any] | None = None,
        ice_token: str | None = None,
        sep_token: str | None = None,
        *,
        documented: bool = False,
    ) -> None:
        self.documented = documented
        self.template = _checked("template", template, dict, str)
        self.column_token_map = _checked("column_token_map", column_token_map, dict)
        self.selected_column_name = _checked("selected_column_name", selected_column_name, type(None), str)
        self.selected_column_map = _checked("selected_column_map", selected_column_map, type(None), dict)
        self.ice_token = _checked("ice_token", ice_token, type(None), str)
        self.sep_token = _checked("sep_token", sep_token, type(None), str)
        if (selected_column_name is None) != (selected_column_map is None):
            raise ValueError("selected_column_name and selected_column_map go together, and one of them is missing")
        self._check_template_legacy()

    def _check_template_legacy(self) -> None:
        for text in self.template.values() if isinstance(self.template, dict) else [self.template]:
            if not isinstance(text, str):
                raise TypeError(f"the template of a label is a str, not {text!r}")
            if self.ice_token is not None and self.ice_token not in text:
                raise LookupError(f"the ice_token {self.ice_token!r} isn't in {text!r}")
        tokens = list(self.column_token_map.values())
        if len(tokens) != len(set(tokens)):
            raise ValueError("one token stands for two columns of column_token_map")
        if self.ice_token is not None and self.ice_token in tokens:
            raise ValueError(f"the ice_token {self.ice_token!r} stands for a column of column_token_map, too")

    def generate_ice_item(self, entry: Any, label: Hashable) -> str:
        """Return one example.

        Args:
            entry: The row of the train split.
            label: The value of its output column.

        Returns:
            The template of the label, filled with the row.

        Raises:
            KeyError: For a missing label or column.

        Example:
            >>> PromptTemplate("Q: </Q>", {"q": "</Q>"}).generate_ice_item({"q": "1+1?"}, None)
            'Q: 1+1?'
        """
        text = self._of_label(label)
        if self.ice_token is not None:
            text = text.replace(self.ice_token, "")
        return self._filled(text, entry, label)

    def generate_label_prompt_item(self, entry: Any, ice: str, label: Hashable, remain_sep: bool | None = False) -> str:  # noqa: ARG002
        """Return the prompt of a sample for one label.

        Args:
            entry: The sample.
            ice: Its examples.
            label: The label.
            remain_sep: Not used: the harness doesn't remove `sep_token`, although it intends to.

        Returns:
            The template of the label, filled with the examples and the sample.

        Raises:
            ValueError: For a template without `ice_token`.
            KeyError: For a missing label or column.

        Example:
            >>> tokens = {"q": "</Q>", "l": "</L>"}
            >>> template = PromptTemplate("</E></Q>: </L>", tokens, "l", {0: "no"}, ice_token="</E>")
            >>> template.generate_label_prompt_item({"q": "Is it?"}, "", 0)
            'Is it?: no'
        """
        if self.ice_token is None:
            raise ValueError("a prompt for a label needs an ice_token")
        return self._filled(self._of_label(label).replace(self.ice_token, ice), entry, label)

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> str:
        """Return the prompt of a sample, for generation.

        Args:
            entry: The sample. Its `selected_column_name` selects a label's template; without one the first is used.
            output_field: The column of the answer, which is hidden; None hides nothing.
            output_field_replace_token: The text in place of the answer.
            ice_field_replace_token: The examples.

        Returns:
            The template, filled with the examples and the sample. Texts of `selected_column_map` aren't used here.

        Raises:
            KeyError: For a missing column.
            IndexError: For a dict without labels.

        Example:
            >>> PromptTemplate("</Q> </A>", {"q": "</Q>", "a": "</A>"}).generate_item({"q": "1+1?", "a": 2}, "a")
            '1+1? '
        """
        text: Any = self.template
        if not isinstance(text, str):
            label = None if self.selected_column_name is None else entry[self.selected_column_name]
            text = text[label] if label in text.keys() else text[list(text.keys())[0]]  # noqa: RUF015, SIM118
        if self.ice_token is not None:
            text = text.replace(self.ice_token, ice_field_replace_token)
        for column, token in self.column_token_map.items():
            hidden = output_field is not None and column == output_field
            text = text.replace(token, output_field_replace_token if hidden else str(entry[column]))
        return text  # type: ignore[no-any-return]

    def _of_label(self, label: Hashable) -> Any:
        return self.template[label] if isinstance(self.template, dict) else self.template

    def _filled(self, text: Any, entry: Any, label: Hashable) -> str:
        for column, token in self.column_token_map.items():
            by_label = self.selected_column_map is not None and column == self.selected_column_name
            text = text.replace(token, str(self.selected_column_map[label] if by_label else entry[column]))
        return text  # type: ignore[no-any-return]

    def _check_prompt_template(self: T) -> T:
        """Return the object if it is a template; the harness calls this on the class."""
        if not isinstance(self, PromptTemplate):
            raise TypeError(f"a PromptTemplate is needed, not {self}")
        return self

    def __repr__(self) -> str:
        return (
            f"PromptTemplate({{\n\ttemplate: {self.template},\n\tcolumn_token_map: {self.column_token_map},\n\t"
            f"ice_token: {self.ice_token}\n}})"
        )


def _checked(name: str, value: Any, *types: type) -> Any:
    if not isinstance(value, types):
        kinds = " or ".join("None" if kind is type(None) else kind.__name__ for kind in types)
        raise TypeError(f"{name} is {kinds}, not {type(value).__name__}: {value!r}")
    return value

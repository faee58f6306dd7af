"""OpenCompass's template of raw messages."""

from __future__ import annotations

import copy
from typing import Any

from promptpress_harness.single.text import copied, safe_format

ROLES = ("system", "user", "assistant")


class RawPromptTemplate:
    """A template of OpenAI-style messages.

    Args:
        messages: Messages, `{"role": ..., "content": ...}`; `{"expand_column": name}` for the messages that a field
            holds; and strings, of which the `ice_token` stands for the examples.
        format_variables: True if fields are filled into `content`.
        ice_token: The text that stands for the examples.
        documented: Accepted as by the other templates; the documents promise nothing here that fails.

    Raises:
        TypeError: If `messages` is no list, or holds an item that is neither dict nor str.
        ValueError: For a message without `role` or `content`, or whose role is none of OpenAI's.

    Example:
        >>> template = RawPromptTemplate([{"role": "user", "content": "{q}?"}])
        >>> template.generate_item({"q": 1})
        [{'role': 'user', 'content': '1?'}]
    """

    def __init__(
        self,
        messages: list[dict[str, Any] | str],
        format_variables: bool = True,
        ice_token: str = "</E>",
        *,
        documented: bool = False,
    ) -> None:
        self._validate_messages(messages)
        self.messages = messages
        self.format_variables = format_variables
        self.ice_token = ice_token
        self.sep_token = None
        self.prompt_type = "raw_messages"
        self.documented = documented

    def _validate_messages(self, messages: Any) -> None:
        if not isinstance(messages, list):
            raise TypeError(f"messages must be a list, got {type(messages)}")
        for n, message in enumerate(messages):
            if isinstance(message, str):
                continue
            if not isinstance(message, dict):
                raise TypeError(f"messages[{n}] must be a dict or str, got {type(message)}")
            if "expand_column" in message:
                continue
            for key in ("role", "content"):
                if key not in message:
                    raise ValueError(f"messages[{n}] missing {key!r} key")
            if message["role"] not in ROLES:
                roles = ", ".join(ROLES)
                raise ValueError(f"messages[{n}] has invalid role: {message['role']}; there are {roles}")

    def generate_item(
        self,
        entry: Any,
        output_field: Any = None,  # noqa: ARG002 - raw messages hide nothing
        output_field_replace_token: Any = "",  # noqa: ARG002
        ice_field_replace_token: Any = "",
    ) -> list[Any]:
        """Return the messages of a sample.

        Args:
            entry: The sample.
            output_field: Not used, and nothing is hidden.
            output_field_replace_token: Not used.
            ice_field_replace_token: The examples; a list replaces the `ice_token`, a string is left out.

        Returns:
            The messages; those of a field are copied.

        Example:
            >>> template = RawPromptTemplate(["</E>", {"expand_column": "past"}])
            >>> template.generate_item({"past": [{"role": "user", "content": "Hi"}]})
            [{'role': 'user', 'content': 'Hi'}]
        """
        return self._messages(entry, ice_field_replace_token)

    def generate_ice_item(self, entry: Any, label: Any = None) -> list[Any]:  # noqa: ARG002 - there are no labels
        """Return the messages of one example.

        Args:
            entry: The row of the train split.
            label: Not used.

        Returns:
            The messages, without the `ice_token`.

        Example:
            >>> RawPromptTemplate(["</E>", {"role": "user", "content": "{q}?"}]).generate_ice_item({"q": 1})
            [{'role': 'user', 'content': '1?'}]
        """
        return self._messages(entry, None)

    def generate_label_prompt_item(
        self,
        entry: Any,
        ice: Any = "",  # noqa: ARG002 - the harness leaves examples out here
        label: Any = None,  # noqa: ARG002
        remain_sep: bool = False,  # noqa: ARG002
    ) -> list[Any]:
        """Return the messages of a sample, which are the same for all labels and have no examples.

        Args:
            entry: The sample.
            ice: Not used.
            label: Not used.
            remain_sep: Not used.

        Returns:
            The messages.

        Example:
            >>> template = RawPromptTemplate([{"role": "user", "content": "{q}?"}])
            >>> template.generate_label_prompt_item({"q": 1})
            [{'role': 'user', 'content': '1?'}]
        """
        return self.generate_item(entry)

    def _messages(self, entry: Any, examples: Any) -> list[Any]:
        out: list[Any] = []
        for item in self.messages:
            if isinstance(item, str):
                if item == self.ice_token and examples and isinstance(examples, list):
                    out.extend(examples)
            elif isinstance(item, dict) and "expand_column" in item:
                column = item["expand_column"]
                if column in entry and isinstance(entry[column], list):
                    out.extend(copy.deepcopy(entry[column]))
            else:
                message = copied(item)
                if self.format_variables and "content" in message and isinstance(message["content"], str):
                    message["content"] = safe_format(message["content"], **entry)
                out.append(message)
        return out

    def __repr__(self) -> str:
        return f"RawPromptTemplate(messages={self.messages}, ice_token={self.ice_token})"

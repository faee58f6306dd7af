"""OpenCompass's prompt list, its templates, and its parsers for language models and for APIs."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from promptpress_harness.single import parsers, prompt_list
from promptpress_harness.single.parsers import ASSERTIONS
from promptpress_harness.single.prompt_list import copied, safe_format
from promptpress_harness.single.prompt_template import FilledTemplate

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


T = TypeVar("T")


class PromptList(prompt_list.PromptList):
    r"""The items of a prompt: strings, turns and section markers.

    Args:
        items: The items, as for `list`.
        documented: True if `list + PromptList` is their sum. In the harness it doesn't end.

    Example:
        >>> prompt = PromptList(["Q: {q}"]) + "\n" + PromptList([{"role": "BOT", "prompt": "{q}!"}])
        >>> prompt.format(q=1)
        ['Q: 1', '\n', {'role': 'BOT', 'prompt': '1!'}]
        >>> str(prompt)
        'Q: {q}\n{q}!'
    """

    _faults = {"list in turn": TypeError, "item": TypeError}  # noqa: RUF012
    _harness = ("opencompass.utils.prompt", "PromptList")


class PromptTemplate(FilledTemplate):
    """A template of strings, dialogues or labels.

    Args:
        template: A string; a dialogue, whose keys are among `begin`, `round` and `end`; or a label map.
        ice_token: The text that stands for the examples.
        sep_token: The text that is removed from prompts.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue has a marker of its own.

    Raises:
        AssertionError: For a template that is neither a string nor a dict.
        TypeError: For values of a dict that are neither str, list nor dict, and for tokens that are no str.
        LookupError: For a string without the ice_token.

    Example:
        >>> template = PromptTemplate({"round": [{"role": "HUMAN", "prompt": "{q}?"}]})
        >>> template.prompt_type
        'meta'
        >>> template.generate_item({"q": 1})[1]
        {'role': 'HUMAN', 'prompt': '1?'}
    """

    _faults = {  # noqa: RUF012
        "template": AssertionError,
        "token": TypeError,
        "value": TypeError,
        "no ice token": LookupError,
    }
    _list = PromptList

    def _check_prompt_template(self: T) -> T:
        """Return the object if it is a template; the harness calls this on the class."""
        if not isinstance(self, PromptTemplate):
            raise TypeError(f"a PromptTemplate is needed, not {self}")
        return self


class LMTemplateParser(parsers.LMTemplateParser):
    __doc__ = parsers.LMTemplateParser.__doc__

    _faults = {**ASSERTIONS, "pos": ValueError}  # noqa: RUF012
    _list = PromptList


class APITemplateParser(parsers.APITemplateParser):
    """Lays prompts over a meta template as messages.

    Args:
        meta_template: The model's meta template, or OpenAI-style messages to go with raw messages; without one prompts
            become lines.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue; `begin` and `end` of a
            role as lists of strings and token ids.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.
        TemplateError: For a token id without text, if `documented`.

    Example:
        >>> parser = APITemplateParser([{"role": "user", "content": "Be brief. "}])
        >>> parser.parse_template([{"role": "user", "content": "1?"}], mode="gen")
        [{'role': 'user', 'content': 'Be brief. 1?'}]
    """

    _faults = {**ASSERTIONS, "pos": ValueError, "no role": TypeError, "role": KeyError}  # noqa: RUF012
    _list = PromptList

    def _read_meta_template(self, meta: Any) -> None:
        if not isinstance(meta, list):
            super()._read_meta_template(meta)
        elif not all(isinstance(turn, dict) and "role" in turn and turn["role"] in ROLES for turn in meta):
            raise AssertionError(f"a meta template that is a list holds messages of {', '.join(ROLES)}, not {meta}")

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """Return a prompt as messages; raw messages are merged with a meta template that is a list.

        Args:
            prompt_template: A string, a prompt list, or raw messages.
            mode: `"gen"` or `"ppl"`; raw messages are the same in both.

        Returns:
            A string for a string, a prompt list of `role` and `prompt`, or raw messages.

        Raises:
            AssertionError: For a prompt of another type, or a mode that is neither.
        """
        self._check_prompt(prompt_template)
        # Strings are searched for the words too.
        is_raw = isinstance(prompt_template, list) and all(
            "role" in item and "content" in item for item in prompt_template
        )
        if is_raw and prompt_template:
            if self.meta_template and isinstance(self.meta_template, list):
                return joined(self.meta_template, prompt_template)
            return copy.deepcopy(prompt_template)
        return super().parse_template(prompt_template, mode)


def joined(meta: list[Any], messages: list[Any]) -> list[Any]:
    """Return copies of raw messages joined with those of a meta template.

    The meta template's messages are taken in their order. If one of the remaining messages has the same role, the two
    become one message, with the meta template's content first. Otherwise the meta template's message stands alone.

    Example:
        >>> joined([{"role": "system", "content": "S"}], [{"role": "user", "content": "?"}])
        [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': '?'}]
    """
    out: list[Any] = []
    start = 0
    for meta_message in meta:
        rest = messages[start:]
        ahead = next((n for n, message in enumerate(rest) if message["role"] == meta_message["role"]), None)
        if ahead is None:
            out.append(copied(meta_message))
            continue
        out.extend(map(copied, rest[:ahead]))
        same_role = copied(rest[ahead])
        same_role["content"] = meta_message["content"] + same_role["content"]
        out.append(same_role)
        start += ahead + 1
    out.extend(map(copied, messages[start:]))
    return out

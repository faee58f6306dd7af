"""A prompt list as the messages that an API takes."""

from __future__ import annotations

import warnings
from typing import Any

from promptpress._single.parser import Role, TemplateParser, lines, merged_role_of


class APITemplateParser(TemplateParser):
    """Lays prompts over a meta template as messages.

    Args:
        meta_template: The model's meta template; without one prompts become lines.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue; `begin` and `end` of a
            role as lists of strings and token ids.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice (AISBenchTypeError in AISBench).
        KeyError: For a role without `role`.
        TemplateError: For a token id without text, if `documented`.

    Example:
        >>> from promptpress.opencompass import APITemplateParser, PromptTemplate
        >>> bot = {"role": "BOT", "api_role": "BOT", "generate": True}
        >>> parser = APITemplateParser({"round": [{"role": "HUMAN", "api_role": "HUMAN"}, bot]})
        >>> template = PromptTemplate({"round": [{"role": "HUMAN", "prompt": "{q}?"}]})
        >>> parser.parse_template(template.generate_item({"q": "1+1"}), mode="gen")
        [{'role': 'HUMAN', 'prompt': '1+1?'}]
    """

    _takes_media = False
    """Whether a turn without text speaks its media (AISBench), and is refused without either."""

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """A prompt as messages.

        Args:
            prompt_template: A string, which stays as it is; a prompt list; or a list or tuple of them.
            mode: "gen" leaves out the message that the model is to write; "ppl" doesn't.

        Returns:
            A prompt list of messages, `{"role": ..., "prompt": ...}`; a string without a meta template; or a list of
            these.

        Raises:
            AssertionError: For anything else, and for another mode (AISBenchTypeError in AISBench).
            KeyError: For a role that nobody knows (AISBenchKeyError in AISBench's rounds).
            TypeError: For a generating role outside the rounds.
            IndexError: For a dialogue without any message.
        """
        self._check_prompt(prompt_template)
        is_list = self._list._is_one(prompt_template)
        if not isinstance(prompt_template, str) and not is_list:
            return [self.parse_template(one, mode=mode) for one in prompt_template]
        if mode not in ("ppl", "gen"):
            raise self._faults["mode"](f"mode is gen or ppl, not {mode!r}")
        if not is_list:
            return prompt_template
        if not self.meta_template:
            parts: list[Any] | None = [] if self._takes_media else None
            # AISBench: no text at all is a list of parts, if an empty one.
            return lines(prompt_template, parts) or ("" if parts is None else parts)
        messages, _ = self._laid_over(prompt_template, mode, self._list(documented=self.documented))
        messages = self._merged(messages)
        if self.meta_template.get("begin", None):
            messages.insert(0, self.meta_template["begin"])
        return messages

    def _check_prompt(self, prompt: Any) -> None:
        if not isinstance(prompt, (str, list, tuple)):
            raise self._faults["prompt"](f"a prompt is a str or a prompt list, not {type(prompt).__name__}")

    def _add_string(self, output: Any, text: str) -> Any:
        if text.strip():
            # One place for every caller: Python shows it once, as it does the harness's.
            warnings.warn("A string without a role among the turns is left out of messages.", stacklevel=1)
        return output

    def _place(self, turn: Role, places: dict[Any, int]) -> int | None:
        place = places.get(turn["role"])
        if place is not None:
            return place
        try:
            return places[turn["fallback_role"]]
        except KeyError:
            message = f"{turn} has neither a role of the meta template's round nor a fallback_role of it"
            raise self._faults["role"](message) from None

    def _turn(self, item: Any, mode: str) -> tuple[Any, bool]:
        stops = mode == "gen"
        if isinstance(item, dict):
            message, goes_on = self._message(item, self._merged_roles([item]), stops)
            return [message], goes_on
        messages, goes_on = self._messages(item, self._merged_roles(item), stops)
        return [messages], goes_on

    def _round(self, turns: list[Any], places: dict[Any, int], stops: bool) -> tuple[Any, bool]:  # noqa: ARG002
        return self._messages(self.meta_template["round"], self._merged_roles(turns), stops)

    def _messages(self, items: Any, merged_roles: dict[Any, Role], stops: bool) -> tuple[list[Any], bool]:
        messages: list[Any] = []
        for item in items:
            if isinstance(item, str):
                raise self._faults["no role"](f"{item!r} has no role, and a message needs one")
            message, goes_on = self._message(item, merged_roles, stops)
            if not goes_on:
                return messages, False
            messages.append(message)
        return messages, True

    def _message(self, turn: Role, merged_roles: dict[Any, Role], stops: bool) -> tuple[Role | None, bool]:
        merged_role = merged_role_of(turn, merged_roles)
        if stops and merged_role.get("generate", False):
            return None, False
        role = merged_role["api_role"]
        if self._takes_media and "prompt" not in merged_role:
            if "prompt_mm" not in merged_role:
                raise self._faults["nothing said"](f"the role {turn['role']!r} has neither prompt nor prompt_mm")
            return {"role": role, "prompt": merged_role["prompt_mm"]}, True
        # What is no string here is added to in place, by the harnesses too.
        output = merged_role.get("begin", "")
        output += merged_role.get("prompt", "")
        output += merged_role.get("end", "")
        return {"role": role, "prompt": output}, True

    def _merged(self, messages: Any) -> Any:
        """Messages that follow each other under one role, as one."""
        merged = self._list([messages[0]], documented=self.documented)
        role = messages[0]["role"]
        for message in messages[1:]:
            if message["role"] == role:
                merged[-1]["prompt"] += "\n" + message["prompt"]
            else:
                role = message["role"]
                merged.append(message)
        return merged

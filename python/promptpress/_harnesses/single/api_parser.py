"""The parser that makes the messages for an API of a prompt list."""

from __future__ import annotations

import warnings
from typing import Any

from promptpress._harnesses.single.parser import Role, TemplateParser, lines, merged_role_of
from promptpress._harnesses.single.prompt_list import PromptList


class APITemplateParser(TemplateParser):
    """Lays prompts over a meta template as messages."""

    _takes_media = False
    """True if the media of a turn stand in for its text, and a turn with neither is refused (AISBench)."""

    def _parsed(self, prompt: PromptList, mode: str) -> Any:
        if not self.meta_template:
            parts: list[Any] | None = [] if self._takes_media else None
            # AISBench: no text at all is a list of parts, if an empty one.
            return lines(prompt, parts) or ("" if parts is None else parts)
        messages, _ = self._laid_over(prompt, mode, self._list(documented=self.documented))
        messages = self._merged(messages)
        if self.meta_template.get("begin", None):
            messages.insert(0, self.meta_template["begin"])
        return messages

    def _add_string(self, output: Any, text: str) -> Any:
        if text.strip():
            # All callers warn from this line: Python shows the warning once, as it shows the harness's.
            warnings.warn("A string without a role among the turns is left out of messages.", stacklevel=1)
        return output

    def _position(self, turn: Role, positions: dict[Any, int]) -> int | None:
        position = positions.get(turn["role"])
        if position is not None:
            return position
        try:
            return positions[turn["fallback_role"]]
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

    def _round(self, turns: list[Any], positions: dict[Any, int], stops: bool) -> tuple[Any, bool]:  # noqa: ARG002
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
                raise self._faults["no prompt"](f"the role {turn['role']!r} has neither prompt nor prompt_mm")
            return {"role": role, "prompt": merged_role["prompt_mm"]}, True
        # A value that is no string is added to in place, by the harnesses too.
        output = merged_role.get("begin", "")
        output += merged_role.get("prompt", "")
        output += merged_role.get("end", "")
        return {"role": role, "prompt": output}, True

    def _merged(self, messages: Any) -> Any:
        """Join messages of one role that follow each other."""
        merged = self._list([messages[0]], documented=self.documented)
        role = messages[0]["role"]  # a TypeError if a role outside the rounds generates, as in the harnesses
        for message in messages[1:]:
            if message["role"] == role:
                merged[-1]["prompt"] += "\n" + message["prompt"]
            else:
                role = message["role"]
                merged.append(message)
        return merged

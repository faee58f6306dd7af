"""The parsers that make the text for a language model, or the messages for an API, of a prompt list."""

from __future__ import annotations

import warnings
from typing import Any

from promptpress_harness.single.parser import Role, TemplateParser, lines, merged_role_of
from promptpress_harness.single.prompt_list import PromptList


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


class LMTemplateParser(TemplateParser):
    """Lays prompts over a meta template as text.

    Args:
        meta_template: The model's meta template; without one prompts become lines.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue, fallback and reserved
            roles inside `round`, `begin` and `end` of a role as lists of strings and token ids.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.
        NotImplementedError: For a `begin` or `end` that is a list, unless `documented`.
        TemplateError: For a token id without text, if `documented`.

    Example:
        >>> from promptpress.opencompass import LMTemplateParser, PromptTemplate
        >>> human = {"role": "HUMAN", "begin": "<H>", "end": "</H>"}
        >>> bot = {"role": "BOT", "begin": "<B>", "end": "</B>", "generate": True}
        >>> parser = LMTemplateParser({"round": [human, bot]})
        >>> template = PromptTemplate({"round": [{"role": "HUMAN", "prompt": "{q}?"}]})
        >>> parser.parse_template(template.generate_item({"q": "1+1"}), mode="gen")
        '<H>1+1?</H><B>'
    """

    def _read_role(self, role: Role, meta_key: str) -> Role:
        role = super()._read_role(role, meta_key)
        for key in ("begin", "end"):
            if isinstance(role.get(key, ""), list):
                raise NotImplementedError(
                    f"{key} of the role {role['role']!r} is a list, which the harness has no text for; "
                    "documented=True joins it"
                )
        return role

    def _parsed(self, prompt: PromptList, mode: str) -> Any:
        if not self.meta_template:
            return lines(prompt)
        text, goes_on = self._laid_over(prompt, mode, "")
        text = self.meta_template.get("begin", "") + text
        if goes_on:
            text += self.meta_template.get("end", "")
        return text

    def _add_string(self, output: Any, text: str) -> Any:
        return output + text

    def _position(self, turn: Role, positions: dict[Any, int]) -> int | None:
        role = turn["role"]
        if self.documented and role not in positions:
            if role in self.roles:
                return None
            role = turn.get("fallback_role", role)
        return positions[role]

    def _turn(self, item: Any, mode: str) -> tuple[Any, bool]:  # noqa: ARG002 - nothing outside the rounds stops text
        if not isinstance(item, (list, dict)):
            raise AssertionError(f"{type(item).__name__} is neither a string nor a turn")
        items = [item] if isinstance(item, dict) else item
        return self._items_text(items, self._merged_roles(items))

    def _round(self, turns: list[Any], positions: dict[Any, int], stops: bool) -> tuple[Any, bool]:
        merged_roles = self._merged_roles(turns)
        if not self.documented:
            return self._items_text(self.meta_template["round"], merged_roles, stops)
        # A reserved role speaks after the turn that it follows.
        asides: dict[int, list[Any]] = {}
        last = -1
        for turn in turns:
            if isinstance(turn, dict):
                position = self._position(turn, positions)
                if position is None:
                    asides.setdefault(last, []).append({**self.roles[turn["role"]], **turn})
                else:
                    last = position
        text, goes_on = "", True
        for position, item in enumerate([None, *self.meta_template["round"]], start=-1):
            texts = [] if item is None else [self._item_text(item, merged_roles, stops)]
            texts += [self._role_text(aside, stops) for aside in asides.get(position, [])]
            for more, goes_on in texts:
                text += more
                if not goes_on:
                    return text, goes_on
        return text, goes_on

    def _items_text(self, items: Any, merged_roles: dict[Any, Role], stops: bool = False) -> tuple[str, bool]:
        if not items:
            raise UnboundLocalError("an empty list says nothing, and the harness has no value for that")
        text, goes_on = "", True
        for item in items:
            more, goes_on = self._item_text(item, merged_roles, stops)
            text += more
            if not goes_on:
                break
        return text, goes_on

    def _item_text(self, item: Any, merged_roles: dict[Any, Role], stops: bool) -> tuple[Any, bool]:
        if isinstance(item, str):
            return item, True
        if isinstance(item, dict):
            return self._role_text(merged_role_of(item, merged_roles), stops)
        if isinstance(item, list):
            return self._items_text(item, merged_roles, stops)
        raise AssertionError(f"{type(item).__name__} is neither a string nor a turn")

    @staticmethod
    def _role_text(merged_role: Any, stops: bool) -> tuple[Any, bool]:
        output = merged_role.get("begin", "")
        if stops and merged_role.get("generate", False):
            return output, False
        output += merged_role.get("prompt", "") + merged_role.get("end", "")
        return output, True

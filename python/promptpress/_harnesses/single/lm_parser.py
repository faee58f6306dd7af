"""The parser that makes the text for a language model of a prompt list."""

from __future__ import annotations

from typing import Any

from promptpress._harnesses.single.parser import Role, TemplateParser, lines, merged_role_of
from promptpress._harnesses.single.prompt_list import PromptList


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

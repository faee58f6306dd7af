"""A prompt list laid over a meta template: what text and messages have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from promptpress._errors import template_error
from promptpress._single.faults import Faults
from promptpress._single.prompt_list import PromptList
from promptpress._single.text import copied_roles

Tokens = Mapping[int, str] | Callable[[int], str | None]
Role = dict[str, Any]

OUTER_SECTIONS = ("begin", "end")
ROUND_SECTIONS = ("round", "ice")


class TemplateParser:
    """The part of both parsers that knows sections, rounds and roles.

    Sections nest by markers: an item `{"section": name, "pos": "begin" or "end"}`. What stands in `begin` and `end` is
    spoken turn by turn. What stands in `round`, or in an example, is cut into rounds first: a role at the same or an
    earlier place of the meta template's round begins a new one, and each is spoken by the meta template's whole round.
    """

    _faults: ClassVar[Faults]
    _list: ClassVar[type[PromptList]]

    meta_template: Any
    """The meta template, as it was given."""
    roles: dict[Any, Role]
    """How each role speaks; only with a meta template."""

    def __init__(self, meta_template: Any = None, *, documented: bool = False, tokens: Tokens | None = None) -> None:
        self.documented = documented
        self.tokens = tokens
        self.meta_template = meta_template
        if meta_template:
            self._read_meta_template(meta_template)

    def _read_meta_template(self, meta: Any) -> None:
        if "round" not in meta:
            raise self._faults["no round"]("a meta template needs a round")
        keys = ["round", *(["reserved_roles"] if "reserved_roles" in meta else [])]
        for key in keys:
            if not isinstance(meta[key], list):
                raise self._faults["meta type"](f"{key} of a meta template is a list, not {type(meta[key]).__name__}")
        self.roles = {}
        for key in keys:
            for item in meta[key]:
                if not isinstance(item, (str, dict)):
                    raise self._faults["meta type"](f"{key} of a meta template holds str and dict, not {item!r}")
                if isinstance(item, dict):
                    if item["role"] in self.roles:
                        raise self._faults["twice"](f"the role {item['role']!r} stands twice in the meta template")
                    self.roles[item["role"]] = self._read_role(item.copy(), key)

    def _read_role(self, role: Role, place: str) -> Role:
        """A role as it speaks."""
        if self.documented:
            for key in ("begin", "end"):
                if isinstance(role.get(key), list):
                    path = f"meta_template.{place}: {key} of the role {role['role']!r}"
                    role[key] = "".join(self._token(item, path) for item in role[key])
        return role

    def _token(self, item: Any, path: str) -> str:
        if isinstance(item, str):
            return item
        look_up = self.tokens if callable(self.tokens) else (self.tokens or {}).get
        text = look_up(item)
        if not isinstance(text, str):
            message = f"no text for the token id {item!r}; tokens={{{item!r}: ...}} gives it one"
            raise template_error("token_without_text", path, message)
        return text

    def _laid_over(self, prompt: Any, mode: str, output: Any) -> tuple[Any, bool]:
        """Lay a prompt list over the meta template.

        Args:
            prompt: The prompt list.
            mode: "gen" stops where the last round's generating role speaks.
            output: What is said before; everything is added to it.

        Returns:
            What is said, and whether it goes on after that.
        """
        goes_on = True
        opened: list[tuple[Any, int]] = []
        for at, item in enumerate(prompt):
            if not goes_on:
                break
            if isinstance(item, str):
                output = self._add_string(output, item)
            elif isinstance(item, dict) and "section" in item:
                ended = self._marked(item, at, opened)
                if ended is not None and ended[0] in ROUND_SECTIONS:
                    stops = mode == "gen" and ended[0] == "round"
                    for more, goes_on in self._rounds(prompt[ended[1] : at], stops):  # noqa: B007 - the last one counts
                        output += more
            elif opened[-1][0] in OUTER_SECTIONS:
                more, goes_on = self._turn(item, mode)
                output += more
        return output, goes_on

    def _marked(self, marker: Role, at: int, opened: list[tuple[Any, int]]) -> tuple[Any, int] | None:
        """Take a section marker in: which section ends with it, and where that began; None where one begins."""
        pos, section = marker["pos"], marker["section"]
        if pos == "end":
            # The harnesses write the beginning of `end` as another end, and stumble over it here.
            if not (self.documented and section == "end" and "end" not in (name for name, _ in opened)):
                name, start = opened.pop()
                if name != section:
                    raise self._faults["section"](f"the section {section!r} ends within {name!r}")
                return name, start
        elif pos != "begin":
            raise self._faults["pos"](f"the pos of a section marker is begin or end, not {pos!r}")
        if section not in (*OUTER_SECTIONS, *ROUND_SECTIONS):
            raise self._faults["section"](f"there is no section {section!r}; there are begin, round, end and ice")
        opened.append((section, at + 1))
        return None

    def _rounds(self, dialogue: list[Any], stops: bool) -> Iterator[tuple[Any, bool]]:
        """What is said in each round of a dialogue, and whether it goes on after that."""
        places = {item["role"]: n for n, item in enumerate(self.meta_template["round"]) if not isinstance(item, str)}
        starts, last = [0], -1
        for at, turn in enumerate(dialogue):
            if isinstance(turn, str):
                continue
            place = self._place(turn, places)
            if place is None:
                continue
            if place <= last:
                starts.append(at)
            last = place
        ends = [*starts[1:], len(dialogue)]
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            yield self._round(dialogue[start:end], places, stops and n == len(starts) - 1)

    def _merged_roles(self, turns: Any) -> dict[Any, Role]:
        """The roles, with what the turns say of theirs."""
        merged_roles = copied_roles(self.roles)
        for turn in turns:
            if isinstance(turn, dict):
                merged_roles[self._speaker(turn)].update(turn)
        return merged_roles

    def _speaker(self, turn: Role) -> Any:
        role = turn["role"]
        if role not in self.roles:
            role = turn.get("fallback_role", None)
            if not role:
                self._warn(f"{turn} has neither a role that the meta template knows nor a fallback_role")
        return role

    def _warn(self, message: str) -> None:
        # Standard output is where the harnesses say it.
        print(message)

    # What text and messages do differently.

    def _add_string(self, output: Any, text: str) -> Any:
        raise NotImplementedError

    def _place(self, turn: Role, places: dict[Any, int]) -> int | None:
        """The turn's place in the meta template's round; None for one that takes no part in cutting rounds."""
        raise NotImplementedError

    def _turn(self, item: Any, mode: str) -> tuple[Any, bool]:
        """What a turn outside the rounds says, and whether it goes on after that."""
        raise NotImplementedError

    def _round(self, turns: list[Any], places: dict[Any, int], stops: bool) -> tuple[Any, bool]:
        """What one round says, and whether it goes on after that."""
        raise NotImplementedError


def merged_role_of(turn: Role, merged_roles: dict[Any, Role]) -> Any:
    """The voice of a role, or of its fallback."""
    return merged_roles.get(turn["role"], merged_roles.get(turn.get("fallback_role")))


def lines(prompt: Any, parts: list[Any] | None = None) -> str:
    """All that a prompt list says, where there is no meta template.

    Args:
        prompt: The prompt list. An empty item writes nothing, but what follows starts a new line.
        parts: Takes in the media of turns without text.

    Returns:
        A line for each item.
    """
    text = separator = ""
    for item in prompt:
        if isinstance(item, dict) and set(item.keys()) == {"section", "pos"}:
            continue
        words = item if isinstance(item, str) else item.get("prompt", "")
        if words:
            text += separator + words
        elif parts is not None and not isinstance(item, str) and item.get("prompt_mm", ""):
            parts += item["prompt_mm"]
        separator = "\n"
    return text

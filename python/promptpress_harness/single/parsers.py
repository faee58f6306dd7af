"""The parsers that lay a prompt list over a meta template, as text for a language model or as messages for an API."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from promptpress.engine.errors import template_error

from promptpress_harness.registry import Faults
from promptpress_harness.single.prompt_list import PromptList, copied_roles

Tokens = Mapping[int, str] | Callable[[int], str | None]
Role = dict[str, Any]

OUTER_SECTIONS = ("begin", "end")
ROUND_SECTIONS = ("round", "ice")
ASSERTIONS: Faults = dict.fromkeys(("no round", "meta type", "twice", "section", "prompt", "mode"), AssertionError)


class TemplateParser:
    """The part of both parsers that knows sections, rounds and roles.

    Sections nest by markers: an item `{"section": name, "pos": "begin" or "end"}`. The items in `begin` and `end` are
    spoken turn by turn. The items in `round`, or in an example, are cut into rounds first: a role at the same or an
    earlier position of the meta template's round begins a new one. The whole round of the meta template speaks each.
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

    def _read_role(self, role: Role, meta_key: str) -> Role:
        if self.documented:
            for key in ("begin", "end"):
                if isinstance(role.get(key), list):
                    path = f"meta_template.{meta_key}: {key} of the role {role['role']!r}"
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

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """Lay a prompt over the meta template.

        Args:
            prompt_template: A string, which stays as it is; a prompt list; or a list or tuple of them.
            mode: "gen" stops before the model's turn, and leaves out its message; "ppl" doesn't.

        Returns:
            A text, or for an API a prompt list of messages, `{"role": ..., "prompt": ...}`; a list of these for a list.

        Raises:
            AssertionError: For anything else, and for another mode (AISBenchTypeError by AISBench's parser for APIs).
            KeyError: For an unknown role (AISBenchKeyError in the rounds of AISBench's parser for APIs).
            TypeError: For an API, if a role generates outside the rounds.
            IndexError: For an API, if a dialogue has no message.
        """
        self._check_prompt(prompt_template)
        is_list = self._list.is_prompt_list(prompt_template)
        if not isinstance(prompt_template, str) and not is_list:
            return [self.parse_template(prompt, mode=mode) for prompt in prompt_template]
        if mode not in ("ppl", "gen"):
            raise self._faults["mode"](f"mode is gen or ppl, not {mode!r}")
        return self._parsed(prompt_template, mode) if is_list else prompt_template

    def _check_prompt(self, prompt: Any) -> None:
        if not isinstance(prompt, (str, list, tuple)):
            raise self._faults["prompt"](f"a prompt is a str or a prompt list, not {type(prompt).__name__}")

    def _laid_over(self, prompt: Any, mode: str, output: Any) -> tuple[Any, bool]:
        """Add all that a prompt list says to `output`, and return it; false if the model goes on from there."""
        goes_on = True
        opened: list[tuple[Any, int]] = []
        for index, item in enumerate(prompt):
            if not goes_on:
                break
            if isinstance(item, str):
                output = self._add_string(output, item)
            elif isinstance(item, dict) and "section" in item:
                ended = self._marked(item, index, opened)
                if ended is not None and ended[0] in ROUND_SECTIONS:
                    stops = mode == "gen" and ended[0] == "round"
                    for more, goes_on in self._rounds(prompt[ended[1] : index], stops):  # noqa: B007 - the last one counts
                        output += more
            elif opened[-1][0] in OUTER_SECTIONS:
                more, goes_on = self._turn(item, mode)
                output += more
        return output, goes_on

    def _marked(self, marker: Role, index: int, opened: list[tuple[Any, int]]) -> tuple[Any, int] | None:
        """Read a section marker; return the section that ends with it and its start, or None if one begins."""
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
        opened.append((section, index + 1))
        return None

    def _rounds(self, dialogue: list[Any], stops: bool) -> Iterator[tuple[Any, bool]]:
        """Yield the output of each round of a dialogue, with false if the model goes on from there."""
        positions = {item["role"]: n for n, item in enumerate(self.meta_template["round"]) if not isinstance(item, str)}
        starts, last = [0], -1
        for index, turn in enumerate(dialogue):
            if isinstance(turn, str):
                continue
            position = self._position(turn, positions)
            if position is None:
                continue
            if position <= last:
                starts.append(index)
            last = position
        ends = [*starts[1:], len(dialogue)]
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            yield self._round(dialogue[start:end], positions, stops and n == len(starts) - 1)

    def _merged_roles(self, turns: Any) -> dict[Any, Role]:
        """Return the roles, each updated by its turns."""
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
        # The harnesses warn on standard output.
        print(message)

    # Text and messages differ in these.

    def _parsed(self, prompt: PromptList, mode: str) -> Any:
        """Return the text or the messages of a prompt list."""
        raise NotImplementedError

    def _add_string(self, output: Any, text: str) -> Any:
        raise NotImplementedError

    def _position(self, turn: Role, positions: dict[Any, int]) -> int | None:
        """Return a turn's position in the meta template's round; None if the turn begins no round."""
        raise NotImplementedError

    def _turn(self, item: Any, mode: str) -> tuple[Any, bool]:
        """Return the output of a turn outside the rounds; false if the model goes on from there."""
        raise NotImplementedError

    def _round(self, turns: list[Any], positions: dict[Any, int], stops: bool) -> tuple[Any, bool]:
        """Return the output of one round; false if the model goes on from there."""
        raise NotImplementedError


def merged_role_of(turn: Role, merged_roles: dict[Any, Role]) -> Any:
    """Return the merged role of a turn, or that of its fallback role."""
    return merged_roles.get(turn["role"], merged_roles.get(turn.get("fallback_role")))


def lines(prompt: Any, parts: list[Any] | None = None) -> str:
    """Return the items of a prompt list as lines, which is its text without a meta template.

    Args:
        prompt: The prompt list. An empty item writes nothing, but the next one starts a new line.
        parts: The list to which the media of turns without text are added.
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

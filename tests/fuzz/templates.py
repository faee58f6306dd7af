"""Templates and the texts in them.

What a hazard is: column names that are each other's prefixes or hold braces, tokens that look like placeholders or hold
parts of one another, halves of all of these, and the same pieces in templates, examples and values, so that they meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from generators import words
from generators.words import EXPANDED, ROLES

from .draw import Draw

NAMES = ("q", "qq", "a", "ab", "opt ion", "题目", "x.y", "é", "role", "content", "section", "self", "</E>", "QUESTION")
ODD_NAMES = ("", "{q", "a}", "{a}", "{", "}", "q}{a", "{}", "q}", "a}{")
"""Templates with overlapping placeholders, for which only the order of the harness is defined; no single pass."""
LITERALS = (*words.LITERALS, "\\", "\0")
BRACES = ((2, 2), (3, 3), (1, 0), (2, 1), (1, 2))
"""Numbers of braces around a name: what stands for braces in a single pass, and what isn't closed."""
ICE_TOKENS = ("</E>", "</E>", "</E>", "{ice}", "E", "{q}", "<SEP>")
SEP_TOKENS = ("<SEP>", "</E", "E", "{", "}", "q", "{q}", "\n")
CALM_TOKENS = ("</E>", "<SEP>")


@dataclass
class World:
    """The common settings of the parts of a case: its columns and tokens."""

    draw: Draw
    names: list[str]
    ice_token: str | None
    sep_token: str | None
    single_pass: bool

    def token(self, token: str) -> str:
        """A token as it stands in a text; apart from braces where what it leaves could become a placeholder."""
        return f" {token} " if self.single_pass else token

    def pieces(self) -> list[str]:
        named = [f"{'{' * left}{name}{'}' * right}" for name in self.names for left, right in BRACES]
        return [
            *LITERALS,
            *(f"{{{name}}}" for name in self.names),
            *named,
            *(f"\\boxed{{{name}}}" for name in self.names),
        ]

    def text(self, *, with_ice: bool = False, most: int = 5) -> str:
        """A text of a template; `with_ice` puts the ICE token in it."""
        separator = self.token(self.sep_token or "<SEP>")
        # A separator within a placeholder, which there is once the separator gives way to nothing.
        pieces = [*self.pieces(), separator, *(f"{{{name}{separator}}}" for name in self.names[:1])]
        text = "".join(self.draw.some(pieces, most))
        if with_ice and self.ice_token is not None:
            text += self.token(self.ice_token) + "".join(self.draw.some(pieces, most))
        return text

    def value(self, draw: Draw) -> str:
        """A text of the data: plain mostly, else of the same pieces and of halves of tokens."""
        if draw.chance(2):
            return draw.pick("word", "", "1+1=?", "a longer text, beyond what fits in a view", "中文", "😀")
        tokens = ["</E>", "<SEP>", self.ice_token or "</E>", self.sep_token or "<SEP>"]
        halves = [half for token in tokens for half in (token[: len(token) // 2], token[len(token) // 2 :])]
        return "".join(draw.some([*self.pieces(), *tokens, *halves, "GOLD", "'", '"'], 4))


def turn(world: World, roles: tuple[str, ...] = ROLES) -> dict[str, Any]:
    """A turn: fallback roles, own begin and end, and sometimes no prompt."""
    draw = world.draw
    made: dict[str, Any] = {"role": draw.choice(roles)}
    if not draw.chance(8):
        made["prompt"] = world.text()
    if draw.chance(4):
        made["fallback_role"] = draw.pick("HUMAN", "HUMAN", "BOT", "SYSTEM", "NOBODY")
    if draw.chance(6):
        made["begin"] = draw.pick("[", "{q}")
    if draw.chance(6):
        made["end"] = draw.pick("]", "\n")
    return made


def dialogue(world: World, *, with_ice: bool = False) -> dict[str, Any]:
    """A dialogue: alternating roles or any, strings among its turns, sections given as strings and lists."""
    draw = world.draw

    def string() -> str:
        return world.text(with_ice=with_ice)

    def section() -> Any:
        if draw.chance(2):
            return string()  # a bare string has to hold the ICE token; in a list it needn't
        return [turn(world) if draw.chance(2) else string() for _ in range(draw.randint(0, 3))]

    if draw.chance(3):
        common = ("HUMAN", "BOT")
        items: list[Any] = [
            draw.pick(lambda: turn(world, common), lambda: turn(world), world.text)() for _ in range(draw.randint(0, 4))
        ]
    else:
        items = [{"role": ("HUMAN", "BOT")[n % 2], "prompt": world.text()} for n in range(draw.randint(1, 4))]
        if draw.chance(4):
            items.reverse()
        if draw.chance(3):
            items.append({**items[-1], "prompt": world.text()})  # one role speaks twice
    made: dict[str, Any] = {"round": items}
    if with_ice or draw.chance(2):
        made = {"begin": section(), **made}
    if draw.chance(4):
        made["end"] = section()
    if draw.chance(30):
        made = dict(reversed(made.items()))
    return made


def prompt_template(world: World, *, with_ice: bool = False) -> dict[str, Any]:
    """A PromptTemplate; `with_ice` gives it an ICE token, mostly at a place where it works."""
    draw = world.draw
    token = {"ice_token": world.ice_token} if with_ice and world.ice_token is not None else {}

    def body() -> Any:
        return world.text(with_ice=bool(token)) if draw.chance(2) else dialogue(world, with_ice=bool(token))

    made = body()
    if draw.chance(3):
        keys = draw.pick(("A", "B", "GOLD {q}"), ("A",), ("B", "A"), (0, 1), ("", "A", "B"), (None, "A"), (1.5, True))
        texts = draw.chance(2)
        made = {
            key: world.text(with_ice=bool(token)) if texts else dialogue(world, with_ice=bool(token)) for key in keys
        }
    template = {"type": "PromptTemplate", "template": made, **token}
    if world.sep_token is not None and draw.chance(2):
        template["sep_token"] = world.sep_token
    return template


def raw_template(world: World, *, with_ice: bool = False) -> dict[str, Any]:
    """Raw messages: expanded columns, strings that are ignored, contents that aren't filled."""
    draw = world.draw

    def item() -> Any:
        if draw.chance(4):
            return draw.pick("</E>", "ignored", {"expand_column": EXPANDED}, {"expand_column": "no such column"})
        return raw_message(world)

    messages: list[Any] = [item() for _ in range(draw.randint(1, 4))]
    template: dict[str, Any] = {"type": "RawPromptTemplate", "messages": (["</E>"] if with_ice else []) + messages}
    if draw.chance(6):
        template["format_variables"] = draw.pick(True, False)
    return template


def raw_message(world: World) -> dict[str, Any]:
    return {"role": world.draw.pick("system", "user", "assistant"), "content": world.text()}


def meta_template(world: World, *, raw: bool) -> Any:
    """A model's side: reserved roles, roles that generate or don't, words before and after, strings between roles."""
    draw = world.draw
    if raw and draw.chance(2):
        return [raw_message(world) for _ in range(draw.randint(1, 3))]
    words = ("", "<H>", "</H>\n", "{q}", "问>")
    keeps_api = not draw.chance(8)

    def role(name: str) -> dict[str, Any]:
        role: dict[str, Any] = {"role": name}
        for key in ("begin", "end"):
            if draw.chance(2):
                role[key] = [draw.choice(words), 7] if draw.chance(25) else draw.choice(words)
        if draw.chance(3):
            role["prompt"] = world.text()
        if keeps_api:
            role["api_role"] = draw.pick(name, name, "HUMAN")
        if name == "BOT" and not draw.chance(4):
            role["generate"] = draw.pick(True, True, False)
        return role

    pair = ("HUMAN", "BOT")
    in_round = draw.pick(pair, pair, pair, pair, ("HUMAN", "THINK", "BOT"), ("SYSTEM", "HUMAN", "BOT"), ("BOT",))
    rounds: list[Any] = [role(name) for name in in_round]
    if draw.chance(6):
        rounds.insert(draw.randint(0, len(rounds)), "<str>")
    meta: dict[str, Any] = {"round": rounds}
    if "SYSTEM" not in in_round and draw.chance(2):
        meta["reserved_roles"] = [role("SYSTEM")]
    if draw.chance(3):
        meta["begin"] = draw.pick(draw.choice(words), {"role": "SYSTEM", "prompt": "P"})
    if draw.chance(3):
        meta["end"] = draw.choice(words)
    if draw.chance(6):
        meta["eos_token_id"] = 2
    return meta

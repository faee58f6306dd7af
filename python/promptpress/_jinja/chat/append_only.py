"""The answer to whether a template's texts only grow: a proof, or a small conversation that shows the opposite."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.conversations import normalised
from promptpress._jinja.turn_order import unproven

_CALLS = [{"id": "call00001", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]
_TEXT_CALLS = [{"id": "call00001", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]
_ADD = {
    "name": "add",
    "description": "Add.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
_TOOLS = {"tools": [{"type": "function", "function": _ADD}]}
_MESSAGES: dict[str, dict[str, Any]] = {
    "s": {"role": "system", "content": "Be brief."},
    "u": {"role": "user", "content": "1+1?"},
    "a": {"role": "assistant", "content": "2"},
    "r": {"role": "assistant", "content": "2", "reasoning_content": "One more."},
    "t": {"role": "assistant", "content": "<think>\nOne more.\n</think>\n\n2"},
    "c": {"role": "assistant", "content": "", "tool_calls": _CALLS},
    "n": {"role": "assistant", "tool_calls": _CALLS},
    "x": {"role": "assistant", "content": "", "tool_calls": _TEXT_CALLS},
    "o": {"role": "tool", "content": "2", "name": "add", "tool_call_id": "call00001"},
    "b": {"role": "user", "content": " 1+1?\n"},
    "B": {"role": "assistant", "content": "\n2 "},
    "e": {"role": "user", "content": ""},
    "E": {"role": "assistant", "content": ""},
    "p": {"role": "user", "content": [{"type": "text", "text": "1+1?"}]},
    "P": {"role": "assistant", "content": [{"type": "text", "text": "2"}]},
}
"""The messages of which conversations are made to be tried."""
_PLAIN = ("ua", "sua", "uau", "suau", "uaua", "suaua", "uauau", "suauau", "uauaua")
_SPECIAL: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "reasoning": (("uru", "uruau", "ururu"), {}),
    "reasoning within the text": (("utu", "utuau", "ututu"), {}),
    "calls of tools and their results": (("ucoau", "unoau", "uxoau", "ucooau", "uxooau", "ucocoaua"), {}),
    "calls where tools are given": (("ucoau", "unoau", "uxoau", "ucooau", "ucocoaua"), _TOOLS),
    "tools": (("uauau", "suauau"), _TOOLS),
    "documents": (("uauau", "suauau"), {"documents": [{"title": "Sums", "text": "1+1=2"}]}),
    "a system message after the first turn": (("usu", "uasuau", "susu"), {}),
    "a system message alone": (("su",), {}),
    "turns of one role in a row": (("uua", "uaau"), {}),
    "an assistant's message at the beginning": (("auau", "sauau"), {}),
    "blanks at the ends of texts": (("bBbBb",), {}),
    "empty texts": (("eEeEe", "uEua"), {}),
    "texts in parts": (("pPpPp",), {}),
}
"""Conversations that some templates treat in another way than plain talk."""


class LongerText(NamedTuple):
    """A conversation whose text doesn't begin with the text of its first messages.

    `messages` is the whole conversation, `turns` the number of the first messages, and `arguments` are what else the
    template was given; `text` is the text of the first messages, and `longer` that of all.
    """

    messages: list[dict[str, Any]]
    turns: int
    arguments: dict[str, Any]
    text: str
    longer: str


@dataclass(frozen=True)
class AppendOnly:
    """The answer to whether a conversation's text is the beginning of the text with more messages after it.

    `answer` is "always" if that is proven for all conversations that the template renders, with any tools and
    documents; "never" if plain talk shows the opposite; else "depends". `reason` says it in words, `example` is the
    smallest conversation found that shows the opposite. `generation_prompt` is the answer for a text with the
    generation prompt next to the same conversation with the assistant's message.
    """

    answer: Literal["always", "never", "depends"]
    reason: str
    example: LongerText | None = None
    generation_prompt: AppendOnly | None = None


def append_only(renderer: ChatRenderer) -> AppendOnly:
    """Find out whether a template's texts only grow as messages follow."""
    prompt = _Trial(renderer, with_prompt=True).answer("")
    why = unproven(renderer.reference.ast(), {"add_generation_prompt": False})
    if why is None:
        return AppendOnly("always", "a turn is written from itself and what comes before it", None, prompt)
    turns = _Trial(renderer, with_prompt=False).answer(why)
    return AppendOnly(turns.answer, turns.reason, turns.example, prompt)


class _Trial(NamedTuple):
    """Renders conversations and longer ones; the shorter one may end with the generation prompt."""

    renderer: ChatRenderer
    with_prompt: bool

    def answer(self, why: str) -> AppendOnly:
        """Try plain conversations, the shortest first, then special ones; `why` nothing is proven of them."""
        plain = [(shape, example) for shape in _PLAIN for example in self._pairs(shape, {})]
        for shape, example in plain:
            # Nobody asks a model for an answer to a system message alone.
            if example is not None and example.turns > (shape[0] == "s"):
                return AppendOnly("never", "plain talk shows it", example)
        broken: dict[str, LongerText] = {}
        for name, (shapes, arguments) in _SPECIAL.items():
            for example in (example for shape in shapes for example in self._pairs(shape, arguments)):
                if example is not None:
                    broken.setdefault(name, example)
        tried = "kept in plain talk" if broken else "kept in all that was tried"
        reason = f"{tried if plain else 'no plain talk is rendered'}, but not "
        reason += f"with {', '.join(broken)}" if broken else f"proven{why and f': {why}'}"
        return AppendOnly("depends", reason, next(iter(broken.values()), None))

    def _pairs(self, shape: str, arguments: dict[str, Any]) -> Iterator[LongerText | None]:
        """Yield each pair of texts of which the longer one doesn't begin with the other; None for each other pair."""
        messages, before, turns = [_MESSAGES[letter] for letter in shape], None, 0
        for count in range(1, len(shape) + 1):
            is_answer = count > 1 and messages[count - 1]["role"] == "assistant" != messages[count - 2]["role"]
            if self.with_prompt:
                before, turns = self._text(messages[: count - 1], arguments, True) if is_answer else None, count - 1
            longer = self._text(messages[:count], arguments, False)
            if before is not None and longer is not None:
                is_kept = longer.startswith(before)
                yield None if is_kept else LongerText(*deepcopy((messages[:count], turns, arguments)), before, longer)
            before, turns = (before, turns) if longer is None else (longer, count)

    def _text(self, messages: list[dict[str, Any]], arguments: dict[str, Any], prompt: bool) -> str | None:
        names = self.renderer.settings.names() | arguments
        given = {**names, "messages": normalised(messages), "add_generation_prompt": prompt}
        try:
            return self.renderer.reference.render(given)
        except Exception:  # a conversation that the template refuses shows nothing
            return None

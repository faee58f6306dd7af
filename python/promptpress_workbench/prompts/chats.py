"""Speakers and control tokens in prompts, by which chats are coloured.

A chat that was rendered to one text shows who speaks only by the control tokens of its model. So texts are cut at these
tokens, and each stretch gets the role that speaks there. Tokens in a column's value are marked too, because a model
obeys them, but they change no speaker: the template has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

from promptpress_workbench.prompts.control_tokens import FAMILIES, families_of
from promptpress_workbench.prompts.origins import Kind, described, kind_of, legend
from promptpress_workbench.prompts.prompt import Piece, Prompt, Speaker

ShownKind: TypeAlias = Kind | Literal["control"] | Speaker
"""The kind of a piece as it is coloured: of its origin, or a control token, or a speaker."""

_LONGEST = max(map(len, FAMILIES))
_CANDIDATE = re.compile(rf"<</?SYS>>|<[^<>\[\]\s]{{1,{_LONGEST}}}>|\[[^<>\[\]\s]{{1,{_LONGEST}}}\]")
"""Texts that look like a control token. An alternation of all tokens takes seconds for a megabyte of angle brackets."""

_ROLES: dict[str, Speaker] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "prompt": "user",
    "assistant": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "answer": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "ipython": "tool",
}
"""Speakers by the names of roles, in lower case."""

_HEADERS = (
    "<|im_start|> <|start_header_id|> <|header_start|> <start_of_turn> <|start|> <|start_of_role|> <|begin_header|> "
    "<role> <|role_start|> <|role|>"
)
"""Tokens before the name of a role."""

_ENDS = (
    "<|im_end|> <|eot_id|> <|eom_id|> <|eot|> <|eom|> <end_of_turn> <|end|> <|return|> <|call|> </s> <eos> "
    "<|endoftext|> <|end_of_text|> <|END_OF_TURN_TOKEN|> <|end_turn|> <|im_msg_end|> <|role_end|> <|endofturn|> "
    "[|endofturn|] [EOS] <\uff5cend▁of▁sentence\uff5c> [/SYSTEM_PROMPT] [/AVAILABLE_TOOLS]"
)
"""Tokens at the end of a turn."""

_SPEAKER_AFTER: dict[str, Speaker | None] = {
    **dict.fromkeys([*_HEADERS.split(), *_ENDS.split()]),
    "[INST]": "user",
    "[/INST]": "assistant",
    "<<SYS>>": "system",
    "<</SYS>>": "user",
    "[SYSTEM_PROMPT]": "system",
    "[AVAILABLE_TOOLS]": "system",
    "[TOOL_RESULTS]": "tool",
    "[/TOOL_RESULTS]": "assistant",
}
"""The speaker after a token. None after the end of a turn."""

for _name in FAMILIES:  # tokens that name a role: <|user|>, <|im_user|>, <|USER_TOKEN|>, [|user|]
    _role = re.fullmatch(r"\W*(?:im_)?(\w+?)(?:_token)?\W*", _name.lower())
    if _role and _role[1] in _ROLES and not _name.startswith(("</", "[/", "<|/")):
        _SPEAKER_AFTER.setdefault(_name, _ROLES[_role[1]])

_CUT = ("unknown", "template", "column")
"""Kinds of origins that are cut at control tokens. Those of examples and meta templates keep their colours."""

_NAMED_NEXT = frozenset(_HEADERS.split())
_NAME = re.compile(r"\s*(\w+)")


def with_speakers(prompt: Prompt) -> Prompt:
    r"""Cut the pieces of a prompt at control tokens, and give each the role that speaks.

    >>> prompt = with_speakers(Prompt(0, "", (Piece("<|im_start|>user\nHi<|im_end|>"),)))
    >>> [(piece.text, piece.is_control, piece.speaker) for piece in prompt.pieces]
    [('<|im_start|>', True, None), ('user\nHi', False, 'user'), ('<|im_end|>', True, 'user')]

    """
    if prompt.messages is None:
        pieces = list(_marked(prompt.pieces, None))
        first = next((index for index, piece in enumerate(pieces) if piece.speaker is not None), 0)
        # DeepSeek and others put the system message before the first token of a role.
        pieces[:first] = [piece if piece.is_control else replace(piece, speaker="system") for piece in pieces[:first]]
        return replace(prompt, pieces=tuple(pieces))
    messages = []
    for message in prompt.messages:
        speaker = _ROLES.get((message.role or "").lower())
        parts = tuple(replace(part, pieces=tuple(_marked(part.pieces, speaker))) for part in message.parts)
        messages.append(replace(message, pieces=tuple(_marked(message.pieces, speaker)), parts=parts))
    return replace(prompt, messages=tuple(messages))


def _marked(pieces: Iterable[Piece], speaker: Speaker | None) -> Iterator[Piece]:
    waits_for_name = False
    for piece in pieces:
        kind = kind_of(piece)
        if kind not in _CUT:
            yield piece
            continue
        stated = _ROLES.get((piece.role or "").lower()) if piece.path is not None else None
        for text, is_control in _cut(piece.text):
            if not is_control and waits_for_name and (name := _NAME.match(text)):
                speaker, waits_for_name = _ROLES.get(name[1].lower()), False
            yield replace(piece, text=text, is_control=is_control, speaker=stated or speaker)
            if is_control and kind != "column":
                speaker = _SPEAKER_AFTER.get(text, speaker)
                waits_for_name = text in _NAMED_NEXT


def _cut(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the stretches of a text, each with true if it is a control token; an empty text is one stretch."""
    done = 0
    for match in _CANDIDATE.finditer(text):
        if match.group() not in FAMILIES:
            continue
        if done < match.start():
            yield text[done : match.start()], False
        yield match.group(), True
        done = match.end()
    if done < len(text) or not text:
        yield text[done:], False


def shown_kind(piece: Piece) -> ShownKind:
    """Return the kind of a piece as it is coloured.

    The colour of a speaker is for texts of unknown origin, and for the messages of a column of conversations.

    >>> shown_kind(Piece("Hi", speaker="user")), shown_kind(Piece("Hi", "field", "q", speaker="user"))
    ('user', 'column')

    """
    kind = kind_of(piece)
    if piece.is_control:
        return "control"
    is_spoken = kind == "unknown" or (kind == "column" and (piece.path is not None or piece.source == "computed"))
    return piece.speaker if piece.speaker is not None and is_spoken else kind


def caption(piece: Piece) -> str | None:
    """Describe the origin of a piece, and what it is in a chat; None if nothing is known.

    >>> caption(Piece("<|eot_id|>", "template", is_control=True))
    'template, control token of Llama 3'

    """
    out = [] if piece.source is None else [described(piece)]
    if piece.is_control:
        out.append(f"control token of {families_of(piece.text)}")
    elif piece.speaker is not None and kind_of(piece) == "unknown":
        out.append(f"role {piece.speaker}")
    return ", ".join(out) or None


def shown_legend(prompts: Iterable[Prompt]) -> list[tuple[ShownKind, str]]:
    """Return the kinds of pieces in some prompts `with_speakers`, with their names; nothing if nothing is known.

    >>> shown_legend([Prompt(0, "", (Piece("<s>", is_control=True), Piece("Hi", speaker="user")))])
    [('control', 'control token'), ('user', 'user')]

    """
    pieces = [piece for prompt in prompts for piece in prompt.all_pieces()]
    kinds = dict.fromkeys(map(shown_kind, pieces))
    of_origins = [piece for piece in pieces if shown_kind(piece) == kind_of(piece)]
    out: list[tuple[ShownKind, str]] = [*legend([Prompt(0, None, tuple(of_origins))])]
    out += [("control", "control token")] if "control" in kinds else []
    return out + [(speaker, speaker) for speaker in get_args(Speaker) if speaker in kinds]

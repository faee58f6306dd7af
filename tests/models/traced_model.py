"""The origin of each character in texts of conversations and chats, in plain Python: the oracle for `explain`.

A traced text is a list of characters, each with the column that it comes from, None for the template's own.
"""

from __future__ import annotations

import re
from typing import Any

Traced = list[tuple[str, str | None]]
Spoken = list[tuple[str, str | None, str | None]]
"""Character, column, and who speaks it."""
CHAT_ROLES = {"SYSTEM": "system", "HUMAN": "user", "BOT": "assistant"}


def literal(text: str) -> Traced:
    return [(character, None) for character in text]


def value_of(column: str, values: dict[str, str]) -> Traced:
    return [(character, column) for character in values[column]]


def filled(template: str, values: dict[str, str], way: str) -> Traced:
    """A text with the columns' values put in, all at once or column after column."""
    if way == "single_pass":
        return filled_once(template, values)
    text = literal(template)
    for column in values:
        text = replaced(text, [column], values)
    return text


def filled_once(template: str, values: dict[str, str]) -> Traced:
    out, position = Traced(), 0
    while match := re.search("|".join(re.escape(f"{{{column}}}") for column in values), template[position:]):
        start, stop = match.start() + position, match.end() + position
        braces = 1
        while start > position and template[start - 1 : start] + template[stop : stop + 1] == "{}":
            start, stop, braces = start - 1, stop + 1, braces + 1
        name = match.group()[1:-1]
        # Two pairs of braces are one of the text, and one that is left over is the placeholder's.
        field = value_of(name, values) if braces % 2 else literal(name)
        out += [*literal(template[position:start] + "{" * (braces // 2)), *field, *literal("}" * (braces // 2))]
        position = stop
    return out + literal(template[position:])


def replaced(text: Traced, columns: list[str], values: dict[str, str]) -> Traced:
    tokens = "|".join(re.escape(f"{{{column}}}") for column in columns)
    out, position = Traced(), 0
    for match in re.finditer(tokens, "".join(character for character, _ in text)) if columns else ():
        out += [*text[position : match.start()], *value_of(match.group()[1:-1], values)]
        position = match.end()
    return out + text[position:]


def spoken(text: Traced, role: str | None) -> Spoken:
    return [(character, column, role) for character, column in text]


def histories_of_turns(dialogue: dict[str, Any], sample: dict[str, Any], way: str) -> list[Spoken]:
    """Return what stands before each turn of a conversation that the model writes."""
    out: list[Spoken] = []
    history: Spoken = []
    for turn in dialogue.get("begin", []):
        history += spoken(literal(turn["prompt"]), turn["role"])
    ending: Spoken = []
    for turn in dialogue.get("end", []):
        ending += spoken(literal(turn["prompt"]), turn["role"])
    for question, answer in zip(sample["question"], sample["answer"], strict=False):
        for turn in dialogue["round"]:
            if turn["role"] == "BOT":
                out.append(history + ending)
            history = history + spoken(
                filled(turn["prompt"], {"question": question, "answer": answer}, way), turn["role"]
            )
    return out


def histories_of_chat(prompt: Any, rounds: list[dict[str, str]], columns: tuple[str, str], way: str) -> list[Spoken]:
    """Return what stands before each message of the assistant in a chat of question and answer columns."""
    question, answer = columns
    out: list[Spoken] = []
    history: Spoken = []
    for values in rounds:
        items: list[tuple[str | None, Traced]]
        if prompt is None:
            items = [("user", value_of(question, values))]
        elif isinstance(prompt, str):
            items = [("user", filled(prompt, values, way))]
        else:
            items = [(CHAT_ROLES[turn["role"]], filled(turn["prompt"], values, way)) for turn in prompt["round"]]
        if items[-1][0] != "assistant":
            items.append(("assistant", value_of(answer, values)))
        for role, text in items:
            if role == "assistant":
                out.append(history)
            history = history + spoken(text, role)
    return out


def histories_of_messages(chat: list[dict[str, Any]], column: str) -> list[Spoken]:
    """The same of a chat that a column holds."""
    out: list[Spoken] = []
    history: Spoken = []
    for message in chat:
        if message["role"] == "assistant":
            out.append(history)
        text = [(character, column) for character in message["content"] or ""]
        history = history + spoken(text, message["role"])
    return out


def sources_of(
    template: str, values: dict[str, str], masked: str | None, mask: str
) -> list[tuple[str, str, str | None]]:
    """Return character, source and column of a text whose columns are put in one after the other, as harnesses do.

    A placeholder of which a character comes from a value fills the value: what is put in is a `filled_...` source. A
    mask in a template is no value.
    """
    text: list[tuple[str, str, str | None]] = [(character, "prompt_template", None) for character in template]
    for column, value in values.items():
        out, position = [], 0
        for match in re.finditer(re.escape(f"{{{column}}}"), "".join(character for character, _, _ in text)):
            is_filled = any(
                source not in ("prompt_template", "masked") for _, source, _ in text[match.start() : match.end()]
            )
            kind = "masked" if column == masked else "field"
            source = f"filled_{kind}" if is_filled else kind
            out += text[position : match.start()]
            out += [(character, source, column) for character in (mask if column == masked else value)]
            position = match.end()
        text = out + text[position:]
    return text

"""Where each character of a conversation's or chat's texts comes from, in plain Python: the oracle for `explain`.

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
        return replaced(literal(template), list(values), values)
    text = literal(template)
    for column in values:
        text = replaced(text, [column], values)
    return text


def replaced(text: Traced, columns: list[str], values: dict[str, str]) -> Traced:
    tokens = "|".join(re.escape(f"{{{column}}}") for column in columns)
    out, at = Traced(), 0
    for found in re.finditer(tokens, "".join(character for character, _ in text)) if columns else ():
        out += [*text[at : found.start()], *value_of(found.group()[1:-1], values)]
        at = found.end()
    return out + text[at:]


def spoken(text: Traced, role: str | None) -> Spoken:
    return [(character, column, role) for character, column in text]


def turns_said(dialogue: dict[str, Any], sample: dict[str, Any], way: str) -> list[Spoken]:
    """What stands before each turn of a conversation that the model is to write."""
    out: list[Spoken] = []
    said: Spoken = []
    for turn in dialogue.get("begin", []):
        said += spoken(literal(turn["prompt"]), turn["role"])
    ending: Spoken = []
    for turn in dialogue.get("end", []):
        ending += spoken(literal(turn["prompt"]), turn["role"])
    for question, answer in zip(sample["question"], sample["answer"], strict=False):
        for turn in dialogue["round"]:
            if turn["role"] == "BOT":
                out.append(said + ending)
            said = said + spoken(filled(turn["prompt"], {"question": question, "answer": answer}, way), turn["role"])
    return out


def chat_said(prompt: Any, rounds: list[dict[str, str]], columns: tuple[str, str], way: str) -> list[Spoken]:
    """What stands before each of the assistant's messages in a chat of question and answer columns."""
    question, answer = columns
    out: list[Spoken] = []
    said: Spoken = []
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
                out.append(said)
            said = said + spoken(text, role)
    return out


def messages_said(chat: list[dict[str, Any]], column: str) -> list[Spoken]:
    """The same of a chat that a column holds."""
    out: list[Spoken] = []
    said: Spoken = []
    for message in chat:
        if message["role"] == "assistant":
            out.append(said)
        text = [(character, column) for character in message["content"] or ""]
        said = said + spoken(text, message["role"])
    return out

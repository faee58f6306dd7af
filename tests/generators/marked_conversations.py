"""Random conversations with a mark of its own in every value, so that a search in the prompt shows what is there."""

from __future__ import annotations

import json
import random
from typing import Any

Lost = tuple[str, str]
"""The code of what a prompt lacks, and its place."""

_OTHERS = ("assistant", "assistant", "tool", "user", "system", "developer", "model", "robot", "function")


class Conversations:
    """Draws conversations, and says which of their parts a prompt lacks."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._marks = 0

    def mark(self) -> str:
        """Return a word that is nowhere else."""
        self._marks += 1
        return f"zq{''.join(self.random.choices('bcdfghjklmnpqrstvwxz', k=6))}{self._marks}qz"

    def tools(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return a list of tools, and its marks."""
        name, text = self.mark(), self.mark()
        parameters = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
        return [{"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}], [
            name,
            text,
        ]

    def conversation(self) -> tuple[list[dict[str, Any]], list[tuple[str, int, list[str]]]]:
        """Return messages and their parts: the code, the number of the message, and the marks."""
        roles: list[str] = ["system"] * (self.random.random() < 0.4)
        wanted = self.random.choice([1, 1, 2, 2, 3, 3, 4, 5, 6])
        while len(roles) < wanted:
            is_users = roles[-1:] != ["user"] and self.random.random() < 0.9
            roles.append("user" if is_users else self.random.choice(_OTHERS))
        messages: list[dict[str, Any]] = []
        parts: list[tuple[str, int, list[str]]] = []
        for number, role in enumerate(roles):
            message: dict[str, Any] = {"role": role}
            of_message = [("message_left_out", marks) for marks in self._fill_content(message)]
            if role == "assistant":
                of_message += self._fill_assistant(message)
            elif role in {"tool", "function"} and self.random.random() < 0.5:
                message["name"] = self.mark()
                of_message.append(("name_left_out", [message["name"]]))
            messages.append(message)
            parts += [(code, number, marks) for code, marks in of_message if marks]
        return messages, parts

    def _text(self) -> tuple[str, list[str]]:
        first, second = self.mark(), self.mark()
        return self.random.choice(
            [
                *[(first, [first])] * 5,
                (f"  {first}\n", [first]),
                (f"<think>\n{first}\n</think>\n\n{second}", [first, second]),
                (f"<think>{first}</think>", [first]),
                (f"{first}\n\n{second} <tool_response>", [first, second]),
                (f"<tool_response>{first}</tool_response>", [first]),
                (f"'{first}\" \\n é", [first]),
                ("", []),
                (" \n ", []),
            ]
        )

    def _fill_content(self, message: dict[str, Any]) -> list[list[str]]:
        drawn = self.random.random()
        if drawn < 0.05:
            message["content"] = None
            return []
        texts = [self._text() for _ in range(1 if drawn < 0.85 else self.random.choice([1, 2]))]
        message["content"] = texts[0][0] if drawn < 0.85 else [{"type": "text", "text": text} for text, _ in texts]
        return [marks for _, marks in texts]

    def _fill_assistant(self, message: dict[str, Any]) -> list[tuple[str, list[str]]]:
        parts: list[tuple[str, list[str]]] = []
        if self.random.random() < 0.3:
            message["tool_calls"] = []
            for _ in range(self.random.choice([1, 1, 2])):
                name, value = self.mark(), self.mark()
                arguments: Any = {"x": value}
                function = {"name": name, "arguments": self.random.choice([arguments, json.dumps(arguments)])}
                message["tool_calls"].append({"id": self.mark(), "type": "function", "function": function})
                parts += [("tool_call_left_out", [name]), ("tool_call_left_out", [value])]
        if self.random.random() < 0.25:
            text, marks = self._text()
            message[self.random.choice(["reasoning_content", "reasoning", "thinking"])] = text
            parts.append(("reasoning_left_out", marks))
        return parts


def lost(prompt: str, messages: list[dict[str, Any]], parts: list[tuple[str, int, list[str]]]) -> set[Lost]:
    """Return what a prompt lacks: the parts of which no mark is in it."""
    text = prompt.lower()
    out = set()
    for code, number, marks in parts:
        if not any(mark.lower() in text for mark in marks):
            last = number == len(messages) - 1
            turn = "last turn" if last else "first turn" if number == 0 else "a turn in between"
            out.add((code, f"{turn}, role {messages[number]['role']!r}"))
    return out

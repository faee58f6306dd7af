"""Random conversations, each with values of all kinds, and the words that tell the values apart.

A word is nine letters and digits in turn, such as `k7d3x9b2c`. Hardly any three characters in a row stand in two words,
so pieces of a word are recognised too. A number is a word if it has six digits and begins with 73. `owners` reads from
a conversation which value each word stands in, so nothing else has to be kept of how the conversation was drawn.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

LETTERS, DIGITS = "bcdfghjklmnpqrstvwxyz", "23456789"
WORD = re.compile(rf"(?:[{LETTERS}][{DIGITS}]){{4}}[{LETTERS}]|73\d{{4}}")
PIECES = re.compile(rf"[{LETTERS}{DIGITS}]{{3,}}".encode())
NUMBERS = re.compile(rb"(?<!\d)73\d{4}(?!\d)")
REASONING = ("reasoning_content", "reasoning", "thinking")

Path = tuple[Any, ...]


@dataclass
class Case:
    """A conversation, and the arguments of its template, such as `tools`."""

    messages: list[dict[str, Any]]
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def row(self) -> dict[str, str]:
        """The conversation as a row of a table."""
        return {"messages": json.dumps(self.messages)}


@dataclass(frozen=True)
class Owner:
    """The value that a word stands in.

    Attributes:
        kind: `"said"` (a mask trains it), `"name"` (of a call: one of its occurrences is trained), `"reasoning"`,
            `"own"` (a mask may train it), `"ignored"` (by `weight` or `train`), or `"foreign"`.
        paths: For each value with the word, the number of its message (None for an argument), and the keys and
            positions that lead to it.
        label: The sort of place, such as `tool.content{}`.

    """

    kind: str
    paths: tuple[tuple[int | None, Path], ...]
    label: str

    @property
    def message(self) -> int | None:
        """The number of the first message, or None for an argument."""
        return self.paths[0][0]


@dataclass(frozen=True)
class Occurrence:
    """An occurrence of a word, or of a piece of one, in a prompt's bytes."""

    start: int
    end: int
    word: str


class Words:
    """Draws words and numbers that are all different."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.pieces: set[str] = set()
        self.numbers = 730_000

    def word(self) -> str:
        for _ in range(50):  # in a large conversation most pieces are taken: then a word may share some
            word = "".join(self.rng.choice(DIGITS if n % 2 else LETTERS) for n in range(9))
            pieces = {word[n : n + 3] for n in range(7)}
            if len(pieces) == 7 and not pieces & self.pieces:
                break
        self.pieces |= pieces
        return word

    def number(self) -> int:
        self.numbers += 1
        return self.numbers


def strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the texts, numbers and keys of a value, with the path of each."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key), key
            yield from strings(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from strings(item, (*path, number))
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, str(value)


def owners(case: Case) -> dict[str, Owner]:
    """Return who says each word; a word of two values is an assistant's own if their kinds differ, or are names."""
    words: dict[str, Owner] = {}

    def add(word: str, kind: str, message: int | None, path: Path, label: str) -> None:
        paths: tuple[tuple[int | None, Path], ...] = ((message, path),)
        if word in words:
            earlier = words[word]
            kind = "own" if "name" in (kind, earlier.kind) or kind != earlier.kind else kind
            paths, label = earlier.paths + paths, earlier.label
        words[word] = Owner(kind, paths, label)

    for number, message in enumerate(case.messages):
        for path, text in strings(message):
            hidden = text.rfind("</think>")
            for match in WORD.finditer(text):
                kind = kind_of(message, path)
                if kind == "said" and match.start() < hidden:
                    kind = "own"
                add(match[0], kind, number, path, label_of(message, path))
    for path, text in strings(case.arguments):
        for match in WORD.finditer(text):
            add(match[0], "foreign", None, path, path[0] if path[0] in ("tools", "documents") else "variable")
    return words


def kind_of(message: dict[str, Any], path: Path) -> str:
    if message["role"] != "assistant":
        return "foreign"
    if message.get("weight") == 0 or message.get("train") is False:
        return "ignored"
    if path[0] in REASONING:
        return "reasoning"
    if path[0] == "content":
        return "own" if path[-1] == "id" else "said"
    if path[0] == "tool_calls" and len(path) > 2 and path[2] == "function":
        return "name" if path[3] == "name" else "said"
    return "own"


def label_of(message: dict[str, Any], path: Path) -> str:
    """Return the sort of a place: role, key, and whether the value is a dict, a list or a number."""
    key, value = path[0], message[path[0]]
    if key == "tool_calls":
        inner = [step for step in path if isinstance(step, str)]
        key = ".".join(inner[: 3 if inner[1:2] == ["function"] else 2])
        if inner[1:3] == ["function", "arguments"]:
            value = message["tool_calls"][path[1]]["function"]["arguments"]
    elif WORD.fullmatch(key):
        key = "KEY"
    sort = "" if isinstance(value, str) else {dict: "{}", list: "[]"}.get(type(value), "#")
    return f"{message['role']}.{key}{'' if path[0] == 'tool_calls' and sort == '[]' else sort}"


@lru_cache(8)
def pieces_of(text: str) -> frozenset[str]:
    """Return all that stands in a text three characters at a time, in small letters."""
    text = text.lower()
    return frozenset(text[n : n + 3] for n in range(len(text) - 2))


class Finder:
    """Finds words of a case in prompts of a template."""

    def __init__(self, case: Case, template: str) -> None:
        """Prepare for a case.

        Args:
            case: The case.
            template: The template's source: pieces that stand in it are no pieces of words.

        """
        self.owners = owners(case)
        pieces_of_template = pieces_of(template)
        words = [word for word in self.owners if not word.isdigit()]
        pieces = [(word[n : n + 3], word) for word in words for n in range(7)]
        counts = Counter(piece for piece, _ in pieces)
        self.pieces = {
            piece.encode(): word for piece, word in pieces if counts[piece] == 1 and piece not in pieces_of_template
        }

    def occurrences(self, prompt: bytes) -> list[Occurrence]:
        """Return all occurrences of words in a prompt, in order."""
        prompt = prompt.lower()
        occurrences = [
            Occurrence(*match.span(), match[0].decode())
            for match in NUMBERS.finditer(prompt)
            if match[0].decode() in self.owners
        ]
        for match in PIECES.finditer(prompt):
            start, end, word = 0, 0, ""
            for index in range(match.start(), match.end() - 2):
                piece = self.pieces.get(prompt[index : index + 3])
                if piece is None:
                    continue
                if piece == word and index < end:
                    end = index + 3
                    continue
                if word:
                    occurrences.append(Occurrence(start, end, word))
                start, end, word = index, index + 3, piece
            if word:
                occurrences.append(Occurrence(start, end, word))
        return sorted(occurrences, key=lambda occurrence: occurrence.start)


class Draw:
    """Draws cases."""

    def __init__(self, rng: random.Random, words: Words | None = None) -> None:
        self.rng = rng
        self.words = words or Words(rng)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def text(self) -> str:
        """One to three words, sometimes with blanks around."""
        text = self.rng.choice([" ", "\n", ". "]).join(self.words.word() for _ in range(self.rng.randint(1, 3)))
        return self.rng.choice(["", "", "", " ", "\n"]) + text + self.rng.choice(["", "", "", " ", "\n", "."])

    def value(self, depth: int = 2) -> Any:
        """A value of any kind of JSON."""
        kinds = ["text", "text", "int", "float", "bool", "null", "list", "dict"]
        kind = self.rng.choice(kinds if depth else kinds[:-2])
        if kind == "list":
            return [self.value(depth - 1) for _ in range(self.rng.randint(1, 3))]
        if kind == "dict":
            return self.mapping(depth - 1)
        simple = {
            "int": self.words.number(),
            "float": self.words.number() + 0.5,
            "bool": self.chance(0.5),
            "null": None,
        }
        return simple[kind] if kind in simple else self.text()

    def mapping(self, depth: int = 1) -> dict[str, Any]:
        return {self.words.word(): self.value(depth) for _ in range(self.rng.randint(1, 3))}

    def part(self, role: str) -> dict[str, Any]:
        """A part of a content; now and then one that isn't a text."""
        if self.chance(0.75):
            return {"type": "text", "text": self.text()}
        if role == "assistant":
            use = {"id": self.words.word(), "name": self.words.word(), "input": self.mapping()}
            return {"type": "tool_use", **use}
        return self.rng.choice(
            [
                {"type": "image_url", "image_url": {"url": self.words.word()}},
                {"type": "tool_result", "tool_use_id": self.words.word(), "content": self.text()},
            ]
        )

    def content(self, role: str, odd: bool) -> Any:
        """A message's content: a text, and in an odd conversation often something else."""
        kind = self.rng.choice(["parts", "parts", "int", "list", "dict", "text", "text"]) if odd else "text"
        if kind == "parts":
            return [self.part(role) for _ in range(self.rng.randint(1, 3))]
        return {
            "int": self.words.number,
            "list": lambda: [self.value(1) for _ in range(2)],
            "dict": self.mapping,
            "text": self.text,
        }[kind]()

    def call(self, names: list[str]) -> dict[str, Any]:
        arguments: Any = self.mapping()
        if self.chance(0.3):
            arguments = json.dumps(arguments)
        name = self.rng.choice(names) if names and self.chance(0.3) else self.words.word()
        return {"id": self.words.word(), "type": "function", "function": {"name": name, "arguments": arguments}}

    def result(self, call: dict[str, Any]) -> dict[str, Any]:
        """A tool's message that answers a call."""
        kind = self.rng.choice(["text", "text", "json", "dict", "list", "int", "parts"])
        content = {
            "text": self.text,
            "json": lambda: json.dumps(self.mapping()),
            "dict": self.mapping,
            "list": lambda: [self.value(1) for _ in range(2)],
            "int": self.words.number,
            "parts": lambda: [{"type": "text", "text": self.text()}],
        }[kind]()
        message = {"role": "tool", "content": content}
        message["tool_call_id"] = call["id"] if self.chance(0.6) else self.words.word()
        if self.chance(0.5):
            message["name"] = call["function"]["name"] if self.chance(0.3) else self.words.word()
        return message

    def assistant(self, odd: bool, reasons: bool) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.content("assistant", odd)}
        if reasons and self.chance(0.6):
            message[self.rng.choice(REASONING)] = self.text()
        elif reasons and isinstance(message["content"], str) and self.chance(0.4):
            message["content"] = f"<think>{self.text()}</think>{message['content']}"
        return message

    def messages(self, names: list[str]) -> list[dict[str, Any]]:
        """A conversation; a third are plain chats, and a third have calls of tools."""
        plain, calls = self.chance(0.35), self.chance(0.5)
        odd, reasons, weighs = (not plain and self.chance(share) for share in (0.25, 0.3, 0.2))
        calls = calls and not plain
        talk: list[dict[str, Any]] = []
        if self.chance(0.35):
            talk.append({"role": "system", "content": self.text()})
        for _ in range(self.rng.randint(1, 3)):
            talk.append({"role": "user", "content": self.content("user", odd)})
            for _ in range(self.rng.choice([0, 0, 1, 2]) if calls else 0):
                message = self.assistant(odd, reasons)
                message["tool_calls"] = [self.call(names) for _ in range(self.rng.choice([1, 1, 2]))]
                silent = self.rng.choice(["", None, "keep", "absent"])
                if silent == "absent":
                    del message["content"]
                elif silent != "keep":
                    message["content"] = silent
                talk.append(message)
                talk.extend(self.result(call) for call in message["tool_calls"])
            talk.append(self.assistant(odd, reasons))
        if self.chance(0.1):
            talk.append({"role": "user", "content": self.text()})
        for message in talk:
            if weighs and message["role"] == "assistant" and self.chance(0.5):
                message.update(self.rng.choice([{"weight": 0}, {"train": False}]))
            if not plain and self.chance(0.2):
                message.setdefault("name", self.words.word())
            if self.chance(0.2):
                message.update({"id": self.words.word(), "time": self.words.number(), "metadata": self.mapping()})
        return talk

    def arguments(self, variables: list[str]) -> dict[str, Any]:
        """Arguments of a template: tools, documents, and texts for some of its variables."""
        arguments: dict[str, Any] = {}
        if self.chance(0.6):
            arguments["tools"] = [self.tool() for _ in range(self.rng.randint(1, 2))]
        if self.chance(0.4):
            arguments["documents"] = [{"title": self.text(), "text": self.text(), **self.mapping()}]
        names = [name for name in variables if name not in ("documents", "tools") and self.chance(0.6)]
        return {**arguments, **{name: self.words.word() for name in names}}

    def tool(self) -> dict[str, Any]:
        name = self.words.word()
        schema = {"type": "string", "description": self.text(), "enum": [self.words.word()]}
        parameters = {"type": "object", "properties": {name: schema}, "required": [name]}
        function = {"name": self.words.word(), "description": self.text(), "parameters": parameters}
        return {"type": "function", "function": function}


def groups(count: int, size: int = 12) -> list[int]:
    """Return the sizes of groups of cases: those of a group have the same arguments."""
    return [min(size, count - done) for done in range(0, count, size)]


def draw_cases(rng: random.Random, count: int, variables: list[str]) -> list[Case]:
    """Draw conversations that have the same arguments; one group in three has none."""
    words = Words(rng)
    arguments = Draw(rng, words).arguments(variables) if rng.random() < 2 / 3 else {}
    names = [tool["function"]["name"] for tool in arguments.get("tools", [])]
    cases = []
    for _ in range(count):
        words_of_case = Words(rng)
        words_of_case.pieces, words_of_case.numbers = set(words.pieces), words.numbers
        cases.append(Case(Draw(rng, words_of_case).messages(names), arguments))
    return cases

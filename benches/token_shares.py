"""The share of prompts that `tokenize` doesn't encode, because it has encoded the same before.

    .venv/bin/python benches/token_shares.py [--conversations FILE.jsonl] [--rows 2000]

The core keeps no count. So this is a model of what it does (`src/token_ids/encoder.rs`), on one thread, byte by byte:
what a prompt begins with as the prompt before it does, up to an added token; pieces between added tokens that have come
twice; and in a piece that is new, the beginning that it shares with an earlier one, up to a place where the expression
of GPT-4 (of Qwen and Llama 3, too) lets texts be cut. Added tokens are found, and not encoded. The tokenizer is one of
that expression that has the template's added tokens.

FILE has a conversation a line, `{"messages": [...]}`; answers to its last question are left out. Without it, questions
are those of `tokens.py`, each with the same five examples. Two shares are printed: of all prompts, and of those whose
examples have come twice before, as nearly all have in a long table.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import promptpress as pp
from tokens import CHATML, conversations

LLAMA_3 = (
    "{{ '<|begin_of_text|>' }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' "
    "+ m.content + '<|eot_id|>' }}{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
)
PLAIN = "{% for m in messages %}{{ ('A: ' if m.role == 'assistant' else 'Q: ') + m.content + '\n' }}{% endfor %}A:"
TEMPLATES = {"ChatML": CHATML, "Llama 3": LLAMA_3, 'plain "Q: A:"': PLAIN}
MARKS = {"ChatML": ["<|im_start|>", "<|im_end|>"], 'plain "Q: A:"': []}
MARKS["Llama 3"] = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

LEAST_GROWTH = 64
"""A beginning grows by so many bytes at least."""


def kind(byte: int) -> str | None:
    """Return the class of an ASCII character for GPT-4's expression; None for others."""
    character = chr(byte)
    if byte > 126:
        return None
    if character.isalnum():
        return "letter" if character.isalpha() else "digit"
    return "end" if character in "\n\r" else "blank" if character in " \t" else "mark" if byte > 32 else None


def is_cut(left: int, right: int) -> bool:
    """Return true if a text can be cut between two bytes."""
    a, b = kind(left), kind(right)
    if a is None or b is None:
        return False
    if a in {"letter", "digit"}:
        return a != b
    return b in {"mark": ("digit", "blank"), "end": ("letter", "digit", "mark")}.get(a, ())


def equal_bytes(a: bytes, b: bytes) -> int:
    """Return the number of bytes with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


class Model:
    """The parts of each text that the core copies, and those that it encodes.

    Args:
        marks: The added tokens at which texts are cut.

    """

    def __init__(self, marks: Iterable[str]) -> None:
        either = "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))
        self._marks = re.compile(either.encode()) if either else None
        self._before = b""
        self._seen: dict[bytes, int] = {}
        self._beginning, self._stops = b"", [0]

    def encoded(self, text: bytes) -> int:
        """Return the number of bytes of a text that are encoded."""
        same = equal_bytes(self._before, text)
        self._before = text
        begin = encoded = 0
        for mark in self._marks.finditer(text) if self._marks else ():
            if mark.end() <= same:
                begin = mark.end()
                continue
            encoded += self._piece(text[begin : mark.start()], same - begin)
            begin = mark.end()
        return encoded + self._piece(text[begin:], same - begin)

    def _piece(self, piece: bytes, same: int) -> int:
        if not piece or self._seen.get(piece, 0) > 1:
            return 0
        copied, cut = self._begin(piece, same)
        if not cut:
            self._seen[piece] = self._seen.get(piece, 0) + 1
        return len(piece) - copied

    def _begin(self, piece: bytes, same: int) -> tuple[int, int]:
        """Return how many bytes are copied from the beginning of earlier pieces, and where the beginning ends."""
        equal = equal_bytes(self._beginning, piece)
        fits = [s for s in self._stops if s <= equal and (not s or s == len(piece) or is_cut(piece[s - 1], piece[s]))]
        copied = fits[-1]
        least = copied + LEAST_GROWTH
        if same < least or len(piece) <= least:
            return copied, copied
        cuts = range(min(same, len(piece) - 1), least - 1, -1)
        cut = next((cut for cut in cuts if is_cut(piece[cut - 1], piece[cut])), None)
        if cut is None:
            return copied, copied
        self._beginning, self._stops = piece[:cut], [*(s for s in self._stops if s <= copied), cut]
        return copied, cut


def read(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the conversations of a file, without answers to their questions."""
    for line in path.read_text(encoding="utf-8").splitlines():
        messages = json.loads(line)["messages"]
        while messages[-1]["role"] == "assistant":
            messages.pop()
        yield messages


def shares(texts: Sequence[str], marks: Iterable[str], keys: Sequence[str]) -> tuple[float, float]:
    """Return the share of bytes that aren't encoded: of all texts, and of those whose examples came twice before."""
    model, seen = Model(marks), Counter[str]()
    sizes, encoded, repeated = [], [], []
    for text, key in zip(texts, keys, strict=True):
        data = text.encode()
        sizes.append(len(data))
        encoded.append(model.encoded(data))
        repeated.append(seen[key] > 1)
        seen[key] += 1

    def share(is_counted: Sequence[bool]) -> float:
        chosen = [number for number, counted in enumerate(is_counted) if counted]
        return 1 - sum(encoded[number] for number in chosen) / sum(sizes[number] for number in chosen)

    return share([True] * len(texts)), share(repeated)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--conversations", type=Path, help="conversations with their examples, a line each")
    parser.add_argument("--rows", type=int, default=2000, help="made-up conversations, without a file")
    arguments = parser.parse_args()
    talks = conversations(arguments.rows, 5)["messages"].to_pylist()
    if arguments.conversations is not None:
        talks = list(read(arguments.conversations))
    keys = [json.dumps(talk[:-1]) for talk in talks]
    print(f"{len(talks)} conversations, {len(set(keys))} sets of examples")
    for name, template in TEMPLATES.items():
        texts = pp.ChatTemplate(template).render([{"messages": talk} for talk in talks])["prompt"].to_pylist()
        whole, repeated = shares(texts, MARKS[name], keys)
        print(f"{name:14} of all {whole:6.1%}, of those with known examples {repeated:6.1%}")


if __name__ == "__main__":
    main()

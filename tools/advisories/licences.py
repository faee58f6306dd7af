"""SPDX expressions: whether what they allow suffices to ship a crate in a wheel under Apache-2.0."""

from __future__ import annotations

import re

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC",
    "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
TOKEN = re.compile(r"[()]|[\w.+-]+(?:\s+WITH\s+[\w.+-]+)?")


def is_allowed(expression: str) -> bool:
    """Whether one of the choices is allowed; `/` is how `OR` was written once."""
    tokens = TOKEN.findall(expression.replace("/", " OR "))
    if not tokens:
        return False
    place = 0

    def either() -> bool:
        nonlocal place
        found = both()
        while place < len(tokens) and tokens[place] == "OR":
            place += 1
            found |= both()
        return found

    def both() -> bool:
        nonlocal place
        found = one()
        while place < len(tokens) and tokens[place] == "AND":
            place += 1
            found &= one()
        return found

    def one() -> bool:
        nonlocal place
        token = tokens[place] if place < len(tokens) else ""
        place += 1
        if token == "(":
            found = either()
            place += 1
            return found
        return " ".join(token.split()) in ALLOWED

    return either() and place == len(tokens)

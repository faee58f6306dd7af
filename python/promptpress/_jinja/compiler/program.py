"""Programs that templates are compiled to and the core runs: expressions over columns, and statements that use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from promptpress._jinja.traced.origin import Origin

Node = tuple[Any, ...]
"""An operation's name and its operands; an int among them is the number of an earlier node, but for constants."""

Statement = tuple[Any, ...]
"""One of these, of which a text of data has the number of its origin: `("lit", text)`, `("data", text, origin)`,
`("emit", node)`, `("check", node)`, `("if", node, block, block)`, `("bail", reason)`.
"""


@dataclass(frozen=True)
class Program:
    """A template, specialised for the rows of one kind.

    The program writes a row's text exactly as Jinja2 does, or bails: then Jinja2 itself renders the row.

    Args:
        columns: Names of the columns that it reads.
        nodes: Expressions; each is evaluated at most once per row, and only if it is needed.
        block: The statements.
        reasons: Why rows go to Jinja2, by the numbers of `bail` statements.
        origins: The origins of texts that the program itself holds and that are data, by the numbers of statements and
            nodes.
    """

    columns: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    block: tuple[Statement, ...] = ()
    reasons: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()

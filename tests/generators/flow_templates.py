"""Random templates in which names are set on some ways and read on others, through all that Jinja2 has scopes for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from random import Random
from typing import Any

NAMES = ["x", "y", "z", "v"]
MACROS = {"m": (["x", "y"], 1), "k": (["z"], 0), "p": ([], 0)}
"""Macros by name: their arguments, and how many of these have a default. A macro calls only those after it."""
FORMS = {
    1: "(<use> | upper)",
    2: "(<use> if <condition> else <use>)",
    3: "(<condition> and <use>)",
    4: "(<condition> or <use>)",
    5: "[<use>, <use>]",
    6: "(<name> | default(<use>))",
    8: "(range(2) | join(<use>))",
}
MAX_OPEN = 5
"""Conditions and lists that differ from row to row."""


class FlowTemplates:
    """Makes templates whose statements stand in a line each.

    Every condition and every list is a column of its own, so each way through a template is that of some row. Whatever
    reads a name is marked with `at(number)`, a function that notes that it was called.

    Args:
        random: The source of chance.

    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.sites: list[tuple[str, int]] = []
        """The name and the line of each place that reads a name."""
        self._lines: list[str] = []
        self._open = 0
        self._blocks: list[str] = []
        self._macros: list[str] = []
        self._loops: list[bool] = [False]

    def template(self) -> str:
        """Make a template; `sites` and `rows` are about the last one."""
        self.__init__(self.random)  # type: ignore[misc]
        for _ in range(self.random.randint(2, 4)):
            self._statement(self.random.choice([1, 2, 2, 3]))
        return "\n".join(self._lines)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows with every value of every column that is open."""
        for bits in itertools.product((True, False), repeat=self._open):
            yield {f"c{number}": bit for number, bit in enumerate(bits)} | {
                f"l{number}": [1, 2] if bit else [] for number, bit in enumerate(bits)
            }

    # Expressions.

    def _read(self, name: str, form: str = "{}") -> str:
        self.sites.append((name, len(self._lines) + 1))
        return f"(at({len(self.sites) - 1}) ~ {form.format(name)})"

    def _name(self) -> str:
        return self.random.choice(NAMES)

    def _use(self, depth: int = 1) -> str:
        """Return an expression that reads names, and whose value is true if it is a text."""
        kind = self.random.randrange(12) if depth else 0
        if kind == 7:
            return self._called()
        if kind in FORMS:
            parts = {"use": lambda: self._use(0), "condition": self._condition, "name": self._name}
            return re.sub("<([a-z]+)>", lambda part: parts[part[1]](), FORMS[kind])
        return self._read(self._name(), self.random.choice(["{}", "({} == 1)", "({} | string)", "({} ~ 'a')"]))

    def _condition(self) -> str:
        random = self.random
        if self._open >= MAX_OPEN or random.random() < 0.05:
            return random.choice(["true", "false", "not true"])
        column = f"c{self._open}"
        kind = random.randrange(12)
        if kind == 0:
            return f"{self._name()} is {random.choice(['', 'not '])}{random.choice(['defined', 'undefined'])}"
        self._open += 1
        if kind == 1:
            return f"({self._read(self._name())} and {column})"
        if kind == 2:
            return (
                f"({self._name()} is {random.choice(['defined', 'undefined'])} {random.choice(['and', 'or'])} {column})"
            )
        return random.choice([column, column, column, f"not {column}"])

    def _allowed(self) -> list[str]:
        """Return the macros that may stand in those that are being written."""
        names = [*MACROS]
        return names[max(map(names.index, self._macros), default=-1) + 1 :]

    def _called(self, suffix: str = "") -> str:
        """Return a call of a macro."""
        allowed = self._allowed()
        if not allowed:
            return self._read(self._name())
        name = self.random.choice(allowed)
        arguments, defaults = MACROS[name]
        count = self.random.randint(len(arguments) - defaults, len(arguments))
        given = [self.random.choice(["'s'", self._use(0)]) for _ in range(count)]
        if given and self.random.random() < 0.3:
            given[-1] = f"{arguments[count - 1]}={given[-1]}"
        call = f"{name}({', '.join(given)})"
        self.sites.append((name, len(self._lines) + 1))
        return f"(at({len(self.sites) - 1}) ~ {call})" if not suffix else call

    # Statements.

    def _line(self, text: str) -> None:
        self._lines.append(text)

    def _body(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth - 1)

    def _statement(self, depth: int) -> None:
        kinds = [self._print, self._print, self._set, self._set]
        if depth > 0:
            kinds += [self._if] * 4 + [
                self._for,
                self._with,
                self._macro,
                self._macro,
                self._call_block,
                self._set_block,
            ]
            kinds += [self._filter, self._namespace, self._block, self._autoescape]
        if self._loops[-1]:
            kinds.append(self._leave)
        self.random.choice(kinds)(depth)

    def _print(self, _depth: int) -> None:
        if self._macros and self.random.random() < 0.3:
            self._line("{{ caller('s') if caller is defined }}")
        elif self._blocks and not self._macros and self.random.random() < 0.1:
            self._line(f"{{{{ self.{self.random.choice(self._blocks)}() }}}}")
        else:
            self._line(f"{{{{ {self._called() if self.random.random() < 0.3 else self._use()} }}}}")

    def _set(self, _depth: int) -> None:
        random = self.random
        if random.random() < 0.2:
            self._line(f"{{% set {self._name()}, w = 's', {random.choice([repr('s'), self._use(0)])} %}}")
        else:
            self._line(f"{{% set {self._name()} = {random.choice([repr('s'), repr('s'), self._use(0)])} %}}")

    def _if(self, depth: int) -> None:
        random = self.random
        self._line(f"{{% if {self._condition()} %}}")
        self._body(depth)
        while random.random() < 0.2:
            self._line(f"{{% elif {self._condition()} %}}")
            self._body(depth)
        if random.random() < 0.6:
            self._line("{% else %}")
            self._body(depth)
        self._line("{% endif %}")

    def _for(self, depth: int) -> None:
        random = self.random
        over = random.choice(["[]", "[1]", "(1, 2)", "column", "column", "column", "use"])
        has_else = over != "use" and random.random() < 0.4
        if over == "use":
            over = self._read(self._name())
        elif over == "column":
            over = f"l{self._open}" if self._open < MAX_OPEN else "[1, 2]"
            self._open = min(self._open + 1, MAX_OPEN)
        test = f" if {self._condition()}" if random.random() < 0.2 else ""
        self._line(f"{{% for {random.choice([self._name(), 'i'])} in {over}{test} %}}")
        self._loops.append(True)
        self._body(depth)
        self._loops[-1] = False
        if has_else:
            self._line("{% else %}")
            self._body(depth)
        self._loops.pop()
        self._line("{% endfor %}")

    def _leave(self, _depth: int) -> None:
        self._line(self.random.choice(["{% break %}", "{% continue %}"]))

    def _nested(self, depth: int, before: str, after: str) -> None:
        """Write statements in a tag's scope, from which a loop can't be left."""
        self._line(before)
        self._loops.append(False)
        self._body(depth)
        self._loops.pop()
        self._line(after)

    def _with(self, depth: int) -> None:
        value = self.random.choice(["'s'", self._use(0)])
        self._nested(depth, f"{{% with {self._name()} = {value} %}}", "{% endwith %}")

    def _macro(self, depth: int) -> None:
        allowed = self._allowed()
        if not allowed:
            return self._print(depth)
        name = self.random.choice(allowed)
        arguments, defaults = MACROS[name]
        self._macros.append(name)
        signature = [
            f"{argument}={self.random.choice([repr('s'), self._use(0)])}"
            if index >= len(arguments) - defaults
            else argument
            for index, argument in enumerate(arguments)
        ]
        # Jinja2 gives a call block to macros alone that name `caller`.
        begin = f"{{% macro {name}({', '.join(signature)}) %}}{{{{ caller('s') if caller is defined }}}}"
        self._nested(depth, begin, "{% endmacro %}")
        self._macros.pop()
        return None

    def _call_block(self, depth: int) -> None:
        call = self._called("block")
        if call.startswith("("):
            return self._print(depth)
        self._nested(depth, f"{{{{ at({len(self.sites) - 1}) }}}}{{% call({self._name()}) {call} %}}", "{% endcall %}")
        return None

    def _set_block(self, depth: int) -> None:
        through = self.random.choice(["", " | upper"])
        self._nested(depth, f"{{% set {self._name()}{through} %}}s", "{% endset %}")

    def _filter(self, depth: int) -> None:
        self._nested(depth, "{% filter upper %}", "{% endfilter %}")

    def _autoescape(self, depth: int) -> None:
        self._nested(depth, "{% autoescape false %}", "{% endautoescape %}")

    def _block(self, depth: int) -> None:
        if self._macros or (self._blocks and self.random.random() < 0.5):
            return self._print(depth)
        name = f"b{len(self._blocks)}"
        scoped = self.random.choice(["", " scoped"])
        self._nested(depth, f"{{% block {name}{scoped} %}}", "{% endblock %}")
        self._blocks.append(name)
        return None

    def _namespace(self, _depth: int) -> None:
        if self.random.random() < 0.5:
            self._line(f"{{% set o = namespace(a={self._use(0)}) %}}")
        self.sites.append(("o", len(self._lines) + 1))
        self._line(f"{{{{ at({len(self.sites) - 1}) }}}}{{% set o.a = {self._use(0)} %}}{{{{ o.a }}}}")

"""Templates of a harness whose class makes a row of its own of each sample, which its base class then fills in.

Such a class has a `generate_item` that calls its base's once, with the new row. Here its own code makes the rows, and
the template of its base is rendered with them in bulk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import CodeType, FunctionType
from typing import Any

import pyarrow as pa

from promptpress_harness.bulk.monkeypatches import (
    NotCoveredError,
    check_as_constructed,
    check_no_shadows,
    check_unpatched_class,
    class_with_code,
    code_names,
)

_METHOD = "generate_item"
_METHODS = {"__init__", _METHOD}
_CHANCE = frozenset({"random", "time", "datetime", "uuid", "os", "open", "global", "secrets"})
"""Names by which code may give another row for the same sample."""


def filled_base(kind: type, templates: Collection[Any]) -> type | None:
    """Return the base of a harness's class that has nothing of its own but how it makes rows; None for other classes.

    Args:
        kind: The class.
        templates: The harness's classes that a row can be filled into.
    """
    base = kind.__base__
    if base is None or kind in templates or base not in templates:
        return None
    functions = {name: value for name, value in vars(kind).items() if isinstance(value, FunctionType)}
    is_shipped = kind.__module__.partition(".")[0] == base.__module__.partition(".")[0]
    is_filled = is_shipped and kind.__bases__ == (base,) and _METHOD in functions and functions.keys() <= _METHODS
    return base if is_filled else None


class RowFilling:
    """The rows that a template's class makes of samples.

    Args:
        template: The template.
        base: The harness's class that it is derived from.
        output_column: The column that the harness puts a token into.

    Raises:
        NotCoveredError: If the template isn't as its class makes it, or its rows may depend on more than the sample.
    """

    def __init__(self, template: Any, base: type, output_column: str) -> None:
        kind = class_with_code(type(template))
        self._name = kind.__name__
        self._output_column = output_column
        self.columns: tuple[str, ...] = ()
        """The columns of the rows that were made last."""
        try:
            check_as_constructed(template)
        except TypeError:
            raise NotCoveredError(f"the template {self._name} is made of arguments") from None
        for part in vars(template).values():
            if type(part).__module__.partition(".")[0] == base.__module__.partition(".")[0]:
                check_unpatched_class(type(part))
                check_no_shadows(part)
        code: CodeType = vars(kind)[_METHOD].__code__
        if not _CHANCE.isdisjoint(code_names(code)):
            raise NotCoveredError(f"the rows of the template {self._name} may differ from run to run")
        self._calls: list[tuple[Any, ...]] = []
        calls, result = self._calls, object()
        self._result = result

        def noted(self: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ARG001 - a method
            calls.append((arguments, options))
            return result

        # Next to the template's class stands one that notes the call which would go to the base.
        noting = type("Noting", (base,), {_METHOD: noted})
        self._template: Any = object.__new__(type("Filling", (kind, noting), {}))
        self._template.__dict__.update(vars(template))

    def table(self, samples: pa.Table) -> pa.Table:
        """Return the rows that are made of samples, with a column for the token.

        Raises:
            NotCoveredError: If a row isn't made as the others are, or has values that aren't texts.
        """
        rows = [self._row(sample) for sample in samples.to_pylist()]
        self.columns = tuple(rows[0]) if rows else ()
        if any(tuple(row) != self.columns for row in rows) or self._output_column in self.columns:
            raise NotCoveredError(f"the rows of the template {self._name} differ in their columns")
        columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in self.columns}
        return pa.table(columns | {self._output_column: pa.array([""] * len(rows))})

    def _row(self, sample: dict[str, Any]) -> dict[str, str]:
        self._calls.clear()
        marks: Sequence[Any] = (object(), object(), object())
        is_returned = getattr(self._template, _METHOD)(sample, *marks) is self._result
        if is_returned and len(self._calls) == 1:
            (row, *others), options = self._calls[0]
            is_passed = len(others) == len(marks) and all(map(lambda a, b: a is b, others, marks)) and not options
            if is_passed and type(row) is dict and all(type(part) is str for pair in row.items() for part in pair):
                return row
        raise NotCoveredError(f"the template {self._name} does more than to make a row of texts")

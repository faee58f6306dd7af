"""Conversations to texts: by programs, by Jinja2, and some by both."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core, _text
from promptpress._core import RenderError
from promptpress._errors import of_row, render_error
from promptpress._jinja.chat.conversations import conversation_of, with_shared_texts
from promptpress._jinja.chat.messages import cut, normalised, tagged
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.chat.shape_compiler import HOLES
from promptpress._jinja.chat.shape_programs import NO_SHAPE, ShapeProgram, ShapePrograms
from promptpress._jinja.reference import Reference
from promptpress._tables import for_core, unlike

__all__ = ["ChatRenderer", "Run"]

SLICE_ROWS = 65_536
"""Rows that are read before any of them is rendered."""
CHECKED_ROWS = 4096
"""One in so many rows is rendered by Jinja2 too."""

_VALUE = 2**32 - 1
"""The core's reason for rows with a value that an operation doesn't take."""


@dataclass
class Run:
    """How the rows of one call were rendered.

    Args:
        rows: How many there were.
        compiled: How many of them by programs.
        reasons: How many by Jinja2, and why.
        checked: How many by both.

    """

    rows: int = 0
    compiled: int = 0
    checked: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


class ChatRenderer:
    """Renders conversations; safe to share between threads.

    Args:
        settings: What the template is, and what it is given.

    Raises:
        TemplateError: If the template can't be compiled by Jinja2.

    """

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self.reference = Reference(settings.source, settings.environment, settings.now)
        self.programs = ShapePrograms(self.reference, settings)
        # The environment counts steps, and is no use to two threads at once.
        self._one_at_a_time = threading.RLock()

    def text(self, conversation: Any) -> str:
        """What `apply_chat_template` gives.

        Args:
            conversation: The messages, as they are.

        Returns:
            The text.

        Raises:
            Exception: What transformers or the template raises.

        """
        messages = with_shared_texts(normalised(conversation))
        field = self.settings.continued
        with self._one_at_a_time:
            if field is None:
                return self._rendered(messages)
            final = tagged(messages, field, self.settings.source, lambda one, tag: one + tag, lambda a, b: bool(a == b))
            return cut(self._rendered(messages), final)

    def _rendered(self, messages: list[Any]) -> str:
        return self.reference.render({"messages": messages, **self.settings.names()})

    def texts(self, table: pa.Table, column: str, first_row: int, strings: str, run: Run) -> Iterator[pa.Array]:
        """Render a column of conversations.

        Args:
            table: Holds it.
            column: Its name.
            first_row: The number of its first row, from which errors count.
            strings: The layout of the texts.
            run: Counts the rows.

        Yields:
            Texts, in the order of the rows.

        Raises:
            RenderError: With the row of what can't be rendered.

        """
        table = table.select([column])
        is_foreign = column in unlike(table.schema)[0]
        core_table, lower = for_core(table, first_row)
        done = 0
        for chunk in core_table.column(0).chunks or [pa.array([], core_table.schema.field(0).type)]:
            rows = _Rows(chunk, column, done, first_row + done, None if _is_plain(chunk.type) and not is_foreign else lower)
            for start in range(0, max(len(chunk), 1), SLICE_ROWS):
                yield from self._slice(rows, start, min(SLICE_ROWS, len(chunk) - start), strings, run, is_foreign)
            done += len(chunk)

    def _slice(
        self, rows: _Rows, start: int, count: int, strings: str, run: Run, is_foreign: bool
    ) -> Iterator[pa.Array]:
        if is_foreign:
            ids, holes, counts = pa.array([NO_SHAPE] * count, pa.uint32()), pa.nulls(count, pa.list_(pa.string())), []
        else:
            try:
                if self.settings.fallback == "refuse":
                    # A shape is kept when it is met again: none shall be Jinja2's because it is new.
                    self.programs.shapes.read(rows.chunk, start, count, rows.first_row)
                ids, holes, counts = self.programs.shapes.read(rows.chunk, start, count, rows.first_row)
            except RenderError as error:
                raise render_error(error.code, error.message, error.row, rows.column) from None
        programs, which, new = self.programs.of_rows(ids, counts)

        def reference(numbers: list[int]) -> list[str]:
            if self.settings.fallback == "refuse" and numbers:
                program = programs[0 if which is None else which[numbers[0]].as_py()]
                why = program.reasons[0] if program.program is None and program.reasons else "a value of the row decides"
                message = f'no program renders it ({why}), and fallback="refuse" leaves nothing to Jinja2'
                raise render_error("unsupported_mode", message, rows.first_row + start + numbers[0], rows.column)
            return [self._checked_text(rows, start + number) for number in numbers]

        core_programs = [program.program for program in programs]
        arrays, bailed = _core.render_jinja(core_programs, which, pa.table({HOLES: holes}), strings, reference)
        self._check(rows, start, ids, new, programs, which, arrays, run)
        self._count(programs, bailed, count, run)
        yield from arrays

    def _checked_text(self, rows: _Rows, number: int) -> str:
        """The text of a row by Jinja2; what it raises is the row's."""
        row = rows.first_row + number
        try:
            text = self.text(rows.conversation(number))
            text.encode()
        except RenderError as error:
            raise of_row(render_error(error.code, error.message, 0, rows.column), row) from None
        except UnicodeEncodeError as error:
            message = f"the text holds half a surrogate pair, which UTF-8 has no bytes for: {error}"
            raise render_error("invalid_unicode", message, row, rows.column) from error
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise render_error("unconvertible_value", message, row, rows.column) from error
        return text

    def _check(
        self,
        rows: _Rows,
        start: int,
        ids: pa.Array,
        new: list[int],
        programs: list[ShapeProgram],
        which: pa.Array | None,
        arrays: list[pa.Array],
        run: Run,
    ) -> None:
        """Render the first row of each new shape, and one row in some thousand, by Jinja2 too."""
        first = rows.first_row + start
        numbers = {pc.index(ids, pa.scalar(number, pa.uint32())).as_py() for number in new}
        numbers.update(range(-first % CHECKED_ROWS, len(ids), CHECKED_ROWS))
        if not numbers:
            return
        texts = pa.chunked_array(arrays)
        for number in sorted(numbers):
            program = programs[0 if which is None else which[number].as_py()]
            if program.program is None:
                continue
            expected, found = self._checked_text(rows, start + number), texts[number].as_py()
            run.checked += 1
            if expected != found:
                at = next((n for n, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), -1)
                at = min(len(expected), len(found)) if at < 0 else at
                message = (
                    f"the program gives another text than Jinja2 from character {at} on: {found[at : at + 40]!r} in "
                    f"the place of {expected[at : at + 40]!r}. This is a bug of promptpress; please report it with the "
                    "template"
                )
                raise render_error("internal_error", message, first + number, rows.column)

    @staticmethod
    def _count(
        programs: list[ShapeProgram], bailed: list[tuple[int, int, int]], count: int, run: Run
    ) -> None:
        run.rows += count
        run.compiled += count - sum(rows for *_, rows in bailed)
        for number, reason, rows in bailed:
            program = programs[number] if number < len(programs) else None
            known = program.reasons if program is not None else ()
            if program is not None and program.program is None:
                reason = 0
            said = known[reason] if reason < len(known) else "a value that an operation doesn't take"
            run.reasons[said] += rows


@dataclass(frozen=True)
class _Rows:
    """A chunk's rows as Python has them.

    Args:
        chunk: As the core reads it.
        column: Its name.
        offset: How many rows of the table stand before it.
        first_row: The number of its first row among all.
        lower: Gives values of types that pyarrow alone doesn't give as they are; None: there are none.

    """

    chunk: pa.Array
    column: str
    offset: int
    first_row: int
    lower: Any

    def conversation(self, number: int) -> list[Any]:
        """The conversation of a row."""
        if self.lower is None:
            (value,) = self.chunk.slice(number, 1).to_pylist()
        else:
            (value,) = self.lower(self.column, pa.array([self.offset + number], pa.int64()), True)
        return conversation_of(value)


def _is_plain(data_type: pa.DataType) -> bool:
    """Whether the core checks every value of a type, so that any row can be taken as it is."""
    types = pa.types
    if types.is_list(data_type) or types.is_large_list(data_type) or types.is_struct(data_type):
        return all(_is_plain(child) for child in _text._children(data_type))
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        return True
    return bool(types.is_boolean(data_type) or types.is_integer(data_type) or types.is_floating(data_type) or types.is_null(data_type))

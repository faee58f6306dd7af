"""Conversations to texts: by programs, by Jinja2, and some by both."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._core import RenderError
from promptpress._errors import render_error
from promptpress._jinja.chat.conversation_rows import (
    ConversationRows,
    conversation_of,
    conversation_rows,
    with_shared_texts,
)
from promptpress._jinja.chat.messages import cut, normalised, tagged
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.chat.shape_compiler import HOLES
from promptpress._jinja.chat.shape_programs import ShapeProgram, ShapePrograms
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import CHECKED_ONE_IN, JinjaRun

__all__ = ["ChatRenderer"]

SLICE_ROWS = 65_536
"""Rows that are read before any of them is rendered."""
_BLOCK = 1024
"""Rows that are Python's values at a time."""

Bails = list[tuple[int, int, int]]
"""The program, the reason's number, and how many rows left the one for the other."""


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

    def text(self, conversation: Any) -> str:
        """What `apply_chat_template` gives.

        Args:
            conversation: The messages, as they are.

        Returns:
            The text.

        Raises:
            Exception: What transformers or the template raises.

        """
        messages = normalised(with_shared_texts(conversation))
        continued = self.settings.continued
        if continued is None:
            return self._rendered(messages)
        source = self.settings.source
        final = tagged(messages, continued, source, lambda one, tag: one + tag, lambda a, b: bool(a == b))
        return cut(self._rendered(messages), final)

    def _rendered(self, messages: list[Any]) -> str:
        return self.reference.render({"messages": messages, **self.settings.names()})

    def texts(self, table: pa.Table, column: str, first_row: int, strings: str, run: JinjaRun) -> Iterator[pa.Array]:
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
        for rows in conversation_rows(table, column, first_row):
            for start in range(0, max(len(rows.chunk), 1), SLICE_ROWS):
                count = min(SLICE_ROWS, len(rows.chunk) - start)
                part, holes = self._read(rows, start, count)
                programs = [program.program for program in part.programs]
                reference = partial(self._by_jinja2, part)
                arrays, bails = _core.render_jinja(programs, part.which, pa.table({HOLES: holes}), strings, reference)
                run.add(_counted(part, bails, self._check(part, arrays)))
                yield from arrays

    def _read(self, rows: ConversationRows, start: int, count: int) -> tuple[_Part, pa.Array]:
        shapes = self.programs.shapes
        if self.settings.fallback == "refuse":
            # A shape is kept when it is met again: none shall be Jinja2's because it is new.
            rows.read(shapes, start, count)
        ids, holes, counts = rows.read(shapes, start, count)
        programs, which, new = self.programs.of_rows(ids, counts)
        return _Part(rows, start, ids, programs, which, new), holes

    def _by_jinja2(self, part: _Part, numbers: list[int]) -> list[str]:
        if self.settings.fallback == "refuse" and numbers:
            program = part.program(numbers[0])
            why = next(iter(program.reasons if program.program is None else ()), "a value of the row decides")
            message = f'no program renders it ({why}), and fallback="refuse" leaves nothing to Jinja2'
            raise render_error("not_compiled", message, part.row(numbers[0]), part.rows.column)
        texts = []
        for start in range(0, len(numbers), _BLOCK):
            texts += self._texts_of_rows(part, numbers[start : start + _BLOCK])
        return texts

    def _texts_of_rows(self, part: _Part, numbers: list[int]) -> list[str]:
        """Texts of rows by Jinja2; what it raises is the row's."""
        try:
            values = part.rows.values([part.start + number for number in numbers])
        except Exception:  # which row is to blame is found one by one
            return [self._text_of_row(part, number, self._value(part, number)) for number in numbers]
        return [self._text_of_row(part, number, value) for number, value in zip(numbers, values, strict=True)]

    def _value(self, part: _Part, number: int) -> Any:
        row, column = part.row(number), part.rows.column
        try:
            (value,) = part.rows.values([part.start + number])
        except RenderError as error:
            raise render_error(error.code, error.message, row, column) from None
        except Exception as error:
            raise render_error("unconvertible_value", f"{type(error).__name__}: {error}", row, column) from error
        return value

    def _text_of_row(self, part: _Part, number: int, value: Any) -> str:
        row, column = part.row(number), part.rows.column
        try:
            conversation = conversation_of(value)
        except ValueError as error:
            raise render_error("unconvertible_value", f"{type(error).__name__}: {error}", row, column) from error
        try:
            text = self.text(conversation)
            text.encode()
        except RenderError as error:
            raise render_error(error.code, error.message, row, column) from None
        except UnicodeEncodeError as error:
            message = f"the text holds half a surrogate pair, which UTF-8 has no bytes for: {error}"
            raise render_error("invalid_unicode", message, row, column) from error
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise render_error("template_raised", message, row, column) from error
        return text

    def _check(self, part: _Part, arrays: list[pa.Array]) -> int:
        """Render the first row of each new shape, and one row in some thousand, by Jinja2 too; says how many."""
        numbers = {pc.index(part.ids, pa.scalar(number, pa.uint32())).as_py() for number in part.new}
        numbers.update(range(-part.row(0) % CHECKED_ONE_IN, len(part.ids), CHECKED_ONE_IN))
        compiled = sorted(number for number in numbers if part.program(number).program is not None)
        texts = pa.chunked_array(arrays, arrays[0].type)
        compared = 0
        for number, expected in zip(compiled, self._texts_to_compare(part, compiled), strict=True):
            if expected is None:
                continue
            compared += 1
            found = texts[number].as_py()
            if expected != found:
                at = next((n for n, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), -1)
                at = min(len(expected), len(found)) if at < 0 else at
                message = (
                    f"the program gives another text than Jinja2 from character {at} on: {found[at : at + 40]!r} in "
                    f"the place of {expected[at : at + 40]!r}. This is a bug of promptpress; please report it with the "
                    "template"
                )
                raise render_error("differs_from_reference", message, part.row(number), part.rows.column)
        return compared

    def _texts_to_compare(self, part: _Part, numbers: list[int]) -> list[str | None]:
        """Texts of rows by Jinja2; None for a row that passes promptpress's own limits, which Jinja2 doesn't have."""
        try:
            return list(self._texts_of_rows(part, numbers))
        except RenderError as error:
            if error.code != "template_limit":
                raise
            if len(numbers) == 1:
                return [None]
        return [text for number in numbers for text in self._texts_to_compare(part, [number])]


class _Part(NamedTuple):
    """Rows that are rendered together.

    Args:
        rows: The chunk that they stand in.
        start: The first of them there.
        ids: Their shapes.
        programs: Their programs.
        which: Which of these each row takes; None if all take the first.
        new: The shapes that were compiled for them.

    """

    rows: ConversationRows
    start: int
    ids: pa.Array
    programs: list[ShapeProgram]
    which: pa.Array | None
    new: list[int]

    def row(self, number: int) -> int:
        """The number of a row among all."""
        return self.rows.first_row + self.start + number

    def program(self, number: int) -> ShapeProgram:
        """The program of a row."""
        return self.programs[0 if self.which is None else self.which[number].as_py()]


def _counted(part: _Part, bails: Bails, checked: int) -> JinjaRun:
    run = JinjaRun(len(part.ids), checked=checked)
    for number, reason, rows in bails:
        program = part.programs[number]
        reasons, known = program.reasons, 0 if program.program is None else reason
        said = reasons[known] if known < len(reasons) else "a value that no operation is compiled for"
        run.reasons[said] = run.reasons.get(said, 0) + rows
        run.jinja2 += rows
    run.compiled = run.rows - run.jinja2
    return run

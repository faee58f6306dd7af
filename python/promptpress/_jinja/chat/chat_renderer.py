"""Renders conversations as texts: by programs, by Jinja2, or by both to compare them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.python_rows import excerpt
from promptpress._core import RenderError
from promptpress._errors.errors import ABOUT_THE_TABLE, close_names, did_you_mean, render_error
from promptpress._errors.left_out import MAX_FIRST_ROWS, Kind, LeftOut, Refusal
from promptpress._jinja.chat.arguments import ALL, LISTS, RowArguments, arguments_of, filled_rows, refused
from promptpress._jinja.chat.conversations import (
    ConversationRows,
    conversation_of,
    conversation_rows,
    cut,
    normalised,
    plain,
    tagged,
    with_shared_texts,
)
from promptpress._jinja.chat.left_out import ARGUMENT_CODES, Kinds, Part, doubtful_parts, lacking_parts
from promptpress._jinja.chat.roles import lacks_system_role, with_merged_system
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.chat.shape_programs import SLOTS, ShapeProgram, ShapePrograms, traced_messages
from promptpress._jinja.chat.single_conversations import SingleConversations
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import JinjaRun, Origins, Texts, compared_rows, traced_rows
from promptpress._jinja.traced_values import Origin, Piece, joined, known_containers, pieces

SLICE_ROWS = 65_536
"""Rows that are read and then rendered together."""
_BLOCK = 1024
"""Rows that are converted to Python objects at a time."""

_NONE: Mapping[str, Any] = MappingProxyType({})

Bails = list[tuple[int, int, int]]
"""`(program, reason, rows)`: rows of a program that Jinja2 rendered for one of the program's reasons."""

_SHAREGPT, _SYSTEM = "conversations", "system"
"""The columns of conversations and of their system texts in tables of ShareGPT's form."""

_UNDEFINED_TOKEN = re.compile(r"^UndefinedError: '(\w+_token)' is undefined$")
"""The message of Jinja2 if a template reads a special token that nobody gave."""


class ChatRenderer:
    """Renders conversations by one template; threads may share it."""

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self.reference = Reference(settings.source, settings.environment, settings.now, is_marked=settings.is_marked)
        self._rules = settings.turn_rules
        self.merges_system = settings.system == "merge" and lacks_system_role(self._plain_text)
        """True if system messages become part of the user's, because the template has no role for them."""
        self._kinds = Kinds(settings.source)
        self.programs = ShapePrograms(self.reference, settings, self._kinds, merges_system=self.merges_system)
        self.singles = SingleConversations(self.programs, settings, self._kinds)

    def text(self, conversation: Any, arguments: Mapping[str, Any] = _NONE) -> str:
        """Render a conversation with its own arguments by Jinja2, as `apply_chat_template` does."""
        return self._text_and_messages(conversation, arguments)[0]

    def _text_and_messages(self, conversation: Any, arguments: Mapping[str, Any]) -> tuple[str, list[Any] | None]:
        """Render a conversation; return the messages as the template has seen them too, if nothing has changed them."""
        normal = normalised(with_shared_texts(conversation), self._rules)
        messages = self._with_merged_system(normal)
        text = self._continued(messages, lambda: self._plain_text(messages, arguments))
        is_same = self.settings.environment == "transformers" and self.settings.continued is None
        return text, normal if is_same and not self.merges_system else None

    def _plain_text(self, messages: list[Any], arguments: Mapping[str, Any] = _NONE) -> str:
        return self.reference.render({"messages": messages, **self.settings.names(arguments)})

    def _with_merged_system(self, messages: list[Any]) -> list[Any]:
        return with_merged_system(messages) if self.merges_system else messages

    def argument_columns(self, present: Collection[str]) -> Mapping[str, str]:
        """Return the column of each argument that rows have of their own, among the columns of a table."""
        named, fixed = self.settings.argument_columns, self.settings.names()
        if named is None:
            free = (name for name in LISTS if fixed[name] is None and name in self.reference.undeclared)
            return {name: name for name in free if name in present}
        for name, column in named.items():
            if column not in present:
                hint = did_you_mean(column, present)
                message = f"the table has no such column, which argument_columns= names for {name!r}{hint}"
                raise render_error("missing_column", message, column=column)
        return named

    def unread_columns(self, present: Collection[str], column: str = "") -> list[str]:
        """Return columns of tools, documents or ShareGPT's system texts that would be the template's if it read any."""
        fixed = self.settings.names()
        is_free = self.settings.argument_columns is None
        unread = (name for name in LISTS if fixed[name] is None and name not in self.reference.undeclared)
        system = [_SYSTEM] if column == _SHAREGPT and _SYSTEM not in self.reference.undeclared else []
        return [name for name in (*unread, *system) if is_free and name in present]

    def _unread_rows(
        self, table: pa.Table, column: str, first_row: int, refusal: Refusal, failed: dict[int, RenderError] | None
    ) -> Iterator[tuple[Kind, list[int]]]:
        """Yield the filled rows of columns of arguments that the template ignores, unless they are refused."""
        for name in self.unread_columns(table.column_names, column):
            rows = [first_row + row for row in filled_rows(table.column(name), table.schema.field(name))]
            kind = ARGUMENT_CODES.get(name, "message_left_out"), f"column {name!r}"
            if not refusal.refuses(kind):
                yield kind, rows
            elif failed is not None:
                failed |= {row: refusal.error(kind, row, name) for row in rows}
            elif rows:
                raise refusal.error(kind, rows[0], name)

    def parts(
        self,
        conversation: Any,
        column: str,
        arguments: Mapping[str, Any] = _NONE,
        columns: Mapping[str, str] = _NONE,
        only: Sequence[Part] | None = None,
    ) -> list[Piece]:
        """Render a conversation by Jinja2; return the parts of its text with their origins.

        With `only` some parts, other values may have none, and count as the template's.
        """
        given = with_shared_texts(conversation)
        containers: dict[int, Origin] = {}
        normal = normalised(given, self._rules)
        traced = traced_messages(normal, given, column, containers)
        if only is not None:
            doubtful = {part.message for part in only}
            traced = [traced[n] if n in doubtful else message for n, message in enumerate(normal)]
        messages = self._with_merged_system(traced)
        names = {"messages": messages, **self.settings.traced_names(containers, arguments)}
        if only is not None:
            kept = {part.path for part in only if part.message is None}
            names |= {name: value for name, value in self.settings.names(arguments).items() if name not in kept}
        with known_containers(containers):
            parts = pieces(self._continued(messages, lambda: joined(self.reference.parts(names))))
        return pieces(joined([(text, origin and of_value(origin, columns)) for text, origin in parts]))

    def _continued(self, messages: list[Any], render: Callable[[], str]) -> str:
        """Render messages; if the last one is continued, cut the text where it ends."""
        if self.settings.continued is None:
            return render()
        final = tagged(
            messages, self.settings.continued, self.settings.source, lambda a, tag: a + tag, lambda a, b: bool(a == b)
        )
        return cut(render(), final)

    def texts(  # noqa: PLR0917 - rows come first, then what takes counts and errors
        self,
        table: pa.Table,
        column: str,
        first_row: int,
        strings: str,
        run: JinjaRun,
        failed: dict[int, RenderError] | None = None,
        origins: Origins | None = None,
        refused: frozenset[Kind] | None = frozenset(),
    ) -> Iterator[Texts]:
        """Render a column of conversations; yield texts in order, with their spans if `origins` numbers them.

        `first_row` is the number of the table's first row among all. `failed` receives the error of each row that can't
        be rendered, by its number among all; without it, the first error is raised. `refused` are kinds of what
        assistants say: a row whose text lacks it is such an error. If it is None, what texts lack isn't looked for in
        rows that no program renders.
        """
        refusal = Refusal(frozenset(self.settings.refuse), refused or frozenset())
        most = sys.maxsize if any(refusal) else MAX_FIRST_ROWS
        columns = self.argument_columns([name for name in table.column_names if name != column])
        run.argument_columns |= columns
        unread = list(self._unread_rows(table, column, first_row, refusal, failed))
        for rows in conversation_rows(table, column, first_row, columns):
            for start in range(0, max(len(rows.chunk), 1), SLICE_ROWS):
                count = min(SLICE_ROWS, len(rows.chunk) - start)
                part, slots = self._read(rows, start, count)
                programs = [program.program for program in part.programs]
                of_jinja2 = LeftOut()
                reference = partial(self._by_jinja2, part, failed, None if refused is None else (of_jinja2, refusal))
                slot_table = pa.table({SLOTS: slots})
                try:
                    arrays, bails, counts, doubtful = _core.render_jinja(
                        programs, part.which, slot_table, strings, reference, most
                    )
                except RenderError as error:
                    if error.column != SLOTS or error.row is None:
                        raise
                    raise render_error(error.code, error.message, part.row(error.row), column) from None
                lacking, of_programs = self._kinds.count(counts, part.row(0), refusal)
                lacking.add_all(of_jinja2)
                numbered = {part.row(row): kind for row, kind in of_programs.items()}
                errors = {row: refusal.error(kind, row, column) for row, kind in numbered.items()}
                for number in doubtful if refused is not None else ():
                    try:
                        given = self._given(part, number, self._value(part, number))
                        self._count_lacking(part, number, given, None, (lacking, refusal))
                    except RenderError as error:
                        errors[part.row(number)] = error
                if errors and failed is None:
                    raise errors[min(errors)]
                if failed is not None:
                    failed |= errors
                of_part = _counted(part, bails, self._check(part, arrays, failed))
                of_part.lacking = lacking
                run.add(of_part)
                if origins is None:
                    yield from ((array, None) for array in arrays)
                    continue
                slots_of = [_of_column(program.origins, rows) for program in part.programs]
                trace = partial(traced_rows, arrays, partial(self._parts_of_row, part), part.row(0), failed)
                spans = origins.spans(programs, slots_of, part.which, slot_table, arrays, by_item=True, trace=trace)
                yield from zip(arrays, spans, strict=True)
        for kind, of_kind in unread:
            if written := [row for row in of_kind if row not in (failed or ())]:
                run.lacking.add(kind, len(written), written[:MAX_FIRST_ROWS])

    def _read(self, rows: ConversationRows, start: int, count: int) -> tuple[_Part, pa.Array]:
        shapes = self.programs.shapes
        while True:
            opening = self.programs.looks_inside
            if self.settings.fallback == "refuse":
                # A shape is kept when it occurs again: no row shall be refused because its shape is new.
                rows.read(shapes, start, count, opening=opening)
            ids, slots, counts = rows.read(shapes, start, count, opening=opening)
            programs, which, new = self.programs.for_rows(ids, counts)
            if self.programs.looks_inside == opening:
                return _Part(rows, start, ids, programs, which, new), slots

    def _by_jinja2(
        self,
        part: _Part,
        failed: dict[int, RenderError] | None,
        lacking: tuple[LeftOut, Refusal] | None,
        numbers: list[int],
    ) -> list[str]:
        texts = []
        for start in range(0, len(numbers), _BLOCK):
            block = numbers[start : start + _BLOCK]
            texts += self._texts_of_rows(part, block, failed, lacking, refuses=self.settings.fallback == "refuse")
        return texts

    def _parts_of_row(self, part: _Part, number: int) -> list[Piece]:
        value, given = self._value(part, number)
        arguments = self._arguments(part, number, given)
        return self.parts(conversation_of(value), part.rows.column, arguments, part.rows.arguments)

    def _texts_of_rows(
        self,
        part: _Part,
        numbers: list[int],
        failed: dict[int, RenderError] | None = None,
        lacking: tuple[LeftOut, Refusal] | None = None,
        *,
        refuses: bool = False,
    ) -> list[str]:
        """Render rows by Jinja2, or refuse them; `failed` receives their errors, without it the first one is raised.

        What the texts lack is counted, unless `lacking` is None; what it refuses is an error.
        """
        try:
            values: list[Any] | None = _values(part.rows, [part.start + number for number in numbers])
        except Exception:  # each row is converted alone, to find the one that fails
            values = None
        texts = []
        for index, number in enumerate(numbers):
            texts.append("")
            try:
                if refuses:
                    raise _not_compiled(part, number)
                value = self._value(part, number) if values is None else values[index]
                given = self._given(part, number, value)
                texts[-1] = self._text_of_row(part, number, given)
                if lacking is not None:
                    self._count_lacking(part, number, given, texts[-1], lacking)
            except RenderError as error:
                if failed is None or error.code in ABOUT_THE_TABLE:
                    raise
                failed[part.row(number)] = error
                texts[-1] = ""
        return texts

    def _given(self, part: _Part, number: int, value: tuple[Any, RowArguments]) -> _Given:
        """Return the conversation of a row and its arguments."""
        try:
            conversation = conversation_of(value[0])
        except ValueError as error:
            message = f"{type(error).__name__}: {error}"
            raise render_error("unconvertible_value", message, part.row(number), part.rows.column) from error
        return _Given(conversation, self._arguments(part, number, value[1]))

    def _count_lacking(
        self,
        part: _Part,
        number: int,
        given: _Given,
        text: str | None,
        lacking: tuple[LeftOut, Refusal],
    ) -> None:
        """Count what the text of a row lacks; without the text it has to be found out by the values' origins."""
        row, column = part.row(number), part.rows.column
        parts, messages = self.lacking(given.conversation, column, text, given.arguments, given.messages)
        kinds = {kind for each in parts for kind in each.kinds(messages, self.settings.source)}
        counts, refusal = lacking
        for kind in sorted(kinds):
            if refusal.refuses(kind):
                raise refusal.error(kind, row, column)
        for kind in kinds:
            counts.add(kind, 1, [row])

    def lacking(
        self,
        conversation: Any,
        column: str,
        text: str | None,
        of_row: Mapping[str, Any],
        messages: list[Any] | None = None,
    ) -> tuple[list[Part], int]:
        """Return the parts of a conversation with its own arguments that its text lacks, and the number of messages.

        `messages` are those that a template sees, if they are known already.
        """
        messages = normalised(conversation, self._rules) if messages is None else messages
        parts = doubtful_parts(messages, self.settings.data(of_row), text, self.settings.source)
        if not parts:
            return [], len(messages)
        try:
            pieces_of_text = self.parts(conversation, column, of_row, only=parts)
        except Exception:  # nested too deeply, or used where only a value without an origin will do
            return [], len(messages)
        return lacking_parts(parts, pieces_of_text), len(messages)

    def _value(self, part: _Part, number: int) -> tuple[Any, RowArguments]:
        """Return a row's conversation and its arguments, as Python objects."""
        row, column = part.row(number), part.rows.column
        try:
            (value,) = _values(part.rows, [part.start + number])
        except RenderError as error:
            raise render_error(error.code, error.message, row, column) from None
        except UnicodeDecodeError as error:
            text = error.object.decode(errors="replace")
            message = f"invalid UTF-8 at byte {error.start} of the value {excerpt(text)}"
            raise render_error("invalid_utf8", message, row, column) from error
        except Exception as error:
            raise render_error("unconvertible_value", f"{type(error).__name__}: {error}", row, column) from error
        return value

    def _arguments(self, part: _Part, number: int, given: RowArguments) -> dict[str, Any]:
        """Return the arguments of a row, given the values of their columns."""
        arguments: dict[str, Any] = {}
        for name, value in given.items():
            try:
                arguments |= arguments_of(name, value, given)
            except ValueError as error:
                column, is_named = part.rows.arguments[name], self.settings.argument_columns is not None
                raise refused(error, name, part.row(number), column, is_named=is_named) from error
        return arguments if not arguments else plain(arguments)

    def arguments_of(self, table: pa.Table, column: str) -> dict[str, Any] | None:
        """Return the arguments of a table's only row; None if there are columns that the template would ignore."""
        others = [name for name in table.column_names if name != column]
        if self.unread_columns(table.column_names, column):
            return None
        columns = self.argument_columns(others)
        (rows,) = conversation_rows(table, column, 0, columns)
        given = rows.row_arguments([0])[0] if columns else {}
        return self._arguments(_Part(rows, 0, pa.nulls(0), [], None, []), 0, given)

    def _text_of_row(self, part: _Part, number: int, given: _Given) -> str:
        row, column = part.row(number), part.rows.column
        try:
            text, given.messages = self._text_and_messages(given.conversation, given.arguments)
            text.encode()
        except RenderError as error:
            raise render_error(error.code, error.message, row, column) from None
        except UnicodeEncodeError as error:
            message = f"the text holds half a surrogate pair, which UTF-8 has no bytes for: {error}"
            raise render_error("invalid_unicode", message, row, column) from error
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            if undefined := _UNDEFINED_TOKEN.search(message):
                message += (
                    f"; {undefined[1]}= gives it, or ChatTemplate.from_tokenizer(FOLDER) with the tokenizer's files"
                )
            raise render_error("template_raised", message, row, column) from error
        return text

    def _check(self, part: _Part, arrays: list[pa.Array], failed: dict[int, RenderError] | None) -> int:
        """Compare the first row of each new shape, and one row in some thousand, with Jinja2; return their number."""
        numbers = {pc.index(part.ids, pa.scalar(number, pa.uint32())).as_py() for number in part.new}
        numbers.update(self.programs.rows_to_check(len(part.ids)))
        compiled = sorted(number for number in numbers if part.program(number).program is not None)
        compiled = [number for number in compiled if part.row(number) not in (failed or ())]
        render = partial(self._texts_of_rows, part)
        return compared_rows(compiled, arrays, render, part.row(0), failed, part.rows.column) if compiled else 0


def _not_compiled(part: _Part, number: int) -> RenderError:
    """Make the error for a row without a program if `fallback` is "refuse"."""
    program = part.program(number)
    why = next(iter(program.reasons if program.program is None else ()), "a value of the row decides")
    message = f'no program renders it ({why}), and fallback="refuse" leaves nothing to Jinja2'
    return render_error("not_compiled", message, part.row(number), part.rows.column)


@dataclass
class _Given:
    """A row's conversation, its arguments, and the messages as a template sees them, once they are known."""

    conversation: Any
    arguments: dict[str, Any]
    messages: list[Any] | None = None


class _Part(NamedTuple):
    """Rows that are rendered together: of one chunk, from `start` on.

    `which` has the number of each row's program, and is None if all rows take the first; `new` has the shapes that were
    compiled for these rows.
    """

    rows: ConversationRows
    start: int
    ids: pa.Array
    programs: list[ShapeProgram]
    which: pa.Array | None
    new: list[int]

    def row(self, number: int) -> int:
        """Return the number of a row among all."""
        return self.rows.first_row + self.start + number

    def program(self, number: int) -> ShapeProgram:
        """Return the program of a row."""
        return self.programs[0 if self.which is None else self.which[number].as_py()]


def _counted(part: _Part, bails: Bails, checked: int) -> JinjaRun:
    run = JinjaRun(len(part.ids), checked=checked)
    for number, reason, rows in bails:
        program = part.programs[number]
        reasons, index = program.reasons, 0 if program.program is None else reason
        text = reasons[index] if index < len(reasons) else "a value that no operation is compiled for"
        run.reasons[text] = run.reasons.get(text, 0) + rows
        run.jinja2 += rows
    run.compiled = run.rows - run.jinja2
    return run


def _values(rows: ConversationRows, numbers: list[int]) -> list[tuple[Any, RowArguments]]:
    """Return the conversations and the arguments of rows, as Python objects."""
    arguments = rows.row_arguments(numbers) if rows.arguments else [_NONE] * len(numbers)
    return list(zip(rows.values(numbers), arguments, strict=True))


def _of_column(origins: Iterable[Origin], rows: ConversationRows) -> list[Origin]:
    """Return the origins of a shape's values in the columns of rows."""
    of_rows = (of_value(origin, rows.arguments) for origin in origins)
    return [origin._replace(column=rows.column) if origin.source == "field" else origin for origin in of_rows]


def of_value(origin: Origin, columns: Mapping[str, str]) -> Origin:
    """Return the origin of the whole value that a part belongs to, however the row was rendered.

    `columns` are those of arguments, whose origins have the argument's name in the place of the column.
    """
    if origin.source == "argument" and origin.column is not None:
        match = _ARGUMENT.match(origin.path or "")
        column = columns.get(origin.column, columns.get(ALL))
        return origin._replace(column=column, path=origin.path if match is None else match[0])
    match = _VALUE.match(origin.path or "") if origin.source == "field" else None
    return origin if match is None else origin._replace(path=match[0])


_VALUE = re.compile(
    r"content\[\d+\](?:\.[^.\[]+)?|tool_calls\[\d+\](?:\.function)?(?:\.[^.\[]+)?|function_call(?:\.[^.\[]+)?|[^.\[]+"
)
"""The path of a value of a message: what lies within it is part of it."""

_ARGUMENT = re.compile(r"(?:tools|documents)\[\d+\]|[^.\[]+")
"""The path of a value of a row's argument: what lies within a tool is part of it."""


_SCHEMA = pa.schema(
    {"shape": pa.string(), "rows": pa.int64(), "compiled": pa.bool_(), "line": pa.int64(), "reason": pa.string()}
)

_ROLES = {"s": "system", "u": "user", "a": "assistant"}
_USUAL_SHAPES = ("u", "su", "ua", "uau", "suau", "sua", "uauau")
_USUAL_KEYS = ("role", "from", "content", "value")

_ARGUMENTS = (
    *("add_generation_prompt", "continue_final_message", "tools", "documents"),
    *("environment", "fallback", "column", "roles", "system", "decode_arguments", "argument_columns", "refuse"),
)
"""Arguments of `ChatTemplate`."""
_SIMILARITY = 0.85
"""Families of models have similar names (`thinking_budget`, `thinking_mode`), which aren't typing errors."""


def starts_with_bos(renderer: ChatRenderer) -> bool | None:
    """Return true if the template's texts begin with the `bos_token`, which tokenizers may add too.

    The result is None if only some do, none can be rendered, or there is no such token.
    """
    token = renderer.settings.variables.get("bos_token")
    if not isinstance(token, str) or not token:
        return None
    answers = set()
    for content in ("Hi.", "", " \n", "<think>a</think>b"):
        for conversation in _usual_conversations(content):
            try:
                answers.add(renderer.text(conversation).startswith(token))
            except Exception:
                continue
    return answers.pop() if len(answers) == 1 else None


def compiled_table(renderer: ChatRenderer) -> pa.Table:
    """Return a table with a row for each shape and each reason why Jinja2 renders rows of it."""
    compiled = renderer.programs.compiled()
    skeletons = {skeleton for skeleton, *_ in compiled}
    rows: list[dict[str, Any]] = []
    for conversation in _usual_conversations("?"):
        shape = [{"role": f"={message['role']}", "content": "?"} for message in conversation]
        skeleton = json.dumps(shape, separators=(",", ":"))
        if skeleton not in skeletons:
            rows += _rows(skeleton, 0, renderer.programs.compile(skeleton))
    for skeleton, count, program in compiled:
        rows += _rows(skeleton, count, program)
    return pa.Table.from_pylist(rows, _SCHEMA)


def _usual_conversations(content: str) -> list[list[dict[str, str]]]:
    return [[{"role": _ROLES[letter], "content": content} for letter in shape] for shape in _USUAL_SHAPES]


def _rows(skeleton: str, rows: int, program: ShapeProgram) -> list[dict[str, Any]]:
    row = {"shape": _shape_name(json.loads(skeleton)), "rows": rows, "compiled": program.program is not None}
    nothing: tuple[tuple[int | None, str | None], ...] = ((None, None),)
    return [{**row, "line": line, "reason": reason} for line, reason in program.bails or nothing]


def _shape_name(shape: Any) -> str:
    """Return the roles of a shape's messages, with their unusual keys in parentheses, and the arguments of its rows."""
    messages, arguments = (shape["messages"], shape["arguments"]) if isinstance(shape, dict) else (shape, {})
    names = []
    for message in messages:
        speaker = message.get("role", message.get("from")) if isinstance(message, dict) else None
        role = speaker[1:] if isinstance(speaker, str) else "?"
        more = []
        if role != "?":
            more = [key for key, value in message.items() if key not in _USUAL_KEYS and value is not None]
        if isinstance(message, dict) and not isinstance(message.get("content", message.get("value", "")), str):
            more.append("parts" if isinstance(message.get("content"), list) else "no text")
        names.append(f"{role} ({', '.join(more)})" if more else role)
    return ", ".join(names) + (f" with {', '.join(arguments)}" if arguments else "")


def misspelt(template: Reference, variables: Iterable[str]) -> str:
    """Return a line for each variable whose name is probably misspelt.

    A template may get variables that it doesn't read, because the same arguments serve many models. So only a name that
    is very similar to another one is reported.
    """
    # A special token comes from the tokenizer, even if the template doesn't read it.
    unread = [name for name in variables if name not in template.source and not name.endswith("_token")]
    if not unread:
        return ""
    names = [*_ARGUMENTS, *sorted(template.undeclared.difference(variables))]
    suggestions = {name: close_names(name, names, 1, _SIMILARITY) for name in unread}
    return "\n".join(
        f"{name}: the template doesn't read it; did you mean {similar[0]!r}?"
        for name, similar in suggestions.items()
        if similar
    )

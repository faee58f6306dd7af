"""`promptpress.diff` and `promptpress.Diff`, with differences in lines, side by side or not, and in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from html import escape
from itertools import zip_longest
from typing import Any

import pyarrow as pa
from promptpress.engine import TableRenderer, as_table, engine_of
from promptpress.engine.errors import counted, render_error
from promptpress.engine.tables import EXACT
from promptpress.typing import TableLike

from promptpress_workbench.diff.comparison import Comparison, Difference, Group, compare, difference_rows
from promptpress_workbench.diff.differences import Location, Window, text_pairs, windows
from promptpress_workbench.diff.token_changes import TokenChange
from promptpress_workbench.prompts.escapes import cells
from promptpress_workbench.prompts.kinds import described
from promptpress_workbench.prompts.layout import (
    Fragment,
    Layout,
    Line,
    fragments,
    pieces_html,
    plain,
    prompt_html,
    safe,
    span_html,
    text_html,
    wrapped,
)
from promptpress_workbench.prompts.prompt import Prompt, PromptText, request_names
from promptpress_workbench.prompts.prompt_source import PromptSource, TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import source_of
from promptpress_workbench.prompts.stylesheet import STYLESHEET

_MIN_WIDE = 80
"""The fewest cells of a line for two texts side by side."""

_MAX_SHOWN = 3
"""The number of differences on a page of text."""

_MAX_LINES = 13
"""The number of displayed lines of each of two prompts that have nothing in common, with the heading."""

_CHANGES = {
    "role": "another role",
    "fields": "other fields",
    "parts": "another number of parts",
    "form": "a text on one side, messages on the other",
    "error_a": "A can't be rendered",
    "error_b": "B can't be rendered",
    "errors": "neither can be rendered, for different reasons",
    "only_a": "only in A",
    "only_b": "only in B",
}
_STYLE = """\
.pp-diff{margin:0 0 12px}.pp-diff table{border-collapse:collapse;width:100%;table-layout:fixed}
.pp-diff td{vertical-align:top;text-align:left;padding:2px 8px;width:50%;border:1px solid #8884;white-space:normal}
"""
_BRACKETS = {"removed": ("[-", "-]"), "added": ("{+", "+}")}

_AROUND, _MAX_TOKENS = 8, 40
"""The displayed tokens before and after a change, and those of it."""

_MAX_PROMPTS = 3
"""The number of requests whose prompts are kept for printing."""


def summary(comparison: Comparison) -> str:
    """Return the result of a comparison in one line."""
    different = comparison.different
    differs = "none differs" if not different else f"{different:,} differ{'s' * (different == 1)}"
    if different and comparison.has_masks:
        differs += f": {comparison.other_ids:,} in ids, {comparison.other_masks:,} in the mask alone"
    elif comparison.other_masks is not None and not comparison.has_masks:
        differs += " in ids; masks aren't compared (--mask)"
    out = f"{counted(comparison.compared, 'request')} compared, {differs}"
    for side, count in (("A", comparison.only_a), ("B", comparison.only_b)):
        out += f"; {count:,} only in {side}" if count else ""
    errors = {
        "only in A": comparison.errors_a,
        "only in B": comparison.errors_b,
        "for different reasons": comparison.errors_differ,
        "on both sides": comparison.errors_equal,
    }
    listed = ", ".join(f"{count:,} {where}" for where, count in errors.items() if count)
    return out + (f"; can't be rendered: {listed}" if listed else "")


def location_text(location: Location, a: Prompt | None) -> str:
    """Describe the first difference of two prompts, with the message's role if the first side's prompt is given."""
    out = []
    if location.message is not None:
        messages = () if a is None or location.only_in == "B" else a.messages or ()
        role = messages[location.message].role if location.message < len(messages) else None
        out.append(f"message {location.message}" + ("" if role is None else f" ({role})"))
    if location.part is not None:
        out.append(f"part {location.part}")
    if location.tokens is not None:
        return f"{location.tokens.description} ({location.tokens.cause})"
    if location.change == "messages":
        return ", ".join([*out, f"only in {location.only_in}"])
    if location.change != "text":
        return ", ".join([*out, _CHANGES[location.change]])
    out.append(f"byte {location.start:,}, character {location.character:,}")
    pieces = {"A": location.a, "B": location.b}
    origins = ""
    if any(piece is not None and piece.source is not None for piece in pieces.values()):
        texts = (f"{side}: {'its end' if piece is None else described(piece)}" for side, piece in pieces.items())
        origins = f" - {'; '.join(texts)}"
    return ", ".join(out) + origins


@dataclass(frozen=True)
class DiffLayout:
    """Lays out differences, in brackets (`[-removed-]` and `{+added+}`) if there are no colours."""

    layout: Layout
    brackets: bool = True

    @property
    def is_wide(self) -> bool:
        return self.layout.width is not None and self.layout.width >= _MIN_WIDE

    def difference(self, difference: Difference, group: Group | None = None) -> Iterator[Line]:
        """Yield the lines of one difference: the request, the location, and the lines that differ.

        Of the first difference of a group, these are the lines of the group's change alone.
        """
        glyphs = self.layout.glyphs
        names = request_names(difference.sample, difference.label, difference.turn)
        if group is not None and group.count > 1:
            names = [counted(group.count, "row" if len(names) == 1 else "request"), f"first {names[0]}", *names[1:]]
        yield from self.layout.caption(f"{glyphs.line * 2} {f' {glyphs.middle} '.join(names)}", "head")
        yield from self.layout.caption(location_text(difference.location, difference.a), "role")
        if difference.a is None or difference.b is None:
            return
        if difference.location.tokens is not None:
            if difference.location.tokens.cause != "vocabulary":  # there would be nothing but numbers
                yield from self._tokens(difference.location.tokens, difference.a, difference.b)
            return
        if difference.location.change in ("form", "error_a", "error_b", "errors"):
            yield from self._whole_prompts(difference.a, difference.b)
            return
        if self.is_wide:
            yield from self._sides([[Fragment("A", "head")]], [[Fragment("B", "head")]])
        pairs = text_pairs(difference.a, difference.b)
        if group is None:
            yield from self._texts(pairs)
            return
        for pair in pairs:
            text = pair[difference.location.only_in == "B"]
            if text is not None and text.number == difference.location.message and not _are_equal(*pair):
                yield from self._block(*pair)

    def _tokens(self, tokens: TokenChange, a: Prompt, b: Prompt) -> Iterator[Line]:
        """Yield the tokens around a change, on one side below those on the other."""
        for sign, kind, prompt, (start, stop) in (("-", "removed", a, tokens.a), ("+", "added", b, tokens.b)):
            (text,) = prompt.texts()
            cells = text.cells or ()
            around = cells[max(start - _AROUND, 0) : min(stop, start + _MAX_TOKENS) + _AROUND]
            marks = [(cell.start, cell.stop, kind) for cell in cells[start:stop]]
            layout = replace(self.layout, width=None if self.layout.width is None else self.layout.width - 2)
            for line in layout.cells(replace(text, cells=around), marks):
                yield [Fragment(f"{sign} ", "head"), *line]

    def _whole_prompts(self, a: Prompt, b: Prompt) -> Iterator[Line]:
        """Yield two prompts that have nothing in common: one is a text, the other is messages or null."""
        layout = replace(self.layout, width=self._width)
        mine, yours = (list(layout.prompt(prompt))[int(prompt.request is not None) : _MAX_LINES] for prompt in (a, b))
        yield from self._sides(mine, yours)

    def _texts(self, pairs: Iterable[tuple[PromptText | None, PromptText | None]]) -> Iterator[Line]:
        equal = 0
        for mine, yours in pairs:
            if _are_equal(mine, yours):
                equal += 1
                continue
            yield from self._equal(equal)
            equal = 0
            yield from self._block(mine, yours)
        yield from self._equal(equal)

    def _equal(self, count: int) -> Iterator[Line]:
        if count:
            texts = "text that is" if count == 1 else "texts that are"
            yield from self.layout.caption(f"({count} {texts} equal)", "text")

    def _block(self, mine: PromptText | None, yours: PromptText | None) -> Iterator[Line]:
        layout = replace(self.layout, width=self._width)
        sides = (mine, yours)
        heads = [[] if side is None else list(layout.head(side)) for side in sides]
        yield from self._sides(*heads, changed=heads[0] != heads[1])
        for stretches in windows(*(() if side is None else side.pieces for side in sides)):
            pairs = zip(stretches, sides, strict=True)
            texts = ([] if side is None else self._window(window) for window, side in pairs)
            yield from self._sides(*texts, changed=stretches[0].changed)

    def _window(self, window: Window) -> list[Line]:
        layout = self.layout
        ellipsis = layout.glyphs.ellipsis
        before = [Fragment(f"{ellipsis}({counted(window.before, 'character')}) ", "text")] if window.before else []
        after = [Fragment(f" {ellipsis}({counted(window.after, 'character')})", "text")] if window.after else []
        glyphs = layout.glyphs if layout.whitespace else None
        text = list(fragments(window.pieces, whitespace=glyphs, marks=window.marks))
        if self.brackets:
            text = _bracketed(text)
        lines = list(wrapped([*before, *text, *after], self._width))
        return lines[: -1 if lines and not lines[-1] else None]  # the next window begins on a line of its own

    @property
    def _width(self) -> int | None:
        width = self.layout.width
        if width is None:
            return None
        return (width - 3) // 2 if self.is_wide else width - 2

    def _sides(self, mine: list[Line], yours: list[Line], *, changed: bool = True) -> Iterator[Line]:
        if not self.is_wide:
            for sign, lines in (("-", mine), ("+", yours)) if changed else ((" ", mine or yours),):
                for line in lines:
                    yield [Fragment(f"{sign} ", "head"), *line]
            return
        width = self._width or 0
        for left, right in zip_longest(mine, yours, fillvalue=list[Fragment]()):
            used = sum(cells(fragment.text) for fragment in left)
            yield [*left, Fragment(" " * (width - used), "text"), Fragment(" | ", "text"), *right]


def _bracketed(text: list[Fragment]) -> list[Fragment]:
    """Put brackets around marked stretches, which may cross pieces."""
    out: list[Fragment] = []
    open_mark: str | None = None
    for fragment in [*text, Fragment("", "text")]:
        mark = next((mark for mark in _BRACKETS if mark in fragment.marks), None)
        if mark != open_mark:
            if open_mark is not None:
                last, has_line_feed = out[-1], out[-1].text.endswith("\n")
                out[-1] = replace(last, text=last.text[: len(last.text) - has_line_feed])
                out.append(Fragment(_BRACKETS[open_mark][1] + "\n" * has_line_feed, "text"))
            if mark is not None:
                has_line_feed = fragment.text.startswith("\n") and fragment.text != "\n"
                out.append(Fragment("\n" * has_line_feed + _BRACKETS[mark][0], "text"))
                fragment = replace(fragment, text=fragment.text[has_line_feed:])  # noqa: PLW2901 - without what is out
            open_mark = mark
        out.append(fragment)
    return out


def _are_equal(mine: PromptText | None, yours: PromptText | None) -> bool:
    return mine is not None and yours is not None and mine.content == yours.content


def _html(difference: Difference) -> str:
    name = " · ".join(request_names(difference.sample, difference.label, difference.turn))
    head = safe(f"{name}: {location_text(difference.location, difference.a)}")
    rows = ""
    if difference.a is not None and difference.b is not None:
        pairs = text_pairs(difference.a, difference.b)
        rows = "".join(_rows(*pair) for pair in pairs if not _are_equal(*pair))
        if difference.location.change in ("error_a", "error_b", "errors"):
            rows = _row(map(prompt_html, (difference.a, difference.b)))
    table = f"<table>{rows}</table>" if rows else ""
    return f'<div class="pp-diff"><div class="pp-head">{head}</div>{table}</div>'


def _rows(mine: PromptText | None, yours: PromptText | None) -> str:
    """Return the rows of one pair of texts: their roles, then each stretch in which they differ."""
    sides = (mine, yours)
    heads = ["" if side is None or side.message is None else side.message.role or "" for side in sides]
    rows = _row(span_html("role", head) for head in heads) if any(heads) else ""
    for stretches in windows(*(() if side is None else side.pieces for side in sides)):
        rows += _row("" if side is None else _text(window) for window, side in zip(stretches, sides, strict=True))
    return rows


def _row(columns: Iterable[str]) -> str:
    return (
        '<tr style="background:none">'
        + "".join(f'<td style="text-align:left">{cell}</td>' for cell in columns)
        + "</tr>"
    )


def _text(window: Window) -> str:
    left_out = [f"…({counted(count, 'character')})" if count else "" for count in (window.before, window.after)]
    before, after = (span_html("escape", text) if text else "" for text in left_out)
    return text_html(before + pieces_html(window.pieces, marks=window.marks) + after)


@dataclass(frozen=True, eq=False, repr=False)
class Diff:
    r"""The differences between two ways of rendering the same samples; made by `promptpress.diff`.

    It is true if there are differences, and its length is the number of requests that differ. It exports its `rows` by
    the Arrow PyCapsule interface. Notebooks and `print` show it with its first prompts.

    Attributes:
        compared: the number of requests that both sides have.
        different: the number of those that differ, in their prompts or their errors.
        only_a: the number of requests that the second side lacks.
        only_b: the number of requests that the first side lacks.
        errors_a: the number of requests that only the first side can't render.
        errors_b: the number of requests that only the second side can't render.
        errors_differ: the number of requests that neither side can render, for different reasons.
        errors_equal: the number of requests that neither side can render, for the same reason, which is no difference.
        rows: the first requests that differ, at most `limit`, in the order of the samples: `sample` (the row), `label`
            and `turn` if there are any, and `change` (`"text"`, `"role"`, `"fields"`, `"parts"`, `"messages"`,
            `"form"`, `"error_a"`, `"error_b"`, `"errors"`, `"only_a"`, `"only_b"`). `message` and `part` are the
            numbers of the first message and part that differ. `start` is the number of equal bytes before the
            difference of two texts. `a_source`, `a_column`, `b_source` and `b_column` name the origin of each side's
            text there, as `Renderer.explain` does; null at the end of a text, and if origins aren't known.

    >>> import promptpress as pp
    >>> import pyarrow as pa
    >>> samples = pa.table({"q": ["1+1=?", "see {a}"], "a": ["2", "gold"]})
    >>> diff = pp.diff(pp.Renderer("{q}", substitution="harness"), pp.Renderer("{q}"), samples)
    >>> len(diff), diff.compared, diff.rows.select(["sample", "start", "a_column", "b_column"]).to_pylist()
    (1, 2, [{'sample': 1, 'start': 4, 'a_column': 'a', 'b_column': 'q'}])
    >>> diff.different, diff.only_a, diff.only_b
    (1, 0, 0)
    >>> diff.errors_a, diff.errors_b, diff.errors_differ, diff.errors_equal
    (0, 0, 0, 0)
    >>> print(diff)
    2 requests compared, 1 differs
    ── row 1
    byte 4, character 4 - A: filled in from within a value: column a; B: column q
    - see [-gold-]
    + see {+{a}+}
    """

    compared: int
    different: int
    only_a: int
    only_b: int
    errors_a: int
    errors_b: int
    errors_differ: int
    errors_equal: int
    rows: pa.Table
    _comparison: Comparison

    def __bool__(self) -> bool:
        return not self._comparison.is_equal

    def __len__(self) -> int:
        return self.different + self.only_a + self.only_b

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export `rows`."""
        return self.rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Diff: {summary(self._comparison)}>"

    def __str__(self) -> str:
        first = self._comparison.first
        kept = [item for item in first if item.a is not None or item.location.change in ("only_a", "only_b")]
        layout = DiffLayout(Layout())
        lines = [plain(line) for item in kept[:_MAX_SHOWN] for line in layout.difference(item)]
        return "\n".join([summary(self._comparison), *lines])

    def _repr_html_(self) -> str:
        kept = "".join(_html(item) for item in self._comparison.first if item.a is not None or item.b is not None)
        return f"<style>{STYLESHEET}{_STYLE}</style><p>{escape(summary(self._comparison))}</p>{kept}"


def diff(
    a: TableRenderer[Any] | TableLike,
    b: TableRenderer[Any] | TableLike,
    samples: TableLike | None = None,
    *,
    limit: int = 100,
) -> Diff:
    """Compare two ways of rendering the same samples, request by request.

    Requests of the same sample, label and turn are compared with each other. A sample that can't be rendered is
    compared by its error.

    Args:
        a: A renderer, or a rendered table: with a column `prompt`, and `label` or `turn` if there are any.
        b: Another renderer or rendered table.
        samples: The samples for the renderers; not needed if both sides are tables.
        limit: The most requests that `rows` has. All requests that differ are counted.

    Returns:
        The number of requests that differ, and the first of them with the location of the difference.

    Raises:
        TypeError: If a renderer has no samples, or one side is neither a renderer nor a table.
        RenderError: If something is wrong with the whole samples, or if a table has no column of prompts.

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> samples = pa.table({"q": ["1+1=?"]})
    >>> before = Renderer("Q: {q}").render(samples)
    >>> bool(diff(before, Renderer("Q: {q}"), samples)), bool(diff(before, Renderer("Q:{q}"), samples))
    (False, True)
    """
    if limit < 0:
        raise render_error("invalid_number", f"limit: expected a number from 0 on, found {limit}")
    readings = [engine_of(side).value_reading for side in (a, b) if isinstance(side, TableRenderer)]
    is_shared = len({(reading.exact, reading.column) for reading in readings}) == 1
    rows = None if samples is None else TableRows(samples, readings[0] if is_shared else EXACT)
    comparison = compare(_source(a, rows, "a"), _source(b, rows, "b"), limit=limit, prompts=_MAX_PROMPTS)
    names = [of.name for of in fields(Diff)[:-2]]
    counts = {name: getattr(comparison, name) for name in names}
    return Diff(**counts, rows=difference_rows(comparison.first), _comparison=comparison)


def _source(side: Any, rows: TableRows | None, name: str) -> PromptSource:
    if isinstance(side, TableRenderer):
        if rows is None:
            raise TypeError(f"{name}: a Renderer needs samples; give them as the third argument")
        return source_of(side, rows)
    try:
        table = as_table(side)
    except TypeError as error:
        kind = type(side).__name__
        raise TypeError(f"{name}: expected a Renderer or a rendered table, found a {kind}") from error
    return RenderedSource(TableRows(table))

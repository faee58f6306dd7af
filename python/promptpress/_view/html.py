"""Prompts as HTML: in notebooks, in the browser, in files to attach.

Nothing of a prompt is ever markup: texts are escaped, characters that can't be seen are shown, and there is no script.
What is written has classes that begin with `pp-`, which `STYLESHEET` gives looks to, light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from promptpress._view.heading import heading
from promptpress._view.lines import Mark, fragments, trailing
from promptpress._view.origins import described, kind_of, legend
from promptpress._view.prompt import Piece, Prompt
from promptpress._view.visible import UNICODE, one_line

__all__ = ["COLORS", "STYLESHEET", "legend_html", "pieces_html", "prompt_html", "stylesheet_under"]

COLORS = {  # kind: text and background, light; text and background, dark
    "template": ("#0b4f9e", "#e8f0fb", "#9ec5ff", "#16263d"),
    "column": ("#14602f", "#e2f5e8", "#8fe0a8", "#12301d"),
    "example": ("#7a2f86", "#f7e9f9", "#e3a7ee", "#331c38"),
    "example_column": ("#5b2a9d", "#eee6fb", "#c9aefc", "#281d42"),
    "meta": ("#7a5200", "#fdf1d6", "#f0c871", "#362a10"),
    "separator": ("#4b5563", "#eceef1", "#b3bac5", "#262b33"),
    "masked": ("#a01226", "#fde6e9", "#ffa3af", "#40171d"),
}


def _rules(theme: int) -> str:
    kinds = " ".join(
        f".pp-{kind}{{color:{colors[2 * theme]};background:{colors[2 * theme + 1]}}}" for kind, colors in COLORS.items()
    )
    frame, ink, quiet = (("#d5d9df", "#1c2430", "#5d6673"), ("#3b424d", "#e3e7ed", "#98a2b0"))[theme]
    match, added, removed = (("#ffe27a", "#9be5ae", "#ffb3bb"), ("#7a6200", "#1d6b37", "#8a2533"))[theme]
    return (
        f".pp-prompt,.pp-legend{{color:{ink};border-color:{frame}}} .pp-head,.pp-role,.pp-field{{color:{quiet}}} "
        f".pp-message{{border-color:{frame}}} {kinds} .pp-match{{background:{match}}} .pp-added{{background:{added}}} "
        f".pp-removed{{background:{removed}}} .pp-escape{{color:{quiet}}}"
    )


def _under(selector: str, rules: str) -> str:
    """Rules for what stands under a selector."""
    out = []
    for rule in rules.split("} "):
        names, _, body = rule.rstrip("}").partition("{")
        out.append(",".join(f"{selector} {name}" for name in names.split(",")) + "{" + body + "}")
    return " ".join(out)


_DARK = _rules(1)

STYLESHEET = f"""\
.pp-prompt{{border:1px solid;border-radius:6px;margin:0 0 12px;padding:8px 10px;text-align:left;max-width:100%}}
.pp-head{{font:12px system-ui,sans-serif;margin:0 0 6px}}
.pp-message{{border-left:3px solid;padding:0 0 0 8px;margin:6px 0}}
.pp-role{{font:600 12px system-ui,sans-serif}}
.pp-field{{font:12px system-ui,sans-serif;margin:0 0 0 8px}}
.pp-text{{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:0;\
padding:0;background:none;border:0;unicode-bidi:isolate}}
.pp-piece{{border-radius:2px;unicode-bidi:isolate}}
.pp-masked-place{{font-size:11px;padding:0 3px;border:1px dashed}}
.pp-escape{{font-size:85%;opacity:.85}}
.pp-trailing{{outline:1px solid}}
.pp-legend{{font:12px system-ui,sans-serif;margin:0 0 8px}}
.pp-legend .pp-piece{{padding:0 4px;margin:0 8px 0 0}}
{_rules(0)}
@media (prefers-color-scheme:dark){{{_DARK}}}
{_under('[data-jp-theme-light="true"]', _rules(0))}
{_under('[data-jp-theme-light="false"]', _DARK)}
{_under("body.vscode-light", _rules(0))}
{_under("body.vscode-dark", _DARK)}
"""
"""The looks of what this module writes: for a `<style>` element, once a page."""


def stylesheet_under(light: str, dark: str) -> str:
    """Give the looks of what this module writes for a page that says itself whether it is dark.

    Args:
        light: A selector under which the page is light.
        dark: One under which it is dark.

    Returns:
        A stylesheet that doesn't ask what the system prefers.

    >>> "prefers-color-scheme" in stylesheet_under(".light", ".dark")
    False

    """
    layout = STYLESHEET.partition(_rules(0))[0]
    return f"{layout}{_under(light, _rules(0))}\n{_under(dark, _DARK)}\n"


def pieces_html(pieces: Iterable[Piece], *, marks: Sequence[Mark] = (), whitespace: bool = False) -> str:
    """Write a text's pieces.

    Args:
        pieces: The text.
        marks: Stretches that are marked, by characters: class `pp-match`, `pp-added`, `pp-removed`.
        whitespace: Whether white space is shown.

    Returns:
        A span for each piece, with `title`, `data-source`, `data-column`, `data-example` and `data-role`.

    >>> print(pieces_html([Piece("<b>", "field", "q")]))
    <span class="pp-piece pp-column" title="column q" data-source="field" data-column="q">&lt;b&gt;</span>

    """
    out = []
    at = 0
    every = list(pieces)
    all_marks = [*marks, *(trailing(every) if whitespace else ())]
    for piece in every:
        end = at + len(piece.text)
        here = [mark for mark in all_marks if mark[0] < end and mark[1] > at]
        own = [(max(start, at) - at, min(stop, end) - at, what) for start, stop, what in here]
        at = end
        inner = ""
        for part in fragments([piece], marks=own, whitespace=UNICODE if whitespace else None, show_masked=True):
            text = escape(part.text)
            classes = " ".join(f"pp-{mark}" for mark in sorted(part.marks))
            inner += f'<span class="{classes}">{text}</span>' if classes else text
        out.append(_piece(piece, inner))
    return "".join(out)


def prompt_html(
    prompt: Prompt,
    *,
    marks: Sequence[tuple[int | None, int | None, Mark]] = (),
    whitespace: bool = False,
    head: str | None = None,
) -> str:
    """Write a prompt.

    Args:
        prompt: The prompt.
        marks: Marks with the numbers of message and part that they are in, None and None for a bare text.
        whitespace: Whether white space is shown.
        head: What stands above it; None: its row, label, turn and sizes.

    Returns:
        A `div` of class `pp-prompt`, for a page that has `STYLESHEET`.

    >>> "1+1=?" in prompt_html(Prompt(0, "1+1=?", (Piece("1+1=?", "field", "q"),)))
    True

    """
    above = escape(one_line(heading(prompt) if head is None else head))
    out = [f'<div class="pp-prompt"><div class="pp-head">{above}</div>']
    open_message: int | None = None
    for number, part, pieces in prompt.texts():
        own = [mark for message, at, mark in marks if (message, at) == (number, part)]
        text = f'<pre class="pp-text">{pieces_html(pieces, marks=own, whitespace=whitespace)}</pre>'
        if number is None:
            out.append(text)
            continue
        message = (prompt.messages or ())[number]
        if number != open_message:
            out.append("" if open_message is None else "</div>")
            role = "" if message.role is None else f'<span class="pp-role">{escape(one_line(message.role))}</span>'
            out.append(f'<div class="pp-message">{role}{_fields(message.fields)}')
            open_message = number
        if part is not None:
            shown = message.parts[part]
            out.append(f'<span class="pp-role">{escape(one_line(shown.kind))}</span>{_fields(shown.fields)}')
        out.append(text)
    out.append("</div>" if open_message is None else "</div></div>")
    return "".join(out)


def legend_html(prompts: Iterable[Prompt]) -> str:
    """Write what the colours of some prompts mean.

    Args:
        prompts: Those that are shown.

    Returns:
        A `div` of class `pp-legend`; nothing where no origin is known.

    """
    entries = legend(piece for prompt in prompts for piece in prompt.all_pieces())
    spans = "".join(f'<span class="pp-piece pp-{kind}">{escape(one_line(name))}</span>' for kind, name in entries)
    return f'<div class="pp-legend">{spans}</div>' if spans else ""


def _piece(piece: Piece, inner: str) -> str:
    kind = kind_of(piece)
    place = " pp-masked-place" if piece.masked and not piece.text else ""
    data: dict[str, Any] = {
        "source": piece.source,
        "column": piece.column,
        "example": piece.example,
        "role": piece.role,
    }
    given = "".join(f' data-{name}="{_attribute(value)}"' for name, value in data.items() if value is not None)
    title = "" if piece.source is None else f' title="{_attribute(described(piece))}"'
    return f'<span class="pp-piece pp-{kind}{place}"{title}{given}>{inner}</span>'


def _attribute(value: object) -> str:
    return escape(one_line(str(value)), quote=True)


def _fields(fields: Iterable[tuple[str, Any]]) -> str:
    said = [f"{name}: {value}" for name, value in fields]
    return "".join(f'<span class="pp-field">{escape(one_line(text))}</span>' for text in said)

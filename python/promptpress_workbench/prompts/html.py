"""Prompts as HTML: for notebooks, the browser and files to attach.

Nothing of a prompt is ever markup: texts are escaped, characters that can't be seen are shown, and there is no script.
All classes begin with `pp-`; `STYLESHEET` styles them, light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from promptpress_workbench.prompts.escapes import UNICODE, one_line
from promptpress_workbench.prompts.kinds import caption, shown_kind, shown_legend, with_speakers
from promptpress_workbench.prompts.layout import Mark, TextMark, fragments, marks_of_text, trailing
from promptpress_workbench.prompts.prompt import Piece, Prompt, PromptText, heading

COLORS = {  # kind: text and background of the light theme, then of the dark one
    "template": ("#0b4f9e", "#e8f0fb", "#9ec5ff", "#16263d"),
    "column": ("#14602f", "#e2f5e8", "#8fe0a8", "#12301d"),
    "example": ("#7a2f86", "#f7e9f9", "#e3a7ee", "#331c38"),
    "example_column": ("#5b2a9d", "#eee6fb", "#c9aefc", "#281d42"),
    "meta": ("#7a5200", "#fdf1d6", "#f0c871", "#362a10"),
    "separator": ("#4b5563", "#eceef1", "#b3bac5", "#262b33"),
    "masked": ("#a01226", "#fde6e9", "#ffa3af", "#40171d"),
    "filled": ("#7f1d1d", "#fecaca", "#ffe1e1", "#8f1d1d"),
    "control": ("#9d174d", "#fdf2f8", "#f9a8d4", "#2e1522"),
    "system": ("#7a5200", "#fdf1d6", "#f0c871", "#362a10"),
    "user": ("#14602f", "#e2f5e8", "#8fe0a8", "#12301d"),
    "assistant": ("#5b2a9d", "#eee6fb", "#c9aefc", "#281d42"),
    "tool": ("#0e5a66", "#def3f6", "#7fd6e2", "#0f2d33"),
}

_FONT = "13px/1.5 ui-monospace,SF Mono,Cascadia Mono,DejaVu Sans Mono,Menlo,Consolas,monospace"


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
    """Put rules under a selector."""
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
.pp-text{{font:{_FONT};white-space:pre-wrap;overflow-wrap:anywhere;margin:0;\
padding:0;background:none;border:0;unicode-bidi:isolate}}
.pp-piece{{border-radius:2px;unicode-bidi:isolate}}
.pp-filled{{outline:1.5px solid #dc2626}}
.pp-masked-place{{font-size:11px;padding:0 3px;border:1px dashed}}
.pp-escape{{font-size:85%;opacity:.85}}
.pp-trailing{{outline:1px solid}}
.pp-legend{{font:12px system-ui,sans-serif;margin:0 0 8px}}
.pp-legend .pp-piece{{display:inline-block;padding:0 4px;margin:0 8px 4px 0}}
{_rules(0)}
@media (prefers-color-scheme:dark){{{_DARK}}}
{_under('[data-jp-theme-light="true"]', _rules(0))}
{_under('[data-jp-theme-light="false"]', _DARK)}
{_under("body.vscode-light", _rules(0))}
{_under("body.vscode-dark", _DARK)}
"""
"""The stylesheet of this module's HTML: for a `<style>` element, once a page."""


def stylesheet_under(light: str, dark: str) -> str:
    """Return a stylesheet for a page that has one selector if it is light and another if it is dark."""
    layout = STYLESHEET.partition(_rules(0))[0]
    return f"{layout}{_under(light, _rules(0))}\n{_under(dark, _DARK)}\n"


def pieces_html(pieces: Iterable[Piece], *, marks: Sequence[Mark] = (), whitespace: bool = False) -> str:
    """Return the pieces of a text as spans with `title` and `data-` attributes for their origins.

    Marks have the classes `pp-match`, `pp-added` and `pp-removed`. If `whitespace` is true, white space is shown.
    """
    out = []
    position = 0
    pieces = list(pieces)
    marks = [*marks, *(trailing(pieces) if whitespace else ())]
    for piece in pieces:
        begin, position = position, position + len(piece.text)
        piece_marks = [
            (max(start, begin) - begin, min(stop, position) - begin, kind)
            for start, stop, kind in marks
            if start < position and stop > begin
        ]
        inner = ""
        for part in fragments([piece], marks=piece_marks, whitespace=UNICODE if whitespace else None, show_masked=True):
            text = escape(part.text)
            classes = " ".join(f"pp-{mark}" for mark in sorted(part.marks))
            inner += f'<span class="{classes}">{text}</span>' if classes else text
        out.append(_piece(piece, inner))
    return "".join(out)


def text_html(inner: str) -> str:
    """Return the HTML of pieces as a block of text.

    The font is set on the element itself, because notebooks have rules for `pre` that win over a class.
    """
    return f'<pre class="pp-text" style="font:{_FONT};text-align:left;word-break:normal">{inner}</pre>'


def prompt_html(
    prompt: Prompt, *, marks: Sequence[TextMark] = (), whitespace: bool = False, head: str | None = None
) -> str:
    """Return a prompt as a `div` of class `pp-prompt`, for a page that has `STYLESHEET`.

    `head` is the text above the prompt. If it is None, it is the prompt's `heading`.
    """
    out = [f'<div class="pp-prompt"><div class="pp-head">{safe(heading(prompt) if head is None else head)}</div>']
    for text in with_speakers(prompt).texts():
        out.append(block_html(text, marks_of_text(marks, text), whitespace=whitespace))
    return "".join([*out, "</div>"])


def block_html(text: PromptText, marks: Sequence[Mark] = (), *, whitespace: bool = False) -> str:
    """Return one text of a prompt, below the role of its message and the kind of its part if it has them."""
    block = text_html(pieces_html(text.pieces, marks=marks, whitespace=whitespace))
    if (message := text.message) is None:
        return block
    head = "" if text.part or message.role is None else span_html("role", message.role)
    head += "" if text.part else _fields(message.fields)
    if text.part is not None:
        part = message.parts[text.part]
        head += span_html("role", part.kind) + _fields(part.fields)
    return f'<div class="pp-message">{head}{block}</div>'


def legend_html(prompts: Iterable[Prompt]) -> str:
    """Return a `div` of class `pp-legend` that explains the colours of some prompts; nothing if nothing is known."""
    spans = "".join(span_html(f"piece pp-{kind}", name) for kind, name in shown_legend(prompts))
    return f'<div class="pp-legend">{spans}</div>' if spans else ""


def _piece(piece: Piece, inner: str) -> str:
    masked = " pp-masked-place" if piece.masked and not piece.text else ""
    text = caption(piece)
    title = "" if text is None else f' title="{safe(text)}"'
    values = {name: getattr(piece, name) for name in ("source", "column", "example", "role")}
    data = "".join(f' data-{name}="{safe(value)}"' for name, value in values.items() if value is not None)
    return f'<span class="pp-piece pp-{shown_kind(piece)}{masked}"{title}{data}>{inner}</span>'


def span_html(kind: str, text: str) -> str:
    return f'<span class="pp-{kind}">{safe(text)}</span>'


def _fields(fields: Iterable[tuple[str, Any]]) -> str:
    return "".join(span_html("field", f"{name}: {value}") for name, value in fields)


def safe(text: object) -> str:
    """Return a name, a label or another short text on one line, for an element or an attribute."""
    return escape(one_line(str(text)))

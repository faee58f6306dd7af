"""The stylesheet of prompts in HTML, light and dark: the colours of kinds of pieces, and the looks of tokens."""

from __future__ import annotations

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
TRAINED = ("#ffd591", "#7a4a00")
"""The grounds of trained tokens, light and dark."""
FONT = "13px/1.5 ui-monospace,SF Mono,Cascadia Mono,DejaVu Sans Mono,Menlo,Consolas,monospace"


def _rules(theme: int) -> str:
    kinds = " ".join(
        f".pp-{kind}{{color:{colors[2 * theme]};background:{colors[2 * theme + 1]}}}" for kind, colors in COLORS.items()
    )
    frame, ink, quiet = (("#d5d9df", "#1c2430", "#5d6673"), ("#3b424d", "#e3e7ed", "#98a2b0"))[theme]
    match, added, removed = (("#ffe27a", "#9be5ae", "#ffb3bb"), ("#7a6200", "#1d6b37", "#8a2533"))[theme]
    trained = TRAINED[theme]
    return (
        f".pp-prompt,.pp-legend{{color:{ink};border-color:{frame}}} .pp-head,.pp-role,.pp-field{{color:{quiet}}} "
        f".pp-message{{border-color:{frame}}} {kinds} .pp-match{{background:{match}}} .pp-added{{background:{added}}} "
        f".pp-removed{{background:{removed}}} .pp-escape{{color:{quiet}}} "
        f".pp-cell{{background:none;border-color:{frame}}} .pp-trained{{background:{trained}}} "
        f".pp-wrong{{background:{removed}}}"
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
.pp-text{{font:{FONT};white-space:pre-wrap;overflow-wrap:anywhere;margin:0;\
padding:0;background:none;border:0;unicode-bidi:isolate}}
.pp-piece{{border-radius:2px;unicode-bidi:isolate}}
.pp-filled{{outline:1.5px solid #dc2626}}
.pp-masked-place{{font-size:11px;padding:0 3px;border:1px dashed}}
.pp-escape{{font-size:85%;opacity:.85}}
.pp-trailing{{outline:1px solid}}
.pp-cell{{border:1px solid;border-radius:3px;padding:0 1px;margin:0 1px 0 0}}
.pp-cell.pp-control{{font-weight:600}} .pp-padding{{opacity:.45}} .pp-cell sub{{font-size:70%;opacity:.75}}
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

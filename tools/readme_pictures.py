"""Draws docs/prompt.svg and docs/leak.svg: prompts coloured by where each piece comes from, as README shows them.

    python tools/readme_pictures.py [--check]

What is drawn is what `explain` and `divergence` say of the files in examples/start. With `--check` nothing is written:
the exit code is 1 if a picture isn't what would be drawn.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import yaml
from pyarrow import csv

PROJECT = Path(__file__).resolve().parents[1]
START = PROJECT / "examples" / "start"
DOCS = PROJECT / "docs"
SHOTS_ROW, LEAK_ROW = 6, 17

WIDTH, MARGIN, STEP, HEIGHT = 840, 20, 8.4, 24
COLUMNS = int((WIDTH - 2 * MARGIN) / STEP)

# Tints for the ground, and one colour of text: so what is read doesn't hang on the tint. The second is for dark pages.
TINTS = {
    "template": ("#e5e7eb", "#3f4652"),
    "column": ("#bfdbfe", "#1d4a8a"),
    "example": ("#bbf7d0", "#14603a"),
    "meta template": ("#e9d5ff", "#5b3a8c"),
    "masked": ("#fde68a", "#8a5a0a"),
    "leaked answer": ("#fecaca", "#a11d1d"),
}
# Paper, text, and what is said around it.
LIGHT, DARK = ("#ffffff", "#111827", "#6b7280"), ("#0d1117", "#f3f4f6", "#9ca3af")


@dataclass
class Run:
    """A stretch of one line that has one origin."""

    text: str
    kind: str


@dataclass
class Panel:
    """A prompt under a line of words."""

    title: str
    runs: list[Run]
    lines: list[list[Run]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = lines_of(self.runs)


def main(arguments: list[str]) -> int:
    """Draw both, or look whether they would be the same."""
    pictures = {"prompt.svg": shots(), "leak.svg": leak()}
    stale = [name for name, text in pictures.items() if not is_same(DOCS / name, text)]
    if "--check" in arguments:
        for name in stale:
            print(f"docs/{name} isn't what `python tools/readme_pictures.py` draws", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(pictures[name], encoding="utf-8")
    print("drawn:", ", ".join(stale) or "nothing new")
    return 0


def is_same(path: Path, text: str) -> bool:
    """Whether a file holds this."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def shots() -> str:
    """A chat model's prompt with three examples."""
    renderer = pp.Renderer(
        **loaded("shots.yaml"), examples=table("solved.csv"), meta_template=loaded("chat_model.yaml")
    )
    samples = table("questions.csv")
    runs, size = coloured(renderer, samples, SHOTS_ROW)
    examples = len(renderer.retrieve(1)[0])
    title = f"row {SHOTS_ROW} of {len(samples)}: {size} bytes, {examples} examples"
    return drawn([Panel(title, runs)], "A prompt by origin")


def leak() -> str:
    """The row in which a value brings the answer in, and the same row without."""
    samples = table("questions.csv")
    template = "Q: {question}\nA:"
    found = pp.Renderer(template).divergence(samples).to_pylist()
    assert [one["row"] for one in found] == [LEAK_ROW]
    columns = ", ".join(found[0]["columns"])
    where = f"row {LEAK_ROW} of {len(samples)}"
    said = {
        "harness": f"{where}: a placeholder in `{columns}` was filled, and so the answer is in the prompt",
        "single_pass": 'the same row with substitution="single_pass"',
    }
    panels = []
    for substitution, title in said.items():
        renderer = pp.Renderer(template, substitution=substitution)
        runs, _ = coloured(renderer, samples, LEAK_ROW, leaked="answer")
        panels.append(Panel(title, runs))
    return drawn(panels, "An answer that leaked into a prompt")


def loaded(name: str) -> Any:
    """A configuration of examples/start."""
    return yaml.safe_load((START / name).read_text(encoding="utf-8"))


def table(name: str) -> pa.Table:
    """A table of examples/start."""
    return csv.read_csv(START / name)


def coloured(renderer: pp.Renderer, samples: pa.Table, row: int, leaked: str | None = None) -> tuple[list[Run], int]:
    """One prompt as runs of one origin, and its size in bytes."""
    prompt = renderer.render(samples)["prompt"][row].as_py().encode()
    runs = []
    for span in renderer.explain(samples, row).to_pylist():
        text = prompt[span["start"] : span["end"]].decode()
        runs.append(Run(text, "leaked answer" if leaked and span["column"] == leaked else kind_of(span)))
    return runs, len(prompt)


def kind_of(span: dict[str, Any]) -> str:
    """What a span of `explain` is drawn as."""
    if span["source"].startswith(("role.", "meta_template.")):
        return "meta template"
    if span["source"] == "masked":
        return "masked"
    if span["example"] is not None:
        return "example"
    return "column" if span["column"] is not None else "template"


def lines_of(runs: list[Run]) -> list[list[Run]]:
    """Lines as the prompt has them, broken where the picture ends; a line's end is shown."""
    lines: list[list[Run]] = [[]]
    room = COLUMNS
    for run in runs:
        for piece in run.text.replace("\n", "↵\n").splitlines(keepends=True):
            text = piece.rstrip("\n")
            while text:
                lines[-1].append(Run(text[:room], run.kind))
                text, room = text[room:], room - len(text[:room])
                if text:
                    lines.append([])
                    room = COLUMNS
            if piece.endswith("\n"):
                lines.append([])
                room = COLUMNS
    return lines


def drawn(panels: list[Panel], name: str) -> str:
    """The picture, and below it the origins that occur."""
    drawn_kinds = {run.kind for panel in panels for run in panel.runs}
    legend = [kind for kind in TINTS if kind in drawn_kinds]
    parts: list[str] = []
    y = MARGIN
    for panel in panels:
        parts.append(f'<text class="said" x="{MARGIN}" y="{y + 15}">{escape(panel.title)}</text>')
        y += 28
        for line in panel.lines:
            x = float(MARGIN)
            for run in line:
                parts.append(run_of(run, x, y))
                x += STEP * len(run.text)
            y += HEIGHT
        y += 14
    x = float(MARGIN)
    for kind in legend:
        parts.append(f'<rect class="{css(kind)}" x="{x:.1f}" y="{y}" width="14" height="14" rx="3"/>')
        parts.append(f'<text class="said" x="{x + 20:.1f}" y="{y + 12}">{kind}</text>')
        x += 20 + 8.0 * len(kind) + 24
    height = y + 14 + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            f' role="img" aria-label="{escape(name)}">',
            f"<style>{style()}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height}" rx="8"/>',
            *parts,
            "</svg>\n",
        ]
    )


def run_of(run: Run, x: float, y: int) -> str:
    """One run: its ground, and its text stretched to the ground's width, whatever the font."""
    width = STEP * len(run.text)
    ground = f'<rect class="{css(run.kind)}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT - 3}" rx="3"/>'
    return (
        f'{ground}<text class="code" xml:space="preserve" x="{x:.1f}" y="{y + 15}" textLength="{width:.1f}"'
        f' lengthAdjust="spacingAndGlyphs">{escape(run.text)}</text>'
    )


def css(kind: str) -> str:
    """A kind as the name of a class."""
    return kind.replace(" ", "-")


def style() -> str:
    """Both colour schemes, and fonts that every system has."""
    rules = [
        '.code{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}',
        ".said{font:13px system-ui,sans-serif}",
        ".leaked-answer{stroke-width:1.5}",
    ]
    for dark in (False, True):
        paper, ink, faint = DARK if dark else LIGHT
        scheme = f".paper{{fill:{paper}}}.code{{fill:{ink}}}.said{{fill:{faint}}}"
        scheme += "".join(f".{css(kind)}{{fill:{tints[dark]}}}" for kind, tints in TINTS.items())
        scheme += f".leaked-answer{{stroke:{'#f87171' if dark else '#b91c1c'}}}"
        rules.append(f"@media(prefers-color-scheme:dark){{{scheme}}}" if dark else scheme)
    return "".join(rules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

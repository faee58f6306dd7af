"""Draws the pictures of README and docs/start.md: prompts coloured by origin, and the tokens that are trained.

    python tools/readme_pictures.py [--check]

The lines, the colours, the legend and the warning are those that `promptpress show`, a page and a run give for the
files in examples/start; this tool only puts them into SVG. With `--check` nothing is written: the exit code is 1 if a
picture isn't what would be drawn.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import yaml
from promptpress.engine.tokens import TokenSettings, load_tokenizer
from promptpress_workbench.prompts.layout import Layout, Line
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import source_of
from promptpress_workbench.prompts.stylesheet import COLORS, TRAINED
from promptpress_workbench.prompts.tokenized import TokenView
from pyarrow import csv

PROJECT = Path(__file__).resolve().parents[1]
START = PROJECT / "examples" / "start"
DOCS = PROJECT / "docs"
SHOTS_ROW, LEAK_ROW = 6, 17

CALLS = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'tool' %}<tool_response>{{ m.content }}</tool_response>{% else %}{{ m.content }}{% endif %}
{%- for call in m.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}"""
"""A chat template that writes calls of tools as Qwen's do."""
TALK = [
    {"role": "user", "content": "How many edges has a cube?"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "edges", "arguments": {"of": "cube"}}}]},
    {"role": "tool", "content": "12"},
    {"role": "assistant", "content": "A cube has 12 edges."},
]

WIDTH, MARGIN, STEP, HEIGHT = 840, 20, 8.4, 24
LAYOUT = Layout(int((WIDTH - 2 * MARGIN) / STEP), is_colored=True)
CAPTION_WIDTH = 110

# Paper, text and captions of a light page and of a dark one.
PAGES = (("#ffffff", "#1c2430", "#5d6673"), ("#0d1117", "#e3e7ed", "#98a2b0"))


def main(arguments: list[str]) -> int:
    """Draw all, or look whether they would be the same."""
    pictures = {"prompt.svg": shots(), "leak.svg": leak(), "trained.svg": trained()}
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
    """Return true if a file holds this content."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def shots() -> str:
    """Draw a chat model's prompt with three examples."""
    renderer = pp.Renderer(
        **loaded("shots.yaml"), examples=table("solved.csv"), meta_template=loaded("chat_model.yaml")
    )
    prompt = prompt_of(renderer, table("questions.csv"), SHOTS_ROW)
    return drawn([*LAYOUT.prompt(prompt)], [prompt], "A prompt by origin")


def leak() -> str:
    """Draw the row in which a value's placeholder was filled in, what the run says of it, and the untouched row."""
    samples = table("questions.csv")
    lines: list[Line] = []
    prompts = []
    for substitution in ("harness", "single_pass"):
        renderer = pp.Renderer("Q: {question}\nA:", substitution=substitution)
        prompts.append(prompt_of(renderer, samples, LEAK_ROW))
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            renderer.render(samples)
        for text in (f'substitution="{substitution}"', *(f"warning: {each.message}" for each in given)):
            lines += Layout(CAPTION_WIDTH).caption(text, "head")
        lines += [*LAYOUT.prompt(prompts[-1]), []]
    return drawn(lines[:-1], prompts, "A value whose placeholder was filled in")


def trained() -> str:
    """Draw the tokens of a conversation in which the assistant calls a tool."""
    template = pp.ChatTemplate(CALLS)
    source = source_of(template, TableRows(pa.Table.from_pylist([{"messages": TALK}])))
    view = TokenView(load_tokenizer(START / "model"), TokenSettings(mask="assistant+end"))
    (prompt,) = view.with_cells(source, source.prompts(0))
    return drawn([*LAYOUT.prompt(prompt)], [prompt], "The tokens of a conversation, with those that are trained")


def loaded(name: str) -> Any:
    """Read a configuration of examples/start."""
    return yaml.safe_load((START / name).read_text(encoding="utf-8"))


def table(name: str) -> pa.Table:
    """Read a table of examples/start."""
    return csv.read_csv(START / name)


def prompt_of(renderer: pp.Renderer, samples: pa.Table, row: int) -> Prompt:
    """Return a row's prompt with the origins of its pieces."""
    (prompt,) = source_of(renderer, TableRows(samples)).prompts(row)
    return prompt


def drawn(lines: Iterable[Line], prompts: list[Prompt], name: str) -> str:
    """Draw lines, and below them the legend of the prompts."""
    parts: list[str] = []
    y = MARGIN
    for line in lines:
        parts += line_of(line, y)
        y += HEIGHT if line else HEIGHT // 2
    y += HEIGHT // 2
    for line in LAYOUT.legend(prompts):
        parts += line_of(line, y)
        y += HEIGHT
    height = y + MARGIN - 3
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


def line_of(line: Line, y: int) -> Iterable[str]:
    """Draw a line: each fragment's ground, and its text stretched to the ground's width, whatever the font."""
    x = float(MARGIN)
    for fragment in line:
        width = STEP * len(fragment.text)
        if fragment.kind not in COLORS and "trained" not in fragment.marks:
            yield f'<text class="said" xml:space="preserve" x="{x:.1f}" y="{y + 15}">{escape(fragment.text)}</text>'
        else:
            kind = "trained" if "trained" in fragment.marks else fragment.kind
            ground = f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT - 3}" rx="3"/>'
            yield (
                f'{ground}<text class="code {fragment.kind}-text" xml:space="preserve" x="{x:.1f}" y="{y + 15}"'
                f' textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">{escape(fragment.text)}</text>'
            )
        x += width


def style() -> str:
    """Return both colour schemes, and fonts that every system has."""
    rules = [
        '.code{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}',
        ".said{font:13px system-ui,sans-serif}",
        ".filled{stroke:#dc2626;stroke-width:1.5}",
    ]
    for dark, (paper, ink, faint) in enumerate(PAGES):
        scheme = f".paper{{fill:{paper}}}.code{{fill:{ink}}}.said{{fill:{faint}}}"
        for kind, colors in COLORS.items():
            text, ground = colors[2 * dark : 2 * dark + 2]
            scheme += f".{kind}{{fill:{ground}}}.{kind}-text{{fill:{text}}}"
        scheme += f".trained{{fill:{TRAINED[dark]}}}"
        rules.append(f"@media(prefers-color-scheme:dark){{{scheme}}}" if dark else scheme)
    return "".join(rules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

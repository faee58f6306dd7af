# ruff: noqa: RUF001 - Chinese has commas and brackets of its own
"""Writes README's table of rates, here and in Chinese, from the page that `make bench` wrote.

    python tools/readme_figures.py [--check]

No figure is written by hand: each stands in docs/benchmarks.md. With `--check` nothing is written: the exit code is 1
if a table isn't what that page says.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCE = PROJECT / "docs" / "benchmarks.md"
OURS, THEIRS = "promptpress", "OpenCompass"
BLOCK = re.compile(r"(<!-- figures: .*? -->\n).*?(<!-- /figures -->)", re.DOTALL)
PAGE_URL = "https://github.com/promptpress/promptpress/blob/main/docs/benchmarks.md"

WORDS = {
    "README.md": {
        "head": f"| samples in memory | {OURS}, samples/s | {THEIRS}, samples/s | times as fast |",
        "zero": "one text, no examples",
        "five-text": "five examples, a dialogue as text",
        "five-messages-view": 'five examples, as messages (`strings="string_view"`)',
        "ppl": "four labels a sample, a dialogue as text",
        "end": f"`render` on {{cores}} cores ({{machine}}); {THEIRS} on one, as it runs, its rate from fewer samples.\n"
        f"[docs/benchmarks.md]({PAGE_URL}) has all of it.",
    },
    "README.zh-CN.md": {
        "head": f"| 内存中的样本 | {OURS}（条/秒） | {THEIRS}（条/秒） | 倍数 |",
        "zero": "单个文本模板，零样本",
        "five-text": "5-shot，对话模板，输出文本",
        "five-messages-view": '5-shot，输出消息（`strings="string_view"`）',
        "ppl": "每条样本四个标签（ppl），对话模板，输出文本",
        "end": f"{OURS} 用 `render`，{{cores}} 个核（{{machine}}）；"
        f"{THEIRS} 按其本来的方式单线程运行，速率由较少的样本测得。"
        "全部数据见 [docs/benchmarks.md](docs/benchmarks.md)。",
    },
}
WORKLOADS = ("zero", "five-text", "five-messages-view", "ppl")


def main(arguments: list[str]) -> int:
    """Write the tables, or look whether they would be the same."""
    page = SOURCE.read_text(encoding="utf-8")
    stale = []
    for name, words in WORDS.items():
        path = PROJECT / name
        text = path.read_text(encoding="utf-8")
        table = written(page, words)
        if len(BLOCK.findall(text)) != 1:
            print(f"{name}: no place for the table, <!-- figures: ... --> to <!-- /figures -->", file=sys.stderr)
            return 1
        new = BLOCK.sub(lambda match, table=table: f"{match[1]}{table}{match[2]}", text)
        if new != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
    if "--check" in arguments:
        for name in stale:
            print(f"{name}: not the figures of docs/benchmarks.md; python tools/readme_figures.py", file=sys.stderr)
        return 1 if stale else 0
    print("written:", ", ".join(stale) or "nothing new")
    return 0


def written(page: str, words: dict[str, str]) -> str:
    """The table and the line below it."""
    lines = [words["head"], "|---|---:|---:|---:|"]
    for workload in WORKLOADS:
        rows = rates(page, workload)
        times = rows[THEIRS]["promptpress: times as fast"]
        lines.append(f"| {words[workload]} | {rows[OURS]['rows/s']} | {rows[THEIRS]['rows/s']} | {times} |")
    machine = re.search(r"^- Machine: (.*?), (\d+) cores", page, re.MULTILINE)
    if machine is None:
        raise ValueError("docs/benchmarks.md doesn't say which machine it was")
    name = machine[1].replace("(R)", "")
    return "\n".join([*lines, "", words["end"].format(machine=name, cores=machine[2])]) + "\n"


def rates(page: str, workload: str) -> dict[str, dict[str, str]]:
    """The rows of a workload's table by peer, their cells by the heads of their columns."""
    section = re.search(rf"^### {re.escape(workload)}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError(f"docs/benchmarks.md has no workload {workload}")
    lines = [line.strip("|\n") for line in section[1].splitlines() if line.startswith("|")]
    heads, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return {row[0]: dict(zip(heads, row, strict=False)) for row in rows}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

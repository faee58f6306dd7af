"""The pages of `make bench`, of results that are made up."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
IDLE, BUSY = [[0.05, 0.05]] * 3, [[0.05, 0.05], [0.08, 0.05], [0.05, 0.05]]
RATED = ("zero", "five-text", "five-messages", "five-messages-view", "ppl")
RATES = (("promptpress", "ours"), ("copy limit, fresh", "limit"), ("OpenCompass", "peer"), ("Polars pl.format", "peer"))
LM_EVAL = "MMLU-like, first five of five"
WAYS = {
    **{("spans", name): ("render", "render with spans", "audit") for name in RATED[:3]},
    **{("command", name): ("render to Parquet", "pyarrow") for name in RATED[:2]},
    ("command", "chatml"): ("--chat-template", "--template"),
    ("jinja", "mmlu"): ("JinjaTemplate", "jinja2"),
    **{("chat", name): ("ChatTemplate", "transformers") for name in ("chatml", "llama3", "qwen3-5")},
    ("lm_eval", LM_EVAL): ("compile cache", "backend", "requests"),
    ("tokens", "5 shots"): ("tokenize", "engine", "datasets.map"),
    ("latency", "five-text"): ("constructor", "ten rows"),
    **{
        ("filled", name): ("none", "one row in 1,000", "one row in 100", "one row in 24")
        for name in ("string", "five-text")
    },
    **{
        ("filters", name): ("JinjaTemplate", "jinja2")
        for name in ("tojson", "%", "truncate", "indent", "wordwrap", "format", "center", "not compiled")
    },
}


def timed(kind: str, workload: str, way: str, threads: int, role: str = "ours", **more: Any) -> dict[str, Any]:
    """A run of so many threads, twice as fast with two, that takes a peer a hundred times as long."""
    cpu = [(1.0 if role == "peer" else 0.01) * (1 + number / 100) for number in range(5)]
    about = {"kind": kind, "workload": workload, "way": way, "role": role, "threads": threads, "rows": 1000}
    times = {"seconds": [second / threads for second in cpu], "cpu": cpu, "readings": IDLE}
    return {**about, "bytes": 346_000, **times, **more}


def made_up() -> dict[str, Any]:
    runs = []
    for workload in RATED:
        about = {"about": "some job", "per_row": 1, "equal_to": "OpenCompass", "compared": 1000, "version": "1.0"}
        for way, role in RATES:
            threads = (1,) if role == "peer" else (2, 1)
            runs += [timed("rate", workload, way, number, role, **about) for number in threads]
    for (kind, workload), ways in WAYS.items():
        runs += [timed(kind, workload, way, number) for way in ways for number in (2, 1)]
    runs.append({"kind": "growth", "workload": "zero", "samples": 20, "output": 10**9, "growth": 10**7})
    machine = {"cores": {"machine": 2, "process": 2}, "cpu_model": "a processor", "system": "Linux 6", "texts": "real"}
    machine |= {"python": "CPython 3.13", "huge_pages": "madvise", "versions": {}}
    return {"machine": machine, "quick": False, "absent": {}, "seconds": 600.0, "runs": runs}


def page(folder: Path, *results: dict[str, Any]) -> str:
    """Write the pages, and return the one with the tables."""
    files = []
    for number, result in enumerate(results):
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps({"results": result}), "utf-8")
    command = [sys.executable, PROJECT / "benches" / "report.py", *files, "--out", folder / "page.md"]
    subprocess.run(command, check=True)
    return (folder / "page-tables.md").read_text("utf-8")


def verdicts(text: str) -> dict[str, str]:
    lines = text.partition("## Targets")[2].partition("## The reference")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {what: verdict for what, _, _, verdict in rows[1:]}


def test_a_whole_run(tmp_path: Path) -> None:
    text = page(tmp_path, made_up(), {**made_up(), "runs": [], "seconds": 60.0})
    judged = verdicts(text)
    assert set(judged.values()) == {"reached", "missed"}
    assert judged["zero: spans, to a render"] == "reached"
    assert judged["zero to OpenCompass"] == "missed"
    assert "zero: `render` to the copy of its bytes" not in judged, "it was reached by far"
    short = (tmp_path / "page.md").read_text("utf-8")
    assert "| a question of five columns, zero-shot | 98,000 | OpenCompass | 980 | 100 |" in short
    assert "![Rows a second by workload and peer](page.svg)" in short
    assert "The run took 11.0 minutes (10.0 and 1.0)" in text
    assert "0 of 28 workloads were timed on a busy machine" in text
    assert (tmp_path / "page.svg").read_text("utf-8").startswith("<svg")
    assert rates(text, "zero") == (196_078, 200.0)


def rates(text: str, workload: str) -> tuple[float, float]:
    """Return promptpress's rows a second in a workload, and how many times as fast as OpenCompass that is."""
    section = text.partition(f"### {workload}\n")[2].partition("\n##")[0]
    lines = [line.strip("|") for line in section.splitlines() if "|" in line]
    heads, _, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    by_peer = {row[0]: dict(zip(heads, (cell.replace(",", "") for cell in row), strict=True)) for row in rows}
    return float(by_peer["promptpress"]["rows/s"]), float(by_peer["OpenCompass"]["promptpress: times as fast"])


def rounded(number: float) -> int:
    """Round down to one digit and zeros."""
    zeros = 10 ** (len(str(int(number))) - 1)
    return int(number) // zeros * zeros


def test_readmes_figures_are_the_pages() -> None:
    text = (PROJECT / "docs" / "benchmarks-tables.md").read_text("utf-8")
    rows, times = zip(*(rates(text, workload) for workload in RATED), strict=True)
    (least, most), (low, high) = ((rounded(min(numbers)), rounded(max(numbers))) for numbers in (rows, times))
    english, chinese = ((PROJECT / name).read_text("utf-8") for name in ("README.md", "README.zh-CN.md"))
    assert f"{least // 10**6} to {most // 10**6} million samples a second" in english
    assert f"{low:,} to {high:,} times as many as OpenCompass" in english
    assert f"{least // 10**4} 万到 {most // 10**4} 万个样本" in chinese
    assert f"{low:,} 到 {high:,} 倍" in chinese


def test_a_busy_machine_and_what_is_not_there(tmp_path: Path) -> None:
    results = made_up()
    runs = [run for run in results["runs"] if run.get("way") != "Polars pl.format" and run["kind"] != "tokens"]
    busy = [{**run, "readings": BUSY} if run["kind"] == "spans" else run for run in runs]
    text = page(tmp_path, {**results, "runs": busy, "absent": {"Polars pl.format": "it isn't installed"}})
    judged = verdicts(text)
    assert judged["zero to OpenCompass"] == "missed"
    assert judged["zero to Polars `pl.format`"] == "absent: it isn't installed"
    assert judged["zero: spans, to a render"] == "reached (machine busy)"
    assert list(judged.values()).count("not measured") == 2  # of tokens
    assert "- Polars pl.format: absent; it isn't installed." in text

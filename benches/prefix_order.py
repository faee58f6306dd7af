"""The share of prompts that begins as the prompt before it: in the samples' order and in prefix order.

`python benches/prefix_order.py` prints, for three workloads, the share of the bytes that a prompt has in common with
the one before it; then what prefix order costs, in a process and as a command, and its memory. `--seconds` says how
long each way is timed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from promptpress._engine.ordered_rendering import prefix_order
from promptpress._engine.table_engine import engine_of
from texts import SEED, SHARED, SHOTS, Words, multiple_choice, real_texts, word_problems

CHATS = 100_000
SYSTEM_PROMPTS = 20
MEMORY_ROWS = 4_000_000
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
CHOICES = "A. {A}\nB. {B}\nC. {C}\nD. {D}"


def subjects() -> pa.Table:
    """The questions of MMLU in the order of the file, with their subjects."""
    if real_texts():
        return pq.read_table(SHARED / "data" / "mmlu_stem.parquet")
    table, names = multiple_choice(), [f"subject_{n}" for n in range(18)]
    return table.append_column("subject", pa.array([names[row * 18 // len(table)] for row in range(len(table))]))


def shuffled(table: pa.Table) -> pa.Table:
    return table.take(pa.array(random.Random(SEED).sample(range(len(table)), len(table))))


def several(table: pa.Table, times: int) -> pa.Table:
    """The questions several times over, each time with other numbers before them."""
    out = []
    for turn in range(times):
        texts = table["input"].to_pylist()
        if turn:
            texts = [f"({turn * len(texts) + row}) {text}" for row, text in enumerate(texts)]
        out.append(table.set_column(table.schema.get_field_index("input"), "input", pa.array(texts)))
    return pa.concat_tables(out).combine_chunks()


def with_shots(samples: pa.Table, train: pa.Table) -> pa.Table:
    """A column of the five first questions of each sample's own subject."""
    rows: dict[str, list[int]] = {}
    for row, subject in enumerate(train["subject"].to_pylist()):
        rows.setdefault(subject, []).append(row)
    shots = pa.array([rows[subject][:SHOTS] for subject in samples["subject"].to_pylist()], pa.list_(pa.int64()))
    return samples.append_column("shots", shots)


def few_shot(train: pa.Table) -> pp.Renderer:
    question = f"{{input}}\n{CHOICES}\nAnswer: "
    return pp.Renderer(
        {
            "type": "PromptTemplate",
            "template": f"The following are multiple choice questions about {{subject}}.\n\n</E>{question}",
            "ice_token": "</E>",
        },
        ice_template={"type": "PromptTemplate", "template": f"{question}{{target}}\n"},
        retriever={"type": "IndexColumn", "column": "shots"},
        examples=train,
        reader={"input_columns": ["input", "A", "B", "C", "D", "subject"], "output_column": "target"},
        substitution="single_pass",
    )


def four_labels() -> pp.Renderer:
    begin = f"The following is a multiple choice question about {{subject}}.\n\n{{input}}\n{CHOICES}\nAnswer: "
    return pp.Renderer({label: begin + label for label in "ABCD"}, mode="ppl")


def chats(count: int) -> pa.Table:
    """Chats of one question each, with one of twenty system prompts of about four thousand characters."""
    words, draw = Words("system prompts"), random.Random(SEED)
    system = [f"You are assistant {n}. {words.text(4000)}" for n in range(SYSTEM_PROMPTS)]
    questions = word_problems("train")["question"].to_pylist()
    rows = []
    for row in range(count):
        question = f"({row}) {questions[row % len(questions)]}"
        rows.append([{"role": "system", "content": draw.choice(system)}, {"role": "user", "content": question}])
    return pa.table({"messages": rows})


def share(rendered: pa.Table) -> float:
    """The share of the bytes that prompts have in common with the one before them."""
    shared = _core.SharedBytes()
    count = sum(pc.sum(shared.add(chunk, False)).as_py() for chunk in rendered["prompt"].chunks)
    return count / pp.stats(rendered).bytes.sum


def print_shares(name: str, renderer: Any, table: pa.Table) -> None:
    rendered, ordered = renderer.render(table, index="sample"), renderer.render(table, order="prefix", index="sample")
    assert ordered.sort_by("sample")["prompt"].equals(rendered["prompt"])
    print(f"{name:<44} {share(rendered):>8.1%} {share(ordered):>8.1%}")


def fastest(ways: list[Callable[[], Any]], seconds: float) -> list[float]:
    """The shortest time of each way, timed in turns."""
    times: list[list[float]] = [[] for _ in ways]
    start = time.perf_counter()
    while time.perf_counter() - start < seconds * len(ways) or len(times[0]) < 3:
        for way, so_far in zip(ways, times, strict=True):
            begin = time.perf_counter()
            way()
            so_far.append(time.perf_counter() - begin)
    return [min(so_far) for so_far in times]


def command_seconds(arguments: list[str], data: Path, out: Path, seconds: float) -> tuple[list[float], list[float]]:
    """The shortest wall and processor time of the command, in file order and in prefix order."""
    base = [
        sys.executable,
        "-m",
        "promptpress",
        "render",
        *arguments,
        "--data",
        str(data),
        "--out",
        str(out),
        "--quiet",
    ]
    processor: list[list[float]] = [[], []]

    def way(number: int, more: list[str]) -> Callable[[], None]:
        def run() -> None:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*base, *more], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor[number].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

        return run

    wall = fastest([way(0, ["--index", "sample"]), way(1, ["--order", "prefix"])], seconds)
    return wall, [min(times) for times in processor]


def print_times(
    name: str, renderer: Any, table: pa.Table, arguments: Callable[[Path], list[str]], seconds: float
) -> None:
    plain, ordered = fastest(
        [lambda: renderer.render(table, index="sample"), lambda: renderer.render(table, order="prefix")], seconds
    )
    print(f"{name:<44} in a process: {plain * 1e3:9.1f} ms {ordered * 1e3:9.1f} ms {ordered / plain:6.2f}")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.parquet"
        pq.write_table(table, data)
        for kind in ("parquet", "jsonl"):
            given = arguments(Path(folder))
            wall, cpu = command_seconds(given, data, Path(folder) / f"out.{kind}", seconds)
            figures = f"{wall[0] * 1e3:9.1f} ms {wall[1] * 1e3:9.1f} ms {wall[1] / wall[0]:6.2f}"
            print(f"{'':<44} to {kind + ':':<11} {figures}, processor {cpu[1] / cpu[0]:.2f}")


def peak_bytes(template: str, path: str) -> int:
    """The most memory that a process has while it makes an order, beyond what it has before."""

    def status(name: str) -> int:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

    with pa.OSFile(path) as file:
        table = pa.ipc.open_file(file).read_all()
    engine = engine_of(pp.Renderer(template))
    prefix_order(engine, table.slice(0, 10), None)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = status("VmRSS")
    prefix_order(engine, table, None)
    return status("VmHWM") - before


def print_memory() -> None:
    """Print the memory of an order, for samples of few subjects and questions that occur once or twice.

    Each is measured in a process of its own, whose memory nothing else has used before.
    """
    draw = random.Random(SEED)
    for name, times in (("once", 1), ("twice", 2), ("ten times", 10)):
        subjects = [f"subject {draw.randrange(57)}" for _ in range(MEMORY_ROWS)]
        questions = [f"question {row // times}" for row in range(MEMORY_ROWS)]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "samples.arrow")
            table = pa.table({"subject": subjects, "q": questions})
            with pa.OSFile(path, "w") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
            for template in ("{subject} {q}", "{q} {subject}"):
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    peak = process.submit(peak_bytes, template, path).result()
                print(f"{template:<20} each question {name:<10} {peak / MEMORY_ROWS:5.1f} bytes a row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each way that is timed (10)")
    parser.add_argument("--memory", action="store_true", help="measure the memory alone")
    parser.add_argument("--times", type=int, default=10, help="MMLU's questions so many times over, to be timed (10)")
    options = parser.parse_args()
    if not options.memory:
        print_all(options.seconds, options.times)
    if Path("/proc/self/clear_refs").exists():
        print("\nmemory of the order")
        print_memory()


def print_all(seconds: float, times: int) -> None:
    """Print the shares and the times of all workloads."""
    train = subjects()
    shots, labels, chat = few_shot(train), four_labels(), pp.ChatTemplate(CHATML)
    conversations = chats(CHATS)
    print(f"{'share of the bytes that begin as before':<44} {'samples':>8} {'prefix':>8}")
    for order, table in (("file", train), ("shuffled", shuffled(train))):
        print_shares(f"MMLU, five shots of the subject, {order}", shots, with_shots(table, train))
        print_shares(f"MMLU, ppl with four labels, {order}", labels, table)
    print_shares(f"{CHATS:,} chats, {SYSTEM_PROMPTS} system prompts", chat, conversations)

    print(f"\n{'time':<44} {'':<14} {'samples':>12} {'prefix':>12} {'ratio':>6}")
    many = shuffled(several(train, times))
    settings = engine_of(shots).settings

    def of_shots(folder: Path) -> list[str]:
        pq.write_table(train, folder / "train.parquet")
        names = ("prompt_template", "ice_template", "retriever", "reader", "substitution")
        (folder / "config.json").write_text(json.dumps({name: settings[name] for name in names}))
        return [str(folder / "config.json"), "--examples", str(folder / "train.parquet")]

    def of_labels(folder: Path) -> list[str]:
        template = engine_of(labels).settings["prompt_template"]
        (folder / "config.json").write_text(json.dumps({"prompt_template": template, "mode": "ppl"}))
        return [str(folder / "config.json")]

    def of_chats(folder: Path) -> list[str]:
        (folder / "chat.jinja").write_text(CHATML)
        return ["--chat-template", str(folder / "chat.jinja")]

    print_times(f"MMLU, five shots, {len(many):,} samples", shots, with_shots(many, train), of_shots, seconds)
    print_times(f"MMLU, ppl, {len(many):,} samples", labels, many, of_labels, seconds)
    print_times(f"{CHATS:,} chats", chat, conversations, of_chats, seconds)


if __name__ == "__main__":
    main()

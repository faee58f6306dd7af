"""Token ids of conversations: `ChatTemplate.tokenize` next to engines that encode the finished texts.

    .venv/bin/python benches/tokens.py --tokenizer FOLDER [--rows 20000] [--reference-rows 2000] [--rounds 5]

Conversations have a system prompt and one question; those of "5 shots" have five questions with answers before it,
which are the same in each. All ways are measured in turns, in seconds of the processor: `library` is the package
tokenizers, over the first rows only; `engine` the core's engine, over whole texts; both get texts that are rendered
before. `tokenize` renders, too. The tokenizer is loaded before the first round. The last line compares wall time of two
threads and of one. With the packages transformers and datasets, `datasets.map` with
`apply_chat_template(tokenize=True)` stands beside.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import promptpress as pp
import pyarrow as pa
from promptpress._config.tokenizer import load_tokenizer
from promptpress._core import TextEncoder

CHATML = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
SHOTS = 5


def question(number: int) -> str:
    """A question with four choices."""
    return (
        f"Question {number}: a train leaves at {number % 24} and goes {number} kilometres in two hours, with a stop of "
        f"{number % 60} minutes on the way. How fast does it go, if it doesn't wait?\nA. {number}\nB. {number // 2}\n"
        f"C. {number * 2}\nD. none of these\nAnswer:"
    )


def conversations(rows: int, shots: int) -> pa.Table:
    """Conversations of which each has a question of its own."""
    examples = [
        message
        for number in range(shots)
        for message in (
            {"role": "user", "content": question(number)},
            {"role": "assistant", "content": "ABCD"[number % 4]},
        )
    ]
    system = {"role": "system", "content": "The following are multiple choice questions. Answer with a letter."}
    return pa.table(
        {
            "messages": [
                [system, *examples, {"role": "user", "content": question(number + shots)}] for number in range(rows)
            ]
        }
    )


def seconds(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return how long a call takes the processor, or by another clock."""
    start = clock()
    function()
    return clock() - start


def mapped(folder: str, rows: pa.Table) -> Callable[[], Any] | None:
    """Return a call of `datasets.map` that encodes conversations; None without the packages for it."""
    try:
        import datasets
        from transformers import PreTrainedTokenizerFast
    except ImportError:
        return None
    datasets.disable_progress_bars()
    datasets.disable_caching()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(Path(folder) / "tokenizer.json"), chat_template=CHATML)
    of_rows = datasets.Dataset(rows)

    def encode(batch: Any) -> Any:
        return {"input_ids": tokenizer.apply_chat_template(batch["messages"], tokenize=True, return_dict=False)}

    return lambda: of_rows.map(encode, batched=True, remove_columns=["messages"])


def compare(options: argparse.Namespace, shots: int) -> None:
    """Measure all ways in turns, print their rates, and compare the ids."""
    samples, chat = conversations(options.rows, shots), pp.ChatTemplate(CHATML)
    few = samples.slice(0, options.reference_rows)
    texts = chat.render(samples)["prompt"].combine_chunks()
    library = load_tokenizer(options.tokenizer).tokenizer
    whole = TextEncoder(library.to_str(), [], None, None)
    tokens = chat.tokenize(samples, options.tokenizer)["input_ids"]
    listed = texts.slice(0, options.reference_rows).to_pylist()
    wanted = [encoding.ids for encoding in library.encode_batch_fast(listed, add_special_tokens=False)]
    assert tokens.slice(0, options.reference_rows).to_pylist() == wanted
    ways: dict[str, tuple[int, Callable[[], Any]]] = {
        "library": (
            few.num_rows,
            lambda: [e.ids for e in library.encode_batch_fast(listed, add_special_tokens=False)],
        ),
        "engine": (
            options.rows,
            lambda: whole.encode(texts, offsets=False).columns(None, False, None, "refuse", []),
        ),
        "tokenize": (options.rows, lambda: chat.tokenize(samples, options.tokenizer)),
        "with mask": (
            few.num_rows,
            lambda: chat.tokenize(few, options.tokenizer, mask="assistant+end", labels=True),
        ),
    }
    of_map = mapped(options.tokenizer, few)
    if of_map is not None:
        ways["datasets.map"] = few.num_rows, of_map
    pp.set_threads(1)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, (rows, call) in ways.items():
            times[name].append(seconds(call) / rows)
    a_row = {name: statistics.median(of_way) for name, of_way in times.items()}
    length = len(tokens.combine_chunks().flatten()) / options.rows
    print(f"{shots} shots, {length:.0f} tokens a row")
    for name, of_row in a_row.items():
        ratios = "".join(f"{a_row[other] / of_row:9.2f}x {other}" for other in a_row if other != name)
        print(f"  {name:13}{1 / of_row:10,.0f} rows/s {length / of_row / 1e6:8.2f} M tokens/s{ratios}")
    walls: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(options.rounds):
        for threads, of_threads in walls.items():
            pp.set_threads(threads)
            of_threads.append(seconds(ways["tokenize"][1], time.perf_counter))
    print(f"  two threads: {statistics.median(walls[1]) / statistics.median(walls[2]):.2f}x one, wall time")


def main() -> None:
    """Compare conversations with examples, and without."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--reference-rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for shots in (SHOTS, 0):
        compare(options, shots)


if __name__ == "__main__":
    main()

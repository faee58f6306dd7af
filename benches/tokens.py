"""Token ids of conversations: `ChatTemplate.tokenize` next to the library over the finished texts.

    .venv/bin/python benches/tokens.py --tokenizer FOLDER [--rows 4000] [--rounds 3]

Conversations have a system prompt, five questions with answers that are the same in each, and one question. Both are
measured in turns, in seconds of the processor, on one thread; the texts that the library gets are rendered before. The
tokenizer's file is loaded once, before the first round, but no piece of a text is kept from round to round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import promptpress as pp
import pyarrow as pa
from promptpress._io.tokenizer import load_tokenizer
from promptpress._tokens.encoder import Encoder

CHATML = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
SHOTS = 5


def question(number: int) -> str:
    """A question with four choices."""
    return (
        f"Question {number}: a train leaves at {number % 24} and goes {number} kilometres in two hours, with a stop of "
        f"{number % 60} minutes on the way. How fast does it go, if it doesn't wait?\nA. {number}\nB. {number // 2}\n"
        f"C. {number * 2}\nD. none of these\nAnswer:"
    )


def conversations(rows: int) -> pa.Table:
    """Conversations of which each has a question of its own."""
    shots = [
        message
        for number in range(SHOTS)
        for message in (
            {"role": "user", "content": question(number)},
            {"role": "assistant", "content": "ABCD"[number % 4]},
        )
    ]
    system = {"role": "system", "content": "The following are multiple choice questions. Answer with a letter."}
    return pa.table(
        {
            "messages": [
                [system, *shots, {"role": "user", "content": question(number + SHOTS)}] for number in range(rows)
            ]
        }
    )


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call takes the processor, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def main() -> None:
    """Measure both in turns, and compare the ids."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    samples, chat = conversations(options.rows), pp.ChatTemplate(CHATML)
    texts = chat.render(samples)["prompt"].to_pylist()
    library = load_tokenizer(options.tokenizer).tokenizer

    def whole() -> list[list[int]]:
        return [encoding.ids for encoding in library.encode_batch_fast(texts, add_special_tokens=False)]

    rates: dict[str, list[float]] = {"library": [], "ids": [], "ids and mask": []}
    for _ in range(options.rounds):
        time_of, wanted = seconds(whole)
        rates["library"].append(time_of)
        for name, arguments in (("ids", {}), ("ids and mask", {"mask": "assistant+end", "labels": True})):
            Encoder._made.clear()
            time_of, table = seconds(lambda arguments=arguments: chat.tokenize(samples, options.tokenizer, **arguments))
            rates[name].append(time_of)
            assert table["input_ids"].to_pylist() == wanted
    tokens = sum(map(len, wanted))
    base = statistics.median(rates["library"])
    for name, times in rates.items():
        median = statistics.median(times)
        rate = f"{options.rows / median:10,.0f} rows/s {tokens / median / 1e6:8.2f} M tokens/s"
        print(f"{name:14} {rate} {base / median:6.1f}x")


if __name__ == "__main__":
    main()

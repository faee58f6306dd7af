"""Rates and memory of conversations and media, each beside what bounds it: `python benches/families.py [turns|media]`.

`turns`: a million generated two-turn conversations, `every_with_gt`, beside plain rendering of the same texts in one
dialogue, per byte of output. `media`: 10,000 samples with two images of 1 MB each, streamed, beside one thread's copy
of the payloads into fresh memory. Both print the peak of resident memory over what was there before.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import promptpress as pp
import pyarrow as pa

META = {
    "round": [
        {"role": "HUMAN", "begin": "<|user|>\n", "end": "\n", "api_role": "user"},
        {"role": "BOT", "begin": "<|bot|>\n", "end": "\n", "api_role": "assistant", "generate": True},
    ]
}
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "seven", "wizards", "brew", "coffee")


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def peak(work: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of some work and the rise of resident memory above its start."""
    before = resident()
    highest, done = [before], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            highest[0] = max(highest[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        return work(), highest[0] - before
    finally:
        done.set()
        watcher.join()


def seconds_per_byte(renderer: pp.Renderer, samples: pa.Table) -> float:
    rendered = None
    start = time.perf_counter()
    rendered = renderer.render(samples)
    return (time.perf_counter() - start) / rendered["prompt"].nbytes


def turns(samples: int = 1_000_000) -> None:
    rng = np.random.default_rng(0)
    pool = pa.array([" ".join(rng.choice(WORDS, int(rng.integers(20, 60)))) for _ in range(4096)])
    questions, answers = (pool.take(pa.array(rng.integers(0, 4096, 2 * samples))) for _ in range(2))
    offsets = pa.array(np.arange(0, 2 * samples + 1, 2, dtype=np.int32))
    talks = pa.table(
        {name: pa.ListArray.from_arrays(offsets, v) for name, v in (("question", questions), ("answer", answers))}
    )
    halves = {"q1": questions[:samples], "a1": answers[:samples], "q2": questions[samples:], "a2": answers[samples:]}
    pair = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    conversation = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": {"round": pair}},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        meta_template=META,
        output="text",
        dialect="aisbench",
    )
    names = (("HUMAN", "q1"), ("BOT", "a1"), ("HUMAN", "q2"), ("BOT", "a2"))
    dialogue = {"round": [{"role": role, "prompt": f"{{{name}}}"} for role, name in names]}
    plain = pp.Renderer(
        dialogue, meta_template=META, output="text", reader={"input_columns": ["q1"], "output_column": "a2"}
    )
    rounds = [(seconds_per_byte(conversation, talks), seconds_per_byte(plain, pa.table(halves))) for _ in range(5)]
    turn_seconds, plain_seconds = (median(times) for times in zip(*rounds, strict=True))
    rendered, rise = peak(lambda: conversation.render(talks))
    print(
        f"turns: {rendered.num_rows:,} requests; {1 / turn_seconds / 1e9:.2f} GB/s,"
        f" plain {1 / plain_seconds / 1e9:.2f} GB/s:"
        f" {plain_seconds / turn_seconds:.2f} of its rate per byte; memory {rise / rendered.nbytes:.2f} of the output"
    )


def media(samples: int = 10_000, size: int = 64) -> None:
    entries = {
        "text": {"type": "text", "text": "{question}"},
        "image": {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,{image}"}},
    }
    template = {"type": "MMPromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt_mm": entries}]}}
    renderer = pp.Renderer(template, meta_template=META, output="messages", dialect="aisbench")
    image = b"<AIS_IMAGE_START>" + b"iVBORw0K" * 125_000 + b"<AIS_CONTENT_TAG>"
    content = np.frombuffer(image * 2 + b"<AIS_TEXT_START>What differs?<AIS_CONTENT_TAG>", np.uint8)
    offsets = pa.py_buffer(np.arange(size + 1, dtype=np.int32) * np.int32(len(content)))
    spent = [0.0]

    def batch() -> pa.RecordBatch:
        data = pa.py_buffer(np.tile(content, size))
        return pa.record_batch({"content": pa.Array.from_buffers(pa.string(), size, [None, offsets, data])})

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(samples // size):
            start = time.perf_counter()
            record_batch = batch()
            spent[0] += time.perf_counter() - start
            yield record_batch
            del record_batch

    def stream() -> None:
        for rendered in renderer.stream(pa.RecordBatchReader.from_batches(batch().schema, batches())):
            del rendered

    start = time.perf_counter()
    _, rise = peak(stream)
    rendering = time.perf_counter() - start - spent[0]
    source, copies = np.frombuffer(batch().column(0).buffers()[2], np.uint8), []
    for _ in range(40):
        start = time.perf_counter()
        source.copy()
        copies.append(time.perf_counter() - start)
    copying = median(copies) * (samples // size)
    print(
        f"media: {len(source) * (samples // size) / 1e9:.1f} GB in {rendering:.1f} s:"
        f" {copying / rendering:.2f} of the rate of copying once; memory {rise / len(source):.2f} batches"
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or ["turns", "media"]:
        {"turns": turns, "media": media}[name]()

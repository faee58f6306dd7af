"""The cost of a field: a template with a field is compared with the same template without it, in turns, on one thread.

Batches are streamed, so that memory is reused: fresh memory costs the more, the more there is of it. The processor's
time counts, which a busy machine hardly changes. A round's difference is small beside the round itself, so there are
many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import promptpress
import pytest
from fields import ABOUT, COLUMNS, question_and_field, template
from peers import cores
from peers.promptpress_peer import BATCH_ROWS
from rounds import Replay

ROUNDS = 25
replays = {kind: Replay() for kind in COLUMNS}


def seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def costs(kind: str, count: int) -> list[float]:
    """Seconds that all fields take, round by round."""
    samples = question_and_field(kind, count)
    renderers = [promptpress.Renderer(prompt_template=template(field)) for field in ("", "{value}")]
    head = samples.slice(0, 1000)
    questions, values = head["question"].to_pylist(), head["value"].to_pylist()
    expected = [f"Question: {question}\nValue: {x}\nAnswer:" for question, x in zip(questions, values, strict=True)]
    assert renderers[1].render(head)["prompt"].to_pylist() == expected

    def stream(renderer: promptpress.Renderer) -> None:
        rows = sum(batch.num_rows for batch in renderer.stream(samples.to_reader(BATCH_ROWS)))
        assert rows == count

    rounds = [
        [seconds(lambda renderer=renderer: stream(renderer)) for renderer in renderers] for _ in range(ROUNDS + 1)
    ]
    return [with_it - without for without, with_it in rounds[1:]]


@pytest.mark.parametrize(
    ("kind", "replay"),
    [
        pytest.param(kind, replay, id=kind.replace(" ", "-"), marks=pytest.mark.benchmark(group="field", timer=replay))
        for kind, replay in replays.items()
    ],
)
def test_field(kind: str, replay: Replay, quick: bool, benchmark: Any, record_property: Any) -> None:
    count = 40_000 if quick else 8 * BATCH_ROWS
    promptpress.set_threads(1)
    try:
        differences = costs(kind, count)
    finally:
        promptpress.set_threads(cores())
    replay.seconds = [max(difference, 0.0) for difference in differences]
    benchmark.pedantic(replay.play, rounds=len(differences))
    nanoseconds = median(differences) / count * 1e9
    benchmark.extra_info.update(
        {"kind": "field", "workload": kind, "about": ABOUT.get(kind, ""), "samples": count, "nanoseconds": nanoseconds}
    )
    record_property("figure", f"{kind:18} {'field':20} {nanoseconds:14,.1f} ns")

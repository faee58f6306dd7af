"""The loop of a harness meets the blocks in which the backend renders: every sample is rendered about once."""

from threading import RLock
from types import SimpleNamespace

import pytest
from promptpress_harness.bulk.rendering import Prompt, Rendering

LARGEST = 1024


class Renderer:
    """Stands for a call's renderer: a request is its sample's number, and it counts what it renders."""

    block_rows = LARGEST
    is_shared = False

    def __init__(self, shots: list[list[int]]) -> None:
        self.shots = shots
        self.lock = RLock()
        self.record = SimpleNamespace(rendered=lambda: None, left=pytest.fail)
        self.blocks: list[int] = []

    def render(self, _arguments, _key, start, shots):
        self.blocks.append(len(shots))
        return [f"request {row} of {len(rows_of_shots)}" for row, rows_of_shots in enumerate(shots, start)]

    def kind_of(self, _arguments, _request):
        return list

    def requests_of(self, _arguments, prompts, _kind):
        return prompts.__getitem__

    def add_block(self, _owner, _length, _rows):
        pass


def ask_for_all(shots: list[list[int]], batch: int, times: int) -> tuple[Renderer, list[str]]:
    """All requests, each batch of prompts asked for so many times, as loops of harnesses do; the last time's."""
    renderer = Renderer(shots)

    def harness(prompt):
        return f"request {prompt.row} of {len(prompt.shots)}"

    rendering = Rendering(renderer, {}, harness, bytearray(len(shots)))
    requests = []
    for start in range(0, len(shots), batch):
        rows = range(start, min(start + batch, len(shots)))
        for _ in range(times):
            last = rendering.requests([Prompt(None, row, shots[row]) for row in rows])
        requests += last
    return renderer, requests


@pytest.mark.parametrize("batch", [1, 3, 8, 64, 100, 1000, 1500, 5000])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_who_asks_for_a_batch_again_has_it_from_the_same_block(batch, times):
    shots = [[4, 7]] * 10_000
    renderer, requests = ask_for_all(shots, batch, times)
    assert requests == [f"request {row} of 2" for row in range(10_000)]
    again = times if batch > LARGEST else 1  # no more than two blocks are kept
    assert sum(renderer.blocks) <= again * (10_000 + 2 * LARGEST)
    assert len(renderer.blocks) <= again * (10_000 // LARGEST + 12)


@pytest.mark.parametrize("times", [1, 2])
def test_samples_of_several_numbers_of_examples(times):
    shots = [[1] * (row // 700 % 3) for row in range(6000)]
    renderer, requests = ask_for_all(shots, 64, times)
    assert requests == [f"request {row} of {len(shots[row])}" for row in range(6000)]
    assert len(renderer.blocks) <= 6000 // 32

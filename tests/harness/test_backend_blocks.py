"""The loop of a harness meets the blocks in which the backend renders: every sample is rendered about once."""

import json
from threading import RLock
from types import SimpleNamespace

import pyarrow as pa
import pytest
from promptpress_harness.bulk.call_renderer import kind_of, requests_of
from promptpress_harness.bulk.dataset import materialized, row_lists
from promptpress_harness.bulk.monkeypatches import class_with_code, same
from promptpress_harness.bulk.rendering import Prompt, Prompts, Rendering
from promptpress_harness.bulk.switch import Patches, Switch
from promptpress_harness.registry import Harness

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


def test_objects_of_requests() -> None:
    class Message(dict):
        pass

    assert requests_of(pa.chunked_array([["a", "b"]]), list)(1) == "b"
    messages = [{"role": "HUMAN", "prompt": "Hi"}]
    assert requests_of(pa.chunked_array([[messages]]), list)(0) == messages
    assert type(kind_of([Message(role="user")])([{"role": "assistant"}])[0]) is Message
    assert same([{"a": 1, "b": 2}], [{"a": 1, "b": 2}])
    assert not same([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])


def test_rows_that_are_retrieved() -> None:
    assert materialized(iter([[0], [1]]), is_read_once=True) == [[0], [1]]
    assert row_lists([(0, 1), range(2)], is_written=False) == [[0, 1], [0, 1]]
    tens = Prompts(lambda row: row * 10, range(5))
    assert (tens[3], list(tens[1:3])) == (30, [10, 20])


def test_methods_are_replaced_and_put_back() -> None:
    shout = {"json": {"JSONEncoder.encode": lambda encode: lambda self, o: encode(self, o).upper()}}
    patches = Patches(shout)
    patches.apply()
    assert json.JSONEncoder().encode("a") == '"A"'
    patches.revert()
    assert json.JSONEncoder().encode("a") == '"a"'
    with Switch(Harness("JSON", "json", "json", "json"), Patches(shout)).backend():
        assert json.JSONEncoder().encode("a") == '"A"'
    assert json.JSONEncoder().encode("a") == '"a"'


def test_a_class_that_adds_nothing_has_the_code_of_its_base() -> None:
    assert class_with_code(type("Whole", (int,), {})) is int
    half = type("Half", (int,), {"__add__": int.__sub__})
    assert class_with_code(half) is half
    assert class_with_code(int) is int

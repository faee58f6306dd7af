"""Threads: Python's that share a renderer, and how many the core uses."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from generators.few_shots import SAMPLES, renderer_of, texts
from marks import UNWARNED
from test_layouts import one_chunk, samples_for


@UNWARNED
def test_python_threads_share_a_renderer() -> None:
    renderers = {name: renderer_of(name) for name in ("five-shot text", "five-shot messages", "index column", "ppl")}
    tables = {name: samples_for(name, one_chunk(pa.string())) for name in renderers}
    # Another schema in between: what is bound to one must not serve the other.
    others = {name: table.select(list(reversed(table.column_names))) for name, table in tables.items()}
    want = {name: (texts(r.render(tables[name])), texts(r.render(others[name]))) for name, r in renderers.items()}
    failures: list[str] = []

    def work(seed: int) -> None:
        for n in range(30):
            name = list(renderers)[(seed + n) % len(renderers)]
            table = (tables, others)[n % 2][name]
            if texts(renderers[name].render(table)) != want[name][n % 2]:
                failures.append(name)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


FIRST_RENDERS = """
import faulthandler, sys, threading
import promptpress as pp, pyarrow as pa

faulthandler.dump_traceback_later(100, exit=True)
pp.set_threads(2)
rows = 20_000
table = pa.table({"q": [f"q {n} é" for n in range(rows)], "y": [str(n) for n in range(rows)]})
samples = table.append_column("ids", pa.array([[n, n * 7 % rows] for n in range(rows)]))
for number in range(int(sys.argv[1])):
    renderer = pp.Renderer(
        {"template": "</E>{q}", "ice_token": "</E>"}, {"template": "Q {q} {y}\\n"},
        retriever={"type": "IndexColumn", "column": "ids"}, reader={"output_column": "y"}, examples=table,
        output=("text", "messages_json")[number % 2],
    )
    found = []
    work = lambda: found.append(renderer.render(samples)["prompt"])
    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 4 and all(one.equals(found[0]) for one in found)
"""


def test_python_threads_make_the_first_render_of_many_examples() -> None:
    # In a process of its own, which ends: threads that wait for each other are waited for by whoever ends.
    command = [sys.executable, "-c", FIRST_RENDERS, "12"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_other_threads_go_on_during_a_long_render() -> None:
    samples = pa.table({"q": ["{a} " * 1_000] * 20_000, "a": ["x"] * 20_000})
    renderer = pp.Renderer("{q}")
    renderer.render(samples)  # imports let others go on, too
    beats: list[float] = []
    stop = threading.Event()

    def beat() -> None:
        while not stop.is_set():
            beats.append(time.monotonic())
            time.sleep(0.0005)

    def has_beat_during_a_render() -> bool:
        start = time.monotonic()
        renderer.render(samples)
        end = time.monotonic()
        return any(start < beat < end for beat in beats)

    thread = threading.Thread(target=beat)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # nobody takes the interpreter's lock: a render has to give it
    try:
        thread.start()
        # A busy machine may let nobody else run during one render, but not during all of them.
        assert any(has_beat_during_a_render() for _ in range(200))
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_the_number_of_threads_can_be_set() -> None:
    try:
        for threads in (1, 3, 2):
            pp.set_threads(threads)
            assert _core.threads() == threads
            assert len(texts(pp.Renderer("{q}").render(SAMPLES))) == 3
        pp.set_threads(None)
        assert _core.threads() >= 1
        for wrong in (0, -1):
            with pytest.raises(ValueError, match=str(wrong)):
                pp.set_threads(wrong)
    finally:
        pp.set_threads(2)

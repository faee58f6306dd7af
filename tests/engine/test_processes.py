"""Processes and threads around a render: forks, Ctrl-C, the number of threads, many threads that begin at once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

PRELUDE = """
import multiprocessing, os, signal, sys, threading, time
import pyarrow as pa
import promptpress as pp
from promptpress import _core

# Whoever starts the tests in the background may have them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

SAMPLES = pa.table({"q": [f"{n} {{a}}" for n in range(5_000)], "a": ["x{q}"] * 5_000})
WANT = [f"{n} x{{q}}|x{{q}}" for n in range(5_000)]
def prompts():
    return pp.Renderer("{q}|{a}", substitution="harness").render(SAMPLES)["prompt"].to_pylist()
"""


def run(code: str, timeout: float = 60, **environment: str) -> str:
    """Return what another Python process prints; a hang, a crash or an exception there fails the test."""
    inherited = {name: value for name, value in os.environ.items() if name != "PROMPTPRESS_THREADS"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**inherited, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@FORK
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_forked_child_renders(threads: int) -> None:
    code = """
    assert prompts() == WANT  # the pool has its threads now; the child has none of them
    def child():
        assert prompts() == WANT
        pp.set_threads(3)
        assert prompts() == WANT
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    alive = process.is_alive()
    process.kill()
    assert not alive, "the child hangs"
    assert process.exitcode == 0, process.exitcode
    assert prompts() == WANT
    print("ok")
    """
    assert run(code, PROMPTPRESS_THREADS=str(threads)) == "ok"


@FORK
def test_a_renderer_goes_on_in_a_forked_child() -> None:
    code = """
    renderer = pp.Renderer("{q}|{a}", substitution="harness")
    renderer.render(SAMPLES)
    context = multiprocessing.get_context("fork")
    def child(queue):
        queue.put(renderer.render(SAMPLES.slice(0, 3))["prompt"].to_pylist())
    for _ in range(3):
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        assert queue.get(timeout=30) == WANT[:3]
        process.join(30)
        assert process.exitcode == 0
    print("ok")
    """
    assert run(code) == "ok"


@FORK
def test_forks_while_another_thread_renders() -> None:
    """A fork may come at any moment, even while the pool's lock or a renderer's is held."""
    code = """
    renderer = pp.Renderer("{q}|{a}", substitution="harness")
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            renderer.render(SAMPLES)
            renderer.output_schema(SAMPLES.schema)
    thread = threading.Thread(target=busy)
    thread.start()
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # a child that hangs dies by it
            prompts = pp.Renderer("{q}|{a}", substitution="harness").render(SAMPLES)["prompt"].to_pylist()
            os._exit(0 if prompts == WANT else 1)
        assert os.waitpid(pid, 0)[1] == 0
    stop.set()
    thread.join()
    print("ok")
    """
    assert run(code, timeout=200) == "ok"


@FORK
def test_a_forked_child_uses_a_renderer_that_was_at_work() -> None:
    """A fork doesn't wait for locks that the parent's threads held when they vanished."""
    code = """
    template = {"type": "PromptTemplate", "template": "</E>{q}|{a}", "ice_token": "</E>"}
    samples = SAMPLES.append_column("shots", pa.array([[0, 4_999]] * 5_000))
    def new():
        shots = {"type": "IndexColumn", "column": "shots"}
        return pp.Renderer(template, "{q}", shots, SAMPLES, {"input_columns": ["q"], "output_column": "a"})
    want = new().render(samples.slice(0, 100))
    for n in range(40):
        renderer = new()
        thread = threading.Thread(target=renderer.render, args=(samples,))
        thread.start()
        time.sleep(0.0005 * (n % 10))
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # a child that hangs dies by it
            os._exit(0 if renderer.render(samples.slice(0, 100)).equals(want) else 1)
        status = os.waitpid(pid, 0)[1]
        thread.join()
        assert status == 0, (n, status)
    print("ok")
    """
    assert run(code, timeout=200) == "ok"


@pytest.mark.parametrize("method", ["render", "stream", "call", "divergence"])
def test_ctrl_c_stops_a_long_render(method: str) -> None:
    code = """
    # Every value holds placeholders of the other column, so that every row takes the slow way; nothing is left of them,
    # so that there may be enough rows for seconds.
    rows = 600_000
    long = "{a}" * 2_000
    numbers = pa.array([0] * rows, pa.int32())
    samples = pa.table({"q": pa.DictionaryArray.from_arrays(numbers, [long]), "a": [""] * rows})
    renderer = pp.Renderer("{q}{a}", substitution="harness")
    work = {
        "render": lambda: renderer.render(samples),
        "stream": lambda: renderer.stream(samples).read_all(),
        "call": lambda: renderer(samples.combine_chunks().to_batches()[0]),
        "divergence": lambda: renderer.divergence(samples),
    }[METHOD]
    sent = []
    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.5, interrupt)
    timer.start()
    try:
        work()
        timer.cancel()
        print("finished" if not sent else "not interrupted")
    except KeyboardInterrupt:
        print("late" if time.monotonic() - sent[0] > 2 else "interrupted")
    assert prompts() == WANT  # the process goes on
    """
    assert run(code.replace("METHOD", repr(method)), timeout=25) == "interrupted"


def test_ctrl_c_stops_a_render_of_a_few_gigantic_values() -> None:
    """Few rows are rendered by the thread that asks, which then has to look at signals itself."""
    code = """
    rows = 64
    value = "{a}" * 2_000_000
    samples = pa.table({
        "q": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [value]), "a": [""] * rows,
    })
    sent = []
    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.1, interrupt)
    timer.start()
    try:
        pp.Renderer("{q}{a}", substitution="harness").render(samples)
        timer.cancel()
        print("finished" if not sent else "not interrupted")
    except KeyboardInterrupt:
        # Python raises it when the call is back, too.
        print("interrupted" if time.monotonic() - sent[0] < 2 else "late")
    assert prompts() == WANT
    """
    assert run(code, timeout=60) == "interrupted"


def test_ctrl_c_in_another_thread_leaves_it_alone() -> None:
    """Python raises KeyboardInterrupt in the main thread; work elsewhere goes on to its end."""
    code = """
    results = []
    thread = threading.Thread(target=lambda: results.extend(prompts() for _ in range(5)))
    thread.start()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        pass
    thread.join()
    assert results == [WANT] * 5
    print("ok")
    """
    assert run(code) == "ok"


# A thread names itself when it first runs, which on a busy machine is later than the render that it was started for.
COUNT = """
prompts()
for _ in range(200):
    named = sum(1 for task in os.listdir("/proc/self/task")
                if open(f"/proc/self/task/{task}/comm").read().startswith("promptpress"))
    if named >= _core.threads():
        break
    time.sleep(0.05)
print(_core.threads(), named)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
@pytest.mark.parametrize(("value", "want"), [("1", 1), ("3", 3), (" 2 ", 2)])
def test_the_environment_says_how_many_threads(value: str, want: int) -> None:
    assert run(COUNT, PROMPTPRESS_THREADS=value) == f"{want} {want}"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_set_threads_wins_over_the_environment() -> None:
    assert run("pp.set_threads(2)\n" + COUNT, PROMPTPRESS_THREADS="5") == "2 2"
    assert run("pp.set_threads(2)\npp.set_threads(None)\n" + COUNT, PROMPTPRESS_THREADS="3") == "3 3"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no processes")
def test_the_default_is_the_cores_that_the_process_may_use() -> None:
    code = """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(_core.threads())
    """
    assert run(code) == "1"


def test_many_threads_begin_at_once() -> None:
    """Nothing is compiled, installed or bound yet when all of them start."""
    code = """
    renderers = [pp.Renderer("{q}|{a}", substitution="harness") for _ in range(2)]
    import pickle
    fresh = pickle.loads(pickle.dumps(renderers[0]))
    start = threading.Barrier(16)
    results, failures = [], []
    def work(n):
        try:
            start.wait()
            renderer = [fresh, pp.Renderer("{q}|{a}", substitution="harness"), renderers[1]][n % 3]
            results.append(renderer.render(SAMPLES)["prompt"].to_pylist() == WANT)
        except BaseException as error:
            failures.append(repr(error))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures, failures
    assert results == [True] * 16
    print("ok")
    """
    assert run(code) == "ok"


def test_the_first_thing_of_a_process_is_a_pickle(tmp_path: Any) -> None:
    code = f"""
    import pickle
    path = {str(tmp_path / "renderer.pickle")!r}
    if not os.path.exists(path):
        with open(path, "wb") as file:
            pickle.dump(pp.Renderer("{{q}}|{{a}}", substitution="harness"), file)
    with open(path, "rb") as file:
        assert pickle.load(file).render(SAMPLES)["prompt"].to_pylist() == WANT
    print("ok")
    """
    assert run(code) == "ok"
    assert run(code) == "ok"

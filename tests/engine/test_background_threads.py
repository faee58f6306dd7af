"""Work beside the caller's: in order, with what it raised, and never in the way of Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import promptpress
import pytest
from promptpress_workbench.threads import Threads


def test_calls_are_made_in_order_and_give_what_they_gave() -> None:
    made: list[int] = []
    with Threads(1) as threads:
        calls = [threads.submit(lambda n: made.append(n) or n * n, n) for n in range(100)]
        assert [call.result() for call in calls] == [n * n for n in range(100)]
    assert made == list(range(100))
    assert [call.result() for call in calls] == [n * n for n in range(100)]


def test_what_a_call_raised_is_raised() -> None:
    with Threads(2) as threads:
        call = threads.submit(int, "no number")
        call.wait()
        for _ in range(2):
            with pytest.raises(ValueError, match="no number"):
                call.result()
        assert threads.submit(int, "7").result() == 7


def test_several_work_at_a_time() -> None:
    both = threading.Barrier(2, timeout=30)
    with Threads(2) as threads:
        calls = [threads.submit(both.wait) for _ in range(2)]
        assert sorted(call.result() for call in calls) == [0, 1]


def test_a_closed_thread_makes_the_calls_it_had_accepted() -> None:
    threads = Threads(1)
    calls = [threads.submit(time.sleep, 0.01), threads.submit(int, "7")]
    threads.close()
    assert [call.result() for call in calls] == [None, 7]


BUSY = """
    import signal, sys
    from promptpress_workbench.threads import Threads
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)
    try:
        while True:
            with Threads(2) as threads:
                calls = [threads.submit(sum, range(50)) for _ in range(20)]
                try:
                    for call in calls:
                        call.result()
                finally:
                    calls[0].wait()
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as POSIX has them")
def test_an_interrupted_process_ends(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(textwrap.dedent(BUSY))
    for n in range(12):
        with subprocess.Popen([sys.executable, tmp_path / "busy.py"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.003 * n)
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(30) == 130
            finally:
                process.kill()


def test_nobody_uses_threads_that_an_interrupt_could_lock_up() -> None:
    packages = Path(promptpress.__file__).parent.parent
    modules = list(packages.glob("promptpress*/**/*.py"))
    assert len(modules) > 100
    offenders = [
        path.name
        for path in modules
        if "import concurrent" in (text := path.read_text("utf-8")) or "from concurrent" in text
    ]
    assert not offenders, f"{offenders}: promptpress_workbench.threads has threads without locks in Python"


class Slow:
    """An object that takes a moment to be released."""

    def __init__(self, gone: list[None]) -> None:
        self._gone = gone

    def __del__(self) -> None:
        time.sleep(0.02)
        self._gone.append(None)


def test_a_call_is_reported_when_its_thread_holds_nothing_of_it() -> None:
    # A thread that gives back what is Arrow's while the process ends takes the process down with it.
    gone: list[None] = []
    with Threads(1) as threads:
        for number in range(20):
            threads.submit(lambda _: None, Slow(gone)).result()
            assert len(gone) == 2 * number + 1
            call = threads.submit(Slow, gone)
            notifications, ended = call._notifications, call._ended
            del call
            notifications.get()
            assert ended
            assert len(gone) == 2 * number + 2


@pytest.mark.parametrize(("seconds", "is_waited_for"), [(0.3, True), (30, False)])
def test_the_end_of_the_process_waits_a_moment(seconds: float, *, is_waited_for: bool) -> None:
    code = f"""
        import time
        from promptpress_workbench.threads import Threads
        def call():
            print("begun", flush=True)
            time.sleep({seconds})
            print("ended", flush=True)
        threads = Threads(1)
        threads.submit(call)
        time.sleep(0.1)
    """
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == (["begun", "ended"] if is_waited_for else ["begun"])
    assert time.monotonic() - start < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_waits_for_none_of_its_parents_calls() -> None:
    code = """
        import os, time
        from promptpress_workbench import threads as _threads
        threads = _threads.Threads(1)
        threads.submit(time.sleep, 0.5)
        if os.fork() == 0:
            assert not _threads._unfinished
        else:
            assert _threads._unfinished
            assert os.wait()[1] == 0
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], check=True)


def test_a_process_that_ends_while_arrow_reads_ends_as_it_should() -> None:
    code = """
        import io, time
        import pyarrow.csv as pc
        from promptpress_workbench.threads import Threads
        def read(until=time.monotonic() + 0.2):
            while time.monotonic() < until:
                pc.read_csv(io.BytesIO(b"a,b\\n" + b"1,2\\n" * 2000))
        threads = Threads(1)
        threads.submit(read)
        time.sleep(0.1)
    """
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60, check=False)
        assert done.returncode == 0

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
from promptpress._threads import Threads


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


def test_a_closed_one_makes_the_calls_that_it_was_asked_for() -> None:
    threads = Threads(1)
    calls = [threads.submit(time.sleep, 0.01), threads.submit(int, "7")]
    threads.close()
    assert [call.result() for call in calls] == [None, 7]


BUSY = """
    import signal, sys
    from promptpress._threads import Threads
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
    package = Path(promptpress.__file__).parent
    modules = list(package.rglob("*.py"))
    assert len(modules) > 100
    found = [
        path.name
        for path in modules
        if "import concurrent" in (text := path.read_text("utf-8")) or "from concurrent" in text
    ]
    assert not found, f"{found}: promptpress._threads has threads without locks in Python"

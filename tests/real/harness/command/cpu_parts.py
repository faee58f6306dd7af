"""Divides the CPU time of a harness's processes into parts.

Every few milliseconds of it each thread's stack is looked at, and what the thread has used since the last look is put
down to the innermost frame that says whose work it is. So a library's time is that of who called it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from functools import cache
from multiprocessing import util
from pathlib import Path
from types import FrameType

INTERVAL_SECONDS = 0.005
IMPORTS, PROMPTPRESS, MODEL, DATASET, SAVING, PROMPTS, LOOP, REST = PARTS = (
    "imports",
    "promptpress",
    "model",
    "dataset",
    "saving",
    "prompts, by the harness",
    "the harness's loop",
    "the rest",
)
_MODEL_METHODS = ("generate", "get_ppl", "answer", "get_token_len")
# Of a harness's own code: by the function, or else by the first of these that is in the file's path.
_SAVING_METHODS = ("write_to_json", "save_", "report_cache_info", "dump_")
_OF_HARNESS = (
    (SAVING, ("/output_handler/", "/file/", "/results")),
    (DATASET, ("/datasets/", "icl_dataset_reader", "/utils/build.py", "/config/build.py")),
    (PROMPTS, ("/icl_prompt_template", "/icl_raw_prompt_template", "/icl_retriever/", "/utils/prompt", "/models/")),
    (PROMPTS, ("/openicl/utils/", "/utils/core/types")),
    (LOOP, ("/icl_inferencer/", "/tasks/")),
)


def part_of(frame: FrameType | None) -> str:
    """Return the part that a stack belongs to."""
    while frame is not None:
        part = _part_of_code(frame.f_code.co_filename.replace("\\", "/"), frame.f_code.co_name)
        if part is not None:
            return part
        frame = frame.f_back
    return REST


@cache
def _part_of_code(path: str, name: str) -> str | None:
    """Return the part that a function belongs to, or None for functions of libraries."""
    part = None
    if path.startswith("<frozen importlib"):
        part = IMPORTS
    elif "/promptpress/" in path:
        part = PROMPTPRESS
    elif "/command_" in path or path.endswith("/made_up.py"):
        part = MODEL if name in _MODEL_METHODS else DATASET
    elif "/opencompass/" in path or "/ais_bench/" in path:
        parts = (part for part, paths in _OF_HARNESS if any(fragment in path for fragment in paths))
        part = SAVING if name.startswith(_SAVING_METHODS) else next(parts, REST)
    return part


class CpuParts:
    """Samples the CPU time that the threads of this process use, part by part.

    Args:
        folder: Where a file is written when the process ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._used: Counter[str] = Counter()
        self._last: dict[int, float] = {}

    def start(self) -> None:
        """Begin; the time before is left out."""
        self._used.clear()
        self._last = {threading.get_ident(): time.thread_time()}
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
        # Exit handlers aren't run in a forked process, but this is.
        util.Finalize(None, self.write, exitpriority=0)

    def _look(self, _number: int, frame: FrameType | None) -> None:
        frames = sys._current_frames()
        frames[threading.get_ident()] = frame  # type: ignore[assignment]
        for thread, stack in frames.items():
            now = time.clock_gettime(time.pthread_getcpuclockid(thread))
            self._used[part_of(stack)] += now - self._last.get(thread, 0.0)
            self._last[thread] = now

    def write(self) -> None:
        """Write down what was used, and the process's whole time."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        measured = {"command": sys.argv, "cpu": time.process_time(), "parts": self._used}
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps(measured), "utf-8")


def start(folder: str) -> None:
    """Look at this process, and at those that are forked from it."""
    parts = CpuParts(Path(folder))
    util.register_after_fork(parts, CpuParts.start)
    parts.start()

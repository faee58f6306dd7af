"""Threads that render different tables by different renderers at once: each result is what one thread gives alone."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field

import promptpress as pp
import pyarrow as pa
from fuzz import configurations
from fuzz.draw import Draw

ROWS = 60


@dataclass
class Agreement:
    """Counts of what was compared, and the differences."""

    threads: int
    renderers: int
    renders: int = 0
    rows: int = 0
    different: list[str] = field(default_factory=list)


def cases(seed: int, count: int) -> list[tuple[pp.Renderer, pa.Table, pa.Table]]:
    """Renderers with their samples, and what they render alone."""
    drawn: list[tuple[pp.Renderer, pa.Table, pa.Table]] = []
    number = 0
    while len(drawn) < count:
        case = configurations.case_of(Draw.of(seed, number, "agreement"), ROWS)
        number += 1
        try:
            renderer = pp.Renderer(**case.config, examples=case.train)
            want = renderer.render(case.samples)
        except (pp.TemplateError, pp.RenderError):
            continue
        drawn.append((renderer, case.samples, want))
    return drawn


def compare(seed: int, renderers: int, threads: int, each: int) -> Agreement:
    """Let every thread render `each` times."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = cases(seed, renderers)
    agreement, lock, start = Agreement(threads, renderers), threading.Lock(), threading.Barrier(threads)

    def work(number: int) -> None:
        draw = Draw.of(seed, number, "thread")
        rows, wrong = 0, []
        start.wait()
        for n in range(each):
            index = draw.randrange(len(drawn))
            renderer, samples, want = drawn[index]
            try:
                got = pa.Table.from_batches(renderer.stream(samples)) if draw.chance(8) else renderer.render(samples)
                same = got.equals(want)
            except Exception as error:  # a thread's would be lost
                if "labels=" in str(error):
                    continue  # a stream, whose labels have to be given
                wrong.append(f"case {index}: {error!r}")
                continue
            rows += len(want)
            if not same:
                wrong.append(f"thread {number}, render {n}, case {index}: another result")
        with lock:
            agreement.renders += each
            agreement.rows += rows
            agreement.different += wrong

    team = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
    return agreement

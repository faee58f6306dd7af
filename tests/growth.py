"""How the time of a call grows with its input, on a machine that does other work at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 15


def growth(few: Callable[[], object], many: Callable[[], object], enough: float) -> float:
    """Return how many times as long `many` takes as `few`, by the processor's time.

    Both are measured in turns, and the least time of each counts. Noise only makes times longer, so measuring ends as
    soon as the ratio is at most `enough`; a call that really takes longer is found in all `TRIES`.
    """
    least = [float("inf"), float("inf")]
    for _ in range(TRIES):
        for index, call in enumerate((few, many)):
            start = time.process_time()
            call()
            least[index] = min(least[index], time.process_time() - start)
        # Below a millisecond the time says more of the clock than of the call.
        ratio = least[1] / max(least[0], 0.001)
        if ratio <= enough:
            break
    return ratio

"""All that is timed: promptpress, its limit, and its peers."""

from __future__ import annotations

from limit import CopyLimit
from workloads import BY_ID

from peers import Peer, cores
from peers.aisbench import AISBench
from peers.duckdb_peer import DuckDB
from peers.hf_map import HfMap
from peers.jinja2_peer import Jinja2
from peers.lm_eval_peer import LmEval, LmEvalCached
from peers.minijinja_peer import MiniJinja
from peers.opencompass import OpenCompass
from peers.plain_python import PlainPython
from peers.polars_peer import Polars
from peers.promptpress_peer import Promptpress, PromptpressStream
from peers.pyarrow_peer import PyArrow
from peers.str_format import StrFormat

THREADS = sorted({cores(), 1}, reverse=True)
OURS = [kind(threads) for kind in (Promptpress, PromptpressStream) for threads in THREADS]
LIMITS = [CopyLimit(setting, threads) for setting in ("fresh", "reused") for threads in THREADS]
# The first of them that is there and can render a workload is its oracle.
OTHERS: list[Peer] = [
    OpenCompass(),
    AISBench(),
    PlainPython(),
    LmEval(),
    LmEvalCached(),
    Jinja2(),
    MiniJinja(),
    StrFormat(),
    HfMap(),
    DuckDB(),
    PyArrow(),
    Polars(),
]
EVERYONE: list[Peer] = [*OURS, *LIMITS, *OTHERS]


def peers_of(workload_id: str) -> list[Peer]:
    wanted = BY_ID[workload_id].peers
    return [*OURS, *LIMITS, *(peer for peer in OTHERS if peer.id in wanted)]

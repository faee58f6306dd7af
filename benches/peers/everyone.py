"""All that is timed: promptpress, its limit, and its peers."""

from __future__ import annotations

from in_turns import THREADS
from limit import CopyLimit

from peers import Peer
from peers.aisbench import AISBench
from peers.duckdb_peer import DuckDB
from peers.hf_map import HfMap
from peers.opencompass import OpenCompass
from peers.plain_python import PlainPython
from peers.polars_peer import Polars
from peers.promptpress_peer import Promptpress, PromptpressStream
from peers.pyarrow_peer import PyArrow
from peers.str_format import StrFormat

OURS = [kind(threads) for kind in (Promptpress, PromptpressStream) for threads in THREADS]
LIMITS = [CopyLimit(setting, threads) for setting in ("fresh", "reused") for threads in THREADS]
# The first of them that is there and can render a workload is its oracle.
OTHERS: list[Peer] = [
    OpenCompass(),
    AISBench(),
    PlainPython(),
    StrFormat(),
    HfMap(),
    DuckDB(),
    PyArrow(),
    Polars(),
]

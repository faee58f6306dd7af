"""What it takes to compile real templates, where the recorded ones are at hand: a round is a template, in CPU time.

*made*: the constructor, most of which is jinja2's own parser and compiler. *compiled*: what is done behind it for one
shape of conversations, or for the schema of a table.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from typing import Any

import promptpress
import pyarrow as pa
import pytest
from rounds import Replay
from texts import SHARED

pytest.importorskip("jinja2")

SKELETON = json.dumps([{"role": f"={role}", "content": "?"} for role in ("system", "user", "assistant", "user")])
FILES = {"chats": "chat_templates/templates.jsonl.gz", "lm_eval": "golden_lm_eval/jinja.jsonl.gz"}


def lines(key: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SHARED / FILES[key], "rt", encoding="utf-8", newline="\n") as file:
        yield from map(json.loads, file)


def chats() -> Iterator[tuple[float, float]]:
    for line in lines("chats"):
        start = time.process_time()
        template = promptpress.ChatTemplate(line["template"], add_generation_prompt=True, **line["special_tokens"])
        made = time.process_time()
        template._renderer.programs.compile(SKELETON)
        yield made - start, time.process_time() - made


def lm_eval() -> Iterator[tuple[float, float]]:
    for line in lines("lm_eval"):
        if not line["id"].startswith("shipped/") or "{" not in line["source"]:
            continue
        table = pa.Table.from_pylist(line["tables"][0]["docs"])
        start = time.process_time()
        template = promptpress.JinjaTemplate(line["source"], "lm_eval")
        made = time.process_time()
        template._runner.programs_for(table)
        yield made - start, time.process_time() - made


STEPS = ("made", "compiled")
CASES = [(key, step, Replay()) for key in FILES for step in STEPS]
found: dict[str, list[tuple[float, float]]] = {}


@pytest.mark.parametrize(
    ("key", "step", "replay"),
    [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group="compile", timer=case[2]))
        for case in CASES
    ],
)
def test_compile_corpus(key: str, step: str, replay: Replay, benchmark: Any, record_property: Any) -> None:
    if not (SHARED / FILES[key]).is_file():
        pytest.skip("the recorded templates aren't at hand (PROMPTPRESS_SHARED)")
    if key not in found:
        found[key] = list({"chats": chats, "lm_eval": lm_eval}[key]())
    replay.seconds = [times[STEPS.index(step)] for times in found[key]]
    count = len(replay.seconds)
    benchmark.pedantic(replay.play, rounds=count)
    stats = benchmark.stats.stats
    benchmark.extra_info.update({"kind": "compile_corpus", "workload": key, "step": step, "samples": count})
    figure = (
        f"{stats.median * 1e3:.2f} ms, at most {stats.max * 1e3:.1f}, mean {stats.mean * 1e3:.2f}: {count} templates"
    )
    record_property("figure", f"{key + ', ' + step:39} {figure}")

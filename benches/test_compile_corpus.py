"""What it takes to compile real templates, where the recorded ones are at hand: a round is a template, in CPU time.

*construct*: the constructor, most of which is jinja2's own parser. *compile*: what is done behind it for one shape of
conversations, or for the schema of a table. *both*: a template's two, and beside them what jinja2 takes to compile it.
What jinja2 compiles for the rows that are rendered by it too, with the first of them, isn't among these.
"""

from __future__ import annotations

import gzip
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import promptpress
import pyarrow as pa
import pytest
from promptpress._engine.table_renderer import engine_of
from rounds import Replay
from texts import SHARED

jinja2 = pytest.importorskip("jinja2")
from jinja2 import nodes  # noqa: E402 - skipped without it
from jinja2.ext import Extension  # noqa: E402
from jinja2.parser import Parser  # noqa: E402

SKELETON = json.dumps([{"role": f"={role}", "content": "?"} for role in ("system", "user", "assistant", "user")])
FILES = {"chats": "chat_templates/templates.jsonl.gz", "lm_eval": "golden_lm_eval/jinja.jsonl.gz"}


def lines(key: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SHARED / FILES[key], "rt", encoding="utf-8", newline="\n") as file:
        yield from map(json.loads, file)


class Generation(Extension):
    """`{% generation %}`, as far as compiling goes."""

    tags = {"generation"}  # noqa: RUF012 - as Extension has it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


def compiled_by_jinja2(source: str, **settings: Any) -> float:
    start = time.process_time()
    environment = jinja2.Environment(**settings)
    environment.filters["regex_replace"] = str
    environment.from_string(source)
    return time.process_time() - start


def chats() -> Iterator[tuple[float, float, float]]:
    extensions = [Generation, "jinja2.ext.loopcontrols"]
    for line in lines("chats"):
        seconds_of_jinja2 = compiled_by_jinja2(
            line["template"], trim_blocks=True, lstrip_blocks=True, extensions=extensions
        )
        start = time.process_time()
        template = promptpress.ChatTemplate(line["template"], add_generation_prompt=True, **line["special_tokens"])
        made = time.process_time()
        engine_of(template).renderer.programs.compile(SKELETON)
        yield made - start, time.process_time() - made, seconds_of_jinja2


def lm_eval() -> Iterator[tuple[float, float, float]]:
    for line in lines("lm_eval"):
        if not line["id"].startswith("shipped/") or "{" not in line["source"]:
            continue
        table = pa.Table.from_pylist(line["tables"][0]["docs"])
        seconds_of_jinja2 = compiled_by_jinja2(
            line["source"], undefined=jinja2.StrictUndefined, keep_trailing_newline=True
        )
        start = time.process_time()
        template = promptpress.JinjaTemplate(line["source"], "lm_eval")
        made = time.process_time()
        engine_of(template).runner.programs_for(table)
        yield made - start, time.process_time() - made, seconds_of_jinja2


STEPS: dict[str, Callable[[float, float], float]] = {
    "construct": lambda constructing, _: constructing,
    "compile": lambda _, compiling: compiling,
    "both": lambda constructing, compiling: constructing + compiling,
}
CASES = [(key, step, Replay()) for key in FILES for step in STEPS]
timings: dict[str, list[tuple[float, float, float]]] = {}


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
    if key not in timings:
        timings[key] = list({"chats": chats, "lm_eval": lm_eval}[key]())
    replay.seconds = [STEPS[step](constructing, compiling) for constructing, compiling, _ in timings[key]]
    count = len(replay.seconds)
    benchmark.pedantic(replay.play, rounds=count)
    stats = benchmark.stats.stats
    benchmark.extra_info.update({"kind": "compile_corpus", "workload": key, "step": step, "samples": count})
    figure = (
        f"{stats.median * 1e3:.2f} ms, at most {stats.max * 1e3:.1f}, mean {stats.mean * 1e3:.2f}: {count} templates"
    )
    if step == "both":
        by_jinja2 = statistics.median(of_jinja2 for *_, of_jinja2 in timings[key])
        benchmark.extra_info["jinja2"] = by_jinja2
        figure += f", {stats.median / by_jinja2:.2f} of what jinja2 takes ({by_jinja2 * 1e3:.2f} ms)"
    record_property("figure", f"{key + ', ' + step:39} {figure}")

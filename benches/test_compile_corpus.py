"""What it takes to compile real templates, where the recorded ones are at hand: a round is a template, in CPU time.

*constructor*: most of it is jinja2's own parser. *compiling after it*: what is done for one shape of conversations,
or for the schema of a table. *both*: a template's two, and beside them what jinja2 takes to compile it. What jinja2
compiles for the rows that are rendered by it too, with the first of them, isn't among these.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import jinja2
import promptpress
import pyarrow as pa
import pytest
from in_turns import Sizes
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from promptpress._engine.table_engine import engine_of
from record import Record
from texts import SHARED

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


@pytest.mark.parametrize("key", FILES)
def test_compile_corpus(key: str, sizes: Sizes, record: Record) -> None:
    if not (SHARED / FILES[key]).is_file():
        record.absent[f"recorded templates, {key}"] = "they aren't at hand (PROMPTPRESS_SHARED)"
        pytest.skip(record.absent[f"recorded templates, {key}"])
    templates = {"chats": chats, "lm_eval": lm_eval}[key]()
    timings = list(zip(*islice(templates, 40 if sizes.quick else None), strict=True))
    both = [constructing + compiling for constructing, compiling in zip(*timings[:2], strict=True)]
    for name, seconds in zip(("constructor", "compiling after it", "jinja2", "both"), (*timings, both), strict=True):
        about = {"way": name, "role": "peer" if name == "jinja2" else "ours", "threads": 1, "rows": 1, "bytes": None}
        record.figures("compile", key, **about, seconds=seconds, cpu=seconds)

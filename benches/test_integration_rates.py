"""Conversations in Polars, DuckDB, datasets and `apply_chat_template`, next to transformers, jinja2 and minijinja."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import promptpress
import promptpress.datasets
import promptpress.duckdb
import promptpress.polars
import promptpress.transformers
import pyarrow as pa
import pytest
from chat_workloads import CHATS_BY_ID, ChatWorkload, conversations
from in_turns import Way, measured, ours, replayed
from peers import cores
from rounds import Replay

chat_template_utils = pytest.importorskip("transformers.utils.chat_template_utils")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
datasets = pytest.importorskip("datasets")
polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

WORKLOADS = ("chatml", "qwen3", "qwen3-5")
EXTENSION = "duckdb minijinja"
NAMES = ("template-1", "polars", "duckdb", "datasets", "drop-in", "drop-in batch", "transformers", "jinja2", EXTENSION)
CASES = [(workload, name, Replay()) for workload in WORKLOADS for name in NAMES]
ways_of: dict[str, dict[str, Way]] = {}
absent: list[str] = []


def tokenizer_of(source: str) -> Any:
    """Return a tokenizer in memory, whose tokens nobody asks for."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", chat_template=source)


def by_extension(connection: Any, source: str, given: dict[str, Any]) -> Callable[[], list[str]] | None:
    """Return the texts of DuckDB's minijinja extension; None if it can't be installed."""
    try:
        connection.sql("INSTALL minijinja FROM community")
        connection.sql("LOAD minijinja")
    except duckdb.Error as error:
        absent.append(f"DuckDB's minijinja extension can't be installed: {str(error).splitlines()[0]}")
        return None
    names = ", ".join(f"{name!r}: {value}" for name, value in given.items())
    query = f"SELECT minijinja_render(?, to_json({{'messages': messages, {names}}})) FROM few"
    return lambda: [row[0] for row in connection.execute(query, [source]).fetchall()]


def ways(workload: ChatWorkload, count: int, few: int) -> Iterator[Way]:
    samples = conversations(workload.shots, count)
    given = {"add_generation_prompt": True, **workload.variables}
    template = promptpress.ChatTemplate(workload.source, **given)
    yield from ours("template", count, lambda: template.render(samples))
    wanted = template.render(samples)["prompt"]
    frame = polars.from_arrow(samples)
    expression = polars.col("messages").promptpress.chat(template)
    yield Way("polars", count, lambda: frame.select(expression), cores())
    connection = duckdb.connect()
    connection.register("samples", samples)
    connection.register("few", samples.slice(0, few))
    promptpress.duckdb.register(connection, "chat", template)
    query = "SELECT chat(messages) AS prompt FROM samples"
    yield Way("duckdb", count, lambda: connection.sql(query).to_arrow_table(), cores())
    datasets.disable_progress_bars()
    dataset = datasets.Dataset(samples)
    options = {"load_from_cache_file": False, "keep_in_memory": True, "batch_size": 10_000}
    yield Way("datasets", count, lambda: promptpress.datasets.render(dataset, template, **options), cores())
    assert frame.select(expression)["messages"].to_arrow().cast(pa.string()).equals(wanted.combine_chunks())
    assert connection.sql(query).to_arrow_table()["prompt"].equals(wanted)
    assert promptpress.datasets.render(dataset, template, **options)["prompt"][:] == wanted.to_pylist()

    rows = samples["messages"].slice(0, few).to_pylist()
    apply = tokenizer_of(workload.source).apply_chat_template
    compiled = chat_template_utils._compile_jinja_template(workload.source)

    def by_transformers() -> list[str]:
        return [apply(row, tokenize=False, **given) for row in rows]

    def by_drop_in() -> list[str]:
        with promptpress.transformers.backend():
            return by_transformers()

    def by_drop_in_batch() -> list[str]:
        with promptpress.transformers.backend():
            return apply(rows, tokenize=False, **given)

    def by_jinja2() -> list[str]:
        return [compiled.render(messages=row, **given) for row in rows]

    yield Way("drop-in", few, by_drop_in)
    yield Way("drop-in batch", few, by_drop_in_batch)
    yield Way("transformers", few, by_transformers)
    yield Way("jinja2", few, by_jinja2)
    texts = wanted.slice(0, few).to_pylist()
    assert texts == by_transformers() == by_drop_in() == by_drop_in_batch() == by_jinja2()
    extension = by_extension(connection, workload.source, given)
    if extension is not None:
        assert texts == extension()
        yield Way(EXTENSION, few, extension)


@pytest.mark.parametrize(
    ("workload_id", "name", "replay"),
    [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group=f"where-{case[0]}", timer=case[2]))
        for case in CASES
    ],
)
def test_integration_rate(  # noqa: PLR0917 - fixtures
    workload_id: str, name: str, replay: Replay, quick: bool, benchmark: Any, record_property: Any
) -> None:
    if workload_id not in ways_of:
        workload = CHATS_BY_ID[workload_id]
        sizes = (20_000, 1_000) if quick else (100_000, 5_000)
        ways_of[workload_id] = measured(list(ways(workload, *sizes)))
    if name not in ways_of[workload_id]:
        pytest.skip(absent[-1])
    rate = replayed(ways_of[workload_id][name], replay, benchmark, kind="where", workload=workload_id)
    record_property("figure", f"{workload_id:18} {'where: ' + name:24} {rate:14,.0f} rows/s")

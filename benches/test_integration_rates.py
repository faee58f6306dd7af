"""Conversations in Polars, DuckDB, datasets and `apply_chat_template`, next to transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import datasets
import duckdb
import polars
import promptpress
import promptpress.datasets
import promptpress.duckdb
import promptpress.polars
import promptpress.transformers
import pyarrow as pa
import pytest
import tokenizers
import transformers
from chat_workloads import CHATS_BY_ID, ROWS, ChatWorkload, conversations
from in_turns import Sizes, Way, measured
from peers import cores
from record import Record
from texts import SHOTS

EXTENSION = "DuckDB's minijinja extension"


def tokenizer_of(source: str) -> Any:
    """Return a tokenizer in memory, whose tokens nobody asks for."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", chat_template=source)


def by_extension(connection: Any, source: str, given: dict[str, Any], record: Record) -> Callable[[], list[str]] | None:
    """Return the texts of DuckDB's minijinja extension; None if it can't be installed."""
    try:
        connection.sql("INSTALL minijinja FROM community")
        connection.sql("LOAD minijinja")
    except duckdb.Error as error:
        record.absent[EXTENSION] = f"it can't be installed: {str(error).splitlines()[0]}"
        return None
    names = ", ".join(f"{name!r}: {value}" for name, value in given.items())
    query = f"SELECT minijinja_render(?, to_json({{'messages': messages, {names}}})) FROM few"
    return lambda: [row[0] for row in connection.execute(query, [source]).fetchall()]


def ways(workload: ChatWorkload, sizes: Sizes, record: Record) -> Iterator[Way]:
    count = sizes.ours(ROWS[SHOTS])
    samples = conversations(workload.shots, count)
    given = {"add_generation_prompt": True, **workload.variables}
    template = promptpress.ChatTemplate(workload.source, **given)
    wanted = template.render(samples)["prompt"]
    frame = polars.from_arrow(samples)
    expression = polars.col("messages").promptpress.chat(template)
    connection = duckdb.connect()
    connection.register("samples", samples)
    promptpress.duckdb.register(connection, "chat", template)
    query = "SELECT chat(messages) AS prompt FROM samples"
    datasets.disable_progress_bars()
    dataset = datasets.Dataset(samples)
    options = {"load_from_cache_file": False, "keep_in_memory": True, "batch_size": 10_000}
    bulk: dict[str, Callable[[], Any]] = {
        "ChatTemplate": lambda: template.render(samples),
        "polars": lambda: frame.select(expression),
        "duckdb": lambda: connection.sql(query).to_arrow_table(),
        "datasets": lambda: promptpress.datasets.render(dataset, template, **options),
    }
    for name, work in bulk.items():
        yield Way(name, count, work, cores(), "ours", wanted.nbytes)
    assert frame.select(expression)["messages"].to_arrow().cast(pa.string()).equals(wanted.combine_chunks())
    assert connection.sql(query).to_arrow_table()["prompt"].equals(wanted)
    assert promptpress.datasets.render(dataset, template, **options)["prompt"][:] == wanted.to_pylist()

    apply = tokenizer_of(workload.source).apply_chat_template

    def of_rows(few: int) -> Any:
        return samples["messages"].slice(0, few).to_pylist()

    def transformers_of(few: int) -> Callable[[], list[str]]:
        rows = of_rows(few)
        return lambda: [apply(row, tokenize=False, **given) for row in rows]

    def drop_in(work: Callable[[], list[str]]) -> Callable[[], list[str]]:
        def with_it() -> list[str]:
            with promptpress.transformers.backend():
                return work()

        return with_it

    def batch_of(few: int) -> Callable[[], list[str]]:
        rows = of_rows(few)
        return drop_in(lambda: apply(rows, tokenize=False, **given))

    peers: dict[str, tuple[str, Callable[[int], Callable[[], list[str]]]]] = {
        "drop-in": ("ours", lambda few: drop_in(transformers_of(few))),
        "drop-in batch": ("ours", batch_of),
        "transformers": ("peer", transformers_of),
    }
    extension = by_extension(connection, workload.source, given, record)
    if extension is not None:

        def extension_of(few: int) -> Callable[[], list[str]]:
            connection.register("few", samples.slice(0, few))
            return extension

        peers[EXTENSION] = "peer", extension_of
    texts = wanted.slice(0, sizes.compared).to_pylist()
    for name, (role, prepare) in peers.items():
        assert texts == prepare(sizes.compared)()
        rows = sizes.theirs(prepare, count)
        yield Way(name, rows, prepare(rows), role=role)


@pytest.mark.parametrize("workload_id", ["chatml", "qwen3-5"])
def test_integration_rate(workload_id: str, sizes: Sizes, record: Record) -> None:
    record("where", workload_id, measured(ways(CHATS_BY_ID[workload_id], sizes, record)))

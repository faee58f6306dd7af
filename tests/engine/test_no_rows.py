"""Tables without rows: nothing is rendered, which is said once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress import export
from promptpress._engine.configured_engine import silent
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.process import main

TEXT = "the table has no rows, so nothing was rendered"
EMPTY = pa.table(
    {
        "q": pa.array([], pa.string()),
        "messages": pa.array([], pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))),
    }
)
RENDERERS: dict[str, Any] = {
    "configuration": pp.Renderer("{q}"),
    "jinja": pp.JinjaTemplate("{{ q }}"),
    "chat": pp.ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}"),
}


@pytest.fixture(autouse=True)
def _warnings_are_seen() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pp.PromptWarning)
        yield


@pytest.mark.parametrize("renderer", RENDERERS.values(), ids=RENDERERS)
def test_a_table_and_a_stream_without_rows_give_a_warning(renderer: Any) -> None:
    with pytest.warns(pp.PromptWarning, match=f"^{TEXT}$") as caught:
        assert renderer.render(EMPTY).num_rows == 0
    assert [warning.filename for warning in caught] == [__file__]
    for batches in ([], EMPTY.to_batches(), [EMPTY.to_batches(), *EMPTY.to_batches()][1:]):
        reader = pa.RecordBatchReader.from_batches(EMPTY.schema, iter(batches))
        with pytest.warns(pp.PromptWarning, match=f"^{TEXT}$") as caught:
            assert renderer.stream(reader).read_all().num_rows == 0
        assert len(caught) == 1
    # A batch of many may be empty, as the first that engines send often is.
    assert renderer(EMPTY).num_rows == 0
    assert renderer(pa.RecordBatch.from_pylist([], EMPTY.schema)).num_rows == 0


def test_what_has_rows_gives_none() -> None:
    table = pa.table({"q": ["a"]})
    batches = [*table.slice(0, 0).to_batches(), *table.to_batches(), *table.slice(1).to_batches()]
    reader = pa.RecordBatchReader.from_batches(table.schema, iter(batches))
    assert pp.Renderer("{q}").stream(reader).read_all().num_rows == 1
    assert silent(pp.Renderer("{q}")).render(table.slice(0, 0)).num_rows == 0


def test_exports_without_rows_give_a_warning(tmp_path: Path) -> None:
    table = pa.table({"prompt": pa.array([], pa.string()), "gold": pa.array([], pa.string())})
    for write in (
        lambda: export.openai_batch(table, tmp_path / "a.jsonl", model="m"),
        lambda: export.preference(table, tmp_path / "b.jsonl", chosen="gold", rejected="gold"),
        lambda: export.ray_rows(table),
    ):
        with pytest.warns(pp.PromptWarning, match=f"^{TEXT}$") as caught:
            write()
        assert len(caught) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["render", "--template", "{q}", "--out", "-"],
        ["render", "--template", "{q}", "--keep", "q", "--out", "out.parquet"],
        ["render", "--template", "{q}", "--resume", "--out", "out.parquet"],
        ["render", "--jinja", "{{ q }}", "--out", "-"],
        ["export", "openai-batch", "--template", "{q}", "--model-name", "m", "--out", "in.jsonl"],
        ["export", "alpaca", "--template", "{q}", "--answer", "q", "--out", "in.jsonl"],
        ["export", "ray", "--template", "{q}", "--out", "out.parquet"],
    ],
)
def test_the_command_says_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(EMPTY, "data.parquet")
    assert main([*command, "--data", "data.parquet"]) == ExitCode.OK
    assert capsys.readouterr().err.count(f"promptpress: warning: {TEXT}\n") == 1
    assert main([*command, "--data", "data.parquet", "--quiet"]) == ExitCode.OK
    assert TEXT not in capsys.readouterr().err


def test_an_exported_file_without_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"prompt": pa.array([], pa.string())}), "prompts.parquet")
    assert main(["export", "openai-batch", "prompts.parquet", "--model-name", "m", "--out", "in.jsonl"]) == ExitCode.OK
    assert capsys.readouterr().err.count(TEXT) == 1

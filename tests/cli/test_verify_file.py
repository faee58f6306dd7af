"""The hash of a file: the same whatever wrote it, and what `promptpress verify FILE` says of it."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import blake3
import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from parts.resume_parts import PLAIN, End, folder, here, name, render, samples, stopped_after
from promptpress.engine import BatchCuts
from promptpress_workbench.cli import main, prompt_stream
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.read import columnar_inputs

pytestmark = [UNWARNED, pytest.mark.usefixtures("here")]

__all__ = ["folder", "here", "name"]


def metadata_of(path: str, key: str = "hash") -> str:
    return (pq.read_metadata(path).metadata or {})[f"promptpress.{key}".encode()].decode()


@pytest.mark.parametrize("seed", range(8))
def test_the_hash_is_the_same_whatever_wrote_the_file(seed: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    out = f"{name}.parquet"
    given = draw.choice([PLAIN, ["gen.json", "--data", "even.parquet"], ["gen.json", "--data", "data.jsonl"]])
    if draw.random() < 0.3:  # the same rows, in two files
        given = ["gen.json", "--data", "part-1.parquet", "part-2.parquet"]
    given = [*given, "--threads", draw.choice("123"), *draw.choice([[], ["--hashes"], ["--keep", "id"]])]
    if draw.random() < 0.5:
        given += ["--batch-size", str(draw.choice([1, 7, 250, 10_000]) if seed % 2 else 333)]
    else:  # by bytes, with less of them than these rows have
        monkeypatch.setattr(columnar_inputs, "BATCH_ROWS", 512)
        monkeypatch.setattr(prompt_stream, "batch_cuts", lambda samples: BatchCuts(samples.batch_size or 3000))
    resumed = []
    for stop in range(draw.randrange(4)):
        go_on = stopped_after(monkeypatch, stop + 1)
        try:
            render(*given, "--out", out, "--resume")
        except End:
            resumed = ["--resume"]
        go_on()
        if Path(out).exists():
            break
    assert render(*given, "--out", out, *resumed) == 0
    prompts = pp.Renderer("Q: {q}\nA: {a}", reader={"input_columns": ["q"], "output_column": "a"}).render(samples())
    stream = (text.encode() for text in prompts["prompt"].to_pylist())
    expected = blake3.blake3(b"".join(len(text).to_bytes(8, "little") + text for text in stream)).hexdigest()
    assert metadata_of(out) == expected
    assert metadata_of(out, "hash_format") == "2"
    assert main(["verify", out]) == 0


def test_a_resumed_file_has_the_bytes_of_one_run_by_learnt_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar_inputs, "BATCH_ROWS", 256)
    monkeypatch.setattr(prompt_stream, "batch_cuts", lambda _: BatchCuts(3000))
    whole, out = f"{name}-whole.parquet", f"{name}.parquet"
    given = ["gen.json", "--data", "even.parquet", "--index", "row"]
    assert render(*given, "--out", whole) == 0
    assert pq.read_metadata(whole).num_row_groups > 20
    for stop in (1, 3, 6):
        go_on = stopped_after(monkeypatch, stop)
        with pytest.raises(End):
            render(*given, "--out", out, "--resume")
        go_on()
    assert render(*given, "--out", out, "--resume") == 0
    assert Path(out).read_bytes() == Path(whole).read_bytes()


def write_with(path: str, table: pa.Table, **about: str) -> str:
    metadata = {f"promptpress.{key}": value for key, value in about.items()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def test_the_verdict_on_a_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, other = f"{name}.parquet", f"{name}-other.parquet"
    assert render(*PLAIN, "--out", out) == 0
    table, digits = pq.read_table(out), metadata_of(out)
    assert main(["verify", out]) == 0
    assert capsys.readouterr().out == f"equal: 3,000 prompts with the hash {digits}\n"
    swapped = table.take([1, 0, *range(2, 3000)])
    assert main(["verify", write_with(other, swapped, hash=digits, hash_format="2")]) == ExitCode.DIFFERENT
    assert f"the file says  {digits}\n  its prompts    " in capsys.readouterr().out
    hashes = pp.Renderer("{prompt}").render(table, hashes=True)["hash"].to_pylist()
    old = hashlib.sha256(b"".join(hashes)).hexdigest()
    assert main(["verify", write_with(other, table, hash=old)]) == 0
    assert "in the format of an older version, and rendering anew gives another" in capsys.readouterr().out
    assert main(["verify", write_with(other, swapped, hash=old)]) == ExitCode.DIFFERENT
    for about, message in (
        (
            {"hash": digits, "hash_format": "3", "version": "9.9"},
            "has the format 3, and this version knows those up to 2",
        ),
        ({}, "says no hash of its prompts; Parquet that `promptpress render` writes has it"),
    ):
        assert main(["verify", write_with(other, table, **about)]) == ExitCode.USAGE
        assert message in capsys.readouterr().err
    assert main(["verify", out, "--limit", "3"]) == ExitCode.USAGE
    assert main(["verify", "."]) == ExitCode.USAGE


def test_messages_are_verified_as_structs_and_as_json(name: str) -> None:
    out = f"{name}.parquet"
    for form in ("messages", "messages_json"):
        assert render("messages.json", "--data", "data.parquet", "--output", form, "--out", out) == 0
        assert main(["verify", out]) == 0

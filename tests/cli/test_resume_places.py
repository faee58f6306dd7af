"""The location of parts and other files there; rows with errors before the end of a run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from parts.resume_parts import CONFIGS, EXAMPLES, PLAIN, End, folder, here, name, render, samples, stopped_after
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.write import parts

pytestmark = [UNWARNED, pytest.mark.usefixtures("here")]

__all__ = ["folder", "here", "name"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of other systems are Unicode")
@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow"])
def test_names_that_are_no_unicode(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(samples(), tmp_path / "data.parquet")
    monkeypatch.chdir(tmp_path)
    Path("gen.json").write_text(json.dumps(CONFIGS["gen"]))
    assert render("gen.json", "--data", "data.parquet", "--out", f"whole.{suffix}") == 0
    data = os.fsdecode(b"in\xff.parquet")
    os.rename("data.parquet", data)
    out = os.fsdecode(b"out\xff.") + suffix
    assert render("gen.json", "--data", data, "--out", out, "--resume") == 0
    assert Path(out).read_bytes() == Path(f"whole.{suffix}").read_bytes()
    pf.write_feather(samples(), "data.arrow", compression="uncompressed")
    os.rename("data.arrow", os.fsdecode(b"in\xff.arrow"))
    assert render("gen.json", "--data", os.fsdecode(b"in\xff.arrow"), "--out", "out.jsonl") == 0
    assert render("gen.json", "--data", data, "--out", "o.jsonl", "--index", "n\udcff") == ExitCode.USAGE


def test_a_file_in_the_place_of_the_parts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = f"{name}.jsonl"
    Path(parts.parts_folder(out)).write_text("mine")
    assert render(*PLAIN, "--out", out, "--resume") == ExitCode.OUTPUT
    assert "parts: Not a directory" in capsys.readouterr().err
    assert render(*PLAIN, "--out", out) == 0
    assert Path(parts.parts_folder(out)).read_text() == "mine"


def test_a_manifest_of_endless_depth_is_a_damaged_one(name: str) -> None:
    out = f"{name}.jsonl"
    os.mkdir(parts.parts_folder(out))
    Path(parts.parts_folder(out), "run.json").write_text("[" * 100_000)
    assert render(*PLAIN, "--out", out, "--resume") == 0


def test_a_link_to_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(tmp_path / "missing" / "out.jsonl")
    assert render(*PLAIN, "--out", str(link), "--resume") == ExitCode.OUTPUT
    assert "did you mean" not in capsys.readouterr().err


# Rows before the end of the first run that have errors.


@pytest.mark.parametrize("ended", [1, 3])
@pytest.mark.parametrize(
    "retriever",
    [{"type": "SlidingWindowRetriever", "k": 4}, {"type": "SlidingWindowRetriever", "k": 40, "ice_separator": "--"}],
)
def test_examples_that_there_are_not_are_no_end_of_a_run(
    retriever: dict[str, Any], ended: int, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / f"{name}.json").write_text(json.dumps({**CONFIGS["window"], "retriever": retriever}))
    given = [f"{name}.json", "--data", "data.parquet", *EXAMPLES, "--batch-size", "64", "--errors", "column"]
    given += ["--index", "n", "--hashes", "--keep", "id", "--limit", "600"]
    assert render(*given, "--out", f"{name}-whole.jsonl") == ExitCode.OK
    go_on = stopped_after(monkeypatch, ended)
    with pytest.raises(End):
        render(*given, "--out", f"{name}.jsonl", "--resume")
    go_on()
    assert render(*given, "--out", f"{name}.jsonl", "--resume") == ExitCode.OK
    assert Path(f"{name}.jsonl").read_bytes() == Path(f"{name}-whole.jsonl").read_bytes()

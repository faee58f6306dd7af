"""`promptpress render --resume`: whatever ends a run, the next one ends with the bytes of a run that nothing ended."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import amounts
import pytest
import warm
from faults import TRIED
from marks import UNWARNED
from parts.resume_parts import (
    BATCH,
    EXAMPLES,
    PLAIN,
    ROWS,
    End,
    folder,
    here,
    interrupted,
    name,
    parts_of,
    render,
    stopped_after,
)
from promptpress_workbench.cli import main
from promptpress_workbench.cli import prompt_stream as resume
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.write import parts
from promptpress_workbench.files.write.parts import Parts

pytestmark = [UNWARNED, pytest.mark.usefixtures("here")]

__all__ = ["folder", "here", "name"]

COMMANDS: dict[str, tuple[list[str], str]] = {
    **{f"to {suffix}": (PLAIN, suffix) for suffix in ("parquet", "arrow", "jsonl", "csv")},
    **{f"to {suffix}": (PLAIN, suffix) for suffix in ("jsonl.gz", "jsonl.zst", "csv.gz", "csv.zst")},
    "snappy": ([*PLAIN, "--compression", "snappy"], "parquet"),
    "arrow zstd": ([*PLAIN, "--compression", "zstd"], "arrow"),
    "kept": ([*PLAIN, "--keep", "all", "--index", "row"], "parquet"),
    "kept in arrow": ([*PLAIN, "--keep", "id,when,flag,shots,question,messages"], "arrow"),
    "kept in lines": ([*PLAIN, "--keep", "all"], "jsonl.gz"),
    "even row groups": (["gen.json", "--data", "even.parquet", "--index", "row"], "parquet"),
    "several files": (["gen.json", "--data", "part-1.parquet", "part-2.parquet", "--index", "row"], "parquet"),
    "limit": ([*PLAIN, "--limit", "1801"], "jsonl"),
    **{
        f"from {suffix}": (["gen.json", "--data", f"data.{suffix}", "--index", "row"], "parquet")
        for suffix in ("arrow", "csv", "jsonl", "json")
    },
    **{
        name: ([f"{name}.json", "--data", "data.parquet", "--index", "row", "--keep", "id"], suffix)
        for name, suffix in {
            "ppl": "parquet",
            "column": "arrow",
            "messages": "jsonl",
            "turns": "parquet",
            "labelled messages": "arrow",
        }.items()
    },
    "random": (["random.json", "--data", "data.parquet", *EXAMPLES, "--index", "row"], "parquet"),
    "random lines": (["random.json", "--data", "data.jsonl", *EXAMPLES], "jsonl.zst"),
    "random labels": (["random opencompass.json", "--data", "data.csv", *EXAMPLES], "arrow"),
    "random of aisbench": (["random aisbench.json", "--data", "data.parquet", *EXAMPLES, "--limit", "1801"], "jsonl"),
    "window": (["window.json", "--data", "data.parquet", *EXAMPLES, "--limit", "50"], "jsonl"),
    "errors": (["chosen.json", "--data", "data.parquet", *EXAMPLES, "--errors", "column"], "parquet"),
    "errors in lines": (["chosen.json", "--data", "data.parquet", *EXAMPLES, "--errors", "column"], "csv"),
    "hashes": ([*PLAIN, "--hashes"], "parquet"),
    "hashes of errors": (["chosen.json", "--data", "data.arrow", *EXAMPLES, "--errors", "column", "--hashes"], "arrow"),
    "hashes of errors in lines": (
        ["chosen.json", "--data", "data.parquet", *EXAMPLES, "--errors", "column", "--hashes"],
        "jsonl",
    ),
    "jinja": (["--jinja", "{{ q }} {{ a|upper }} {{ loop }}", "--data", "data.parquet", "--index", "row"], "parquet"),
    "chat": (
        ["--chat-template", "clock.jinja", "--data", "data.parquet", "--index", "row", "--now", "2026-01-31T09:00"],
        "jsonl",
    ),
    "chat behind messages": (
        ["messages.json", "--chat-template", "clock.jinja", "--data", "data.parquet", "--now", "2026-01-31T09:00"],
        "parquet",
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_result_is_that_of_one_run(command: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, suffix = COMMANDS[command]
    size = "7" if "--limit" in given and "50" in given else str(BATCH)
    given = [*given, "--batch-size", size]
    whole, out = f"{name}-whole.{suffix}", f"{name}.{suffix}"
    code = ExitCode.OK
    assert render(*given, "--out", whole) == code
    stops = (0, 1, 5)
    turn = list(COMMANDS).index(command) % len(stops)
    for stop in stops if amounts.WITH_HEAVY else stops[turn : turn + 1]:
        go_on = stopped_after(monkeypatch, stop)
        with pytest.raises(End):
            render(*given, "--out", out, "--resume")
        go_on()
        assert not Path(out).exists()
        assert len(parts_of(out)) == stop + 1, "the manifest and the parts"
        assert render(*given, "--out", out, "--resume") == code
        assert Path(out).read_bytes() == Path(whole).read_bytes()
        assert not parts_of(out)
        os.unlink(out)
        TRIED["interrupted runs resumed"] += 1
    assert render(*given, "--out", out, "--resume") == code
    assert render(*given, "--out", out, "--resume") == code, "again, as `wget -c`"
    assert Path(out).read_bytes() == Path(whole).read_bytes()


def test_several_interruptions_and_no_row_is_rendered_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [*PLAIN, "--batch-size", str(BATCH)]
    assert render(*given, "--out", f"{name}-whole.parquet") == 0
    out = f"{name}.parquet"
    for stop in (2, 3, 7, 11):
        go_on = stopped_after(monkeypatch, stop)
        with pytest.raises(End):
            render(*given, "--out", out, "--resume")
        go_on()
        assert len(parts_of(out)) == stop + 1
    written: list[int] = []
    write = Parts.write
    done = int(parts_of(out)[-2].split("-")[4])
    monkeypatch.setattr(Parts, "write", lambda self, *more: (written.append(more[2]), write(self, *more)))
    assert render(*given, "--out", out, "--resume") == 0
    assert sum(written) == ROWS - done
    assert Path(out).read_bytes() == Path(f"{name}-whole.parquet").read_bytes()


def test_of_many_files_the_complete_ones_stay(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    infer = {"prompt_template": {"type": "PromptTemplate", "template": "{q}"}, "retriever": {"type": "ZeroRetriever"}}
    infer["inferencer"] = {"type": "GenInferencer"}
    reader = {"input_columns": ["q"], "output_column": None}
    sets = [{"abbr": name, "reader_cfg": reader, "infer_cfg": infer} for name in ("a", "b", "c")]
    (tmp_path / "c.json").write_text(json.dumps({"datasets": sets}))
    data = [f"{name}={folder / 'data.parquet'}" for name in ("a", "b", "c")]
    given = [str(tmp_path / "c.json"), "--dataset", "all", "--data", *data, "--batch-size", str(BATCH)]
    assert render(*given, "--out", f"{tmp_path}/whole/") == 0
    out = tmp_path / "out"
    write = Parts.write

    def stopping(self: Parts, *arguments: Any) -> None:
        if "b.jsonl" in self.folder and self.count == 2:
            raise End
        write(self, *arguments)

    monkeypatch.setattr(Parts, "write", stopping)
    with pytest.raises(End):
        render(*given, "--out", f"{out}/", "--resume")
    assert (out / "a.jsonl").exists()
    assert not (out / "b.jsonl").exists()
    written: list[str] = []
    monkeypatch.setattr(Parts, "write", lambda self, *more: (written.append(self.folder), write(self, *more)))
    assert render(*given, "--out", f"{out}/", "--resume") == 0
    assert not any("a.jsonl" in folder for folder in written)
    for file in ("a.jsonl", "b.jsonl", "c.jsonl"):
        assert (out / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert sorted(os.listdir(out)) == ["a.jsonl", "b.jsonl", "c.jsonl", "summary.json"]
    counts = [
        [entry["rows"] for entry in json.loads((folder_of_run / "summary.json").read_text())["rendered"]]
        for folder_of_run in (out, tmp_path / "whole")
    ]
    assert counts[0] == counts[1] == [ROWS] * 3


def test_tasks_of_lm_eval_may_be_resumed(name: str) -> None:
    pytest.importorskip("jinja2")
    given = ["task.yaml", "--data", "data.jsonl"]
    assert render(*given, "--out", f"{name}-whole.parquet") == 0
    assert render(*given, "--out", f"{name}.parquet", "--resume") == 0
    assert Path(f"{name}.parquet").read_bytes() == Path(f"{name}-whole.parquet").read_bytes()


def test_the_clock_is_that_of_the_first_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2")
    given = ["--chat-template", "clock.jinja", "--data", "data.parquet", "--batch-size", "500"]
    out = f"{name}.jsonl"
    go_on = stopped_after(monkeypatch, 3)
    with pytest.raises(End):
        render(*given, "--out", out, "--resume")
    go_on()
    assert render(*given, "--out", out, "--resume") == 0
    times = {json.loads(line)["prompt"].rsplit(" ", 1)[1] for line in Path(out).read_text().splitlines()}
    assert len(times) == 1


# What is of another run.


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (["ppl.json", "--data", "data.parquet"], "fingerprint of the configuration and the examples was"),
        ([*PLAIN, "--limit", "2000"], "--limit was null and is 2000"),
        ([*PLAIN, "--keep", "id"], "columns was"),
        ([*PLAIN, "--index", "n"], "--index was null"),
        (["gen.json", "--data", "even.parquet"], '--data even.parquet, path was "data.parquet"'),
        (["gen.json", "--data", "data.parquet", "even.parquet"], "--data was"),
    ],
)
def test_parts_of_another_run_are_refused(
    other: list[str], message: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ["--batch-size", str(BATCH)]
    out = interrupted(name, monkeypatch, *PLAIN, *size)
    before = parts_of(out)
    assert render(*other, *size, "--out", out, "--resume") == ExitCode.USAGE
    error = capsys.readouterr().err
    assert message in error
    assert f"delete {parts.parts_folder(out)} to begin anew" in error
    assert parts_of(out) == before
    assert not Path(out).exists()
    assert render(*PLAIN, *size, "--out", out, "--resume") == 0
    TRIED["parts of another run refused"] += 1


def test_parts_of_conditions_in_another_time_zone_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    given = [*PLAIN, "--where", "id > 10", "--batch-size", str(BATCH)]
    with monkeypatch.context() as patch:
        patch.setattr(resume, "TIME_ZONE", "Asia/Tokyo")
        out = interrupted(name, monkeypatch, *given)
    assert render(*given, "--out", out, "--resume") == ExitCode.USAGE
    assert 'time zone of --where was "Asia/Tokyo" and is "UTC"' in capsys.readouterr().err


def test_an_input_that_has_changed_is_refused(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = folder / f"{name}.data.jsonl"
    lines = (folder / "data.jsonl").read_text().splitlines()
    copy.write_text("\n".join(lines))
    out = interrupted(name, monkeypatch, "gen.json", "--data", copy.name, "--batch-size", "20", "--limit", "500")
    lines[1500] = lines[1500].replace("question", "QUESTION")
    copy.write_text("\n".join(lines))
    arguments = ["gen.json", "--data", copy.name, "--batch-size", "20", "--limit", "500", "--out", out, "--resume"]
    assert render(*arguments) == ExitCode.USAGE
    assert f"--data {copy.name}, time was" in capsys.readouterr().err
    TRIED["changed inputs refused"] += 1


def test_damaged_parts_are_rendered_anew(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*PLAIN, "--batch-size", str(BATCH)]
    assert render(*given, "--out", f"{name}-whole.jsonl") == 0
    for damage in (lambda data: data[:-1], lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:], lambda _: b""):
        out = interrupted(name, monkeypatch, *given)
        whole_parts = parts_of(out)
        part = Path(parts.parts_folder(out), whole_parts[1])
        part.write_bytes(damage(part.read_bytes()))
        assert main(["render", *given, "--out", out, "--resume"]) == 0
        errors = capsys.readouterr().err
        assert f"parts of {int(whole_parts[2].split('-')[4]) - BATCH} rows don't hold what was written" in errors
        assert "goes on after row 250, with 1 finished part" in errors
        assert Path(out).read_bytes() == Path(f"{name}-whole.jsonl").read_bytes()
        os.unlink(out)
        TRIED["damaged parts rendered anew"] += 1


def test_a_manifest_that_is_gone_or_damaged_is_no_leave_to_mix(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*PLAIN, "--batch-size", str(BATCH)]
    out = interrupted(name, monkeypatch, *given)
    Path(parts.parts_folder(out), "run.json").write_text("{")
    assert render(*given, "--out", out, "--resume") == ExitCode.USAGE
    assert "to begin anew" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(*PLAIN, "--out", str(tmp_path / "missing" / "out.jsonl"), "--resume") == ExitCode.OUTPUT
    assert "out.jsonl: No such file or directory (there is no folder" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_standard_output_has_no_parts(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(*PLAIN, "--out", out, "--resume") == ExitCode.USAGE
    assert "--resume: standard output" in capsys.readouterr().err


def test_standard_input_has_no_second_reading(name: str) -> None:
    command = warm.command("render", "gen.json", "--data", "-", "--data-format", "jsonl")
    done = subprocess.run(
        [*command, "--out", f"{name}.jsonl", "--resume"],
        input=b'{"q": "x", "a": "y"}\n',
        capture_output=True,
        check=False,
    )
    assert done.returncode == ExitCode.USAGE
    assert b"standard input can be read only once" in done.stderr

"""`promptpress render --resume`: whatever ends a run, the next one ends with the bytes of a run that nothing ended."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from faults import TRIED
from marks import UNWARNED
from promptpress._cli import main, resume
from promptpress._cli.errors import ExitCode
from promptpress._outputs import parts
from promptpress._outputs.parts import Parts

pytestmark = UNWARNED

ROWS = 3000
BATCH = 250
INTERRUPTED = str(Path(__file__).parent / "interrupted.py")

READER = {"input_columns": ["q"], "output_column": "a"}
SHOT = {"type": "PromptTemplate", "template": "</E>{q} -> {a}", "ice_token": "</E>"}
FEW = {"type": "PromptTemplate", "template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"}
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
TURNS = {"round": [{"role": "HUMAN", "prompt": "Q:{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
CLOCK = "{{ messages[0].content }} at {{ strftime_now('%H:%M:%S.%f') }}"

CONFIGS: dict[str, dict[str, Any]] = {
    "gen": {"prompt_template": "Q: {q}\nA: {a}", "reader": READER},
    "ppl": {"prompt_template": {"A": "{q} A", "B": "{q} B"}, "mode": "ppl", "reader": READER},
    "column": {"prompt_template": "{q} {a}", "mode": "ppl", "reader": READER},
    "messages": {"prompt_template": DIALOGUE, "meta_template": META, "reader": READER},
    "random": {
        "prompt_template": FEW,
        "ice_template": SHOT,
        "retriever": {"type": "RandomRetriever", "ice_num": 3, "seed": 5},
        "reader": READER,
    },
    **{
        f"random {dialect}": {
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {"A": "</E>{q} A", "B": "</E>{q} B"},
                "ice_token": "</E>",
            },
            "ice_template": {"type": "PromptTemplate", "template": "{q} -> {a}"},
            "retriever": {"type": "RandomRetriever", "ice_num": 2, "seed": 1},
            "mode": "ppl",
            "reader": READER,
            "dialect": dialect,
        }
        for dialect in ("opencompass", "aisbench")
    },
    "window": {
        "prompt_template": FEW,
        "ice_template": SHOT,
        "retriever": {"type": "SlidingWindowRetriever", "k": 4},
        "reader": READER,
    },
    "chosen": {
        "prompt_template": FEW,
        "ice_template": SHOT,
        "retriever": {"type": "IndexColumn", "column": "shots"},
        "reader": READER,
    },
    "turns": {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": TURNS},
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        "dialect": "aisbench",
        "meta_template": META,
    },
    "labelled messages": {
        "prompt_template": {"A": DIALOGUE, "B": DIALOGUE},
        "mode": "ppl",
        "meta_template": META,
        "strings": "string_view",
        "reader": READER,
    },
}
EXAMPLES = ["--examples", "train.parquet"]


def samples() -> pa.Table:
    numbers = range(ROWS)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "q": [f"question {n} é" * (n % 5 + 1) for n in numbers],
            "a": ["AB"[n % 2] for n in numbers],
            "when": pa.array([datetime(2026, 1, 1) + timedelta(seconds=n) if n % 7 else None for n in numbers]),
            "flag": pa.array([None if n % 11 == 3 else n % 3 == 0 for n in numbers]),
            "kind": pa.array([["x", "y", "z"][n % 3] for n in numbers]).dictionary_encode(),
            "shots": [[n % 50, (n * 7) % 50] if n % 400 != 9 else [99] for n in numbers],
            "question": [[f"{n}.{turn}?" for turn in range(n % 4)] for n in numbers],
            "answer": [[f"{n}.{turn}!" for turn in range(n % 4)] for n in numbers],
            "messages": [[{"role": "user", "content": f"Hi {n}."}] for n in numbers],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples in every format, and configurations."""
    path = tmp_path_factory.mktemp("resume")
    table = samples()
    pq.write_table(table, path / "data.parquet", row_group_size=700)
    pq.write_table(table, path / "even.parquet", row_group_size=2 * BATCH)
    pq.write_table(table.slice(0, 1000), path / "part-1.parquet")
    pq.write_table(table.slice(1000), path / "part-2.parquet", row_group_size=333)
    pf.write_feather(table, path / "data.arrow", compression="uncompressed", chunksize=800)
    flat = table.select(["id", "q", "a"])
    pc.write_csv(flat, path / "data.csv")
    lines = [json.dumps(row) for row in flat.to_pylist()]
    (path / "data.jsonl").write_text("\n".join(lines) + "\n")
    (path / "data.json").write_text("[" + ",\n".join(lines) + "]")
    pq.write_table(table.slice(0, 50), path / "train.parquet")
    pq.write_table(pa.concat_tables([table] * 2).select(["q", "a"]), path / "long.parquet")
    for name, config in CONFIGS.items():
        (path / f"{name}.json").write_text(json.dumps(config))
    (path / "clock.jinja").write_text(CLOCK)
    (path / "task.yaml").write_text(
        "task: t\ndoc_to_text: 'Q: {{q}}'\ndoc_to_target: '{{a}}'\noutput_type: generate_until\ntest_split: test\n"
    )
    return path


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(resume, "PART_SECONDS", 0)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for outputs that no other test has."""
    return f"out-{abs(hash(request.node.name)) % 10**10}"


class _End(BaseException):
    pass


def stopped_after(monkeypatch: pytest.MonkeyPatch, count: int) -> Callable[[], None]:
    """Let the next runs end when so many parts have been written; call what is returned for those after them."""
    write = Parts.write

    def stopping(self: Parts, *arguments: Any) -> None:
        if self.count >= count:
            raise _End
        write(self, *arguments)

    monkeypatch.setattr(Parts, "write", stopping)
    return lambda: monkeypatch.setattr(Parts, "write", write)


def render(*arguments: str) -> int:
    return main(["render", *arguments, "--quiet"])


def parts_of(out: str) -> list[str]:
    folder = parts.parts_folder(out)
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


PLAIN = ["gen.json", "--data", "data.parquet"]
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
    code = ExitCode.INCOMPLETE if "--errors" in given else ExitCode.OK
    assert render(*given, "--out", whole) == code
    for stop in (0, 1, 5):
        go_on = stopped_after(monkeypatch, stop)
        with pytest.raises(_End):
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
        with pytest.raises(_End):
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
            raise _End
        write(self, *arguments)

    monkeypatch.setattr(Parts, "write", stopping)
    with pytest.raises(_End):
        render(*given, "--out", f"{out}/", "--resume")
    assert (out / "a.jsonl").exists()
    assert not (out / "b.jsonl").exists()
    written: list[str] = []
    monkeypatch.setattr(Parts, "write", lambda self, *more: (written.append(self.folder), write(self, *more)))
    assert render(*given, "--out", f"{out}/", "--resume") == 0
    assert not any("a.jsonl" in folder for folder in written)
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(os.listdir(out)) == ["a.jsonl", "b.jsonl", "c.jsonl", "summary.json"]
    counts = [
        [entry["rows"] for entry in json.loads((at / "summary.json").read_text())["rendered"]]
        for at in (out, tmp_path / "whole")
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
    with pytest.raises(_End):
        render(*given, "--out", out, "--resume")
    go_on()
    assert render(*given, "--out", out, "--resume") == 0
    times = {json.loads(line)["prompt"].rsplit(" ", 1)[1] for line in Path(out).read_text().splitlines()}
    assert len(times) == 1


# What is of another run.


def interrupted(name: str, monkeypatch: pytest.MonkeyPatch, *given: str) -> str:
    out = f"{name}.jsonl"
    go_on = stopped_after(monkeypatch, 3)
    with pytest.raises(_End):
        render(*given, "--out", out, "--resume")
    go_on()
    return out


@pytest.mark.parametrize(
    ("other", "said"),
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
    other: list[str], said: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ["--batch-size", str(BATCH)]
    out = interrupted(name, monkeypatch, *PLAIN, *size)
    before = parts_of(out)
    assert render(*other, *size, "--out", out, "--resume") == ExitCode.USAGE
    error = capsys.readouterr().err
    assert said in error
    assert f"delete {parts.parts_folder(out)} to begin anew" in error
    assert parts_of(out) == before
    assert not Path(out).exists()
    assert render(*PLAIN, *size, "--out", out, "--resume") == 0
    TRIED["parts of another run refused"] += 1


def test_an_input_that_has_changed_is_refused(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = folder / f"{name}.data.jsonl"
    lines = (folder / "data.jsonl").read_text().splitlines()
    own.write_text("\n".join(lines))
    out = interrupted(name, monkeypatch, "gen.json", "--data", own.name, "--batch-size", "20", "--limit", "500")
    lines[1500] = lines[1500].replace("question", "QUESTION")
    own.write_text("\n".join(lines))
    arguments = ["gen.json", "--data", own.name, "--batch-size", "20", "--limit", "500", "--out", out, "--resume"]
    assert render(*arguments) == ExitCode.USAGE
    assert f"--data {own.name}, time was" in capsys.readouterr().err
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
        said = capsys.readouterr().err
        assert f"parts of {int(whole_parts[2].split('-')[4]) - BATCH} rows don't hold what was written" in said
        assert "goes on behind row 250, with 1 finished part" in said
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
    command = [sys.executable, "-m", "promptpress", "render", "gen.json", "--data", "-", "--data-format", "jsonl"]
    done = subprocess.run(
        [*command, "--out", f"{name}.jsonl", "--resume"],
        input=b'{"q": "x", "a": "y"}\n',
        capture_output=True,
        check=False,
    )
    assert done.returncode == ExitCode.USAGE
    assert b"standard input can be read only once" in done.stderr


# Two runs at once, and what dead ones leave.


def test_of_two_runs_the_second_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = interrupted(name, monkeypatch, *PLAIN, "--batch-size", str(BATCH))
    holder = (
        "import os, sys, time; from promptpress._outputs.locks import try_lock;"
        "assert try_lock(os.open(sys.argv[1], os.O_RDONLY)); print('locked', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", holder, parts.parts_folder(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        for more in (["--resume"], []):
            assert render(*PLAIN, "--batch-size", str(BATCH), "--out", out, *more) == ExitCode.OUTPUT
            assert f"{out}: another run is writing it" in capsys.readouterr().err
        other.kill()
    assert render(*PLAIN, "--batch-size", str(BATCH), "--out", out, "--resume") == 0
    TRIED["second runs refused"] += 2


def test_a_run_without_parts_is_not_disturbed_either(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = f"{name}.jsonl"
    holder = (
        "import sys, time; from promptpress._outputs.output_file import PartialFile;"
        "PartialFile(sys.argv[1]).open(); print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", holder, out], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert render(*PLAIN, "--out", out) == ExitCode.OUTPUT
        assert "another run is writing it" in capsys.readouterr().err
        assert render(*PLAIN, "--out", f"{name}x.jsonl") == 0, "another file"
        (left,) = [path for path in os.listdir() if path.startswith(f".{out}.") and path.endswith(".partial")]
        other.kill()
    assert os.path.exists(left)
    assert render(*PLAIN, "--out", out) == 0
    assert not os.path.exists(left), "what a dead run has left is deleted"
    TRIED["second runs refused"] += 1


def test_names_with_one_beginning_are_different_files(tmp_path: Path) -> None:
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from promptpress._outputs.output_file import PartialFile;"
            "PartialFile(sys.argv[1]).open(); print('locked', flush=True); time.sleep(60)",
            str(tmp_path / ("a" * 60 + "1.jsonl")),
        ],
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert render(*PLAIN, "--out", str(tmp_path / ("a" * 60 + "2.jsonl"))) == 0
        other.kill()


def test_a_run_without_resume_says_what_is_there(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = interrupted(name, monkeypatch, *PLAIN, "--batch-size", str(BATCH))
    assert main(["render", *PLAIN, "--batch-size", str(BATCH), "--out", out]) == 0
    assert "--resume would go on with it" in capsys.readouterr().err
    assert parts_of(out)


# Runs that are killed, and disks that are full.

OUTPUTS = ["parquet", "jsonl", "jsonl.gz", "arrow", "csv.zst"]
FAULTY = ["--batch-size", "300", "--index", "row", "--keep", "id", "--resume", "--quiet"]


def command_of(number: int, out: str) -> list[str]:
    """Commands that take turns."""
    configs = [
        ["gen.json", "--data", "data.parquet"],
        ["random.json", "--data", "data.jsonl", *EXAMPLES],
        ["ppl.json", "--data", "part-1.parquet", "part-2.parquet"],
        ["turns.json", "--data", "data.arrow"],
    ]
    return ["render", *configs[number % len(configs)], "--out", out, *FAULTY]


def wrapped(command: list[str], *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, INTERRUPTED, *options, "--", *command],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **more,
    )


@pytest.fixture(scope="module")
def wholes(folder: Path) -> Callable[[int, str], tuple[bytes, int]]:
    """What each command gives when nothing goes wrong, and how many steps it takes."""
    known: dict[tuple[int, str], tuple[bytes, int]] = {}

    def whole(number: int, suffix: str) -> tuple[bytes, int]:
        key = (number % 4, suffix)
        if key not in known:
            out = folder / f"whole-{key[0]}.{suffix}"
            done = wrapped(command_of(number, str(out)))
            assert done.returncode == 0, done.stderr
            known[key] = (out.read_bytes(), int(done.stderr.splitlines()[-1]))
        return known[key]

    return whole


def leftovers(folder: Path, out: str) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(f".{out}") and not name.endswith(".parts")]


def check_kills(moments: Iterator[int], tmp_path: Path, wholes: Any, seed: int) -> None:
    draw = random.Random(seed)
    for number in moments:
        suffix = OUTPUTS[draw.randrange(len(OUTPUTS))]
        whole, steps = wholes(number, suffix)
        out = tmp_path / f"{number}.{suffix}"
        command = command_of(number, str(out))
        killed = 0
        while True:  # a run may be killed, and the run that resumes it, too
            done = wrapped(command, "--kill", str(draw.randrange(1, steps + 1)))
            if done.returncode == 0 or killed == 2:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
            killed += 1
            TRIED["runs killed by SIGKILL at a random step"] += 1
            assert not out.exists() or out.read_bytes() == whole, "complete or not there"
        assert render(*command[1:-1]) == 0
        assert out.read_bytes() == whole
        assert not leftovers(tmp_path, out.name)
        assert not parts_of(str(out))


def test_killed_runs_are_resumed(tmp_path: Path, wholes: Any) -> None:
    check_kills(iter(range(4)), tmp_path, wholes, seed=int(time.time()) if not os.environ.get("CI") else 7)


@pytest.mark.full
def test_runs_killed_at_a_hundred_random_moments_are_resumed(tmp_path: Path, wholes: Any) -> None:
    check_kills(iter(range(100)), tmp_path, wholes, seed=1)
    assert TRIED["runs killed by SIGKILL at a random step"] >= 100


@pytest.mark.full
def test_every_step_of_a_run_may_be_its_last(tmp_path: Path, wholes: Any) -> None:
    whole, steps = wholes(0, "parquet")
    for step in range(1, steps + 1):
        out = tmp_path / f"{step}.parquet"
        done = wrapped(command_of(0, str(out)), "--kill", str(step))
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not out.exists() or out.read_bytes() == whole
        assert render(*command_of(0, str(out))[1:-1]) == 0
        assert out.read_bytes() == whole
        assert not leftovers(tmp_path, out.name)
        TRIED["runs killed by SIGKILL at each of their steps"] += 1


@pytest.mark.full
def test_runs_killed_by_the_clock_are_resumed(tmp_path: Path, folder: Path) -> None:
    """Without anything in between: a real command on more rows, killed after some milliseconds."""
    pq.write_table(pa.concat_tables([samples().select(["q", "a"])] * 200), tmp_path / "many.parquet")
    given = [str(folder / "gen.json"), "--data", str(tmp_path / "many.parquet"), "--batch-size", "4096", "--quiet"]
    command = [sys.executable, "-m", "promptpress", "render", *given]
    assert subprocess.run([*command, "--out", str(tmp_path / "whole.parquet")], check=False).returncode == 0
    begun = time.monotonic()
    subprocess.run([*command, "--out", str(tmp_path / "b.parquet"), "--resume"], check=True)
    seconds = time.monotonic() - begun
    draw = random.Random(3)
    for number in range(30):
        out = tmp_path / f"{number}.parquet"
        with subprocess.Popen([*command, "--out", str(out), "--resume"], start_new_session=True) as run:
            time.sleep(draw.random() * seconds)
            run.kill()
        subprocess.run([*command, "--out", str(out), "--resume"], check=True)
        assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
        TRIED["runs killed by SIGKILL after a random time"] += 1
        out.unlink()


def check_full_disks(count: int, tmp_path: Path, wholes: Any, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(count):
        suffix = OUTPUTS[number % len(OUTPUTS)]
        whole, steps = wholes(number, suffix)
        out = tmp_path / f"{number}.{suffix}"
        command = command_of(number, str(out))
        done = wrapped(command, "--full", str(draw.randrange(1, steps + 1)))
        # The last steps are renaming and deleting, which need no space.
        assert done.returncode in (ExitCode.OUTPUT, ExitCode.OK), done.stderr
        if done.returncode == ExitCode.OUTPUT:
            assert "No space left on device (disk full)" in done.stderr
            assert not out.exists()
            assert not leftovers(tmp_path, out.name), "nothing but whole parts takes space"
            TRIED["full disks"] += 1
        assert render(*command[1:-1]) == 0
        assert out.read_bytes() == whole


def test_a_full_disk_loses_nothing(tmp_path: Path, wholes: Any) -> None:
    check_full_disks(4, tmp_path, wholes, seed=int(time.time()) if not os.environ.get("CI") else 7)


@pytest.mark.full
def test_twenty_full_disks_lose_nothing(tmp_path: Path, wholes: Any) -> None:
    check_full_disks(25, tmp_path, wholes, seed=2)
    assert TRIED["full disks"] >= 20


@pytest.mark.parametrize("limit", [2_000, 20_000, 60_000])
def test_a_file_that_may_not_grow_is_a_full_disk(limit: int, tmp_path: Path, wholes: Any) -> None:
    whole, _ = wholes(0, "jsonl")
    out = tmp_path / "out.jsonl"

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = wrapped(command_of(0, str(out)), preexec_fn=small_files)
    assert done.returncode == ExitCode.OUTPUT
    assert "(disk full)" in done.stderr
    assert not out.exists()
    assert render(*command_of(0, str(out))[1:-1]) == 0
    assert out.read_bytes() == whole
    TRIED["files that may not grow"] += 1


def test_a_small_disk(tmp_path: Path, wholes: Any) -> None:
    """A file system of its own that is really full, where one may be made without being root."""
    whole, _ = wholes(0, "jsonl")
    tried = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False) if _has("unshare") else None
    if tried is None or tried.returncode:
        pytest.skip("no file system may be mounted here")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [sys.executable, INTERRUPTED, "--", *command_of(0, str(disk / "out.jsonl"))]
    for kib in (32, 128, 300):
        script = (
            f'mount -t tmpfs -o size={kib}k tmpfs "$0" || exit 99; "$@"; code=$?; mount -o remount,size=8m "$0"; '
            f'ls -A "$0" >&2; "$@" || exit 98; cp "$0"/out.jsonl {tmp_path}/{kib}.jsonl; exit $code'
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        done = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script, str(disk), *command],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        if done.returncode == 99:
            pytest.skip("no file system may be mounted here")
        assert done.returncode == ExitCode.OUTPUT, done.stderr
        assert "No space left on device (disk full)" in done.stderr
        assert (tmp_path / f"{kib}.jsonl").read_bytes() == whole
        TRIED["small file systems filled"] += 1


def _has(program: str) -> bool:
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.environ["PATH"].split(os.pathsep))


def test_signals_that_can_be_caught_leave_whole_parts(tmp_path: Path, folder: Path) -> None:
    given = [
        str(folder / "random.json"),
        "--data",
        str(folder / "long.parquet"),
        "--examples",
        str(folder / "long.parquet"),
    ]
    out = tmp_path / "out.jsonl"
    command = [sys.executable, INTERRUPTED, "--", "render", *given, "--out", str(out), "--batch-size", "50", "--resume"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as run:
        deadline = time.monotonic() + 60
        while len(parts_of(str(out))) < 4 and time.monotonic() < deadline and run.poll() is None:
            time.sleep(0.002)
        run.send_signal(signal.SIGTERM)
        _, error = run.communicate()
    assert run.returncode == ExitCode.TERMINATED, error
    assert "the same command goes on there" in error
    assert [name for name in parts_of(str(out)) if "partial" in name] == []
    assert not out.exists()

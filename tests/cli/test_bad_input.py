"""Bad input gets an error that names the place and an exit code, and nothing is written."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts.bad_input_parts import CONFIG, META, SAMPLES, SHOTS, TURNS, invalid_utf8
from promptpress_workbench.cli import main
from promptpress_workbench.files.read import json_rows

Make = Callable[[Path], object]


def config(**changes: Any) -> Make:
    value = {**CONFIG, **changes}
    return lambda folder: (folder / "config.json").write_text(json.dumps(value), encoding="utf-8")


def shots(**changes: Any) -> Make:
    value = {**SHOTS, **changes}
    return lambda folder: (folder / "config.json").write_text(json.dumps(value), encoding="utf-8")


def text(name: str, content: str | bytes) -> Make:
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def table(name: str, content: pa.Table) -> Make:
    def make(folder: Path) -> None:
        if name.endswith(".parquet"):
            pq.write_table(content, folder / name, compression="zstd")
        else:
            with pa.ipc.new_file(folder / name, content.schema) as file:
                file.write_table(content)

    return make


def cut(name: str, keep: float) -> Make:
    """Cut off the end of a file."""

    def make(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: int(len(whole) * keep)])

    return make


def damage(name: str, start: int) -> Make:
    """Overwrite some bytes inside a file."""

    def make(folder: Path) -> None:
        whole = bytearray((folder / name).read_bytes())
        whole[start : start + 64] = bytes(255 - b for b in whole[start : start + 64])
        (folder / name).write_bytes(bytes(whole))

    return make


def all_of(*makes: Make) -> Make:
    return lambda folder: [make(folder) for make in makes]


def long_rows() -> pa.Table:
    return pa.table({"question": [os.urandom(40).hex() for _ in range(20_000)], "answer": ["x"] * 20_000})


@dataclass
class Bad:
    """One bad input of the command: what is wrong, the exit code, words of the message."""

    what: str
    code: int | tuple[int, ...]
    words: list[str]
    make: Make = Path.exists
    arguments: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=lambda: ["data.parquet"])
    config: str = "config.json"
    out: str = "out.jsonl"


JSONL = ["in.jsonl"]
BAD = [
    # the command line
    Bad("unknown option", 2, ["--zzz"], arguments=["--zzz"]),
    Bad("unknown choice", 2, ["--output", "'xml'"], arguments=["--output", "xml"]),
    Bad("unknown dialect", 2, ["--dialect", "'helm'"], arguments=["--dialect", "helm"]),
    Bad("batch of no rows", 2, ["--batch-size", "'0'"], arguments=["--batch-size", "0"]),
    Bad("negative limit", 2, ["--limit", "'-1'"], arguments=["--limit=-1"]),
    Bad("unknown column to keep", 2, ["--keep zzz", "'question', 'answer'"], arguments=["--keep", "zzz"]),
    Bad("misspelt column to keep", 2, ["did you mean 'answer'?"], arguments=["--keep", "answr"]),
    Bad("unknown suffix of data", 2, ["data.orc", "'.orc'", ".parquet", "--data-format"], data=["data.orc"]),
    Bad("unknown suffix of output", 2, ["out.orc", "'.orc'", ".parquet"], out="out.orc"),
    Bad("unknown suffix of configuration", 2, ["config.ini", ".toml"], config="config.ini"),
    Bad("output over the data", 2, ["the same file as the input"], out="data.parquet"),
    Bad("output over the configuration", 2, ["the same file"], out="config.json", arguments=["--out-format", "jsonl"]),
    Bad(
        "output over the data by a link",
        2,
        ["the same file as the input"],
        lambda folder: os.symlink("data.parquet", folder / "out.parquet"),
        out="out.parquet",
    ),
    # the configuration file
    Bad("no configuration", 3, ["none.json", "No such file"], config="none.json"),
    Bad("folder as configuration", 3, ["Is a directory"], lambda f: (f / "c.json").mkdir(), config="c.json"),
    Bad("broken JSON", 3, ["c.json:2", "not valid JSON"], text("c.json", '{"a": 1,\n'), config="c.json"),
    Bad("broken YAML", 3, ["c.yaml:", "not valid YAML"], text("c.yaml", "a: [1\nb"), config="c.yaml"),
    Bad("broken TOML", 3, ["c.toml", "not valid TOML"], text("c.toml", "a ="), config="c.toml"),
    Bad("broken Python", 3, ["c.py:1", "not valid Python"], text("c.py", "a = ("), config="c.py"),
    Bad("Python to execute", 3, ["c.py:2", "f()"], text("c.py", "from x import f\nprompt_template=f()"), config="c.py"),
    Bad("no prompts in it", 3, ["no prompt configuration", "'a'"], text("c.json", '{"a": 1}'), config="c.json"),
    Bad("misspelt part", 3, ["retreiver", "did you mean 'retriever'?"], config(retreiver={})),
    Bad("no such dataset", 2, ["--dataset x", "no datasets"], arguments=["--dataset", "x"]),
    Bad("model file without model", 3, ["holds no model"], text("m.json", "{}"), ["--model", "m.json"]),
    # what the configuration says
    Bad("empty template type", 3, ["prompt_template"], config(prompt_template={"type": "PromptTemplate"})),
    Bad(
        "unknown template type", 3, ["PromptTemplat"], config(prompt_template={"type": "PromptTemplat", "template": ""})
    ),
    Bad(
        "role unknown to the meta template",
        3,
        ["prompt_template.template.begin[0]: role 'SYSTEM'", "'HUMAN', 'BOT'", "no fallback_role"],
        config(
            prompt_template={"template": {"begin": [{"role": "SYSTEM", "prompt": "Be good."}], "round": TURNS}},
            meta_template=META,
        ),
    ),
    Bad(
        "turn without role",
        3,
        ["prompt_template.round[0]"],
        config(prompt_template={"round": [{"prompt": "x"}]}, meta_template=META),
    ),
    Bad("template of a wrong type", 3, ["prompt_template"], config(prompt_template={"template": 3})),
    Bad("unknown retriever", 3, ["retriever", "TopkRetriever"], config(retriever={"type": "TopkRetriever"})),
    Bad("shots without examples", 3, ["examples"], shots(retriever={"type": "FixKRetriever", "fix_id_list": [0]})),
    Bad(
        "shot out of range",
        3,
        ["fix_id_list", "3"],
        shots(retriever={"type": "FixKRetriever", "fix_id_list": [0, 3]}),
        ["--examples", "data.parquet"],
    ),
    Bad(
        "token id without text",
        3,
        ["meta_template.round[0]"],
        config(meta_template={"round": [{**META["round"][0], "begin": [1]}, *META["round"][1:]]}),
    ),
    # data
    Bad("no data", 4, ["none.parquet", "No such file or directory"], data=["none.parquet"]),
    Bad("folder as data", 4, ["d.parquet", "folder"], lambda f: (f / "d.parquet").mkdir(), data=["d.parquet"]),
    Bad("text named Parquet", 4, ["x.parquet"], text("x.parquet", "question,answer\n" * 9), data=["x.parquet"]),
    Bad("empty Parquet", 4, ["x.parquet"], text("x.parquet", ""), data=["x.parquet"]),
    Bad("truncated Parquet", 4, ["data.parquet"], cut("data.parquet", 0.7)),
    Bad(
        "Parquet damaged inside",
        4,
        ["x.parquet"],
        all_of(table("x.parquet", long_rows()), damage("x.parquet", 4)),
        ["--batch-size", "1000"],
        ["x.parquet"],
    ),
    Bad("text named Arrow", 4, ["x.arrow"], text("x.arrow", "question,answer\n" * 9), data=["x.arrow"]),
    Bad(
        "truncated Arrow",
        4,
        ["x.arrow"],
        all_of(table("x.arrow", long_rows()), cut("x.arrow", 0.7)),
        data=["x.arrow"],
    ),
    Bad("invalid UTF-8 in Arrow", 4, ["x.arrow", "UTF8"], table("x.arrow", invalid_utf8()), data=["x.arrow"]),
    Bad("invalid UTF-8 in Parquet", 4, ["row 1", "question"], table("x.parquet", invalid_utf8()), data=["x.parquet"]),
    Bad(
        "files that differ in a type",
        4,
        ["x.parquet", "column 'answer' is int64, not string", "data.parquet"],
        table("x.parquet", pa.table({"question": ["q"], "answer": [1]})),
        data=["data.parquet", "x.parquet"],
    ),
    Bad(
        "files of which one lacks a column",
        4,
        ["x.parquet", "lacks the column 'answer'"],
        table("x.parquet", pa.table({"question": ["q"]})),
        data=["data.parquet", "x.parquet"],
    ),
    Bad(
        "files of which one has a column more",
        4,
        ["x.parquet", "'id'"],
        table("x.parquet", SAMPLES.append_column("id", pa.array([1, 2, 3]))),
        data=["data.parquet", "x.parquet"],
    ),
    Bad(
        "JSONL with a broken line",
        4,
        ["in.jsonl:2", "not valid JSON"],
        text("in.jsonl", '{"a": 1}\n{"a"\n'),
        data=JSONL,
    ),
    Bad("truncated JSONL", 4, ["in.jsonl:2"], text("in.jsonl", '{"a": "b"}\n{"a": "b'), data=JSONL),
    Bad("JSONL that is no object", 4, ["in.jsonl:2", "a list"], text("in.jsonl", '{"a": 1}\n[1]\n'), data=JSONL),
    Bad(
        "JSONL in another encoding",
        4,
        ["in.jsonl:2", "0xff"],
        text("in.jsonl", b'{"a": 1}\n{"a": "\xff"}\n'),
        data=JSONL,
    ),
    Bad(
        "JSONL with half a surrogate",
        4,
        ["row 0", "surrogate"],
        text("in.jsonl", '{"question": "\\ud800", "answer": ""}'),
        data=JSONL,
    ),
    Bad("JSONL nested without end", 4, ["in.jsonl"], text("in.jsonl", '{"a": ' + "[" * 100_000), data=JSONL),
    Bad("no examples", 4, ["none.parquet"], arguments=["--examples", "none.parquet"]),
    Bad(
        "shot column with an index out of range",
        4,
        ["row 1", "shots", "7"],
        all_of(
            shots(retriever={"type": "IndexColumn", "column": "shots"}),
            table("x.parquet", SAMPLES.append_column("shots", pa.array([[0], [1, 7], []], pa.list_(pa.int64())))),
        ),
        ["--examples", "data.parquet"],
        ["x.parquet"],
    ),
    Bad(
        "shot column with a null list",
        4,
        ["row 2", "shots", "null"],
        all_of(
            shots(retriever={"type": "IndexColumn", "column": "shots"}),
            table("x.parquet", SAMPLES.append_column("shots", pa.array([[0], [], None], pa.list_(pa.int64())))),
        ),
        ["--examples", "data.parquet"],
        ["x.parquet"],
    ),
    Bad(
        "shot column that is missing",
        (3, 4),
        ["shots"],
        shots(retriever={"type": "IndexColumn", "column": "shots"}),
        ["--examples", "data.parquet", "--quiet"],
    ),
    Bad(
        "shot column that is text",
        (3, 4),
        ["shots"],
        all_of(
            shots(retriever={"type": "IndexColumn", "column": "shots"}),
            table("x.parquet", SAMPLES.append_column("shots", pa.array(["0", "1", "2"]))),
        ),
        ["--examples", "data.parquet"],
        ["x.parquet"],
    ),
    Bad(
        "column of the output's name kept",
        3,
        ["'prompt'", "config.json", "names: {prompt: "],
        table("x.parquet", SAMPLES.append_column("prompt", pa.array(["", "", ""]))),
        ["--keep", "prompt"],
        ["x.parquet"],
    ),
    Bad(
        "column of the name that an output column is given kept",
        3,
        ["'answer'", "names: {prompt: "],
        config(names={"prompt": "answer"}),
        ["--keep", "answer"],
    ),
    # output
    Bad("folder of output missing", 5, ["No such file or directory"], out="no/such/out.jsonl"),
    Bad("output below a file", 5, ["Not a directory"], out="config.json/out.jsonl"),
    Bad("folder as output", 5, ["a folder"], lambda folder: (folder / "out.jsonl").mkdir()),
    Bad("name too long", 5, ["too long"], out="x" * 300 + ".jsonl"),
    Bad("unknown compression", 2, ["zzz", "snappy"], arguments=["--compression", "zzz"], out="out.parquet"),
    Bad("misspelt compression", 2, ["'zstd'?"], arguments=["--compression", "ztsd"], out="out.parquet"),
    Bad("compression of the other format", 2, ["arrow"], arguments=["--compression", "snappy"], out="out.arrow"),
    Bad("compression of JSONL", 2, ["JSON lines", "--compression", "zstd"], arguments=["--compression", "zstd"]),
    Bad("too many threads", 2, ["--threads", "1 to 1024", "100000"], arguments=["--threads", "100000"]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    config()(tmp_path)
    table("data.parquet", SAMPLES)(tmp_path)
    (tmp_path / "data.orc").write_text("question,answer\n")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.what)
@pytest.mark.parametrize("existing", [False, True], ids=["new", "existing"])
def test_bad_input_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str], bad: Bad, existing: bool) -> None:
    bad.make(folder)
    if existing and bad.out in ("out.jsonl", "out.parquet") and not (folder / bad.out).exists():
        (folder / bad.out).write_text("what was there")
    before = contents(folder)
    code = main(["render", bad.config, "--data", *bad.data, "--out", bad.out, *bad.arguments])
    out, err = capsys.readouterr()
    assert err.startswith("promptpress: error: "), err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    for word in bad.words:
        assert word in err
    assert code in (bad.code if isinstance(bad.code, tuple) else (bad.code,)), err
    assert out == ""
    assert contents(folder) == before


@pytest.mark.parametrize("block", [1, 30, 1 << 22])
def test_values_of_several_kinds_far_apart(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(json_rows, "_BLOCK_BYTES", block)
    lines = ['{"answer": "a"}', *['{"answer": null}'] * 50, '{"answer": 1, "other": "\\ud800"}']
    text("in.jsonl", "\n".join(lines))(folder)
    assert main(["render", "--template", "{answer}", "--data", "in.jsonl", "--out", "-", "--quiet"]) == 0
    prompts = [json.loads(line)["prompt"] for line in capsys.readouterr().out.splitlines()]
    assert prompts == ["a", *["None"] * 50, "1"]


def start(folder: Path, *arguments: str, limit: int | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own, as a shell would."""

    def prepare() -> None:
        # A shell's background job ignores Ctrl-C, and so would what it starts.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "promptpress", "render", "config.json", *arguments]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, preexec_fn=prepare, **options)  # noqa: PLW1509


@pytest.fixture
def many(folder: Path) -> Path:
    questions = [os.urandom(100).hex() for _ in range(100_000)]
    table("many.parquet", pa.table({"question": questions, "answer": ["y"] * len(questions)}))(folder)
    return folder


@pytest.mark.parametrize("out", ["out.parquet", "out.arrow", "out.jsonl"])
def test_a_file_that_may_not_grow(many: Path, out: str) -> None:
    (many / out).write_text("what was there")
    before = contents(many)
    compression = [] if out == "out.jsonl" else ["--compression", "none" if out == "out.arrow" else "snappy"]
    limited = start(many, "--data", "many.parquet", "--out", out, *compression, limit=100_000)
    _, err = limited.communicate(timeout=120)
    assert (limited.returncode, err.decode()) == (5, f"promptpress: error: {out}: File too large (disk full)\n")
    assert contents(many) == before


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small disk needs root and the right to mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("out", ["out.arrow", "out.jsonl"])
def test_a_full_disk(small_disk: Path, capsys: pytest.CaptureFixture[str], out: str) -> None:
    assert main(["render", "config.json", "--data", "many.parquet", "--out", f"disk/{out}"]) == 5
    assert capsys.readouterr().err == f"promptpress: error: disk/{out}: No space left on device (disk full)\n"
    assert os.listdir(small_disk) == []


def test_a_disk_that_fails_at_the_end(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    before = contents(folder)
    assert main(["render", "config.json", "--data", "data.parquet", "--out", "out.parquet"]) == 5
    assert "No space left on device" in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_devices(folder: Path) -> None:
    full = start(folder, "--data", "data.parquet", "--out", "/dev/full", "--out-format", "jsonl")
    assert b"not a regular file" in full.communicate(timeout=120)[1]
    assert full.returncode == 5
    with open("/dev/full", "wb") as out:
        full = start(folder, "--data", "data.parquet", "--out", "-", stdout=out)
    err = full.communicate(timeout=120)[1]
    assert err == b"promptpress: error: standard output: No space left on device (disk full)\n"
    assert full.returncode == 5


def test_a_reader_that_goes_away(many: Path) -> None:
    with start(many, "--data", "many.parquet", "--out", "-", stdout=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        assert writing.stderr is not None
        assert writing.stdout.readline().startswith(b'{"prompt"')
        writing.stdout.close()
        assert writing.stderr.read() == b""
        assert writing.wait(timeout=120) == 141


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "closed").mkdir(mode=0o555)
    assert main(["render", "config.json", "--data", "data.parquet", "--out", "closed/out.jsonl"]) == 5
    assert "Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
@pytest.mark.parametrize("out", ["out.parquet", "out.arrow", "out.jsonl"])
def test_a_signal_in_the_middle(many: Path, out: str, number: signal.Signals, code: int, word: str) -> None:
    (many / out).write_text("what was there")
    before = contents(many)
    arguments = ["--data", *["many.parquet"] * 20, "--out", out, "--batch-size", "64"]
    process = start(many, *arguments)
    end = time.monotonic() + 60
    while not any(size_of(p) > 0 for p in many.glob(".*.partial")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode()) == (code, f"promptpress: error: {word}, nothing is written\n")
    assert contents(many) == before


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

"""The command `promptpress render`: formats in and out, options, and what is left on disk."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.read import json_rows

TEMPLATE = {"round": [{"role": "HUMAN", "prompt": "Q: {question}\nA:"}, {"role": "BOT", "prompt": "{answer}"}]}
CONFIG: dict[str, Any] = {
    "prompt_template": {"type": "PromptTemplate", "template": TEMPLATE},
    "retriever": {"type": "ZeroRetriever"},
    "reader": {"input_columns": ["question"], "output_column": "answer"},
}
META = {
    "round": [
        {"role": "HUMAN", "begin": "<user>", "end": "\n"},
        {"role": "BOT", "begin": "<bot>", "end": "\n", "generate": True},
    ]
}
CHAT = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN"},
        {"role": "BOT", "api_role": "BOT", "generate": True},
    ]
}
SAMPLES = pa.table(
    {
        "id": pa.array(range(5), pa.int64()),
        "question": ["1+1?", "É {answer} 中文", None, "2020-01-01", 'a"\\\u2028b'],
        "answer": ["2", "x", "y", "z", ""],
    }
)


class Folder:
    """A working folder with a configuration and samples in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config("config.json", CONFIG)
        self.data("data.parquet", SAMPLES)

    def __getitem__(self, name: str) -> str:
        return str(self.path / name)

    def config(self, name: str, value: Any) -> str:
        (self.path / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return self[name]

    def data(self, name: str, table: pa.Table) -> str:
        kind = Path(name).suffix
        if kind == ".parquet":
            pq.write_table(table, self[name])
        elif kind == ".jsonl":
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()]
            (self.path / name).write_text("".join(lines), encoding="utf-8")
        elif kind == ".arrows":
            with pa.ipc.new_stream(self[name], table.schema) as stream:
                stream.write_table(table, max_chunksize=2)
        else:
            with pa.ipc.new_file(self[name], table.schema) as file:
                file.write_table(table, max_chunksize=2)
        return self[name]

    def render(self, *arguments: str, config: str = "config.json", data: Sequence[str] = ("data.parquet",)) -> int:
        where = [self[name] for name in data]
        return main(["render", self[config], "--data", *where, *arguments])

    def rows(self, name: str) -> list[dict[str, Any]]:
        if name.endswith(".parquet"):
            return pq.read_table(self[name]).to_pylist()
        if name.endswith(".arrow"):
            return pa.ipc.open_file(self[name]).read_all().to_pylist()
        return [json.loads(line) for line in Path(self[name]).read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def expected(table: pa.Table = SAMPLES, keep: Sequence[str] = (), **arguments: Any) -> list[dict[str, Any]]:
    return pp.Renderer(**{**CONFIG, **arguments}).render(table, keep=list(keep)).to_pylist()


def test_a_chat_needs_no_template(folder: Folder) -> None:
    ask = {"inferencer": {"type": "ChatInferencer", "infer_mode": "every_with_gt"}}
    folder.config("config.json", {**ask, "reader": {"input_columns": ["q"], "output_column": None}})
    folder.data("data.parquet", pa.table({"q": [["a", "b"]]}))
    assert folder.render("--out", folder["out.jsonl"]) == 0
    assert folder.rows("out.jsonl") == [{"turn": 0, "prompt": "a"}, {"turn": 1, "prompt": "a\n\nb"}]


@pytest.mark.parametrize(("name", "options"), [("hash", ["--hashes"]), ("error", ["--errors", "column"])])
@pytest.mark.parametrize("keep", ["own", "all"])
def test_a_kept_column_with_the_name_of_a_column_after_the_prompts(
    folder: Folder, capsys: pytest.CaptureFixture[str], name: str, options: list[str], keep: str
) -> None:
    folder.data("data.parquet", pa.table({"question": ["a"], "id": [1], name: ["x"]}))
    arguments = ["--out", folder["out.jsonl"], "--keep", name if keep == "own" else keep, *options]
    assert folder.render(*arguments) == 3
    assert f"config.json can give that another, by names: {{{name}: ...}}" in capsys.readouterr().err
    data = ["--data", folder["data.parquet"]]
    assert main(["render", "--template", "{question}", *data, *arguments]) == 3
    err = capsys.readouterr().err
    assert f"rename it, or write the template into a file, with names: {{{name}: ...}}" in err
    assert folder.render(*arguments[:4]) == 0


@pytest.mark.parametrize("kind_in", [".parquet", ".arrow", ".feather", ".ipc", ".arrows", ".jsonl"])
@pytest.mark.parametrize("kind_out", [".parquet", ".arrow", ".jsonl"])
@pytest.mark.parametrize("arguments", [{}, {"output": "messages", "meta_template": CHAT}])
def test_every_format_in_and_out(folder: Folder, kind_in: str, kind_out: str, arguments: dict[str, Any]) -> None:
    folder.config("config.json", {**CONFIG, **arguments})
    folder.data(f"in{kind_in}", SAMPLES)
    assert folder.render("--out", folder[f"out{kind_out}"], "--keep", "id,question", data=[f"in{kind_in}"]) == 0
    assert folder.rows(f"out{kind_out}") == expected(keep=["id", "question"], **arguments)


def test_the_rows_are_those_of_render(folder: Folder) -> None:
    assert folder.render("--out", folder["out.parquet"]) == 0
    table = pq.read_table(folder["out.parquet"])
    assert table.schema.equals(pp.Renderer(**CONFIG).output_schema(SAMPLES.schema))
    assert table.to_pylist() == expected()


def test_jsonl_is_text_as_it_is(folder: Folder) -> None:
    assert folder.render("--out", folder["out.jsonl"]) == 0
    text = Path(folder["out.jsonl"]).read_text(encoding="utf-8")
    assert "中文" in text
    assert "\\u" not in text
    assert text.count("\n") == 5


def test_jsonl_of_every_kind_of_kept_value(folder: Folder) -> None:
    kept = pa.table(
        {
            "question": ["q"],
            "answer": ["a"],
            "when": pa.array([0], pa.timestamp("s")),
            "nan": [float("nan")],
            "deep": [[{"x": float("inf")}]],
            "raw": [b"x"],
        }
    )
    folder.data("data.parquet", kept)
    assert folder.render("--out", folder["out.jsonl"], "--keep", "when,nan,deep,raw") == 0
    row = folder.rows("out.jsonl")[0]
    del row["prompt"]
    assert row == {"when": "1970-01-01 00:00:00", "nan": None, "deep": [{"x": None}], "raw": "b'x'"}


def test_several_files_in_order(folder: Folder) -> None:
    folder.data("more.arrow", SAMPLES.slice(1, 2))
    data = ["data.parquet", "more.arrow", "data.parquet"]
    assert folder.render("--out", folder["out.jsonl"], "--keep", "id", data=data) == 0
    assert [row["id"] for row in folder.rows("out.jsonl")] == [0, 1, 2, 3, 4, 1, 2, 0, 1, 2, 3, 4]


def test_limit_and_batches(folder: Folder) -> None:
    for size in ("1", "2", "3", "100"):
        arguments = ["--out", folder["out.jsonl"], "--keep", "id", "--limit", "4", "--batch-size", size]
        assert folder.render(*arguments, data=["data.parquet"]) == 0
        assert folder.rows("out.jsonl") == expected(keep=["id"])[:4]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_no_rows(folder: Folder, kind: str) -> None:
    assert folder.render("--out", folder[f"out.{kind}"], "--limit", "0", "--print-first") == 0
    assert folder.rows(f"out.{kind}") == []
    if kind == "parquet":
        assert pq.read_schema(folder["out.parquet"]).names == ["prompt"]


def test_formats_by_option(folder: Folder) -> None:
    os.rename(folder.data("in.jsonl", SAMPLES), folder["in.txt"])
    formats = ["--data-format", "jsonl", "--out-format", "arrow"]
    assert folder.render("--out", folder["out.bin"], *formats, data=["in.txt"]) == 0
    assert pa.ipc.open_file(folder["out.bin"]).read_all().to_pylist() == expected()


class TestJsonLines:
    """JSONL in: types, text and places."""

    def write(self, folder: Folder, *lines: str) -> None:
        Path(folder["in.jsonl"]).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def prompts(self, folder: Folder, **words: Any) -> list[str]:
        folder.config("config.json", {"prompt_template": "{q}|{r}", **words})
        assert folder.render("--out", folder["out.jsonl"], data=["in.jsonl"]) == 0
        return [row["prompt"] for row in folder.rows("out.jsonl")]

    @pytest.mark.parametrize("chunk", [1, 40, 1 << 24])
    def test_fields_that_come_late(self, folder: Folder, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", chunk)
        self.write(folder, '{"q": null}', '{"q": "2020-01-01"}', "", '{"r": [], "q": "x"}', '{"q": "", "r": ["10:00"]}')
        assert self.prompts(folder) == ["None|None", "2020-01-01|None", "x|[]", "|['10:00']"]

    @pytest.mark.parametrize("chunk", [1, 1 << 24])
    def test_numbers(self, folder: Folder, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", chunk)
        self.write(folder, '{"q": 9223372036854775807, "r": 1}', '{"q": -0, "r": 0.5}', '{"q": 1, "r": -0.0}')
        assert self.prompts(folder) == ["9223372036854775807|1", "0|0.5", "1|-0.0"]
        assert self.prompts(folder, reader={}) == ["9223372036854775807|1.0", "0|0.5", "1|-0.0"]

    def test_dates_inside(self, folder: Folder) -> None:
        self.write(folder, '{"q": ["2020-01-01"], "r": {"a": "2020-01-01T10:00:00Z"}}')
        assert self.prompts(folder) == ["['2020-01-01']|{'a': '2020-01-01T10:00:00Z'}"]

    def test_text(self, folder: Folder) -> None:
        self.write(folder, '\ufeff{"q": "\\u00e9\\n\\ud83d\\ude00", "r": "\u2028\u0085"}')
        assert self.prompts(folder) == ["é\n😀|\u2028\u0085"]

    def test_a_row_longer_than_a_block(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", 64)
        self.write(folder, '{"q": "a", "r": ""}', json.dumps({"q": "x" * 1000, "r": ""}))
        assert self.prompts(folder) == ["a|", "x" * 1000 + "|"]

    def test_files_that_agree_once_read(self, folder: Folder) -> None:
        self.write(folder, '{"q": 1, "r": null}')
        Path(folder["b.jsonl"]).write_text('{"r": "x", "q": 1.5}\n{"q": 2}\n', encoding="utf-8")
        Path(folder["empty.jsonl"]).write_text("\n", encoding="utf-8")
        folder.config("config.json", {"prompt_template": "{q}|{r}"})
        assert folder.render("--out", folder["out.jsonl"], data=["empty.jsonl", "in.jsonl", "b.jsonl"]) == 0
        assert [row["prompt"] for row in folder.rows("out.jsonl")] == ["1|None", "1.5|x", "2|None"]

    @pytest.mark.parametrize("turned", [False, True])
    def test_a_file_that_lacks_a_column(self, folder: Folder, capsys: pytest.CaptureFixture[str], turned: bool) -> None:
        self.write(folder, '{"q": 1, "note": "x"}')
        Path(folder["b.jsonl"]).write_text('{"q": 1}\n', encoding="utf-8")
        folder.config("config.json", {"prompt_template": "{q}"})
        data = ["b.jsonl", "in.jsonl"] if turned else ["in.jsonl", "b.jsonl"]
        assert folder.render("--out", folder["out.jsonl"], data=data) == 4
        has, lacks = folder["in.jsonl"], folder["b.jsonl"]
        assert capsys.readouterr().err == f"promptpress: error: {lacks}: lacks the column 'note', which {has} has\n"

    def test_a_column_that_one_file_misspells(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        self.write(folder, '{"question": "a"}')
        Path(folder["b.jsonl"]).write_text('{"questoin": "b"}\n', encoding="utf-8")
        assert folder.render("--out", folder["out.jsonl"], data=["in.jsonl", "b.jsonl"]) == 4
        assert "b.jsonl: lacks the column 'question'" in (error := capsys.readouterr().err)
        assert "(it has 'questoin')" in error


class TestConfigurations:
    """Sources of the prompt configuration."""

    def test_yaml_and_toml(self, folder: Folder) -> None:
        folder.config("c.yaml", "prompt_template: 'Q: {question}'\n")
        folder.config("c.toml", 'prompt_template = "Q: {question}"\n')
        for name in ("c.yaml", "c.toml"):
            assert folder.render("--out", folder["out.jsonl"], config=name) == 0
            assert folder.rows("out.jsonl")[0] == {"prompt": "Q: 1+1?"}

    def harness(self, folder: Folder) -> None:
        folder.config(
            "job.py",
            f"""
from mmengine.config import read_base
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever
from opencompass.openicl.icl_inferencer import GenInferencer
with read_base():
    from .model import models
reader = dict(input_columns=['question'], output_column='answer')
sums_datasets = [dict(abbr=f'sums-{{shots}}', reader_cfg=reader, infer_cfg=dict(
    ice_template=dict(type=PromptTemplate, template={TEMPLATE!r}),
    prompt_template=dict(type=PromptTemplate, ice_token='</E>', template=dict(begin='</E>', **{TEMPLATE!r})),
    retriever=dict(type=FixKRetriever, fix_id_list=list(range(shots))),
    inferencer=dict(type=GenInferencer))) for shots in (1, 2)]
""",
        )
        folder.config(
            "model.py",
            f"from opencompass.models import VLLM\nmodels = [dict(type=VLLM, abbr='m', meta_template={META!r})]\n",
        )

    def test_a_harness_job_with_its_model(self, folder: Folder) -> None:
        self.harness(folder)
        arguments = ["--examples", folder["data.parquet"], "--dataset", "sums-2", "--out", folder["out.jsonl"]]
        assert folder.render(*arguments, config="job.py") == 0
        assert folder.rows("out.jsonl")[0]["prompt"] == (
            "<user>Q: 1+1?\nA:\n<bot>2\n<user>Q: É x 中文\nA:\n<bot>x\n<user>Q: 1+1?\nA:\n<bot>"
        )

    def test_a_model_file(self, folder: Folder) -> None:
        folder.config("meta.json", {"models": [{"abbr": "m", "meta_template": META}, {"abbr": "n"}]})
        arguments = ["--model", folder["meta.json"], "--model-abbr", "m", "--out", folder["out.jsonl"], "--limit", "1"]
        assert folder.render(*arguments) == 0
        assert folder.rows("out.jsonl") == [{"prompt": "<user>Q: 1+1?\nA:\n<bot>"}]

    def test_options_win_over_the_configuration(self, folder: Folder) -> None:
        folder.config("meta.json", META)
        arguments = ["--model", folder["meta.json"], "--output", "prompt_list", "--strings", "large_string"]
        assert folder.render(*arguments, "--out", folder["out.parquet"]) == 0
        prompt = pq.read_schema(folder["out.parquet"]).field("prompt").type
        assert prompt.value_type.field("prompt").type == pa.large_string()

    def test_labels(self, folder: Folder) -> None:
        folder.config("config.json", {**CONFIG, "prompt_template": "{question} {answer}"})
        for labels in ("yes,no", '["yes", "no"]'):
            arguments = ["--mode", "ppl", "--labels", labels, "--keep", "id", "--limit", "2"]
            assert folder.render(*arguments, "--out", folder["out.jsonl"]) == 0
            rows = folder.rows("out.jsonl")
            assert [(row["id"], row["label"]) for row in rows] == [(0, "yes"), (0, "no"), (1, "yes"), (1, "no")]

    def test_labels_of_a_column_need_all_rows(self, folder: Folder) -> None:
        folder.config("config.json", {**CONFIG, "prompt_template": "{question} {answer}", "mode": "ppl"})
        assert folder.render("--out", folder["out.jsonl"], "--batch-size", "2") == 0
        rows = folder.rows("out.jsonl")
        assert [row["label"] for row in rows] == sorted(set(SAMPLES["answer"].to_pylist())) * 5

    def test_single_pass(self, folder: Folder) -> None:
        folder.config("config.json", {**CONFIG, "prompt_template": "{question}"})
        arguments = ["--substitution", "single_pass", "--out", folder["out.jsonl"]]
        assert folder.render(*arguments) == 0
        assert folder.rows("out.jsonl")[1] == {"prompt": "É {answer} 中文"}

    def test_a_bare_template_in_a_python_file(self, folder: Folder) -> None:
        folder.config("c.py", "words = ['Q', 'A']\nprompt_template = '{question}'.join(f'{w}: ' for w in words)\n")
        assert folder.render("--out", folder["out.jsonl"], config="c.py") == 0
        assert folder.rows("out.jsonl")[0] == {"prompt": "Q: 1+1?A: "}


class TestWhatIsSaid:
    """Standard output, standard error."""

    def test_the_summary(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        assert folder.render("--out", folder["out.parquet"]) == 0
        out, err = capsys.readouterr()
        assert out == ""
        size = sum(len(row["prompt"].encode()) for row in folder.rows("out.parquet"))
        pattern = rf"promptpress: 5 rows, {size} B of prompts in [\d.]+ s"
        *warnings, summary = err.splitlines()
        assert re.fullmatch(pattern, summary)
        assert [line.partition(", ")[0] for line in warnings] == ["promptpress: warning: in 1 of 5 rows"]

    def test_quiet(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        assert folder.render("--out", folder["out.parquet"], "--quiet") == 0
        assert capsys.readouterr() == ("", "")

    def test_standard_output(self, folder: Folder, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        assert folder.render("--out", "-", "--print-first") == 0
        out, err = capfdbinary.readouterr()
        assert [json.loads(line) for line in out.decode().split("\n")[:-1]] == expected()
        assert err.decode().startswith("Q: 1+1?\nA:")

    def test_the_first_prompt(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        assert folder.render("--out", folder["out.jsonl"], "--print-first", "--limit", "2") == 0
        assert capsys.readouterr().out == folder.rows("out.jsonl")[0]["prompt"] + "\n"

    def test_the_first_messages(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        folder.config("config.json", {**CONFIG, "meta_template": CHAT})
        assert folder.render("--out", folder["out.jsonl"], "--print-first") == 0
        assert json.loads(capsys.readouterr().out) == [{"role": "HUMAN", "prompt": "Q: 1+1?\nA:"}]

    @pytest.mark.parametrize("tqdm", [True, False])
    def test_progress(
        self, folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tqdm: bool
    ) -> None:
        if not tqdm:
            monkeypatch.setitem(sys.modules, "tqdm", None)
            monkeypatch.setattr("promptpress_workbench.cli.terminal._UPDATE_SECONDS", 0)
        assert folder.render("--out", folder["out.jsonl"], "--progress", "--batch-size", "2") == 0
        assert re.search(r"promptpress: .*(rows/s|5 of 5 \(100%\))", capsys.readouterr().err)

    def test_no_progress_where_nobody_looks(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        assert folder.render("--out", folder["out.jsonl"]) == 0
        assert "\r" not in capsys.readouterr().err

    def test_errors_in_one_line_of_printable_text(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        assert folder.render("--out", folder["out.jsonl"], "--keep", "a\x1b[2J\nb") == 2
        err = capsys.readouterr().err
        assert err.startswith("promptpress: error: --keep a\\x1b[2J b: ")
        assert err.count("\n") == 1

    def test_traceback_on_request(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        assert folder.render("--out", folder["out.jsonl"], "--traceback", data=["nothing.parquet"]) == 4
        assert "Traceback" in capsys.readouterr().err


class TestOutputFile:
    """The output is a file like any other, or isn't there."""

    def test_mode(self, folder: Folder) -> None:
        before = os.umask(0o027)
        try:
            assert folder.render("--out", folder["out.jsonl"]) == 0
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.stat(folder["out.jsonl"]).st_mode) == 0o640
        os.chmod(folder["out.jsonl"], 0o604)
        assert folder.render("--out", folder["out.jsonl"]) == 0
        assert stat.S_IMODE(os.stat(folder["out.jsonl"]).st_mode) == 0o604

    def test_a_link_stays_a_link(self, folder: Folder) -> None:
        os.symlink("there.jsonl", folder["out.jsonl"])
        assert folder.render("--out", folder["out.jsonl"]) == 0
        assert os.path.islink(folder["out.jsonl"])
        assert folder.rows("there.jsonl") == expected()

    def test_nothing_else_is_left(self, folder: Folder) -> None:
        assert folder.render("--out", folder["out.jsonl"]) == 0
        assert sorted(os.listdir(folder.path)) == ["config.json", "data.parquet", "out.jsonl"]

    def test_a_long_name(self, folder: Folder) -> None:
        name = "n" * 240 + ".jsonl"
        assert folder.render("--out", folder[name]) == 0
        assert folder.rows(name) == expected()

    @pytest.mark.parametrize(("name", "codec"), [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("none", "UNCOMPRESSED")])
    def test_compression(self, folder: Folder, name: str, codec: str) -> None:
        assert folder.render("--out", folder["out.parquet"], "--compression", name) == 0
        assert pq.read_metadata(folder["out.parquet"]).row_group(0).column(0).compression == codec


def run(line: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def test_the_module_is_the_command(folder: Folder) -> None:
    done = run(
        [*warm.PROCESS, "render", folder["config.json"], "--data", folder["data.parquet"], "--out", folder["out.jsonl"]]
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert folder.rows("out.jsonl") == expected()
    assert run([*warm.PROCESS, "--version"]).stdout == f"promptpress {pp.__version__}\n"
    assert "exit codes" in run(warm.command("render", "--help-all")).stdout


def test_the_documented_exit_codes_are_those_of_the_command() -> None:
    text = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert documented == {int(code) for code in ExitCode}


@pytest.mark.parametrize(
    ("value", "used"), [("abc", ""), ("0", ""), ("-1", ""), ("100000", "1024 may be used"), ("1.5", "")]
)
def test_threads_of_the_environment_that_are_none(folder: Folder, value: str, used: str) -> None:
    command = warm.command("render", folder["config.json"])
    command += ["--data", folder["data.parquet"], "--out", folder["out.jsonl"]]

    def notes(threads: str, *more: str) -> str:
        environment = {**os.environ, "PROMPTPRESS_THREADS": threads}
        done = subprocess.run(
            [*command, *more], capture_output=True, text=True, check=True, timeout=120, env=environment
        )
        return "".join(line for line in done.stderr.splitlines() if "note:" in line)

    note = notes(value)
    assert note.startswith(f"promptpress: note: PROMPTPRESS_THREADS={value}: not a whole number from 1 to 1024; ")
    assert note.endswith(used)
    assert notes(value, "--threads", "1") == notes(value, "--quiet") == notes(" 2 ") == notes("") == ""

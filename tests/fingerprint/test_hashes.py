"""`hashes=` and `--hashes`: each request's hash, that of all of them, and what files say of their making."""

from __future__ import annotations

import csv
import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import blake3
import promptpress as pp
import promptpress.aisbench
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from promptpress.engine import RequestsHash
from promptpress.opencompass import get_prompt_hash
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from test_layouts import CONFIGS, ROWS, TRAIN

SAMPLES = pa.table({name: [row[name] for row in ROWS] for name in ROWS[0]} | {"shots": [[0, 1]] * len(ROWS)})
CONFIG = {
    "prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]},
    "reader": {"input_columns": ["q"], "output_column": "a"},
}
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}


def metadata(table: pa.Table | pa.Schema) -> dict[str, str]:
    entries = (table if isinstance(table, pa.Schema) else table.schema).metadata or {}
    return {name.decode().removeprefix("promptpress."): value.decode() for name, value in entries.items()}


def stream_hash(texts: Iterable[str | None]) -> str:
    """The hash of a run as docs/reproduce.md says it."""
    total = blake3.blake3()
    for text in texts:
        content = b"" if text is None else text.encode()
        total.update((2**64 - 1 if text is None else len(content)).to_bytes(8, "little") + content)
    return total.hexdigest()


def hash_of(chunks: Iterable[pa.Array], *, json: bool = False) -> str:
    total = RequestsHash(json)
    for chunk in chunks:
        total.update(chunk)
    return total.hexdigest()


def renderer_of(name: str, **more: Any) -> pp.Renderer:
    settings = {"reader": {"input_columns": ["q", "hint"], "output_column": "a"}, **CONFIGS[name], **more}
    return pp.Renderer(**settings, examples=pa.Table.from_pylist(TRAIN) if "retriever" in settings else None)


@UNWARNED
def test_anyone_can_compute_them() -> None:
    table = renderer_of("zero-shot").render(SAMPLES, hashes=True)
    hashes = [blake3.blake3(prompt.encode()).digest()[:16] for prompt in table["prompt"].to_pylist()]
    assert table["hash"].to_pylist() == hashes
    assert metadata(table)["hash"] == stream_hash(table["prompt"].to_pylist())
    assert metadata(table)["hash_format"] == "2"
    assert metadata(table)["fingerprint"] == renderer_of("zero-shot").fingerprint()


@UNWARNED
@pytest.mark.parametrize("name", CONFIGS)
def test_threads_batches_and_layouts_make_no_difference(name: str) -> None:
    want = renderer_of(name).render(SAMPLES, hashes=True)
    schema = renderer_of(name).output_schema(SAMPLES.schema, hashes=True)
    assert metadata(schema) == {"fingerprint": renderer_of(name).fingerprint()}
    assert want.schema.equals(schema)
    for strings in ("string", "large_string", "string_view"):
        renderer = renderer_of(name, strings=strings)
        for threads in (1, 2, 7):
            pp.set_threads(threads)
            try:
                table = renderer.render(SAMPLES, ["q"], index="n", hashes=True)
                parts = list(renderer.stream(SAMPLES.to_batches(max_chunksize=threads), hashes=True))
            finally:
                pp.set_threads(None)
            assert metadata(table) == metadata(want)
            for part in parts:
                assert metadata(part.schema)["fingerprint"] == metadata(want)["fingerprint"]
            is_json = CONFIGS[name].get("output") == "messages_json"
            assert hash_of((part["prompt"] for part in parts), json=is_json) == metadata(want)["hash"]


def test_the_order_of_requests_counts_and_what_is_kept_does_not() -> None:
    renderer = pp.Renderer("{q}")
    expected = metadata(renderer.render(SAMPLES, hashes=True))
    assert metadata(renderer.render(SAMPLES, ["a"], hashes=True)) == expected
    assert metadata(renderer.render(SAMPLES.take([1, 0, 2, 3, 4, 5, 6]), hashes=True))["hash"] != expected["hash"]
    assert metadata(renderer.render(SAMPLES.slice(0, 6), hashes=True))["hash"] != expected["hash"]
    assert metadata(renderer.render(SAMPLES.slice(0, 0), hashes=True))["hash"] == stream_hash([])


@pytest.mark.parametrize("seed", range(20))
def test_cuts_and_layouts_of_a_stream_make_no_difference(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [0, 1, 7, 8, 100, 1023, 1024, 65527, 65528, 65529, 200_000]
    texts = [
        draw.choice([None, "é" * draw.choice(sizes[:5]), "x" * draw.choice(sizes)]) for _ in range(draw.randrange(40))
    ]
    layout = draw.choice([pa.string(), pa.large_string(), pa.string_view()])
    whole = pa.array([*texts, "z", None], layout)
    cuts = [0, *sorted(draw.randrange(len(texts) + 1) for _ in range(draw.randrange(5))), len(texts)]
    chunks = [whole.slice(start, end - start) for start, end in itertools.pairwise(cuts)]
    assert hash_of(chunks) == stream_hash(texts)


def test_names_rename_the_column() -> None:
    renderer = pp.Renderer("{q}", names={"hash": "blake3"})
    assert renderer.render(SAMPLES, hashes=True).column_names == ["prompt", "blake3"]
    assert renderer.render(SAMPLES).column_names == ["prompt"]
    with pytest.raises(pp.RenderError, match="names="):
        pp.Renderer("{hash}").render(pa.table({"hash": ["x"]}), ["hash"], hashes=True)
    assert pp.Renderer("{hash}", names={"hash": "h"}).render({"hash": ["x"]}, ["hash"], hashes=True).num_columns == 3
    with pytest.raises(pp.RenderError, match="two output columns would be called 'hash'"):
        pp.Renderer("{q}", names={"prompt": "hash"}).render(SAMPLES, hashes=True)
    with pytest.raises(pp.RenderError, match="'hash_index'"):
        renderer_of("ppl", names=None).render(SAMPLES, index="hash", hashes=True)
    with pytest.raises(pp.TemplateError, match='"prompt", "label", "turn", "hash"'):
        pp.Renderer("{q}", names={"hashes": "h"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in {"text": CONFIG, "chat": {**CONFIG, "meta_template": META}}.items():
        Path(f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    pq.write_table(SAMPLES.drop_columns(["shots"]), "data.parquet")
    return tmp_path


def run(*arguments: str, config: str = "text.json") -> int:
    return main(["render", config, "--data", "data.parquet", "--substitution", "single_pass", *arguments])


def renderer_of_file(config: str) -> pp.Renderer:
    settings = {**CONFIG, "meta_template": META} if config == "chat.json" else CONFIG
    return pp.Renderer(**settings, substitution="single_pass")


@UNWARNED
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("config", ["text.json", "chat.json"])
def test_files_have_the_column_and_say_what_made_them(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    want = renderer_of_file(config).render("data.parquet", hashes=True)
    digits = [value.hex() for value in want["hash"].to_pylist()]
    for suffix in ("parquet", "arrow", "jsonl", "csv", "jsonl.gz"):
        assert run("--hashes", "--keep", "hint", "--out", f"out.{suffix}", config=config) == 0
        expected = metadata(want)
        assert (
            f"promptpress: hash {expected['hash']}, fingerprint {expected['fingerprint']}\n" in capsys.readouterr().err
        )
        assert run("--keep", "hint", "--out", f"plain.{suffix}", "--quiet", config=config) == 0
    about = {"fingerprint": expected["fingerprint"], "version": pp.__version__}
    with pa.ipc.open_file("out.arrow") as file:
        assert file.schema.names == ["hint", "prompt", "hash"]
        assert metadata(file.schema) == about
        assert file.read_all()["hash"].to_pylist() == want["hash"].to_pylist()
    for name in ("out.parquet", "plain.parquet"):
        in_file = {key.decode(): value.decode() for key, value in pq.read_metadata(name).metadata.items()}
        assert {key: in_file[f"promptpress.{key}"] for key in (*about, "hash", "hash_format")} == {**expected, **about}
    assert pq.read_table("out.parquet")["hash"].to_pylist() == want["hash"].to_pylist()
    lines, plain = (
        [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
        for name in ("out.jsonl", "plain.jsonl")
    )
    assert [line.pop("hash") for line in lines] == digits
    assert lines == plain
    with (
        open("out.csv", encoding="utf-8", newline="") as with_hashes,
        open("plain.csv", encoding="utf-8", newline="") as without_hashes,
    ):
        rows = list(csv.reader(with_hashes))
        assert [row.pop() for row in rows] == ["hash", *digits]
        assert rows == list(csv.reader(without_hashes))


@UNWARNED
@pytest.mark.usefixtures("folder")
def test_parquet_is_the_same_to_the_byte_whoever_writes_it() -> None:
    files = set()
    for threads in ("1", "2", "5", "1"):
        assert run("--out", "out.parquet", "--threads", threads, "--quiet") == 0
        files.add(Path("out.parquet").read_bytes())
    assert len(files) == 1
    hashes = set()
    for rows in ("1", "3", "100"):
        assert run("--out", "out.parquet", "--batch-size", rows, "--quiet") == 0
        hashes.add(pq.read_metadata("out.parquet").metadata[b"promptpress.hash"])
    assert len(hashes) == 1


@UNWARNED
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--keep", "hash"], ExitCode.CONFIGURATION, "hash: ...}"),
        (["--index", "hash"], ExitCode.USAGE, "--index hash: is the name of a column"),
    ],
)
def test_two_columns_of_a_name_are_refused(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pq.read_table("data.parquet").append_column("hash", pa.array(["x"] * len(ROWS))), "data.parquet")
    assert run(*arguments, "--hashes", "--out", "out.jsonl") == code
    assert message in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    assert run(*arguments, "--out", "out.jsonl", "--quiet") == 0


@pytest.mark.usefixtures("folder")
def test_of_jinja_templates(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    template = "Q: {{ q }}"
    assert main(["render", "--jinja", template, "--data", "data.parquet", "--out", "out.parquet", "--hashes"]) == 0
    table = pq.read_table("out.parquet")
    assert table["hash"][0].as_py() == blake3.blake3(table["prompt"][0].as_py().encode()).digest()[:16]
    assert main(["fingerprint", "--jinja", template]) == 0
    assert capsys.readouterr().out == f"fingerprint  {metadata(table)['fingerprint']}\n"


@pytest.mark.usefixtures("folder")
def test_the_command_fingerprint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", "text.json", "--substitution", "single_pass"]) == 0
    assert capsys.readouterr().out == f"fingerprint  {renderer_of_file('text.json').fingerprint()}\n"
    infer = {
        "prompt_template": {"type": "PromptTemplate", "template": "{q}"},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "GenInferencer"},
    }
    dataset = {"abbr": "a", "reader_cfg": {"input_columns": ["q"], "output_column": "a"}, "infer_cfg": infer}
    Path("two.json").write_text(json.dumps([dataset, {**dataset, "abbr": "b"}]), encoding="utf-8")
    digits = get_prompt_hash(dataset)
    assert main(["fingerprint", "two.json", "--dataset", "b"]) == 0
    assert f"prompt hash  {digits} (OpenCompass's summaries: {digits[:6]})\n" in capsys.readouterr().out
    assert main(["fingerprint", "two.json", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    renderer = pp.Renderer.from_config(dataset)
    assert printed == {
        "fingerprint": renderer.fingerprint(), "prompt_hash": digits, "rules": 1, "promptpress": pp.__version__
    }  # fmt: skip
    assert get_prompt_hash(pp.load_config("two.json")) == get_prompt_hash([dataset] * 2)


@pytest.mark.usefixtures("folder")
def test_a_dataset_with_code_has_a_fingerprint_and_no_prompt_hash(capsys: pytest.CaptureFixture[str]) -> None:
    Path("code.py").write_text(
        "from made import made\n"
        "infer_cfg = dict(prompt_template=dict(type='PromptTemplate', template='{q}'),"
        " retriever=dict(type='ZeroRetriever'), inferencer=dict(type='GenInferencer', max_out_len=made()))\n"
        "reader_cfg = dict(input_columns=['q'], output_column='a')\n"
        "a_datasets = [dict(abbr='a', reader_cfg=reader_cfg, infer_cfg=infer_cfg)]\n",
        encoding="utf-8",
    )
    assert main(["fingerprint", "code.py"]) == 0
    out, err = capsys.readouterr()
    assert "prompt hash" not in out
    assert "note: no prompt hash: infer_cfg.inferencer.max_out_len" in err
    with pytest.raises(pp.TemplateError, match="max_out_len"):
        get_prompt_hash("code.py")


@pytest.mark.parametrize(
    ("dataset", "path"),
    [
        ({}, "infer_cfg"),
        ({"infer_cfg": []}, "infer_cfg"),
        ({"infer_cfg": {"retriever": {"fix_id_list": [1]}}}, "infer_cfg.inferencer"),
        ({"infer_cfg": {"retriever": {}, "inferencer": {}, "reader_cfg": {}}}, "reader_cfg"),
        (7, "dataset_cfg"),
    ],
)
def test_what_has_no_prompt_hash_is_refused(dataset: Any, path: str) -> None:
    with pytest.raises(pp.TemplateError) as error:
        get_prompt_hash(dataset)
    assert error.value.path == path


def test_a_list_left_of_a_loop_is_not_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "loop.py"
    path.write_text(
        "a_datasets = []\n"
        "for name in ('x', 'y'):\n"
        "    infer_cfg = dict(prompt_template=dict(template=name), retriever=dict(type='ZeroRetriever'))\n"
        "    a_datasets.append(dict(abbr=name, infer_cfg=infer_cfg))\n",
        encoding="utf-8",
    )
    assert list(pp.load_config(path).datasets) == ["x", "y"]


def test_the_hash_of_aisbench() -> None:
    dataset = {"infer_cfg": {"retriever": {"type": "ZeroRetriever"}}}
    assert promptpress.aisbench.get_prompt_hash(dataset) == get_prompt_hash(dataset)
    assert promptpress.aisbench.get_prompt_hash([dataset] * 2) == get_prompt_hash([dataset] * 2)
    assert promptpress.aisbench.get_prompt_hash({}) == "/"
    with pytest.raises(pp.TemplateError):
        get_prompt_hash({})

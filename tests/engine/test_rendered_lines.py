"""Lines rendered straight from samples: the bytes that lines of rendered prompts have, and the same refusals."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from comparing import clean
from generators.few_shots import texts
from marks import UNWARNED
from promptpress._engine.rendering import RenderedLines, rendered_lines
from promptpress._engine.table_engine import engine_of
from promptpress_workbench.cli import main
from promptpress_workbench.cli.output import text_bytes
from promptpress_workbench.files.write.writers import lines_of
from test_copied_json import CASES, ODD, READER, ROWS, samples
from test_layouts import CONFIGS, TURNS, train

TEXTS: dict[str, dict[str, Any]] = {
    "text": {"prompt_template": 'a "{q}"\n{hint}\\{a}{q}'},
    "no field": {"prompt_template": "é\n"},
    "empty": {"prompt_template": "{q}"},
    "five-shot": {**CONFIGS["five-shot messages"], "examples": train(), "output": "text", "meta_template": None},
}
MESSAGES: dict[str, dict[str, Any]] = {
    "meta": CASES["meta"],
    "five-shot messages": CASES["five-shot"],
    "api": {"prompt_template": [{"role": "user", "content": "{q}\n"}, {"role": "assistant", "content": "é"}]},
    "keys in turn": {"prompt_template": [{"role": "user", "content": "{q}"}, {"content": "{hint}", "role": "user"}]},
    "a null": {"prompt_template": [{"role": "user", "name": None, "content": "{q}"}]},
    "a number": {"prompt_template": [{"role": "user", "n": 1, "content": "{q}"}]},
    "empty message": {
        "prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": ""}]},
        "meta_template": {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT"}]},
    },
    "bare": {"prompt_template": {"begin": ["{hint}\n"], "round": TURNS}, "output": "prompt_list"},
}
STRAIGHT = {*TEXTS, "meta", "five-shot messages", "api", "keys in turn", "empty message", "bare"}
CLEAN = [text for text in ODD if text != "{"]
"""Texts of which no placeholder could form."""


def made_by(renderer: pp.Renderer, table: pa.Table, rows: int = 5000) -> Iterator[RenderedLines | pa.RecordBatch]:
    schema = renderer.output_schema(table.schema)
    frame = lines_of(schema).frame
    assert frame is not None
    return rendered_lines(engine_of(renderer).configuration, table.to_batches(rows), schema, frame)


def text_of(made: RenderedLines | pa.RecordBatch) -> str:
    """Return the content of the file of a part."""
    if isinstance(made, RenderedLines):
        return b"".join(made.lines.to_pylist()).decode()
    return "".join(line.decode() for lines in lines_of(made.schema).lines(made) for line in lines.to_pylist())


def renderer_of(name: str, **changes: Any) -> pp.Renderer:
    config = {"reader": READER, "output": "messages" if name in MESSAGES else "text"}
    return pp.Renderer(**{**config, **{**TEXTS, **MESSAGES, **CASES}.get(name, {}), **changes})


@UNWARNED
@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("name", [*TEXTS, *MESSAGES])
def test_lines_are_what_python_writes_of_the_prompts(name: str, is_clean: bool) -> None:
    renderer, table = renderer_of(name), samples()
    if is_clean:
        table = samples(q=[CLEAN[row % len(CLEAN)] for row in range(ROWS)])
    parts = list(made_by(renderer, table))
    prompts = renderer.render(table)
    want = [json.dumps({"prompt": prompt}, ensure_ascii=False) for prompt in clean(texts(prompts))]
    assert "".join(map(text_of, parts)).split("\n")[:-1] == want
    lines = [part for part in parts if isinstance(part, RenderedLines)]
    if is_clean and name in STRAIGHT:
        assert len(lines) == len(parts)
        assert sum(part.text_bytes for part in lines) == text_bytes(prompts["prompt"].combine_chunks())
    elif name not in STRAIGHT:
        assert not lines


@UNWARNED
@pytest.mark.parametrize("name", ["text", "api", "labels", "own shots", "raw"])
def test_a_file_is_what_the_same_rows_give_next_to_another_column(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd, table = 6000, samples(12_000)  # pieces that are lines, one that isn't, and lines again
    table = table.set_column(0, "q", pa.array([CLEAN[n % len(CLEAN)] if n != odd else "{" for n in range(12_000)]))
    pq.write_table(table, tmp_path / "samples.parquet")
    config = {"reader": READER, "output": "messages", **{**TEXTS, **MESSAGES, **CASES}[name]}
    (tmp_path / "config.json").write_text(
        json.dumps({key: value for key, value in config.items() if key != "examples"})
    )
    given = ["render", str(tmp_path / "config.json"), "--data", str(tmp_path / "samples.parquet")]
    if "examples" in config:
        pq.write_table(config["examples"], tmp_path / "examples.parquet")
        given += ["--examples", str(tmp_path / "examples.parquet")]
    written = []
    for more in ([], ["--index", "row"]):
        out = tmp_path / f"out{len(more)}.jsonl"
        assert main([*given, *more, "--out", str(out)]) == 0
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1]]
        report = capsys.readouterr().err.split(" of prompts")[0].split("promptpress: ")[-1]
        written.append(([{key: row[key] for key in row if key != "row"} for row in rows], report))
    assert written[0] == written[1]


def test_blocks_are_small_and_smaller_where_copying_may_not_be_enough() -> None:
    renderer = renderer_of("long", prompt_template="{q}{q}")
    long = [f"{row}" + "x" * 3000 for row in range(60_000)]
    parts = list(made_by(renderer, pa.table({"q": long}), 65_536))
    assert max(part.lines.nbytes for part in parts if isinstance(part, RenderedLines)) < 40 << 20
    renderer = renderer_of("text")
    rows = 65_536 * 4
    odd = {65_536 * part + row for part, row in enumerate((65_000, 65_500, 40_000))}
    table = samples(rows, q=["{" if row in odd else str(row) for row in range(rows)])
    parts = list(made_by(renderer, table, 65_536))
    assert all(isinstance(part, RenderedLines) for part in parts), "rows with braces are filled in apart"
    always = samples(rows, q=["{"] * rows)
    assert len(list(made_by(renderer, always, 65_536))) < 40  # what never is enough isn't tried in small blocks


def test_samples_are_let_go_before_more_are_read() -> None:
    references: list[weakref.ref[Any]] = []
    renderer = renderer_of("text")

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(3):
            assert all(reference() is None for reference in references)
            batch = samples(20_000).to_batches()[0]
            references.append(weakref.ref(batch))
            yield batch
            del batch

    schema = renderer.output_schema(samples(1).schema)
    frame = lines_of(schema).frame
    assert frame is not None
    assert (
        sum(part.num_rows for part in rendered_lines(engine_of(renderer).configuration, batches(), schema, frame))
        == 60_000
    )


def test_a_bounded_batch_is_refused_whatever_is_written_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(samples(9000), tmp_path / "samples.parquet")
    (tmp_path / "config.json").write_text(json.dumps({**TEXTS["text"], "limits": {"batch_bytes": 5_000_000}}))
    given = ["render", str(tmp_path / "config.json"), "--data", str(tmp_path / "samples.parquet")]
    errors = set()
    for more in ([], ["--index", "row"]):
        assert main([*given, *more, "--out", str(tmp_path / "out.jsonl")]) == 4
        errors.add(capsys.readouterr().err)
    assert len(errors) == 1
    assert not (tmp_path / "out.jsonl").exists()


def exported(
    folder: Path, config: dict[str, Any], table: pa.Table, *options: str, kind: str = "openai-batch"
) -> tuple[int, list[str]]:
    """The lines that the command writes; all of them, over several files."""
    pq.write_table(table, folder / "samples.parquet")
    (folder / "config.json").write_text(json.dumps(config))
    given = ["export", kind, str(folder / "config.json"), "--data", str(folder / "samples.parquet")]
    code = main([*given, "--model-name", "m", "--out", str(folder / "batch.jsonl"), *options])
    files = sorted(folder.glob("batch*.jsonl"))
    return code, [line for file in files for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


ROLE_MESSAGES = [{"role": "system", "content": "é\n"}, {"role": "user", "content": "{q}"}]


@UNWARNED
@pytest.mark.parametrize("options", [[], ["--custom-id", 'a"{sample}é'], ["--max-requests", "700"]])
@pytest.mark.parametrize("form", ["text", "openai"])
def test_a_batch_file_is_what_the_library_writes_of_the_rendered_table(
    form: str, options: list[str], tmp_path: Path
) -> None:
    template = "a {q}\n" if form == "text" else ROLE_MESSAGES
    for values in (CLEAN, ODD):
        table = pa.table({"q": [values[row % len(values)] for row in range(3000)]})
        config = {
            "prompt_template": template,
            "output": form,
            "reader": {"input_columns": ["q"], "output_column": None},
        }
        code, content = exported(tmp_path, {**config, "output": "text"} if form == "text" else config, table, *options)
        assert code == 0
        prompts = pp.Renderer(**config).render(table, index="sample")
        ids = {"custom_id": options[1]} if "--custom-id" in options else {}
        written = pp.export.openai_batch(prompts, tmp_path / "library.jsonl", model="m", **ids)
        want = [line for path in written.paths for line in Path(path).read_text(encoding="utf-8").split("\n")[:-1]]
        assert content == want
        for file in tmp_path.glob("*.jsonl"):
            file.unlink()


@UNWARNED
def test_columns_kept_with_requests_may_have_the_names_of_columns_of_several_rows_a_sample(tmp_path: Path) -> None:
    table = pa.table({"q": ["a", "b"], "label": ["x", "y"], "turn": [1, 2]})
    config = {"prompt_template": "{q}", "reader": {"input_columns": ["q"], "output_column": None}}
    _, want = exported(tmp_path, config, table)
    for kept in ("label", "turn", "all"):
        (tmp_path / "batch.jsonl").unlink()
        assert exported(tmp_path, config, table, "--keep", kept) == (0, want)


@UNWARNED
def test_what_a_batch_file_may_not_hold_is_refused_with_the_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"q": [f"{row}" for row in range(12_000)]})
    config: dict[str, Any] = {"reader": {"input_columns": ["q"], "output_column": None}}
    meta = {"round": [{"role": "HUMAN", "api_role": "narrator"}]}
    named = {"prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}"}]}, "meta_template": meta}
    named |= {"output": "openai", "roles": {"narrator": "narrator"}}
    assert exported(tmp_path, {**config, **named}, table) == (4, [])
    assert "row 0, column \"prompt\": the role 'narrator' is none that chat APIs have" in capsys.readouterr().err
    long = "x" * 60
    code, written = exported(
        tmp_path,
        {**config, "prompt_template": ROLE_MESSAGES},
        table,
        "--custom-id",
        f"{long}{{sample}}",
        kind="litellm-batch",
    )
    assert (code, written) == (4, [])
    assert f"row 10000: its custom_id '{long[:40]}…' has 65 characters" in capsys.readouterr().err

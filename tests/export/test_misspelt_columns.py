"""Prompts of a template that names a misspelt column: exports refuse them, and of a harness or Jinja all else warns."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress import export
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.process import main

SAMPLES = pa.table({"question": ["1+1=?", "2+2=?"], "answer": ["2", "4"], "wrong": ["3", "5"]})
WRITES: dict[str, Any] = {
    "openai_batch": {"model": "m"},
    "vllm_batch": {"model": "m"},
    "litellm_batch": {"model": "m"},
    "sharegpt": {"answer": "answer"},
    "messages_json": {"answer": "answer"},
    "prompt_completion": {"answer": "answer"},
    "preference": {"chosen": "answer", "rejected": "wrong"},
    "alpaca": {"answer": "answer"},
    "ray_rows": {},
    "datasets": {},
}
TEMPLATES = {
    "configuration": lambda name: pp.Renderer(f"Q: {{{name}}}", dialect="opencompass"),
    "jinja": lambda name: pp.JinjaTemplate(f"Q: {{{{ {name} }}}}"),
}

TWO_NAMES = {"configuration": "question} {context", "jinja": "question }} {{ context"}


def export_to(name: str, table: Any, path: Path, **options: Any) -> Any:
    write = getattr(export, name)
    return write(table, **options) if name in ("ray_rows", "datasets") else write(table, path, **options)


def rendered(kind: str, name: str, *, stream: bool = False) -> Any:
    renderer = TEMPLATES[kind](name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PromptWarning)
        return (renderer.stream if stream else renderer.render)(SAMPLES, keep=["answer", "wrong"])


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("name", WRITES)
def test_each_export_refuses_a_misspelt_column(tmp_path: Path, kind: str, name: str) -> None:
    if name == "datasets":
        pytest.importorskip("datasets")
    path = tmp_path / "out.jsonl"
    for stream in (False, True):
        with pytest.raises(pp.TemplateError, match=r"did you mean .*question.*\(unknown=\"keep\" writes") as caught:
            export_to(name, rendered(kind, "questoin", stream=stream), path, **WRITES[name])
        assert caught.value.code == "unknown_placeholder"
        assert os.listdir(tmp_path) == []
    export_to(name, rendered(kind, "questoin"), path, **WRITES[name], unknown="keep")
    export_to(name, rendered(kind, "question"), path, **WRITES[name])
    # A name that is near to none may be meant as it is, where others are filled in.
    export_to(name, rendered(kind, TWO_NAMES[kind]), path, **WRITES[name])
    path.unlink(missing_ok=True)
    with pytest.raises(pp.TemplateError, match="context") as caught:
        export_to(name, rendered(kind, "context"), path, **WRITES[name])
    assert caught.value.code == "unknown_placeholder"
    export_to(name, rendered(kind, "context"), path, **WRITES[name], unknown="keep")
    with pytest.raises(pp.TemplateError, match="unknown: 'no' is not one of"):
        export_to(name, rendered(kind, "question"), path, **WRITES[name], unknown="no")


@pytest.mark.parametrize(
    "template",
    [
        "{question} \\boxed{answe}",  # an argument of LaTeX
        "{{ questoin | default('') }}{{ question }}",
        "{% if questoin is defined %}{{ questoin }}{% endif %}{{ question }}",
        "{% set questoin = 1 %}{{ questoin }}{{ question }}",
    ],
)
def test_what_is_no_misspelt_column_is_exported(tmp_path: Path, template: str) -> None:
    renderer: Any = (
        pp.JinjaTemplate(template) if template.startswith("{{") or "{%" in template else pp.Renderer(template)
    )
    export.openai_batch(renderer.render(SAMPLES), tmp_path / "in.jsonl", model="m")


@pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")
def test_the_record_of_misspelt_columns_is_part_of_the_schema(tmp_path: Path) -> None:
    for template in TEMPLATES.values():
        renderer = template("questoin")
        table = renderer.render(SAMPLES, hashes=True)
        recorded = renderer.stream(SAMPLES, hashes=True).schema.metadata
        assert len(recorded) == 2  # and the fingerprint
        assert recorded.items() <= table.schema.metadata.items()
        assert renderer.output_schema(SAMPLES.schema).equals(renderer.render(SAMPLES).schema, check_metadata=True)
        assert template("question").render(SAMPLES).schema.metadata is None
        pq.write_table(table, tmp_path / "prompts.parquet")
        with pytest.raises(pp.TemplateError, match="did you mean"):
            export.openai_batch(pq.read_table(tmp_path / "prompts.parquet"), tmp_path / "in.jsonl", model="m")


def test_the_command_refuses_a_misspelt_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data.parquet", tmp_path / "in.jsonl"
    pq.write_table(SAMPLES, data)
    model = ["--model-name", "m", "--out", str(out)]
    for source, location in (
        (["--template", "Q: {questoin}"], "--template: '{questoin}' names no column"),
        (["--jinja", "Q: {{ questoin }}"], "line 1: 'questoin' is no column"),
    ):
        command = ["export", "openai-batch", *source, "--data", str(data), *model]
        assert main(command) == (ExitCode.USAGE if "--template" in source else ExitCode.CONFIGURATION)
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith(f"promptpress: error: {location}")
        assert error.endswith("(--unknown keep writes the prompts all the same)")
        assert not out.exists()
        assert main([*command, "--unknown", "keep"]) == ExitCode.OK
        assert f"promptpress: note: {location}" in capsys.readouterr().err
        out.unlink()
        # So is a file that was rendered, and where nothing of a harness is given it isn't rendered.
        prompts = str(tmp_path / "prompts.parquet")
        render = ["render", *source, "--data", str(data), "--out", prompts]
        assert main(render) == (ExitCode.USAGE if "--template" in source else ExitCode.OK)
        assert main([*render, "--unknown", "refuse"]) in (ExitCode.USAGE, ExitCode.CONFIGURATION)
        if "--template" in source:
            render += ["--dialect", "opencompass"]
            capsys.readouterr()
            assert main(render) == ExitCode.OK
        assert main(["export", "openai-batch", prompts, *model]) == ExitCode.CONFIGURATION
        assert main(["export", "openai-batch", prompts, *model, "--unknown", "keep"]) == ExitCode.OK
        out.unlink()
        capsys.readouterr()
        for other in ("show", "stats", "render"):
            ends = ["--out", "-", "--unknown", "keep"] if other == "render" else []
            assert main([other, *source, "--data", str(data), *ends]) == ExitCode.OK
            assert capsys.readouterr().err.count(f"note: {location}") == 1, other

"""Configuration files in Python: what they hold, renderers of them, and errors without a word of the command."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

SAMPLES = pa.table({"q": ["1+1?"], "a": ["2"]})
META = {"round": [{"role": "HUMAN", "begin": "<u>"}, {"role": "BOT", "begin": "<b>", "generate": True}]}
OTHER = {"round": [{"role": "HUMAN", "begin": "<x>"}, {"role": "BOT", "generate": True}]}


def dataset(abbr: str, text: str) -> dict[str, Any]:
    template = {"round": [{"role": "HUMAN", "prompt": text}]}
    return {
        "abbr": abbr,
        "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
        "infer_cfg": {
            "prompt_template": {"type": "PromptTemplate", "template": template},
            "retriever": {"type": "ZeroRetriever"},
            "inferencer": {"type": "GenInferencer"},
        },
    }


FIRST_DATASET, SECOND_DATASET = dataset("one", "1 {q}"), dataset("two", "2 {q}")
FIRST, SECOND = {"abbr": "m", "type": "VLLM", "meta_template": META}, {"abbr": "n", "type": "VLLM"}
SECOND["meta_template"] = OTHER


def write(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def prompt(renderer: pp.Renderer) -> Any:
    return renderer.render(SAMPLES)["prompt"][0].as_py()


def test_what_a_file_holds(tmp_path: Path) -> None:
    path = write(tmp_path, "job.json", {"datasets": [FIRST_DATASET, SECOND_DATASET, FIRST_DATASET], "models": [FIRST]})
    config = pp.load_config(Path(path))
    assert config.path == path
    assert dict(config.datasets) == {"one": FIRST_DATASET, "two": SECOND_DATASET, "one (2)": FIRST_DATASET}
    assert dict(config.models) == {"m": FIRST}
    assert config.arguments is None
    assert repr(config) == f"Config({path!r}, datasets=['one', 'two', 'one (2)'], models=['m'])"
    assert config == pp.load_config(path)
    with pytest.raises(AttributeError):
        config.path = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        config.datasets["x"] = {}  # type: ignore[index]


def test_other_kinds_of_files(tmp_path: Path) -> None:
    arguments = pp.load_config(write(tmp_path, "a.json", {"prompt_template": "Q: {q}"}))
    assert arguments.arguments == {"prompt_template": "Q: {q}"}
    assert repr(arguments).endswith("arguments=['prompt_template'])")
    assert list(pp.load_config(write(tmp_path, "one.json", FIRST_DATASET)).datasets) == ["one"]
    assert list(pp.load_config(write(tmp_path, "meta.json", META)).models) == ["meta"]
    assert list(pp.load_config(write(tmp_path, "model.json", FIRST)).models) == ["m"]
    many = pp.load_config(write(tmp_path, "many.json", [dataset(f"d{i}", "{q}") for i in range(30)]))
    assert repr(many).endswith("'d7', ... 22 more])")
    python = write(tmp_path, "c.py", f"from x import T\na_datasets = [dict(type=T, **{FIRST_DATASET!r})]")
    assert list(pp.load_config(python).datasets) == ["one"]


def test_renderers(tmp_path: Path) -> None:
    job = write(tmp_path, "job.json", {"datasets": [FIRST_DATASET, SECOND_DATASET], "models": [FIRST, SECOND]})
    model = write(tmp_path, "model.json", FIRST)
    datasets = write(tmp_path, "datasets.json", [FIRST_DATASET, SECOND_DATASET])
    config = pp.load_config(job)
    for renderer in (
        config.renderer("two", model_abbr="m"),
        pp.Renderer.from_config(job, dataset="two", model_abbr="m"),
        pp.Renderer.from_config(config, dataset="two", model_abbr="m"),
        pp.Renderer.from_config(datasets, Path(model), dataset="two"),
        pp.Renderer.from_config(datasets, model=model, dataset="two"),
        pp.Renderer.from_config(datasets, model=config, dataset="two", model_abbr="m"),
        pp.Renderer.from_config(SECOND_DATASET, model=model),
        pp.Renderer.from_config(SECOND_DATASET, model=FIRST),
        pp.Renderer.from_config(SECOND_DATASET, FIRST),
        pp.Renderer.from_config(SECOND_DATASET, model_cfg=FIRST),
        pp.Renderer.from_config({"datasets": [FIRST_DATASET, SECOND_DATASET]}, FIRST, dataset="two"),
        pp.load_config(datasets).renderer("two", model=model),
    ):
        assert prompt(renderer) == "<u>2 1+1?<b>"
        assert renderer == pp.Renderer.from_config(SECOND_DATASET, FIRST)
    assert prompt(pp.Renderer.from_config(write(tmp_path, "a.json", {"prompt_template": "Q {q}"}))) == "Q 1+1?"
    assert prompt(config.renderer("one", model_abbr="n", dialect="aisbench")) == "<x>1 1+1?"
    with pytest.raises(TypeError, match="got the model twice"):
        pp.Renderer.from_config(SECOND_DATASET, FIRST, model=FIRST)


def test_errors_speak_of_arguments(tmp_path: Path) -> None:
    job = write(tmp_path, "job.json", {"datasets": [FIRST_DATASET, SECOND_DATASET], "models": [FIRST, SECOND]})
    ini = write(tmp_path, "c.ini", "")
    broken = write(tmp_path, "broken.json", '{"a":\n')
    samples = write(tmp_path, "s.jsonl", "{}")
    bare = write(tmp_path, "bare.json", {"prompt_template": "{q}", "meta_template": META})
    examples = write(tmp_path, "examples.json", {"prompt_template": "{q}", "examples": []})
    calls = {
        "unclear_choice": [
            (lambda: pp.Renderer.from_config(job), job, "dataset= says which: 'one', 'two'"),
            (lambda: pp.Renderer.from_config(job, dataset="tow"), job, "dataset='tow': .*did you mean 'two'"),
            (lambda: pp.Renderer.from_config(job, dataset="two"), job, "model_abbr= says which: 'm', 'n'"),
            (lambda: pp.load_config(ini), ini, "a configuration is a .json"),
            (lambda: pp.load_config(samples), samples, "a configuration is a .json"),
            (lambda: pp.load_config("http://host/a.json"), "http://host/a.json", "a configuration is a local file"),
        ],
        "unreadable_config": [
            (lambda: pp.load_config(broken), broken, r"broken\.json:2: not valid JSON"),
            (lambda: pp.load_config(f"{job}x.json"), f"{job}x.json", "No such file"),
            (lambda: pp.Renderer.from_config(bare, model=FIRST), bare, "so a model has nothing to add"),
            (lambda: pp.Renderer.from_config(examples), examples, "rows stand in no configuration; examples= brings"),
        ],
    }
    for code, tried in calls.items():
        for call, path, words in tried:
            with pytest.raises(pp.TemplateError, match=words) as caught:
                call()
            error = caught.value
            assert (error.code, error.path, error.row) == (code, path, None)
            assert "--" not in str(error)
            assert str(error).endswith(error.message)
            assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_paths_are_examples(tmp_path: Path) -> None:
    shots = {
        **FIRST_DATASET,
        "infer_cfg": {**FIRST_DATASET["infer_cfg"], "retriever": {"type": "FixKRetriever", "fix_id_list": [0]}},
    }
    shots["infer_cfg"]["ice_template"] = {"type": "PromptTemplate", "template": "{q}={a}"}
    shots["infer_cfg"]["prompt_template"] = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
    train = write(tmp_path, "train.csv", "q,a\n2+2?,04\n")
    assert prompt(pp.Renderer.from_config(shots, examples=train)) == "2+2?=04\n1+1?"


def test_a_list_that_holds_code_is_left_out_as_a_whole(tmp_path: Path) -> None:
    """A list without one of its items would be another list, where prompts don't depend on it."""
    keys = "extra=[math.pi, 2], known=[1, [2]], eval_cfg=dict(a=1, b=[[math.pi]])"
    source = f"import math\ndatasets = [dict({FIRST_DATASET!r}, {keys})]\n"
    held = pp.load_config(write(tmp_path, "code.py", source)).datasets["one"]
    assert "extra" not in held
    assert (held["known"], held["eval_cfg"]) == ([1, [2]], {"a": 1})

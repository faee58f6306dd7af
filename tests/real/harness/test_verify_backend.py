"""`promptpress verify --backend`: which configurations the bulk backend renders, by the harnesses' own runs."""

from __future__ import annotations

import pytest
from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from real.harness import shipped
from real.harness.both import MODELS as ARGUMENTS
from real.harness.both import once
from real.harness.test_verify import EXAMPLES, MODELS, QUESTIONS, ROUND, TALKS, TURNS, Folder, config

ROWS = {name: [value or "x" for value in values] for name, values in QUESTIONS.items()}
RAW = {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "{question}"}]}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def listed(folder, capsys, datasets, *options, models=None, rows=ROWS, examples=ROWS):
    """The exit code; and of each dataset and model the word and what is said."""
    named = [{"abbr": f"d{number}", **dataset} for number, dataset in enumerate(datasets)]
    value = {"datasets": named}
    if models is not None:
        value["models"] = [{"abbr": f"m{number}", **model} for number, model in enumerate(models)]
    arguments = ["verify", "--backend", folder.json("config.json", value), "--data"]
    arguments += [folder.table("test.parquet", rows), "--examples", folder.table("train.parquet", examples)]
    code = main([*arguments, *options])
    captured = capsys.readouterr()
    assert captured.err == ""
    *lines, total = captured.out.splitlines()
    verdicts = []
    for line in lines:
        word, rest = line[:13].rstrip(), line[15:]
        label = "d0 m0" if models is not None else "d0"
        verdicts.append((word, rest[len(label) :].strip()))
    assert total.startswith(f"{len(verdicts)} configuration")
    return code, verdicts


@pytest.mark.parametrize("harness", ["opencompass", "aisbench"])
def test_what_is_covered(request, folder, capsys, harness):
    request.getfixturevalue(harness)
    shots = {"type": "FixKRetriever", "fix_id_list": [0, 1]}
    labels = {"2": "</E>{question} two", "x": "</E>{question} x"}
    values = [config("{question}"), config({"round": TURNS}), config(labels, None, "PPLInferencer"),
              config("</E>{question}", shots, **EXAMPLES)]  # fmt: skip
    if harness == "aisbench":  # whose registry doesn't have the retriever by its short name
        values.pop()
    code, verdicts = listed(folder, capsys, values, "--dialect", harness, models=[MODELS["text"]])
    assert code == ExitCode.OK
    assert [word for word, _ in verdicts] == ["bulk"] * len(values)
    assert [message for _, message in verdicts][:3] == [
        "4 prompts of 4 rows",
        "4 prompts of 4 rows",
        "8 prompts of 4 rows",
    ]


def test_datasets_and_models(opencompass, folder, capsys):
    assert opencompass
    values = [
        config({"round": TURNS}),
        {**config("x"), "infer_cfg": {**config("x")["infer_cfg"], "prompt_template": RAW}},
    ]
    models = [MODELS["chat"], MODELS["text"]]
    code, verdicts = listed(folder, capsys, values, models=models)
    # Raw messages go to a parser of texts in no run that renders; the harness says what it does with them.
    assert [word for word, _ in verdicts][:3] == ["bulk"] * 3
    assert code != ExitCode.DIFFERENT
    _, verdicts = listed(folder, capsys, values, "--dataset", "d0", models=models)
    assert len(verdicts) == 2
    _, verdicts = listed(folder, capsys, values, "--model-abbr", "m0", models=models)
    assert len(verdicts) == 2
    assert len(listed(folder, capsys, values)[1]) == 2


def test_what_is_left_to_the_harness_says_why(opencompass, folder, capsys, monkeypatch):
    assert opencompass
    from opencompass.openicl.icl_prompt_template import PromptTemplate
    from opencompass.openicl.icl_retriever import ZeroRetriever
    from opencompass.registry import ICL_PROMPT_TEMPLATES, ICL_RETRIEVERS

    class MyTemplate(PromptTemplate):
        def generate_item(self, *arguments, **options):
            return super().generate_item(*arguments, **options)

    class SameTemplate(PromptTemplate):
        """A template with no code of its own."""

    class MyRetriever(ZeroRetriever):
        def generate_ice(self, *arguments, **options):
            return super().generate_ice(*arguments, **options)

    monkeypatch.setitem(ICL_PROMPT_TEMPLATES.module_dict, "MyTemplate", MyTemplate)
    monkeypatch.setitem(ICL_RETRIEVERS.module_dict, "MyRetriever", MyRetriever)
    monkeypatch.setitem(ICL_PROMPT_TEMPLATES.module_dict, "SameTemplate", SameTemplate)
    same = config("{question}")
    same["infer_cfg"]["prompt_template"]["type"] = "SameTemplate"
    assert [word for word, _ in listed(folder, capsys, [same])[1]] == ["bulk"]
    custom = config("{question}")
    custom["infer_cfg"]["prompt_template"]["type"] = "MyTemplate"
    code, verdicts = listed(
        folder, capsys, [custom, config("{question}", {"type": "MyRetriever"}), config("{question}")]
    )
    assert code == ExitCode.UNSUPPORTED
    assert [word for word, _ in verdicts] == ["harness", "harness", "bulk"]
    assert "MyTemplate" in verdicts[0][1]
    assert "MyRetriever has a generate_ice of its own" in verdicts[1][1]


def test_a_model_with_a_custom_parser(opencompass, folder, capsys, monkeypatch):
    assert opencompass
    from opencompass.models.huggingface import HuggingFaceCausalLM as RegisteredModel
    from opencompass.registry import MODELS as REGISTRY

    class HuggingFaceCausalLM(RegisteredModel):
        def parse_template(self, *arguments, **options):
            return super().parse_template(*arguments, **options)

    values, models = [config("{question}")], [MODELS["text"]]
    assert listed(folder, capsys, values, models=models)[1][0][0] == "bulk"
    monkeypatch.setitem(REGISTRY.module_dict, "HuggingFaceCausalLM", HuggingFaceCausalLM)
    code, verdicts = listed(folder, capsys, values, models=models)
    assert (code, verdicts[0][0]) == (ExitCode.UNSUPPORTED, "harness")
    assert "has a parse_template of its own" in verdicts[0][1]


def test_a_model_class_that_is_not_known(opencompass, folder, capsys):
    assert opencompass
    code, verdicts = listed(folder, capsys, [config("{question}")], models=[{"type": "my_models.MyModel"}])
    assert (code, verdicts[0][0]) == (ExitCode.CONFIGURATION, "error")
    assert "promptpress doesn't know the model class MyModel" in verdicts[0][1]


def test_a_later_row_counts(opencompass, folder, capsys):
    """A null in a column of chats; the first rows alone would be rendered in bulk."""
    assert opencompass
    rows = {"dialogue": [ROUND, ROUND, None], "id": [1, 2, 3]}
    value = {
        "reader_cfg": {"input_columns": ["dialogue"], "output_column": None},
        "infer_cfg": config("x")["infer_cfg"],
    }
    value["infer_cfg"] = {**value["infer_cfg"], "inferencer": {"type": "ChatInferencer"}}
    value["infer_cfg"]["prompt_template"] = {
        "type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "{dialogue}"}]}
    }  # fmt: skip
    code, ((word, why),) = listed(folder, capsys, [value], rows=rows)
    assert (code, word) == (ExitCode.UNSUPPORTED, "harness")
    assert why.startswith("a column of chats has a null (then the run fails: TypeError")
    assert listed(folder, capsys, [value], "--limit", "2", rows=rows)[1] == [("bulk", "2 prompts of 2 rows")]


def test_no_rows(opencompass, folder, capsys):
    assert opencompass
    assert listed(folder, capsys, [config("{question}")], "--limit", "0")[1] == [
        ("error", "there are no rows to tell by")
    ]


def test_a_run_that_fails(opencompass, folder, capsys):
    assert opencompass
    turns = [*TURNS[:1], {"role": "TEACHER", "prompt": "{answer}"}, *TURNS[1:]]
    code, verdicts = listed(folder, capsys, [config({"round": turns}), config("x")], models=[MODELS["text"]])
    assert code == ExitCode.CONFIGURATION
    assert verdicts[0] == ("error", "the run, with a model that only answers, fails: KeyError: 'TEACHER'")
    assert verdicts[1][0] == "bulk"


def test_shortened_prompts_are_listed_by_number_of_examples(opencompass, folder, capsys, monkeypatch):
    assert opencompass
    value = config("</E>{question}", {"type": "FixKRetriever", "fix_id_list": [0, 1, 2]}, **EXAMPLES)
    models = [{**MODELS["text"], "max_seq_len": 5}]
    assert listed(folder, capsys, [value], models=models)[1] == [("bulk", "4 prompts of 4 rows")]
    render, lengths = CallRenderer.render, set()

    def no_two(self, call, key, start, shots):
        lengths.update(map(len, shots))
        if any(len(rows) == 2 for rows in shots):
            raise ValueError("no two")
        return render(self, call, key, start, shots)

    monkeypatch.setattr(CallRenderer, "render", no_two)
    code, ((word, why),) = listed(folder, capsys, [value], models=models)
    assert (code, word) == (ExitCode.UNSUPPORTED, "harness")
    assert "rendering failed (no two)" in why
    assert lengths == {0, 1, 2, 3}


@pytest.mark.parametrize("name", ["icl_sc_inferencer.SCInferencer", "icl_sw_ce_loss_inferencer.SWCELossInferencer"])
def test_inferencers_that_the_backend_has_no_part_in(opencompass, folder, capsys, name):
    assert opencompass
    value = config("{question}", None, f"opencompass.openicl.icl_inferencer.{name}")
    code, ((word, why),) = listed(folder, capsys, [value])
    assert (code, word) == (ExitCode.UNSUPPORTED, "harness")
    assert why.startswith(f"{name.partition('.')[2]} isn't covered")


def test_turns_of_aisbench(aisbench, folder, capsys):
    assert aisbench
    turns = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    value = config(turns, None, "MultiTurnGenInferencer")
    value["infer_cfg"]["prompt_template"]["type"] = "MultiTurnPromptTemplate"
    value["infer_cfg"]["inferencer"]["infer_mode"] = "every"
    models = [{"type": "VLLMCustomAPIChat"}]
    code, verdicts = listed(folder, capsys, [value], rows=TALKS, models=models)
    assert (code, verdicts) == (ExitCode.OK, [("bulk", "3 prompts of 3 rows")])


FILES = [path for path in list(shipped.files("opencompass", "configs/datasets", ("gen", "ppl")))[::12]
         if shipped.datasets(path)]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_listed_as_bulk_is_in_bulk_in_a_run(opencompass, folder, capsys, logged, path):
    assert opencompass
    dataset = shipped.datasets(path)[0]
    kinds = {key: str(dataset["infer_cfg"].get(key, {}).get("type", "")).rpartition(".")[2] for key in ("inferencer",)}
    table = shipped.table(dataset)
    examples = shipped.table(dataset, 40)
    tables = {"rows": table.to_pydict(), "examples": examples.to_pydict()}
    _, ((word, why),) = listed(folder, capsys, [dataset], "--dialect", "opencompass", **tables)
    if word == "error":  # a stand-in is asked for more than it has
        pytest.skip(why[:200])
    assert word == "bulk", why
    logged.clear()
    infer = dataset["infer_cfg"]
    parts = {name: infer.get(name) for name in ("ice_template", "prompt_template", "retriever")}
    options = {key: value for key, value in infer["inferencer"].items() if key != "max_out_len"}
    reader = {key: value for key, value in dataset["reader_cfg"].items() if key.endswith(("columns", "column"))}
    case = {**parts, **ARGUMENTS["text"], "samples": table, "examples": examples, "reader": reader}
    once({**case, "inferencer": {**options, "type": kinds["inferencer"], "batch_size": 2}}, on=True)
    assert logged == []

"""`promptpress verify` over configurations as the harnesses ship them, on small tables."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from real.harness import installed

QUESTIONS = {"question": ["1+1=?", "{answer} or {question}?", "", "é\n中文"], "answer": ["2", "x{question}", "", "ü"]}
CHOICES = {
    "input": ["Which?", "{target}: {A}?", "", "中"],
    "A": ["a", "{B}", "", "甲"],
    "B": ["b", "{{A}}", "", "乙"],
    "C": ["c", "C", "", "丙"],
    "D": ["d", "D", "", "丁"],
    "target": ["A", "B", "C", "D"],
}
OPENCOMPASS = {
    # name: (file below the harness's configs/datasets, dataset, model, columns)
    "gen": ("gsm8k/gsm8k_gen_1d7fe4.py", None, None, QUESTIONS),
    "gen, chat model": ("gsm8k/gsm8k_gen_1d7fe4.py", None, "chat", QUESTIONS),
    "gen, language model": ("gsm8k/gsm8k_gen_1d7fe4.py", None, "text", QUESTIONS),
    "five shots": ("mmlu/mmlu_gen_4d595a.py", "lukaemon_mmlu_anatomy", "text", CHOICES),
    "five shots, chat model": ("mmlu/mmlu_gen_4d595a.py", "lukaemon_mmlu_anatomy", "chat", CHOICES),
    "ppl": ("mmlu/mmlu_ppl_ac766d.py", "lukaemon_mmlu_anatomy", None, CHOICES),
    "ppl of dialogues": (
        "piqa/piqa_ppl_1cf9f0.py",
        None,
        "text",
        {"goal": ["g", "{sol1}"], "sol1": ["1", "{sol2}"], "sol2": ["2", "{goal}"], "answer": ["A", "B"]},
    ),
    "raw messages": (
        "mmlu/mmlu_llmjudge_rawprompt_gen_af67f0.py",
        "lukaemon_mmlu_anatomy",
        None,
        CHOICES,
    ),
}
MEDIA = {
    "content": ["<AIS_TEXT_START>What is it?<AIS_CONTENT_TAG>", "<AIS_TEXT_START>{answer}<AIS_CONTENT_TAG>"],
    "answer": ["A", "B"],
}
CHAT = "vllm_api/vllm_api_general_chat.py"
AISBENCH = {
    "gen": ("gsm8k/gsm8k_gen_0_shot_cot_str.py", None, None, QUESTIONS),
    "gen, chat model": ("gsm8k/gsm8k_gen_4_shot_cot_chat_prompt.py", None, CHAT, QUESTIONS),
    "media": ("mathvision/mathvision_gen.py", None, CHAT, MEDIA),
    "ppl": (
        "piqa/piqa_ppl_0_shot_str.py",
        None,
        None,
        {"goal": ["g", "{sol1}"], "sol1": ["1", "{sol2}"], "sol2": ["2", "{goal}"], "answer": ["A", "B"]},
    ),
    "shots": (
        "race/race_middle_gen_5_shot_chat.py",
        None,
        CHAT,
        {**{k: v for k, v in CHOICES.items() if len(k) == 1}, "article": ["t"] * 4, "question": ["q{A}"] * 4,
         "answer": ["A", "B", "C", "D"]},
    ),
}  # fmt: skip
MODELS = {
    "chat": {"type": "HuggingFacewithChatTemplate", "path": "none"},
    "text": {
        "type": "HuggingFaceCausalLM",
        "path": "none",
        "meta_template": {
            "round": [
                {"role": "HUMAN", "begin": "<|user|>", "end": "\n"},
                {"role": "BOT", "begin": "<|bot|>", "end": "\n", "generate": True},
            ]
        },
    },
}


class Folder:
    """Files for one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def table(self, name: str, columns: dict[str, list]) -> str:
        pq.write_table(pa.table(columns), self.path / name)
        return str(self.path / name)

    def json(self, name: str, value: object) -> str:
        (self.path / name).write_text(json.dumps(value), encoding="utf-8")
        return str(self.path / name)

    def python(self, name: str, source: str) -> str:
        (self.path / name).write_text(source, encoding="utf-8")
        return str(self.path / name)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def run(harness, folder, case, *options):
    path, dataset, model, columns = case
    configs = Path(harness.__file__).parent / "configs"
    arguments = [str(configs / "datasets" / path), "--data", folder.table("test.parquet", columns)]
    shots = {name: values * 10 for name, values in columns.items()}
    arguments += ["--examples", folder.table("train.parquet", shots)]
    if dataset is not None:
        arguments += ["--dataset", dataset]
    if model is not None:
        arguments += ["--model", folder.json("model.json", MODELS[model]) if model in MODELS else
                      str(configs / "models" / model)]  # fmt: skip
    return main(["verify", *arguments, *options])


def config(template, retriever=None, inferencer="GenInferencer", **more):
    """A configuration with the harness's short names."""
    return {
        "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
        "infer_cfg": {
            "prompt_template": {"type": "PromptTemplate", "template": template, **more.pop("prompt_template", {})},
            "retriever": retriever or {"type": "ZeroRetriever"},
            "inferencer": {"type": inferencer},
            **more,
        },
    }


TURNS = [{"role": "HUMAN", "prompt": "Q: {question}"}, {"role": "BOT", "prompt": "{answer}"}]
EXAMPLES = {"ice_template": {"type": "PromptTemplate", "template": "{question} {answer}"},
            "prompt_template": {"ice_token": "</E>"}}  # fmt: skip


def compared(folder, capsys, value, *options, rows=QUESTIONS, model="text"):
    """The exit code for a configuration, and what was printed."""
    arguments = ["verify", folder.json("config.json", value), "--data", folder.table("test.parquet", rows)]
    arguments += ["--examples", folder.table("train.parquet", QUESTIONS)]
    arguments += ["--model", folder.json("model.json", MODELS[model])] if model else []
    code = main([*arguments, *options])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.mark.parametrize("name", OPENCOMPASS)
def test_opencompass_as_shipped(opencompass, folder, capsys, name):
    assert run(opencompass, folder, OPENCOMPASS[name]) == ExitCode.OK
    rows = len(next(iter(OPENCOMPASS[name][3].values())))
    out = capsys.readouterr().out
    assert out.startswith("equal: ")
    assert f" of {rows} rows (opencompass {installed.OPENCOMPASS.pinned}, " in out


@pytest.mark.parametrize("name", AISBENCH)
def test_aisbench_as_shipped(aisbench, folder, capsys, name):
    assert run(aisbench, folder, AISBENCH[name]) == ExitCode.OK
    rows = len(next(iter(AISBENCH[name][3].values())))
    out = capsys.readouterr().out
    assert out.startswith("equal: ")
    assert f" of {rows} rows (ais-bench-benchmark {installed.AISBENCH.pinned}, " in out


TALKS = {
    "question": [["Hi.", "And {answer}?", "Bye."], ["One?"], ["", "\u4e2d"]],
    "answer": [["Hello!", "2", "So long."], ["1"], ["x{question}", ""]],
}
ROUND = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
DIALOGUES = {"dialogue": [ROUND, ROUND * 3], "id": [1, 2]}
CHATS = {
    "one round": ({"input_columns": ["question"], "output_column": "answer"}, None, QUESTIONS),
    "rounds": ({"input_columns": ["question"], "output_column": "answer"}, None, TALKS),
    "rounds of a template": (
        {"input_columns": ["question"], "output_column": "answer"},
        {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "Q: {question}"}]}},
        TALKS,
    ),
    "messages": ({"input_columns": ["dialogue", "id"], "output_column": None}, None, DIALOGUES),
}


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("inferencer", ["ChatInferencer", "ParallelChatInferencer"])
@pytest.mark.parametrize("mode", ["last", "every", "every_with_gt"])
@pytest.mark.parametrize("case", [(name, model) for name in CHATS for model in [*MODELS, None]])
def test_chats(folder, capsys, case, mode, inferencer):
    name, model = case
    reader, template, rows = CHATS[name]
    infer = {"retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": inferencer, "infer_mode": mode}}
    infer |= {} if template is None else {"prompt_template": template}
    code, out = compared(folder, capsys, {"reader_cfg": reader, "infer_cfg": infer}, rows=rows, model=model)
    values = next(iter(rows.values()))
    turns = {"one round": 4, "messages": 4}.get(name, 6)
    count = len(values) if mode == "last" else turns
    plural = "" if count == 1 else "s"
    assert (code, out.split(" (")[0]) == (ExitCode.OK, f"equal: {count} request{plural} of {len(values)} rows")


def test_a_turn_that_differs_is_named(opencompass, folder, capsys, monkeypatch):
    assert opencompass
    from opencompass.openicl.icl_inferencer.icl_chat_inferencer import ChatInferencer

    original = ChatInferencer.get_chat_list

    def another(self, *arguments, **options):
        (chat,) = original(self, *arguments, **options)
        return [[{**message, "content": message["content"].replace("Bye", "Adieu")} for message in chat]]

    monkeypatch.setattr(ChatInferencer, "get_chat_list", another)
    reader = {"input_columns": ["question"], "output_column": "answer"}
    infer = {"retriever": {"type": "ZeroRetriever"}}
    infer["inferencer"] = {"type": "ChatInferencer", "infer_mode": "every_with_gt"}
    code, out = compared(folder, capsys, {"reader_cfg": reader, "infer_cfg": infer}, rows=TALKS)
    assert code == ExitCode.DIFFERENT
    assert out.startswith("different at row 0, turn 2, character ")


def test_a_chat_that_both_refuse(opencompass, folder, capsys):
    assert opencompass
    rows = {"dialogue": [*DIALOGUES["dialogue"], ROUND[:1]]}
    reader = {"input_columns": ["dialogue"], "output_column": None}
    infer = {"retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": "ChatInferencer"}}
    code, out = compared(folder, capsys, {"reader_cfg": reader, "infer_cfg": infer}, rows=rows)
    assert code == ExitCode.DIFFERENT  # the harness says "list index out of range", which may be about anything
    lines = out.splitlines()
    assert lines[0].startswith("different at row 2 (")
    assert "IndexError" in lines[1]
    assert "RenderError: row 2: " in lines[2]
    assert "nothing that both name" in lines[3]


@pytest.mark.parametrize("case", [(model, mode) for model in [*MODELS, None] for mode in ("every", "every_with_gt")])
@pytest.mark.parametrize("path", ["mtbench/mtbench_gen.py", "sharegpt/sharegpt_gen.py"])
def test_aisbench_s_dialogues(aisbench, folder, capsys, path, case):
    model, mode = case
    configs = Path(aisbench.__file__).parent / "configs" / "datasets"
    text = (configs / path).read_text(encoding="utf-8")
    assert "MultiTurnGenInferencer" in text
    text = re.sub(r'infer_mode="\w+"', f'infer_mode="{mode}"', text)
    assert f'"{mode}"' in text
    arguments = ["verify", folder.python("config.py", text), "--data", folder.table("test.parquet", TALKS)]
    arguments += ["--model", folder.json("model.json", MODELS[model]), "--dialect", "aisbench"] if model else []
    assert main(arguments) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 6 requests of 3 rows (")


def test_the_last_turn_of_aisbench_s_dialogues_has_no_end(aisbench, folder, capsys):
    """The harness adds its prompt list to a list; promptpress renders what was meant (docs/fidelity.md)."""
    path = Path(aisbench.__file__).parent / "configs" / "datasets" / "mtbench" / "mtbench_gen.py"
    text = re.sub(r'infer_mode="\w+"', 'infer_mode="last"', path.read_text(encoding="utf-8"))
    arguments = ["verify", folder.python("config.py", text), "--data", folder.table("test.parquet", TALKS)]
    assert main(arguments) == ExitCode.DIFFERENT
    out = capsys.readouterr().out
    assert "RecursionError" in out
    assert "docs/fidelity.md" in out


PACKAGES = {"opencompass": "opencompass.openicl", "aisbench": "ais_bench.benchmark.openicl"}
RETRIEVERS = {
    "fix_k_retriever.FixKRetriever": {"fix_id_list": [2, 0]},
    "random_retriever.RandomRetriever": {"ice_num": 2},
}


@pytest.mark.parametrize("harness", PACKAGES)
@pytest.mark.parametrize("case", [(model, kind) for model in MODELS for kind in RETRIEVERS])
def test_examples_and_labels(request, folder, capsys, harness, case):
    request.getfixturevalue(harness)
    model, kind = case
    # The harnesses' registries don't have all retrievers.
    retriever = {"type": f"{PACKAGES[harness]}.icl_retriever.icl_{kind}", **RETRIEVERS[kind]}
    labels = {"2": "</E>{question} two", "x": "</E>{question} x"}
    value = config(labels, retriever, "PPLInferencer", **EXAMPLES)
    code, out = compared(folder, capsys, value, model=model)
    assert (code, out.split(" (")[0]) == (ExitCode.OK, "equal: 8 requests of 4 rows")


def test_labels_that_are_values_of_a_column(opencompass, folder, capsys):
    assert opencompass
    code, out = compared(folder, capsys, config("{question} {answer}", None, "PPLInferencer"))
    assert (code, out.split(" (")[0]) == (ExitCode.OK, "equal: 16 requests of 4 rows")


def test_the_first_rows_only(opencompass, folder, capsys):
    assert opencompass
    code, out = compared(folder, capsys, config("{question}"), "--limit", "3")
    assert (code, out.split(" (")[0]) == (ExitCode.OK, "equal: 3 requests of 3 rows")


def test_a_difference_is_shown_where_it_is(opencompass, folder, capsys, monkeypatch):
    """A harness that somebody has changed."""
    assert opencompass
    from opencompass.openicl.icl_prompt_template import PromptTemplate

    made = PromptTemplate.generate_item

    def changed(self, entry, *arguments, **options):
        prompt = made(self, entry, *arguments, **options)
        return prompt.replace("or", "and") if isinstance(prompt, str) else prompt

    monkeypatch.setattr(PromptTemplate, "generate_item", changed)
    rows = {"question": ["1+1=?", "Cats or dogs?"], "answer": ["2", "both"]}
    code, out = compared(folder, capsys, config("{question}"), rows=rows)
    page = (Path(__file__).parents[3] / "docs" / "verify.md").read_text(encoding="utf-8")
    excerpt = page.partition("```text\ndifferent at ")[2].partition("```")[0]
    assert code == ExitCode.DIFFERENT
    assert out == f"different at {excerpt}".replace("promptpress 0.1.0", f"promptpress {pp.__version__}")


def test_a_difference_within_messages(opencompass, folder, capsys, monkeypatch):
    assert opencompass
    from opencompass.models.base_api import APITemplateParser

    made = APITemplateParser.parse_template

    def changed(self, prompt, mode):
        parsed = made(self, prompt, mode)
        for request in parsed if isinstance(prompt, tuple) else []:
            request[0]["prompt"] += "!"
        return parsed

    monkeypatch.setattr(APITemplateParser, "parse_template", changed)
    code, out = compared(folder, capsys, config({"round": TURNS}), model="chat")
    assert code == ExitCode.DIFFERENT
    assert out.startswith("different at row 0, message 0, 'prompt', character 9 (")


@pytest.mark.parametrize("harness", ["opencompass", "aisbench"])
def test_a_refusal_on_one_side_is_a_difference(request, folder, capsys, harness):
    """`end` of a dialogue beside a meta template: documented, and an error in the harness's code."""
    request.getfixturevalue(harness)
    value = config({"round": TURNS, "end": [{"role": "HUMAN", "prompt": "Bye."}]}, None, "PPLInferencer")
    value["infer_cfg"]["inferencer"]["labels"] = ["x"]
    code, out = compared(folder, capsys, value, "--dialect", harness)
    lines = out.splitlines()
    assert code == ExitCode.DIFFERENT
    assert lines[0].startswith("different at row 0 (")
    assert "Error" in lines[1]
    assert "<|user|>Q: 1+1=?" in lines[2]
    assert lines[3].endswith("docs/fidelity.md")


@pytest.mark.parametrize("harness", ["opencompass", "aisbench"])
def test_the_same_refusal_is_agreement(request, folder, capsys, harness):
    request.getfixturevalue(harness)
    turns = [*TURNS[:1], {"role": "TEACHER", "prompt": "{answer}"}, *TURNS[1:]]
    code, out = compared(folder, capsys, config({"round": turns}), "--dialect", harness)
    lines = out.splitlines()
    assert code == ExitCode.OK
    assert lines[0] == "equal: both refuse row 0 for the same reason (of 4 rows; equal before it: 0 requests)"
    assert "TEACHER" in lines[1]
    assert "TemplateError" in lines[2]


def test_a_row_that_both_refuse(opencompass, folder, capsys):
    """A label map without the label of an example that the third row's window reaches."""
    assert opencompass
    ice = {"type": "PromptTemplate", "template": {"2": "two {question}", "x{question}": "x"}}
    retriever = {"type": "SlidingWindowRetriever", "k": 1}
    value = config("</E>{question}", retriever, **{**EXAMPLES, "ice_template": ice})
    code, out = compared(folder, capsys, value)
    assert code == ExitCode.OK
    assert out.startswith("equal: both refuse row ")


def test_refusals_for_different_reasons_are_a_difference(aisbench, folder, capsys):
    """AISBench's registry has no such retriever, and promptpress, which has, misses a label."""
    assert aisbench
    ice = {"type": "PromptTemplate", "template": {"2": "two {question}", "x{question}": "x"}}
    retriever = {"type": "SlidingWindowRetriever", "k": 1}
    value = config("</E>{question}", retriever, **{**EXAMPLES, "ice_template": ice})
    code, out = compared(folder, capsys, value, "--dialect", "aisbench")
    assert code == ExitCode.DIFFERENT
    assert "SlidingWindowRetriever is not in the ais_bench" in out
    assert "an example has the label 'ü'" in out


def test_what_promptpress_has_no_part_for(opencompass, folder, capsys, monkeypatch):
    from opencompass.openicl.icl_retriever import ZeroRetriever

    class TopkRetriever(ZeroRetriever):
        pass

    assert opencompass
    from opencompass.registry import ICL_RETRIEVERS

    monkeypatch.setitem(ICL_RETRIEVERS.module_dict, "TopkRetriever", TopkRetriever)
    code, out = compared(folder, capsys, config("{question}", {"type": "TopkRetriever"}))
    assert code == ExitCode.UNSUPPORTED == 6
    assert out.startswith("not supported: retriever.type: 'TopkRetriever' is not computed here; ")
    assert f"opencompass {installed.OPENCOMPASS.pinned} renders it (4 rows)" in out


def test_all_datasets_of_a_file(opencompass, folder, capsys):
    assert opencompass
    good = config("{question}")
    turns = {"round": TURNS, "end": [{"role": "HUMAN", "prompt": "Bye."}]}
    other = config(turns, None, "PPLInferencer")
    other["infer_cfg"]["inferencer"]["labels"] = ["x"]
    agent = config("{question}", None, "AgentInferencer")
    broken = {**good, "reader_cfg": {"input_columns": 3, "output_column": None}}
    named = {name: {**dataset, "abbr": name} for name, dataset in
             (("good", good), ("agent", agent), ("broken", broken), ("other", other))}  # fmt: skip

    def verified(*names):
        code, out = compared(folder, capsys, [named[name] for name in names], "--dataset", "all")
        *lines, total = out.splitlines()
        return code, [line.split("  ")[0].rstrip() for line in lines], total

    assert verified("good", "good") == (ExitCode.OK, ["equal"] * 2, "2 configurations: 2 equal")
    code, words, total = verified("good", "agent")
    assert (code, words, total) == (6, ["equal", "not supported"], "2 configurations: 1 equal, 1 not supported")
    assert verified("agent", "broken", "good")[:2] == (ExitCode.CONFIGURATION, ["not supported", "error", "equal"])
    code, words, total = verified("other", "agent", "broken", "good")
    assert code == ExitCode.DIFFERENT
    assert words == ["different", "not supported", "error", "equal"]
    assert total == "4 configurations: 1 different, 1 not supported, 1 error, 1 equal"


def test_all_datasets_with_all_models(opencompass, folder, capsys):
    assert opencompass
    models = [{**model, "abbr": name} for name, model in MODELS.items()]
    values = [{**config(f"{name} {{question}}"), "abbr": name} for name in "ab"]
    arguments = ["verify", folder.json("config.json", {"datasets": values, "models": models})]
    arguments += ["--data", folder.table("test.parquet", QUESTIONS)]
    assert main([*arguments, "--dataset", "all", "--model-abbr", "all"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    pairs = [line.partition("requests")[0].split()[1:3] for line in lines[:-1]]
    assert pairs == [["a", "chat"], ["a", "text"], ["b", "chat"], ["b", "text"]]
    assert lines[-1] == "4 configurations: 4 equal"
    assert main([*arguments, "--dataset", "all", "--model-abbr", "text"]) == ExitCode.OK
    assert capsys.readouterr().out.splitlines()[-1] == "2 configurations: 2 equal"
    assert main([*arguments, "--dataset", "b", "--model-abbr", "all"]) == ExitCode.OK
    assert capsys.readouterr().out.splitlines()[-1] == "2 configurations: 2 equal"


def test_a_dataset_that_is_named_all_is_one(opencompass, folder, capsys):
    assert opencompass
    values = [{**config(f"{name} {{question}}"), "abbr": name} for name in ("all", "other")]
    code, out = compared(folder, capsys, values, "--dataset", "all")
    assert code == ExitCode.OK
    assert "1 configuration: 1 equal" in out


LOCAL = {
    # the file below the harness's configs/datasets, and the path in it
    "opencompass": ("gsm8k/gsm8k_gen_1d7fe4.py", "opencompass/gsm8k"),
    "aisbench": ("gsm8k/gsm8k_gen_4_shot_cot_chat_prompt.py", "ais_bench/datasets/gsm8k"),
}


@pytest.mark.parametrize("fixture", LOCAL)
def test_the_dataset_as_the_harness_loads_it(request, folder, capsys, fixture):
    source, path = LOCAL[fixture]
    harness = request.getfixturevalue(fixture)
    if fixture == "opencompass":  # its datasets' package is a bare one here
        from opencompass.datasets.gsm8k import GSM8KDataset

        request.getfixturevalue("monkeypatch").setattr(harness.datasets, "GSM8KDataset", GSM8KDataset, raising=False)
    for split, rows in (("train", 3), ("test", 5)):
        lines = [json.dumps({"question": f"{{answer}} {n}", "answer": f"{n} #### {n}"}) for n in range(rows)]
        (folder.path / f"{split}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    text = (Path(harness.__file__).parent / "configs" / "datasets" / source).read_text(encoding="utf-8")
    shipped = folder.python("gsm8k.py", text.replace(path, str(folder.path)))
    assert main(["verify", shipped, "--limit", "4"]) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 4 requests of 4 rows (")
    assert main(["verify", shipped]) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 5 requests of 5 rows (")


def test_a_dataset_that_can_not_be_loaded(opencompass, folder, capsys):
    assert opencompass
    value = {**config("{question}"), "abbr": "nowhere", "type": "opencompass.datasets.no_such.Dataset", "path": "none"}
    assert main(["verify", folder.json("config.json", value)]) == ExitCode.DATA
    error = capsys.readouterr().err
    assert "opencompass can't load the dataset 'nowhere': " in error
    assert "--data FILE" in error


def test_a_configuration_that_the_harness_can_not_read(opencompass, folder, capsys):
    """`deepcopy` is a name that promptpress knows, and that the harness's reader doesn't import."""
    assert opencompass
    lines = ["from mmengine.config import read_base", "from copy import deepcopy"]
    source = "\n".join([*lines, f"datasets = deepcopy([{config('{question}')!r}])"])
    code = main(["verify", folder.python("config.py", source), "--data", folder.table("test.parquet", QUESTIONS)])
    assert code == ExitCode.CONFIGURATION
    assert "config.py: opencompass can't read it: RuntimeError: " in capsys.readouterr().err


@pytest.mark.parametrize("reader", [({"input_columns": ["question"]},), {"input_columns": 3, "output_column": None}])
def test_a_reader_that_is_none(opencompass, folder, capsys, reader):
    """One of the configurations that are shipped has a comma too many."""
    assert opencompass
    code, out = compared(folder, capsys, {**config("{question}"), "reader_cfg": reader})
    assert code == ExitCode.CONFIGURATION
    assert "reader_cfg: opencompass refuses it: " in out


def test_what_the_harness_lacks_is_no_refusal(opencompass, folder, capsys, monkeypatch):
    assert opencompass
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    value = config("{question}", {"type": "TopkRetriever", "ice_num": 1})
    code, out = compared(folder, capsys, value)
    assert code == ExitCode.CONFIGURATION
    assert "opencompass can't run this configuration here: import of sentence_transformers halted" in out

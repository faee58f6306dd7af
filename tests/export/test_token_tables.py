"""Token ids handed on: the columns of each consumer, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress import export
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode

TOKENS = pa.table(
    {
        "id": [7, 8],
        "input_ids": [[1, 2, 3], [4, 5]],
        "n_tokens": [3, 2],
        "assistant_masks": [[False, True, True], [False, False]],
        "labels": [[-100, 2, 3], [-100, -100]],
        "offsets": [[{"start": 0, "end": 1}] * 3, [{"start": 0, "end": 1}] * 2],
        "truncated": [False, True],
    }
)
INFERENCE: list[Any] = [export.vllm_tokens, export.sglang_tokens, export.ray_tokens]
TRAINING: list[Any] = [export.trl_tokens, export.axolotl_tokens]


def test_columns_have_the_names_of_each_consumer() -> None:
    ids = TOKENS["input_ids"].to_pylist()
    assert export.vllm_tokens(TOKENS).to_pylist() == [
        {"id": 7, "prompt_token_ids": ids[0]},
        {"id": 8, "prompt_token_ids": ids[1]},
    ]
    params = {"sampling_params": {"temperature": 0}, "sampling_columns": {"seed": "id"}}
    sampling = {"temperature": 0, "seed": 8}
    assert export.sglang_tokens(TOKENS, **params).to_pylist()[1] == {
        "id": 8,
        "input_ids": ids[1],
        "sampling_params": sampling,
    }
    assert export.ray_tokens(TOKENS, **params).to_pylist()[1] == {
        "id": 8,
        "prompt": None,
        "tokenized_prompt": ids[1],
        "sampling_params": sampling,
    }
    labels = TOKENS["labels"].to_pylist()
    for table in (TOKENS, TOKENS.drop_columns(["labels"]), TOKENS.drop_columns(["assistant_masks"])):
        assert export.trl_tokens(table).to_pylist() == [
            {"id": 7, "input_ids": ids[0], "labels": labels[0], "assistant_masks": [0, 1, 1]},
            {"id": 8, "input_ids": ids[1], "labels": labels[1], "assistant_masks": [0, 0]},
        ]
        assert export.trl_tokens(table, mask_column="completion_mask").column_names[-1] == "completion_mask"
        assert export.axolotl_tokens(table).to_pylist()[0] == {
            "id": 7,
            "input_ids": ids[0],
            "attention_mask": [1, 1, 1],
            "labels": labels[0],
        }


@pytest.mark.parametrize("make", INFERENCE + TRAINING)
def test_slices_streams_and_large_lists(make: Any) -> None:
    whole = make(TOKENS).to_pylist()
    assert make(TOKENS.slice(1)).to_pylist() == whole[1:]
    assert make(TOKENS.to_reader(max_chunksize=1)).to_pylist() == whole
    large = [pa.large_list(f.type.value_type) if pa.types.is_list(f.type) else f.type for f in TOKENS.schema]
    schema = pa.schema(list(zip(TOKENS.column_names, large, strict=True)))
    assert make(TOKENS.cast(schema)).to_pylist() == whole
    with pytest.warns(pp.PromptWarning, match="no rows"):
        assert make(TOKENS.slice(0, 0)).column_names == make(TOKENS).column_names


def test_a_kept_column_of_another_type_stays() -> None:
    table = TOKENS.drop_columns(["labels"]).append_column("labels", pa.array(["x", "y"]))
    assert export.vllm_tokens(table)["labels"].to_pylist() == ["x", "y"]
    with pytest.raises(pp.RenderError, match='column "labels": lists of numbers are expected'):
        export.trl_tokens(table)


@pytest.mark.parametrize("make", INFERENCE + TRAINING)
def test_refusals(make: Any) -> None:
    with pytest.raises(pp.RenderError, match=r'column "input_ids": .*tokenize\(\) gives the token ids'):
        make(pa.table({"prompt": ["a"]}))
    with pytest.raises(pp.RenderError, match='column "input_ids": lists of numbers'):
        make(pa.table({"input_ids": ["a"]}))
    nulls = pa.table({"input_ids": [[1], None], "labels": [[1], None]})
    with pytest.raises(pp.RenderError, match=r'row 1, column "input_ids": .*errors="skip" leaves such rows out'):
        make(nulls)
    empty = pa.table({"input_ids": pa.array([[1], []], pa.list_(pa.int32())), "labels": [[1], []]})
    if make in INFERENCE:
        with pytest.raises(pp.RenderError, match='row 1, column "input_ids": the prompt has no token'):
            make(empty)
    else:
        assert len(make(empty)) == 2
        with pytest.raises(pp.RenderError, match=r'column "labels": .*mask= and labels=True'):
            make(pa.table({"input_ids": [[1]]}))
        with pytest.raises(pp.RenderError, match='row 1, column "labels": it doesn\'t have a value for each'):
            make(pa.table({"input_ids": [[1], [2]], "labels": [[1], [2, 3]]}))
    for name in ("prompt_token_ids", "sampling_params", "tokenized_prompt", "attention_mask"):
        table = TOKENS.append_column(name, TOKENS["id"])
        options = {} if make in (export.vllm_tokens, *TRAINING) else {"sampling_params": {"n": 1}}
        if name in make(TOKENS, **options).column_names:
            with pytest.raises(pp.RenderError, match=f'column "{name}": the (export|table) has a column'):
                make(table, **options)
        else:
            assert name in make(table, **options).column_names


def test_an_unknown_name_of_the_mask() -> None:
    with pytest.raises(pp.TemplateError, match="'masks' is not one of 'assistant_masks', 'completion_mask'"):
        export.trl_tokens(TOKENS, mask_column="masks")  # type: ignore[arg-type]


CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TALKS = [
    {"id": n, "messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": f"So {n}."}]}
    for n in range(5)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_tokenizer().save("tokenizer.json")
    Path("chat.jinja").write_text(CHATML, encoding="utf-8")
    Path("talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in TALKS), encoding="utf-8")
    return tmp_path


CHAT = ("--chat-template", "chat.jinja", "--data", "talks.jsonl")


@pytest.mark.usefixtures("folder")
def test_the_command_encodes_and_hands_on(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--tokenizer", "tokenizer.json", "--mask", "assistant+end", "--keep", "id", "--max-tokens", "15"]
    cut = ["--truncation", "left", "--last-turn", "--mask-column", "completion_mask"]
    assert main(["export", "trl-tokens", *CHAT, *options, *cut, "--out", "-"]) == 0
    out = capsys.readouterr().out.splitlines()
    wanted = pp.ChatTemplate(CHATML).tokenize(
        TALKS, "tokenizer.json", mask="assistant+end", keep=["id"], max_tokens=15, truncation="left", last_turn=True
    )
    assert list(map(json.loads, out)) == export.trl_tokens(wanted, mask_column="completion_mask").to_pylist()
    template = ["export", "vllm-tokens", "--template", "Q: {id}", "--data", "talks.jsonl"]
    assert main([*template, "--tokenizer", "tokenizer.json", "--out", "out.parquet", "--quiet"]) == 0


@pytest.mark.usefixtures("folder")
def test_the_command_leaves_preferences_out(capsys: pytest.CaptureFixture[str]) -> None:
    sound = {"prompt": "1+1?", "chosen": "2.", "rejected": "3"}
    rows = [{**sound, "id": number} for number in range(40)]
    rows[7]["chosen"] = rows[30]["prompt"] = None
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = ["--data", "pairs.jsonl", "--chat-template", "chat.jinja", "--tokenizer", "tokenizer.json", "--keep", "id"]
    command = ["export", "trl-preference-tokens", *given, "--out", "out.jsonl"]
    assert main(command) == 4
    assert 'row 7, column "chosen": it is null' in capsys.readouterr().err
    for options, left, code in (([], [7, 30], 0), (["--where", "id >= 20", "--strict"], [30], 7)):
        assert main([*command, "--errors", "skip", *options]) == code
        error = capsys.readouterr().err
        assert all(f"row {row}: null_value: column" in error for row in left)
        written = [json.loads(line)["id"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert written == [row for row in range(20 if options else 0, 40) if row not in left]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["trl-tokens", *CHAT], 2, "--mask: trl-tokens is for training; --mask assistant+end"),
        (["vllm-tokens", *CHAT, "--mask", "assistant"], 2, "--mask: not of vllm-tokens; it is for trl-tokens"),
        (["vllm-tokens", *CHAT, "--order", "prefix"], 2, "--order: not of vllm-tokens"),
        (["ray-tokens", *CHAT, "--truncation", "left"], 2, "--truncation left needs --max-tokens"),
        (["ray-tokens", *CHAT, "--max-tokens", "3"], 4, "row 0: the prompt has 19 tokens, and --max-tokens allows 3"),
        (["vllm-tokens", "talks.jsonl", "--column", "messages"], 2, "takes texts, and the prompts are messages"),
        (["vllm-tokens", *CHAT, "--out", "x.csv"], 2, "token ids are lists, which .parquet, .arrow and .jsonl"),
        (["vllm-tokens", *CHAT, "--no-tokenizer"], 2, "--tokenizer: vllm-tokens has token ids; FILE says whose"),
        (["openai-batch", *CHAT, "--max-tokens", "3"], 2, "parameters of all requests go into --params"),
    ],
)
def test_what_the_command_refuses(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    has_tokenizer = arguments[0] != "openai-batch" and "--no-tokenizer" not in arguments
    given = [argument for argument in arguments if argument != "--no-tokenizer"]
    given += [] if "--out" in given else ["--out", "out.jsonl"]
    assert main(["export", *given, *(["--tokenizer", "tokenizer.json"] if has_tokenizer else [])]) == ExitCode(code)
    assert message in capsys.readouterr().err

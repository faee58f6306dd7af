"""Each export read back by its consumer's own code, where that is installed.

`make test` reads back what needs only `datasets`; `make test-exports` brings the others (requirements/exports.txt).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from generators.batches import plain
from promptpress import export
from promptpress_workbench.cli.process import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SAMPLES = pyarrow.json.read_json(EXAMPLES / "test.jsonl")
FEW_SHOT = [
    {"role": "system", "content": 'Answer with "a number".\u2028'},
    {"role": "user", "content": "1+1=?"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": "{question}"},
]
RENDERER = pp.Renderer({"type": "RawPromptTemplate", "messages": FEW_SHOT}, output="openai")
TABLE = RENDERER.render(SAMPLES, keep=["id", "answer"], index="sample")
MESSAGES = TABLE["prompt"].to_pylist()
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
PARTS = pa.table({"prompt": [[{"role": "user", "content": [{"type": "text", "text": "What is it?"}, PICTURE]}]]})


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("table", [TABLE, PARTS], ids=["few-shot", "parts"])
def test_types_of_openai_accept_each_body(tmp_path: Path, table: pa.Table) -> None:
    chat = pytest.importorskip("openai.types.chat.completion_create_params")
    pydantic = pytest.importorskip("pydantic")
    body = {"temperature": 0, "max_tokens": 5, "response_format": {"type": "json_object"}, "logit_bias": {"7": -100}}
    export.openai_batch(table, tmp_path / "in.jsonl", model="gpt-4o-mini", body=body)
    adapter = pydantic.TypeAdapter(chat.CompletionCreateParamsNonStreaming)
    requests = lines(tmp_path / "in.jsonl")
    assert len(requests) == len(table)
    for line, messages in zip(requests, table["prompt"].to_pylist(), strict=True):
        validated = plain(adapter.validate_python(line["body"]))
        assert validated == line["body"]
        assert [m["role"] for m in validated["messages"]] == [m["role"] for m in messages]


def test_types_of_openai_accept_completions(tmp_path: Path) -> None:
    completions = pytest.importorskip("openai.types.completion_create_params")
    pydantic = pytest.importorskip("pydantic")
    texts = pp.Renderer("Q: {question}\nA:").render(SAMPLES)
    export.openai_batch(texts, tmp_path / "in.jsonl", model="m", body={"n": 2}, url="/v1/completions")
    adapter = pydantic.TypeAdapter(completions.CompletionCreateParamsNonStreaming)
    for line, text in zip(lines(tmp_path / "in.jsonl"), texts["prompt"].to_pylist(), strict=True):
        assert plain(adapter.validate_python(line["body"]))["prompt"] == text


def test_the_limits_and_the_url_are_those_that_openai_documents() -> None:
    params = pytest.importorskip("openai.types.batch_create_params")
    source = Path(params.__file__).read_text(encoding="utf-8")
    document = " ".join(source.split())
    assert "up to 50,000 requests, and can be up to 200 MB in size" in document
    assert '"/v1/chat/completions"' in source
    assert '"/v1/completions"' in source
    assert '"/v1/responses"' in source


def test_answers_in_types_of_openai_are_joined() -> None:
    types = pytest.importorskip("openai.types.chat")
    choice = {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    completion = types.ChatCompletion.model_validate(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )
    response = {"status_code": 200, "request_id": "r", "body": completion.model_dump(mode="json")}
    results = [{"id": "b", "custom_id": str(n), "response": response, "error": None} for n in (3, 1)]
    joined = export.join(results, TABLE)
    assert joined["response"].to_pylist()[:4] == [None, "4", None, "4"]
    assert joined["completion_tokens"].to_pylist()[:2] == [None, 2]


def test_litellm_parses_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network otherwise
    executed = pytest.importorskip("litellm.proxy.batches_endpoints.litellm_executed_batches", exc_type=ImportError)
    upload = pytest.importorskip("litellm.proxy.openai_files_endpoints.batch_file_validation", exc_type=ImportError)
    written = export.litellm_batch(TABLE, tmp_path / "in.jsonl", model="azure/gpt-4o", max_requests=10)
    parsed = []
    for path in written.paths:
        content = Path(path).read_bytes()
        assert upload.check_batch_file_upload(path, content, 200) is None
        batch = executed.parse_batch_input(content, "/v1/chat/completions")
        assert isinstance(batch, tuple), batch
        parsed += batch
    assert [line.custom_id for line in parsed] == [str(n) for n in range(len(TABLE))]
    assert [line.body["messages"] for line in parsed] == MESSAGES
    outcomes = [
        executed.RowOutcome(
            line.custom_id, 200, {"choices": [{"message": {"content": line.custom_id}}]}, succeeded=True
        )
        for line in parsed[::-2]
    ]
    results = [json.loads(json.dumps(executed._result_line(outcome))) for outcome in outcomes]
    joined = export.join(results, TABLE)["response"].to_pylist()
    assert joined == [str(n) if n % 2 else None for n in range(len(TABLE))]


def test_vllm_takes_each_line_by_its_documented_schema(tmp_path: Path) -> None:
    """vLLM itself needs torch: its schema is what its documentation shows, around OpenAI's chat request."""
    pydantic = pytest.importorskip("pydantic")
    chat = pytest.importorskip("openai.types.chat.completion_create_params")
    body = chat.CompletionCreateParamsNonStreaming
    fields = {"custom_id": (str, ...), "method": (str, ...), "url": (str, ...), "body": (body, ...)}
    schema = pydantic.create_model("Line", __config__={"extra": "forbid"}, **fields)
    export.vllm_batch(TABLE, tmp_path / "in.jsonl", model="m")
    requests = list(map(schema.model_validate, lines(tmp_path / "in.jsonl")))
    assert [line.url for line in requests] == ["/v1/chat/completions"] * len(TABLE)
    assert [plain(line.body["messages"]) for line in requests] == MESSAGES


@pytest.fixture(scope="module")
def hugging_face() -> Any:
    return pytest.importorskip("datasets")


def test_a_dataset_as_an_object_and_as_a_folder(tmp_path: Path, hugging_face: Any) -> None:
    reader = RENDERER.stream(SAMPLES.to_batches(max_chunksize=7), keep=["answer"], index="sample")
    folder = export.datasets(reader, tmp_path / "saved")
    for dataset in (export.datasets(TABLE), folder, hugging_face.load_from_disk(tmp_path / "saved")):
        assert isinstance(dataset, hugging_face.Dataset)
        assert dataset["messages"][:] == MESSAGES
        assert dataset[3]["answer"] == SAMPLES["answer"][3].as_py()
        assert (
            dataset.features["messages"]
            == hugging_face.Features(
                {"m": [{"role": hugging_face.Value("string"), "content": hugging_face.Value("string")}]}
            )["m"]
        )
    assert sorted(os.listdir(tmp_path)) == ["saved"]
    with pytest.raises(FileExistsError, match="saved: is there"):
        export.datasets(TABLE, tmp_path / "saved")


@pytest.mark.usefixtures("hugging_face")
def test_datasets_have_parts_answers_and_views() -> None:
    parts = export.datasets(PARTS)[0]["messages"][0]["content"]
    assert parts[0]["text"] == "What is it?"
    assert parts[1]["image_url"] == {"url": "https://example.org/a.png"}
    with_answers = export.datasets(TABLE, answer="answer")
    assert with_answers[2]["messages"] == [*MESSAGES[2], {"role": "assistant", "content": TABLE["answer"][2].as_py()}]
    views = pp.Renderer("{question}", strings="string_view", output="openai").render(SAMPLES)
    assert export.datasets(views)[0]["messages"][0]["content"] == SAMPLES["question"][0].as_py()
    assert len(export.datasets(TABLE.slice(5, 3), answer="answer")) == 3
    with pytest.raises(pp.RenderError, match="role and a text alone"):
        export.datasets(PARTS.append_column("answer", pa.array(["x"])), answer="answer")


@pytest.mark.usefixtures("hugging_face")
def test_a_folder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise RuntimeError("gone")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, failing())
    with pytest.raises(RuntimeError, match="gone"):
        export.datasets(reader, tmp_path / "saved")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("make", [export.sharegpt, export.messages_json])
def test_lines_are_loaded_as_json_by_datasets(tmp_path: Path, hugging_face: Any, make: Any) -> None:
    make(TABLE, tmp_path / "train.jsonl", answer="answer", keep=["id"])
    cache = str(tmp_path / "cache")
    dataset = hugging_face.load_dataset(
        "json", data_files=str(tmp_path / "train.jsonl"), split="train", cache_dir=cache
    )
    loaded = dataset["messages" if make is export.messages_json else "conversations"][:]
    answers = TABLE["answer"].to_pylist()
    if make is export.messages_json:
        expected: Any = [
            [*chat, {"role": "assistant", "content": a}] for chat, a in zip(MESSAGES, answers, strict=True)
        ]
    else:
        names = {"user": "human", "assistant": "gpt", "system": "system"}
        expected = [
            [*({"from": names[m["role"]], "value": m["content"]} for m in chat), {"from": "gpt", "value": a}]
            for chat, a in zip(MESSAGES, answers, strict=True)
        ]
    assert loaded == expected
    assert dataset["id"][:] == TABLE["id"].to_pylist()


def test_training_data_are_loaded_as_json_by_datasets(tmp_path: Path, hugging_face: Any) -> None:
    """The columns of each form, with the types that TRL and LLaMA-Factory expect of them."""
    text, chat = hugging_face.Value("string"), [{"role": hugging_face.Value("string")}]
    chat[0]["content"] = text
    options = {"answer": "answer"}, {"chosen": "answer", "rejected": "id"}
    texts = pp.Renderer("{question}").render(SAMPLES, keep=["id", "answer"])
    cases: list[tuple[Any, ...]] = [
        (export.prompt_completion, texts, options[0], {"prompt": text, "completion": text}),
        (export.prompt_completion, TABLE, options[0], {"prompt": chat, "completion": chat}),
        (export.preference, texts, options[1], dict.fromkeys(("prompt", "chosen", "rejected"), text)),
        (export.preference, TABLE, options[1], dict.fromkeys(("prompt", "chosen", "rejected"), chat)),
        (export.alpaca, texts, options[0], dict.fromkeys(("instruction", "input", "output"), text)),
        (
            export.alpaca,
            TABLE,
            options[0],
            {**dict.fromkeys(("instruction", "input", "output", "system"), text), "history": [[text]]},
        ),
    ]
    for number, (write, table, given, features) in enumerate(cases):
        path = tmp_path / f"{number}.jsonl"
        write(table, path, **given)
        cache = str(tmp_path / "cache")
        dataset = hugging_face.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)
        assert dataset.features == hugging_face.Features(features)
        assert dataset[:] == {key: [line[key] for line in lines(path)] for key in features}


def test_the_command_writes_what_python_does(tmp_path: Path, hugging_face: Any, capsys: Any) -> None:
    config = {"prompt_template": {"type": "RawPromptTemplate", "messages": FEW_SHOT}}
    (tmp_path / "job.json").write_text(json.dumps(config), encoding="utf-8")
    given = [f"{tmp_path}/job.json", "--data", f"{EXAMPLES}/test.jsonl", "--keep", "id,answer", "--batch-size", "5"]
    assert main(["export", "datasets", *given, "--out", f"{tmp_path}/saved", "--answer", "answer"]) == 0
    expected = export.datasets(TABLE, answer="answer")
    assert hugging_face.load_from_disk(tmp_path / "saved")[:] == expected[:]
    assert main(["export", "datasets", *given, "--out", f"{tmp_path}/saved"]) == 5
    assert "saved: is there; take another name" in capsys.readouterr().err
    sampling = ["--params", '{"temperature": 0.5}', "--params-columns", "max_tokens=id"]
    assert main(["export", "ray", *given, "--out", f"{tmp_path}/rows.parquet", *sampling]) == 0
    rows = export.ray_rows(TABLE, sampling_params={"temperature": 0.5}, sampling_columns={"max_tokens": "id"})
    assert pq.read_table(tmp_path / "rows.parquet").to_pylist() == rows.to_pylist()
    for form, make in (("sharegpt", export.sharegpt), ("messages-json", export.messages_json)):
        assert main(["export", form, *given, "--out", f"{tmp_path}/a.jsonl", "--answer", "answer"]) == 0
        make(TABLE, tmp_path / "b.jsonl", answer="answer", keep=["id", "answer"])
        assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()

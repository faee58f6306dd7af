"""Exports: what each line says, ids, limits, files that are whole or not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpress import export
from promptpress_workbench.export.custom_ids import CustomIds
from promptpress_workbench.export.streams import write_batches
from test_field_text import text

MESSAGES = [
    [{"role": "system", "content": "Be kind."}, {"role": "user", "content": '1+1=?\n"é"\u2028'}],
    [{"role": "user", "content": ""}],
]
CHAT = pa.table({"sample": [0, 1], "prompt": MESSAGES})
TEXTS = pa.table({"prompt": ["1+1=?", '"\n']})


def lines(path: Path | str) -> list[Any]:
    content = Path(path).read_text(encoding="utf-8")
    assert content == "" or content.endswith("\n")
    return [json.loads(line) for line in content.split("\n")[:-1]]


def requests(folder: Path, table: Any, **options: Any) -> list[Any]:
    written = export.openai_batch(table, folder / "in.jsonl", **{"model": "m", **options})
    out = [line for path in written.paths for line in lines(path)]
    assert written.requests == len(out)
    assert written.bytes == sum(os.path.getsize(path) for path in written.paths)
    for path in written.paths:
        os.unlink(path)
    return out


def test_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    sent = requests(tmp_path, CHAT, body={"temperature": 0, "stop": ["é"]})
    assert sent == [
        {
            "custom_id": str(row),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": "m", "messages": messages, "temperature": 0, "stop": ["é"]},
        }
        for row, messages in enumerate(MESSAGES)
    ]


def test_a_text_is_one_users_message_or_a_completions_prompt(tmp_path: Path) -> None:
    texts = TEXTS["prompt"].to_pylist()
    for strings in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        table = TEXTS.cast(pa.schema({"prompt": strings}))
        chats = [request["body"]["messages"] for request in requests(tmp_path, table)]
        assert chats == [[{"role": "user", "content": text}] for text in texts]
        prompts = requests(tmp_path, table, url="/v1/completions")
        assert [(request["url"], request["body"]["prompt"]) for request in prompts] == [
            ("/v1/completions", text) for text in texts
        ]
    with pytest.raises(pp.TemplateError, match="takes texts, and the prompts are messages"):
        requests(tmp_path, CHAT, url="/v1/completions")


def test_messages_of_the_api_parser_are_sent_where_their_roles_are_openais(tmp_path: Path) -> None:
    table = pa.table({"prompt": [[{"role": "user", "prompt": "a"}], [{"role": "assistant", "prompt": None}]] * 2})
    for part in (table, table.slice(1), table.slice(2, 1)):
        sent = [request["body"]["messages"] for request in requests(tmp_path, part)]
        user, assistant = [{"role": "user", "content": "a"}], [{"role": "assistant"}]
        assert sent == [assistant if m[0]["role"] == "assistant" else user for m in part["prompt"].to_pylist()]
    for role, found_text in (("HUMAN", "the role 'HUMAN' is none"), (None, "a message has no role")):
        other = pa.table({"prompt": [[{"role": "user", "prompt": "a"}], [{"role": role, "prompt": "b"}]]})
        with pytest.raises(pp.RenderError, match=f'row 1, column "prompt": {found_text}.*output="openai"'):
            requests(tmp_path, other)
    assert os.listdir(tmp_path) == []


def test_parts_have_the_keys_that_they_have(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "file:///a.png"}}]
    table = pa.table({"prompt": [[{"role": "user", "content": parts}]]})
    assert requests(tmp_path, table)[0]["body"]["messages"] == [{"role": "user", "content": parts}]


def test_messages_json_is_sent_as_messages_only_on_request(tmp_path: Path) -> None:
    texts = [json.dumps([{"role": "HUMAN", "prompt": "é"}, {"role": "BOT", "prompt": "b"}]), json.dumps("bare")]
    table = pa.table({"prompt": texts})
    contents = [request["body"]["messages"] for request in requests(tmp_path, table, form="messages_json")]
    chat = [{"role": "user", "content": "é"}, {"role": "assistant", "content": "b"}]
    assert contents == [chat, [{"role": "user", "content": "bare"}]]
    sent = requests(tmp_path, table, form="text")
    assert [request["body"]["messages"][0]["content"] for request in sent] == texts
    with pytest.raises(pp.RenderError, match='looks like the JSON of messages; form="messages_json"'):
        requests(tmp_path, table)
    for bad, why in (
        ("[", "no JSON"),
        ("[1]", "no list of messages"),
        ('[{"role": "X", "prompt": ""}]', "'X' is none"),
    ):
        with pytest.raises(pp.RenderError, match=f"row 1.*{why}"):
            requests(tmp_path, pa.table({"prompt": [texts[0], bad]}), form="messages_json")
    with pytest.raises(pp.TemplateError, match="'messages_json' isn't what a column of list"):
        requests(tmp_path, CHAT, form="messages_json")


def test_rows_have_separate_parameters(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "length": [5, None], "bias": [{"50256": -100}, None], "name": ["x", "y"]})
    columns = {"model": "name", "max_tokens": "length", "logit_bias": "bias"}
    bodies = [request["body"] for request in requests(tmp_path, table, model=None, body={"n": 2}, body_columns=columns)]
    message = [[{"role": "user", "content": text}] for text in "ab"]
    assert bodies == [
        {"model": "x", "messages": message[0], "n": 2, "max_tokens": 5, "logit_bias": {"50256": -100}},
        {"model": "y", "messages": message[1], "n": 2},
    ]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"model": None}, "model: each request names a model"),
        ({"model": 5}, "model: expected a string, found int"),
        ({"body": {"model": "x"}}, "body: 'model': model= says it"),
        ({"body": {"messages": []}}, "body: 'messages': the prompts are it"),
        ({"body": {"x": {1, 2}}}, r"body\['x'\]: it can't be JSON"),
        ({"body": {"x": float("nan")}}, r"body\['x'\]: it can't be JSON"),
        ({"body": {"n": 1}, "body_columns": {"n": "sample"}}, "body_columns: 'n' is given twice"),
        ({"body_columns": {"n": "sampel"}}, "column \"sampel\": the table has no such column; did you mean 'sample'"),
        ({"url": "/v1/embeddings"}, "url: expected '/v1/chat/completions' or"),
        ({"custom_id": "id"}, "custom_id: 'id' names no column, so all requests would have one id"),
        ({"custom_id": "{smaple}"}, "custom_id: the table has no column 'smaple'; did you mean 'sample'"),
        ({"custom_id": "{sample"}, "custom_id: '{sample' has a single '{'"),
        ({"custom_id": 5}, "custom_id: expected a string"),
        ({"prompt": "promt"}, "column \"promt\": the table has no such column; did you mean 'prompt'"),
        ({"form": "json"}, "form: 'json' is none of"),
    ],
)
def test_arguments_that_make_no_sense(tmp_path: Path, options: dict[str, Any], error: str) -> None:
    with pytest.raises((pp.TemplateError, pp.RenderError), match=error):
        requests(tmp_path, CHAT, **options)
    assert os.listdir(tmp_path) == []


def test_requests_have_the_tools_of_their_rows(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"é": [None, 1e22]}}}]
    forms = (
        pa.array([json.dumps(tools), "[]", None]),
        pa.array([[json.dumps(tools[0])], [], None]),
        pa.array([tools, [], None]),
    )
    for column in forms:
        table = pa.table({"prompt": [MESSAGES[1]] * 3, "tools": column})
        sent = [request["body"] for request in requests(tmp_path, table)]
        assert [body.get("tools") for body in sent] == [tools, None, None]
        assert ["tools" in body for body in sent] == [True, False, False]
        assert not any("tools" in request["body"] for request in requests(tmp_path, table, argument_columns={}))
        kept = requests(tmp_path, table, body={"tools": [1]}, argument_columns={})
        assert [request["body"]["tools"] for request in kept] == [[1]] * 3
    table = pa.table({"prompt": [MESSAGES[1]] * 2, "kwargs": ['{"a": null}', None], "d": [None, ['{"text": "x"}']]})
    columns = {"*": "kwargs", "documents": "d"}
    export.vllm_batch(table, tmp_path / "in.jsonl", model="m", argument_columns=columns)
    bodies = [request["body"] for request in lines(tmp_path / "in.jsonl")]
    assert [body.get("chat_template_kwargs") for body in bodies] == [{"a": None}, None]
    assert [body.get("documents") for body in bodies] == [None, [{"text": "x"}]]


def test_tools_that_no_request_can_have(tmp_path: Path) -> None:
    table = pa.table({"prompt": [MESSAGES[1]] * 2, "tools": [None, "hammer"]})
    with pytest.raises(pp.RenderError, match=r'row 1, column "tools": the text is no JSON.*argument_columns=\{\} says'):
        requests(tmp_path, table)
    with pytest.raises(pp.RenderError, match='column "t": '):
        requests(tmp_path, table, argument_columns={"tools": "t"})
    with pytest.raises(pp.TemplateError, match="'tools' is given for all rows too"):
        requests(tmp_path, table, argument_columns={"tools": "tools"}, body={"tools": []})
    texts = TEXTS.append_column("tools", pa.array(["[]", "[]"]))
    assert len(requests(tmp_path, texts, url="/v1/completions")) == 2
    with pytest.raises(pp.TemplateError, match="a request of texts has no such arguments"):
        requests(tmp_path, texts, url="/v1/completions", argument_columns={"tools": "tools"})


def test_ids_are_made_of_columns(tmp_path: Path) -> None:
    table = pa.table({"q": ['é"', "\n"], "day": pa.array([0, 1]).cast(pa.timestamp("s", "UTC")), "prompt": ["", "x"]})
    ids = [request["custom_id"] for request in requests(tmp_path, table, custom_id='{{"{q}{{{sample}}}{day}')]
    assert ids == ['{"é"{0}1970-01-01 00:00:00+00:00', '{"\n{1}1970-01-01 00:00:01+00:00']


@pytest.mark.parametrize(
    ("table", "pattern", "error"),
    [
        (
            {"id": [1, 2, 1]},
            "{id}",
            "row 2: it has the custom_id of row 0, '1'.*add {sample} to the pattern, the row's",
        ),
        (
            {"sample": [0, 0], "label": ["A", "B"]},
            "x{sample}",
            r"row 1: .* of row 0, 'x0'.*add {label} to the pattern: 'x{sample}-{label}'",
        ),
        ({"sample": [0, 0], "turn": [0, 1]}, "{sample}", "add {turn}"),
        ({"label": ["A", "A"]}, "{label}", 'render with index="sample", and add {sample}'),
        ({"sample": [3, 3]}, "{sample}", "add a column that tells the rows apart"),
        ({"id": ["", "x"]}, "{id}", "row 0: its custom_id, by '{id}', is empty"),
        ({"id": ["x", "y" * 513]}, "{id}", "row 1: its custom_id 'y{40}…' has 513 characters, and 512 are allowed"),
    ],
)
def test_ids_that_services_refuse(tmp_path: Path, table: dict[str, Any], pattern: str, error: str) -> None:
    rows = len(next(iter(table.values())))
    with pytest.raises(pp.RenderError, match=error):
        requests(tmp_path, pa.table({**table, "prompt": ["x"] * rows}), custom_id=pattern)
    assert os.listdir(tmp_path) == []


def test_several_rows_a_sample_need_an_index(tmp_path: Path) -> None:
    renderer = pp.Renderer({"A": "{q} a", "B": "{q} b"}, mode="ppl", output="openai")
    samples = pa.table({"q": ["x", "y"]})
    with pytest.raises(pp.TemplateError, match=r'index="sample", and take custom_id="\{sample\}-\{label\}"'):
        requests(tmp_path, renderer.render(samples))
    table = renderer.render(samples, index="sample")
    with pytest.raises(pp.RenderError, match=r"'\{sample\}-\{label\}'"):
        requests(tmp_path, table)
    sent = requests(tmp_path, table, custom_id="{sample}-{label}")
    assert [request["custom_id"] for request in sent] == ["0-A", "0-B", "1-A", "1-B"]


@given(st.lists(st.tuples(text, st.integers(0, 3)), max_size=30), st.integers(1, 7))
@settings(max_examples=part_of(100), deadline=None)
def test_ids_are_unique_over_batches_or_the_first_repeated_row_is_named(rows: list[tuple[str, int]], size: int) -> None:
    table = pa.table({"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], pa.int8())})
    expected = [f"{a}-{b}" for a, b in rows]
    ids = CustomIds("{a}-{b}", table.schema)
    repeated = next((n for n, custom_id in enumerate(expected) if custom_id in expected[:n]), None)
    made: list[str] = []

    def check() -> None:
        for batch in table.to_batches(max_chunksize=size):
            made.extend(custom_id.decode() for array in ids.checked(batch) for custom_id in array.to_pylist())

    if repeated is None:
        check()
        assert made == expected
        return
    with pytest.raises(pp.RenderError, match=f"of row {expected.index(expected[repeated])},") as caught:
        check()
    assert (caught.value.code, caught.value.row) == ("duplicate_custom_id", repeated)


def test_files_are_cut_at_the_limits_and_ids_stay_unique(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["x" * (n % 97) for n in range(5000)]})
    whole = export.openai_batch(table, tmp_path / "one.jsonl", model="m")
    assert whole.paths == [str(tmp_path / "one.jsonl")]
    content = (tmp_path / "one.jsonl").read_bytes()
    for limits in ({"max_requests": 700}, {"max_bytes": 100_000}, {"max_requests": 701, "max_bytes": 90_001}):
        folder = tmp_path / "-".join(map(str, limits.values()))
        folder.mkdir()
        written = export.openai_batch(
            iter(table.to_batches(max_chunksize=999)), folder / "in.jsonl", model="m", **limits
        )
        assert written.paths == sorted(str(path) for path in folder.iterdir())
        assert written.paths[1].endswith("in-00001.jsonl")
        assert b"".join(Path(path).read_bytes() for path in written.paths) == content
        assert (written.requests, written.bytes) == (5000, len(content))
        sizes = [os.path.getsize(path) for path in written.paths]
        counts = [len(lines(path)) for path in written.paths]
        assert max(sizes) <= limits.get("max_bytes", 10**9)
        assert max(counts) <= limits.get("max_requests", 10**9)
        # No file is cut before it has to be.
        for size, count, path in zip(sizes[:-1], counts[:-1], written.paths[1:], strict=True):
            following = len(Path(path).read_bytes().split(b"\n")[0]) + 1
            is_full = count == limits.get("max_requests") or size + following > limits.get("max_bytes", 10**9)
            assert is_full
    ids = [line["custom_id"] for path in written.paths for line in lines(path)]
    assert ids == list(map(str, range(5000)))


def test_a_request_larger_than_a_file_is_an_error_with_its_row(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["x", "x", "x" * 900, "x"]})
    with pytest.raises(pp.RenderError, match=r"row 2: its request is 1,0\d\d bytes, and a file may have 500") as caught:
        requests(tmp_path, table, max_bytes=500)
    assert (caught.value.code, caught.value.row) == ("request_too_large", 2)
    assert os.listdir(tmp_path) == []


def test_an_earlier_runs_files_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    export.openai_batch(TEXTS, tmp_path / "in.jsonl", model="m", max_requests=1)
    with pytest.raises(OSError, match=r"in-00000\.jsonl is there of an earlier run, and 1 more; delete them"):
        export.openai_batch(TEXTS, tmp_path / "in.jsonl", model="m")
    (tmp_path / "other-1.jsonl").touch()
    export.openai_batch(TEXTS, tmp_path / "other.jsonl", model="m")
    export.openai_batch(TEXTS.slice(1), tmp_path / "other.jsonl", model="m")
    assert len(lines(tmp_path / "other.jsonl")) == 1


def test_nothing_is_left_where_reading_fails(tmp_path: Path) -> None:
    def failing() -> Any:
        yield from TEXTS.to_batches()
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        write_batches(failing(), tmp_path / "in.jsonl", _Lines())
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="no folder"):
        export.openai_batch(TEXTS, tmp_path / "none" / "in.jsonl", model="m")


class _Lines:
    def lines(self, batch: pa.RecordBatch, _: int) -> list[pa.LargeBinaryArray]:
        return [pa.array([b"{}\n"] * batch.num_rows, pa.large_binary())]


def test_no_rows_are_a_file_without_requests(tmp_path: Path) -> None:
    written = export.openai_batch(CHAT.slice(0, 0), tmp_path / "in.jsonl", model="m")
    assert (written.requests, written.bytes, lines(written.paths[0])) == (0, 0, [])


def test_a_row_without_a_prompt_is_an_error(tmp_path: Path) -> None:
    for column in (["a", None], [MESSAGES[0], None]):
        with pytest.raises(pp.RenderError, match='row 1, column "prompt": it has no prompt'):
            requests(tmp_path, pa.table({"prompt": column}))


def test_prompts_of_other_types_are_refused_with_the_remedy(tmp_path: Path) -> None:
    for column in (
        pa.array([1, 2]),
        pa.array([["a"]]),
        pa.array([[{"type": "text", "text": "a"}]]),
        pa.array([[{"role": "user", "parts": [{"type": "text"}], "prompt": None}]]),
    ):
        with pytest.raises(pp.RenderError, match=r'column "prompt": .*output="openai"'):
            requests(tmp_path, pa.table({"prompt": column}))


def test_a_stream_is_exported_batch_by_batch(tmp_path: Path) -> None:
    seen = []

    def batches() -> Any:
        for n in range(5):
            seen.append((n, sorted(os.listdir(tmp_path))))
            yield pa.record_batch({"q": [f"{n}"] * 3})

    reader = pp.Renderer("{q}", output="openai").stream(batches(), index="sample")
    assert len(requests(tmp_path, reader)) == 15
    assert [n for n, _ in seen] == list(range(5))


def test_vllm_has_one_file_and_litellm_short_ids(tmp_path: Path) -> None:
    long = pa.table({"id": ["x" * 65], "prompt": ["a"]})
    export.vllm_batch(long, tmp_path / "v.jsonl", model="m", custom_id="{id}", body={"top_k": 1})
    (line,) = lines(tmp_path / "v.jsonl")
    assert line["body"]["top_k"] == 1
    with pytest.raises(pp.RenderError, match="has 65 characters, and 64 are allowed"):
        export.litellm_batch(long, tmp_path / "l.jsonl", model="m", custom_id="{id}")
    export.litellm_batch(long, tmp_path / "l.jsonl", model="azure/m")
    assert lines(tmp_path / "l.jsonl")[0]["body"]["model"] == "azure/m"


def test_sharegpt_has_who_speaks_and_the_answer_last(tmp_path: Path) -> None:
    table = CHAT.append_column("gold", pa.array(["2", 'é"']))
    export.sharegpt(table, tmp_path / "s.jsonl", answer="gold", keep=["sample"], roles={"user": "person"})
    assert lines(tmp_path / "s.jsonl") == [
        {
            "sample": row,
            "conversations": [
                *({"from": {"user": "person"}.get(m["role"], m["role"]), "value": m["content"]} for m in messages),
                {"from": "gpt", "value": gold},
            ],
        }
        for row, (messages, gold) in enumerate(zip(MESSAGES, ["2", 'é"'], strict=True))
    ]
    gold = pa.array(["2", "3"])
    export.sharegpt(TEXTS.append_column("gold", gold), tmp_path / "s.jsonl", answer="gold")
    turns = [{"from": "human", "value": "1+1=?"}, {"from": "gpt", "value": "2"}]
    assert lines(tmp_path / "s.jsonl")[0] == {"conversations": turns}
    as_json = pa.table({"prompt": [json.dumps(messages) for messages in MESSAGES], "gold": gold})
    export.sharegpt(as_json, tmp_path / "s.jsonl", form="messages_json", answer="gold")
    turns = [{"from": "human", "value": ""}, {"from": "gpt", "value": "3"}]
    assert lines(tmp_path / "s.jsonl")[1] == {"conversations": turns}


def test_what_sharegpt_has_no_place_for_is_refused(tmp_path: Path) -> None:
    parts = pa.table({"prompt": [[{"role": "user", "content": [{"type": "text", "text": "a"}]}]]})
    calls = pa.table({"prompt": [[{"role": "user", "content": "a", "name": "x"}]]})
    for table, error in ((parts, "its contents are list"), (calls, "its messages have 'name'")):
        with pytest.raises(pp.RenderError, match=error):
            export.sharegpt(table, tmp_path / "s.jsonl")
    for gold, error in (([None, "2"], 'row 0, column "gold": it has no answer'), (["1"], "no such column")):
        table = CHAT.append_column("gold" if len(gold) == 2 else "other", pa.array([*gold, "x"][:2]))
        with pytest.raises(pp.RenderError, match=error):
            export.sharegpt(table, tmp_path / "s.jsonl", answer="gold")
    assert os.listdir(tmp_path) == []


def test_messages_json_lines_hold_what_messages_have(tmp_path: Path) -> None:
    answered = [[*messages, {"role": "assistant", "content": "2"}] for messages in MESSAGES]
    export.messages_json(CHAT.set_column(1, "prompt", pa.array(answered)), tmp_path / "m.jsonl", keep=["sample"])
    assert [line["messages"] for line in lines(tmp_path / "m.jsonl")] == answered
    with_gold = CHAT.append_column("gold", pa.array(["2", "3"]))
    export.messages_json(with_gold, tmp_path / "m.jsonl", answer="gold")
    assert lines(tmp_path / "m.jsonl")[1]["messages"] == [*MESSAGES[1], {"role": "assistant", "content": "3"}]
    with pytest.raises(pp.TemplateError, match="'messages' is a key that each line has already"):
        export.messages_json(CHAT.rename_columns(["messages", "prompt"]), tmp_path / "m.jsonl", keep=["messages"])


def test_ray_rows_have_messages_and_parameters() -> None:
    table = CHAT.append_column("length", pa.array([5, None]))
    rows = export.ray_rows(table, sampling_params={"temperature": 0.0}, sampling_columns={"max_tokens": "length"})
    assert rows.to_pylist() == [
        {
            "sample": row,
            "length": length,
            "messages": messages,
            "sampling_params": {"temperature": 0.0, "max_tokens": length},
        }
        for row, (messages, length) in enumerate(zip(MESSAGES, [5, None], strict=True))
    ]
    assert export.ray_rows(TEXTS)["messages"][0].as_py() == [{"role": "user", "content": "1+1=?"}]
    assert export.ray_rows(CHAT.slice(0, 0)).num_rows == 0
    with pytest.raises(pp.TemplateError, match="'a' is in sampling_params too"):
        export.ray_rows(CHAT, sampling_params={"a": 1}, sampling_columns={"a": "sample"})
    with pytest.raises(pp.RenderError, match='column "messages": the table has a column'):
        export.ray_rows(CHAT.rename_columns(["messages", "prompt"]))


def test_views_and_keys_become_types_that_every_reader_knows() -> None:
    strings = pa.dictionary(pa.int8(), pa.string())
    kind = pa.list_(pa.struct({"role": pa.string(), "content": pa.string_view()}))
    table = pa.table({"a": pa.array(["x", "y"], strings), "prompt": pa.array(MESSAGES, kind)})
    rows = export.ray_rows(table)
    assert rows.schema.field("a").type == pa.string()
    assert rows.schema.field("messages").type.value_type.field("content").type == pa.large_string()
    assert rows["messages"].to_pylist() == MESSAGES

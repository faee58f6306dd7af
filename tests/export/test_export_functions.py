"""Functions of exports and adapters, each by an example."""

import json

import pyarrow as pa
from promptpress import Renderer
from promptpress_workbench.adapters import column_names_for, output_schema, rendered_columns, renderer_of
from promptpress_workbench.export.batch_requests import BatchRequests, RequestSettings
from promptpress_workbench.export.batch_results import read_results
from promptpress_workbench.export.chat_messages import Prompts, answer_messages, are_plain, lists_between, lists_of
from promptpress_workbench.export.custom_ids import CustomIds, columns_of
from promptpress_workbench.export.forms import EXPORTS
from promptpress_workbench.export.services import OPENAI
from promptpress_workbench.export.streams import ObjectLines, no_rows, with_cache_keys, with_sampling_params
from promptpress_workbench.export.trl_files import LabelPairs, _common, _common_words


def test_with_cache_keys() -> None:
    schema = pa.schema([("prompt", pa.string()), ("prefix_group", pa.int64()), ("shared_bytes", pa.int64())])
    batch = pa.RecordBatch.from_pydict({"prompt": ["a"], "prefix_group": [3], "shared_bytes": [0]}, schema)
    assert [keyed.to_pylist() for keyed in with_cache_keys([batch], "0123456789")] == [
        [{"prompt": "a", "prompt_cache_key": "01234567-3"}]
    ]


def test_with_sampling_params() -> None:
    rows = pa.table({"room": [5, 9]}).to_reader()
    assert with_sampling_params(rows, {"temperature": 0}, {"max_tokens": "room"}).read_all()[
        "sampling_params"
    ].to_pylist() == [{"temperature": 0, "max_tokens": 5}, {"temperature": 0, "max_tokens": 9}]
    words = {"stop": ["\n", "Q:"], "logit_bias": {"7": 1.0}}
    made = with_sampling_params(pa.table({"room": [5, 9]}).to_reader(), words, None).read_all()
    assert made["sampling_params"].to_pylist() == [words, words]


def test_common_words() -> None:
    texts = "1+1= 12", "1+1= 15"
    assert [text[_common_words(*texts) :] for text in texts] == [" 12", " 15"]


def test_common() -> None:
    assert (_common([{"a": 1}, {"a": 2}], [{"a": 1}]), _common("ab", "ac")) == (1, 1)


def test_label_pairs() -> None:
    table = pa.table({"label": ["A", "B"], "gold": ["B", "B"], "prompt": ["1+1= 3", "1+1= 2"]})
    pairs = LabelPairs(table.schema, Prompts(table.schema, "prompt", None), "label", "gold", [])
    assert [batch.to_pylist() for batch in pairs.of(table.to_batches())] == [
        [{"prompt": "1+1=", "chosen": " 2", "rejected": " 3"}]
    ]


def test_columns_of() -> None:
    assert columns_of("{{x}}-{sample}-{label}") == ["sample", "label"]


def test_custom_ids() -> None:
    ids = CustomIds("math-{sample}-{label}", pa.schema({"sample": pa.int64(), "label": pa.string()}))
    (made,) = ids.checked(pa.record_batch({"sample": [0, 0], "label": ["A", "B"]}))
    assert made.to_pylist() == [b"math-0-A", b"math-0-B"]


def test_read_results() -> None:
    line = {"custom_id": "7", "response": None, "error": {"message": "expired"}}
    assert [(result.custom_id, result.error) for result in read_results(pa.Table.from_pylist([line]))] == [
        ("7", "expired")
    ]


def test_batch_requests() -> None:
    table = pa.table({"prompt": ["1+1=?"], "length": [5]})
    settings = RequestSettings(OPENAI, "m", body_columns={"max_tokens": "length"})
    requests = BatchRequests(table.schema, settings)
    assert json.loads(requests.lines(table.to_batches()[0], 0)[0][0].as_py()) == {
        "custom_id": "0",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m", "messages": [{"role": "user", "content": "1+1=?"}], "max_tokens": 5},
    }


def test_lists_between() -> None:
    assert lists_between(pa.array([["a", "b"], ["c"]]), [0, 1], [1, 3]).to_pylist() == [["a"], ["b", "c"]]


def test_answer_messages() -> None:
    assert answer_messages(pa.array(["2"])).to_pylist() == [[{"role": "assistant", "content": "2"}]]


def test_no_rows() -> None:
    assert no_rows(pa.schema({"q": pa.string()})).num_rows == 0


def test_object_lines() -> None:
    batch = pa.record_batch({"id": [7], "q": ["1+1=?"]})
    source = ObjectLines(batch.schema, lambda rows, _: {"prompt": rows["q"]}, ["id"])
    assert source.lines(batch, 0)[0].to_pylist() == [b'{"id": 7, "prompt": "1+1=?"}\n']


def test_load() -> None:
    assert EXPORTS["ray"].load().__name__ == "ray_rows"


def test_lists_of() -> None:
    assert lists_of(pa.array([[1], [2, 3], []]).slice(1), pa.array(["a", "b"])).to_pylist() == [["a", "b"], []]


def test_prompts() -> None:
    batch = pa.record_batch({"prompt": [[{"role": "user", "prompt": "1+1=?"}]]})
    prompts = Prompts(batch.schema, "prompt", None)
    assert (prompts.form, prompts.converted(batch.column(0), 0).to_pylist()) == (
        "messages",
        [[{"role": "user", "content": "1+1=?"}]],
    )


def test_are_plain() -> None:
    assert (
        are_plain([{"role": "user", "content": "1+1=?"}]),
        are_plain([{"role": "narrator", "content": "1+1=?"}]),
    ) == (True, False)


def test_rendered_columns() -> None:
    assert rendered_columns(Renderer("Q: {q}"), [pa.array(["1+1"])], ["q"]).to_pydict() == {"prompt": ["Q: 1+1"]}


def test_output_schema() -> None:
    assert output_schema(Renderer("{q}")).names == ["prompt"]


def test_column_names_for() -> None:
    assert column_names_for(Renderer("{q} {a}"), 2) == ["q", "a"]


def test_renderer_of() -> None:
    assert renderer_of("Q: {q}", {}).required_columns == ["q"]

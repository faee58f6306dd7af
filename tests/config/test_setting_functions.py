"""Functions of errors, settings and fingerprints, each by an example."""

import pyarrow as pa
from promptpress._config.configuration import Configuration, are_plain, column_labels, label_or_text
from promptpress._config.from_harness import dialect_of, find_model_class, harness_of, last_part, type_paths
from promptpress._config.hashed_values import little_endian, written
from promptpress._config.settings import _harness_arguments, canonical, follows_harness, plain, token_texts
from promptpress._config.tokenizer import text_parts
from promptpress._errors.errors import (
    RowError,
    RowErrors,
    counted,
    did_you_mean,
    not_a_table,
    of_examples,
    of_row,
    render_error,
    row_error_text,
)
from promptpress._errors.file_errors import DataError, is_remote, located, missing, reason, split_codec
from promptpress._importing import name_publicly


def test_split_codec() -> None:
    assert split_codec("part-1.jsonl.zst") == ("part-1.jsonl", "zstd")


def test_is_remote() -> None:
    assert (is_remote("hf://datasets/a/b.parquet"), is_remote("C:/a.parquet"), is_remote("a.parquet")) == (
        True,
        False,
        False,
    )


def test_missing() -> None:
    assert (
        missing("no such folder/a.json", FileNotFoundError(2, "No such file or directory"))
        == "No such file or directory (there is no folder 'no such folder')"
    )


def test_text_parts() -> None:
    assert list(text_parts([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}])) == ["Hi"]


def test_reason() -> None:
    assert reason(FileNotFoundError(2, "No such file or directory", "x")) == "No such file or directory"


def test_located() -> None:
    error = located(DataError("a.jsonl:3: not valid JSON"), "a.jsonl")
    assert (error.path, error.message) == ("a.jsonl", "not valid JSON")


def test_row_error_text() -> None:
    assert row_error_text(render_error("null_value", "null", row=0, column="q")) == 'null_value: column "q": null'


def test_of_row() -> None:
    assert str(of_row(render_error("null_value", "null", row=0, column="q"), 5)) == 'row 5, column "q": null'


def test_not_a_table() -> None:
    error = not_a_table({"q": "1+1=?"})
    assert str(error).endswith("found a dict; a dict is one row: put it into a list: [samples]")


def test_of_examples() -> None:
    error = of_examples(not_a_table({"q": "1+1=?"}))
    assert str(error).startswith("examples: expected a table (")
    assert str(error).endswith("found a dict; a dict is one row: put it into a list: [examples]")


def test_did_you_mean() -> None:
    assert did_you_mean("questoin", ["question", "answer"]) == "; did you mean 'question'?"


def test_row_errors() -> None:
    errors = RowErrors()
    errors.add([3, 3, 5], ["null_value: null", "null_value: null", "bad_index: no row 7"])
    assert (errors.rows, errors.first[1]) == (2, RowError(5, "bad_index: no row 7"))


def test_counted() -> None:
    assert (counted(1, "row"), counted(5000, "row")) == ("1 row", "5,000 rows")


def test_name_publicly() -> None:
    class Written:
        def method(self): ...

    Written.__module__ = Written.method.__module__ = "promptpress._written"
    name_publicly("promptpress", {"Shown": Written})
    assert (repr(Written), Written.method.__module__) == ("<class 'promptpress.Shown'>", "promptpress")


def test_dialect_of() -> None:
    assert dialect_of({"type": "ais_bench.benchmark.datasets.MyDataset"}) == "aisbench"
    assert (dialect_of({}, {"type": "VLLMCustomAPIChat"}), dialect_of({}, {"type": "VLLM"})) == (
        "aisbench",
        "opencompass",
    )


def test_configuration() -> None:
    configuration, other = (Configuration({"prompt_template": "{q}"}, None, None) for _ in range(2))
    assert configuration == other


def test_token_texts() -> None:
    assert token_texts({7: "<s>"})(7) == "<s>"


def test_canonical() -> None:
    assert canonical({"reader": {"a": 1, "b": 2}}) == canonical({"reader": {"b": 2, "a": 1}})
    assert canonical({"prompt_template": {"a": "", "b": ""}}) != canonical({"prompt_template": {"b": "", "a": ""}})


def test_follows_harness() -> None:
    assert (follows_harness({"prompt_template": "{q}"}), follows_harness({"prompt_template": "{q}", "reader": {}})) == (
        False,
        True,
    )


def test_plain() -> None:
    class PromptTemplate: ...

    assert plain({"type": PromptTemplate, "ids": range(2)}, "retriever")["ids"] == [0, 1]


def test_harness_arguments() -> None:
    assert _harness_arguments("Q: {q}", {}, is_chat=False, has_model=False) == {"prompt_template": "Q: {q}"}


def test_find_model_class() -> None:
    assert find_model_class("my_fork.models.VLLM").parser == "text"
    assert find_model_class("VLLMCustomAPIChat", "aisbench").parser == "messages"
    assert find_model_class("HuggingFacewithChatTemplate", "aisbench") != find_model_class(
        "HuggingFacewithChatTemplate"
    )


def test_harness_of() -> None:
    assert (harness_of("ais_bench.benchmark.models.VLLMCustomAPI"), harness_of("VLLMCustomAPI")) == ("aisbench", None)


def test_last_part() -> None:
    assert (last_part("opencompass.models.VLLM"), last_part(dict), last_part(None)) == ("VLLM", "dict", "")


def test_type_paths() -> None:
    assert (type_paths("VLLM"), type_paths(bool), type_paths(3)) == (
        ["VLLM"],
        ["builtins.bool", "builtins.int", "builtins.object"],
        [],
    )


def test_label_or_text() -> None:
    import datetime

    assert (label_or_text(datetime.timedelta(seconds=30)), label_or_text(True)) == ("0:00:30", True)


def test_column_labels() -> None:
    assert (
        repr(column_labels(pa.chunked_array([pa.array([30, None, 4], pa.duration("s"))]), "a"))
        == "[None, 0:00:04, 0:00:30]"
    )


def test_are_plain() -> None:
    assert (are_plain(pa.dictionary(pa.int8(), pa.string())), are_plain(pa.date32())) == (True, False)


def test_little_endian() -> None:
    assert little_endian(bytes([0, 0, 0, 0, 0, 0, 0, 1]), "big").hex() == "0100000000000000"


def test_written() -> None:
    assert written("é").hex(" ") == "73 02 00 00 00 00 00 00 00 c3 a9"
    assert written([None, True]).hex(" ") == "6c 02 00 00 00 00 00 00 00 6e 62 01"

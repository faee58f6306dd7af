"""Requests as Arrow data: types that survive files and pickles, and values of Python in JSON."""

import datetime
import decimal
import io
import pickle

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from promptpress.lm_eval import requests
from promptpress_harness.lm_eval.requests import from_json, to_json

CONFIG = {"task": None, "test_split": "test", "doc_to_text": "q", "doc_to_target": "q"}
DOCS = pa.table({"q": ["a", "b"]})


def test_a_file_gives_the_same_tuples():
    table = requests(CONFIG, DOCS)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    again = pa.ipc.open_stream(sink.getvalue()).read_all()
    assert again.equals(table)
    assert again.to_pylist() == table.to_pylist()
    assert again["metadata"][1].as_py() == (None, 1, 1)
    assert pickle.loads(pickle.dumps(table)).to_pylist() == table.to_pylist()


def test_types_tell_themselves_apart():
    generated, likely = (
        requests(CONFIG | {"output_type": kind}, DOCS).schema for kind in ("generate_until", "loglikelihood")
    )
    assert generated.field("arguments").type != likely.field("arguments").type
    assert generated.field("arguments").type == requests(CONFIG, DOCS.slice(1)).schema.field("arguments").type
    assert generated.field("metadata").type == likely.field("metadata").type


def test_a_null_is_none():
    arguments = requests(CONFIG, DOCS)["arguments"].chunk(0)
    assert arguments.take(pa.array([1, None])).to_pylist() == [arguments[1].as_py(), None]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**80),
        float("inf"),
        -0.0,
        "\ud800é",
        [1, [2]],
        (),
        {1, "a"},
        frozenset({2}),
        {"$tuple": [1]},
        {"a": {2: (3,)}},
        {None: {True: 1.5}},
        b"\0\xff",
        1 - 2j,
        ...,
        decimal.Decimal("1.50"),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
        datetime.date(2024, 2, 29),
        datetime.time(23, 59),
        datetime.timedelta(-1, 2, 3),
    ],
)
def test_values_come_back_as_they_were(value):
    assert repr(from_json(to_json(value))) == repr(value)


def test_what_has_no_form_is_refused():
    with pytest.raises(TypeError, match="a object has no form in JSON"):
        to_json([object()])
    with pytest.raises(TypeError, match="a datetime has no form"):
        to_json(datetime.datetime.now(datetime.timezone.utc))

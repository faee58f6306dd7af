"""`fingerprint()`: the same for all that writes the same bytes, and another for whatever changes one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from case_files import FOLDER, case_files, read_cases
from generators.fingerprint_changes import changed
from marks import UNWARNED
from promptpress._config.hashed_values import little_endian, written
from promptpress._engine.table_engine import engine_of

TRAIN = pa.table({"q": ["1 + 1?", "2 + 2?", "3 + 3?"], "a": ["2", "4", "6"], "n": [1, 2, 3]})
SHOTS: dict[str, Any] = {
    "prompt_template": {"type": "PromptTemplate", "template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"},
    "ice_template": {"type": "PromptTemplate", "template": "Q: {q}\nA: {a}"},
    "retriever": {"type": "RandomRetriever", "ice_num": 2},
    "reader": {"input_columns": ["q"], "output_column": "a"},
}
META = {
    "begin": "<s>",
    "round": [{"role": "HUMAN", "begin": [5], "end": [7, 8]}, {"role": "BOT", "begin": "<B>", "generate": True}],
}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}


def shots(examples: Any = TRAIN, **more: Any) -> str:
    return pp.Renderer(**{**SHOTS, "examples": examples, **more}).fingerprint()


def of(*arguments: Any, **more: Any) -> str:
    return pp.Renderer(*arguments, **more).fingerprint()


def requests(renderer: pp.Renderer, samples: pa.Table) -> Any:
    """Return the requests with the columns that identify them, or the code of the error."""
    try:
        table = renderer.render(samples, hashes=True)
    except (pp.TemplateError, pp.RenderError) as error:
        return error.code
    *others, prompts, hashes = table.columns
    # A JSON text has more in it than its hash: an order of keys.
    is_json = engine_of(renderer).configuration.settings["output"] == "messages_json"
    return str([column.to_pylist() for column in (*others, *([prompts] if is_json else []), hashes)])


@UNWARNED
@pytest.mark.parametrize("path", case_files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_whatever_changes_a_byte_changes_the_fingerprint(path: Path, request: pytest.FixtureRequest) -> None:
    every = request.config.getoption("-m") != "not full"  # as it is set for the usual run
    compared = 0
    for case in read_cases(path.read_text(encoding="utf-8"))[: None if every else 2]:
        by_fingerprint: dict[str, tuple[Any, Any]] = {}
        for number, settings in enumerate([case.settings, *changed(case.settings)]):
            if not every and number > 60:
                break
            try:
                renderer = pp.Renderer(**settings, examples=case.examples)
            except (pp.TemplateError, pp.RenderError, TypeError):
                continue
            prompts = requests(renderer, case.samples)
            earlier = by_fingerprint.setdefault(renderer.fingerprint(), (prompts, settings))
            assert earlier[0] == prompts, (case.name, earlier[1], settings)
            compared += 1
    assert compared or "error" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"mode": "gen", "output": "text", "dialect": "opencompass", "substitution": "harness", "roles": {}}),
        ({}, {"strings": "string_view", "names": {"prompt": "text", "hash": "h"}, "refuse": ["media_tag"]}),
        ({}, {"inferencer": {"type": "GenInferencer"}, "retriever": {"type": "ZeroRetriever"}}),
        ({}, {"inferencer": {"type": "a.b.GenInferencer", "max_out_len": 7}}),
        ({"inferencer": {"type": "PPLInferencer"}, "labels": ["A"]}, {"mode": "ppl", "labels": ("A",)}),
        ({}, {"reader": {"input_columns": [], "output_column": None}}),
        ({"reader": {"input_columns": "q a"}}, {"reader": {"test_split": "x", "input_columns": ["q", "a"]}}),
        ({"prompt_template": "{q}"}, {"prompt_template": {"template": "{q}"}}),
        (
            {"prompt_template": "{q}"},
            {"prompt_template": {"sep_token": None, "template": "{q}", "type": "PromptTemplate"}},
        ),
        (
            {"prompt_template": DIALOGUE},
            {"prompt_template": {"round": [dict(reversed(t.items())) for t in DIALOGUE["round"]]}},
        ),
        (
            {"prompt_template": {"A": "a", "B": "b"}, "mode": "ppl"},
            {"prompt_template": {"A": "a", "B": "b"}, "mode": "ppl", "labels": ["A", "B"]},
        ),
        (
            {
                "prompt_template": DIALOGUE,
                "meta_template": {"round": [{"role": "HUMAN", "api_role": "U"}, {"role": "BOT", "api_role": "B"}]},
            },
            {
                "prompt_template": DIALOGUE,
                "output": "messages",
                "meta_template": {
                    "eos_token_id": 2,
                    "round": ({"api_role": "U", "role": "HUMAN"}, {"api_role": "B", "role": "BOT"}),
                },
            },
        ),
    ],
)
def test_how_a_configuration_is_given_makes_no_difference(first: dict[str, Any], second: dict[str, Any]) -> None:
    same = {"prompt_template": "{q}", "substitution": "harness"}
    assert of(**{**same, **first}) == of(**{**same, **second})


def test_classes_are_their_names() -> None:
    class PPLInferencer: ...

    scored = of("{q}", inferencer={"type": PPLInferencer}, labels=["A"])
    assert scored == of("{q}", mode="ppl", labels=["A"], substitution="harness")


@pytest.mark.parametrize(
    "more",
    [
        {"mode": "ppl", "labels": ["A"]},
        {"mode": "ppl", "labels": ["B"]},
        {"mode": "ppl", "labels": [1]},
        {"mode": "ppl", "labels": ["1"]},
        {"mode": "ppl", "labels": [1.0]},
        {"mode": "ppl", "labels": [True]},
        {"prompt_template": "{q} "},
        {"prompt_template": {"A": "1", "B": "2"}, "mode": "ppl"},
        {"prompt_template": {"B": "2", "A": "1"}, "mode": "ppl"},
        {"output": "openai"},
        {"output": "prompt_list"},
        {"substitution": "harness"},
        {"dialect": "aisbench"},
        {"reader": {"output_column": "q"}},
        {"reader": {"output_column": "q"}, "inferencer": {"type": "GenInferencer", "gen_field_replace_token": "?"}},
    ],
    ids=str,
)
def test_what_decides_bytes_or_labels_changes_the_fingerprint(more: dict[str, Any], seen: dict[str, Any]) -> None:
    fingerprint = of(**{"prompt_template": "{q}", **more})
    assert fingerprint != of("{q}")
    assert seen.setdefault(fingerprint, more) is more


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    return {}


def sliced(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(2), table, table.slice(0, 1)]).slice(1, 3)


LAYOUTS: dict[str, Callable[[pa.Table], Any]] = {
    "chunks": lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)]),
    "slice": sliced,
    "large": lambda table: table.cast(pa.schema([("q", pa.large_string()), ("a", pa.string()), ("n", pa.int64())])),
    "view": lambda table: table.cast(pa.schema([("q", pa.string_view()), ("a", pa.string_view()), ("n", pa.int8())])),
    "dictionary": lambda table: table.set_column(1, "a", table["a"].dictionary_encode()),
    "dictionaries": lambda table: pa.concat_tables(
        [
            table.slice(row, 1).set_column(1, "a", table["a"].slice(row, 1).combine_chunks().dictionary_encode())
            for row in range(3)
        ]
    ),
    "rows": lambda table: table.to_pylist(),
    "order": lambda table: table.select(["n", "a", "q"]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_examples_count_by_their_content(layout: str) -> None:
    assert shots(LAYOUTS[layout](TRAIN)) == shots()


def test_garbage_under_nulls_is_no_content() -> None:
    valid = pa.py_buffer(bytes([0b101]))
    ends, data = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 1, 3, 4))), pa.py_buffer(b"axxb")
    odd = pa.Array.from_buffers(pa.string(), 3, [valid, ends, data])
    assert odd.to_pylist() == ["a", None, "b"]
    numbers = pa.Array.from_buffers(pa.int64(), 3, [valid, pa.py_buffer(bytes(range(24)))])
    plain = [pa.array(column.to_pylist(), column.type) for column in (odd, numbers)]
    first, second = (pa.table({"q": texts, "a": texts, "n": ints}) for texts, ints in ((odd, numbers), plain))
    assert shots(first) == shots(second)


CHANGED: dict[str, Any] = {
    "a text": {"q": ["1 + 1?", "2 + 2?", "3 +  3?"]},
    "where a text ends": {"q": ["1 + 1?2", " + 2?", "3 + 3?"]},
    "null": {"a": ["2", None, "6"]},
    "empty": {"a": ["2", "", "6"]},
    "type": {"a": [2, 4, 6]},
    "floats": {"n": [1.0, 2.0, 3.0]},
    "a float": {"n": [1.0, 2.5, 3.0]},
    "signed zero": {"n": [1.0, -0.0, 3.0]},
    "zero": {"n": [1.0, 0.0, 3.0]},
    "nan": {"n": [1.0, float("nan"), 3.0]},
    "bools": {"n": [True, False, True]},
    "lists": {"n": [[1], [2], [3]]},
    "lists of texts": {"n": [["1"], ["2"], ["3"]]},
    "structs": {"n": [{"x": 1, "y": 2}] * 3},
    "structs in another order": {
        "n": pa.array([{"y": 2, "x": 1}] * 3, pa.struct([("y", pa.int64()), ("x", pa.int64())]))
    },
    "dates": {"n": pa.array([1, 2, 3], pa.date32())},
    "times": {"n": pa.array([1, 2, 3], pa.timestamp("ns"))},
    "zoned times": {"n": pa.array([1, 2, 3], pa.timestamp("us", "UTC"))},
    "large": {"n": pa.array([1, 2, 2**64 - 1], pa.uint64())},
    "decimals": {"n": pa.array([1, 2, 3]).cast(pa.decimal128(20, 1))},
    "bytes": {"a": [b"2", b"4", b"6"]},
    "all null": {"n": pa.nulls(3)},
}


def test_what_examples_say_changes_the_fingerprint() -> None:
    fingerprints = {name: shots(pa.table({**TRAIN.to_pydict(), **columns})) for name, columns in CHANGED.items()}
    fingerprints |= {
        "none": shots(),
        "renamed": shots(TRAIN.rename_columns(["q", "a", "m"])),
        "fewer": shots(TRAIN.slice(0, 2)),
    }
    assert len(set(fingerprints.values())) == len(fingerprints)


def test_order_of_columns_counts_where_a_value_may_be_a_template() -> None:
    braces = pa.table({"q": ["{a}", "{n}", "q"], "a": ["{q}", "4", "6"], "n": [1, 2, 3]})
    turned = braces.select(["a", "q", "n"])
    first, second = (pp.Renderer(**SHOTS, examples=table) for table in (braces, turned))
    samples = pa.table({"q": ["x", "y"], "a": ["1", "2"]})
    assert first.render(samples)["prompt"] != second.render(samples)["prompt"]
    assert first.fingerprint() != second.fingerprint()
    single = {"substitution": "single_pass"}
    assert shots(braces, **single) == shots(turned, **single)


def test_of_a_fixed_choice_only_its_rows_count() -> None:
    def fixed(ids: list[int], examples: pa.Table) -> str:
        return shots(examples, retriever={"type": "FixKRetriever", "fix_id_list": ids})

    assert fixed([0, 2], TRAIN) == fixed([0, -1], TRAIN) == fixed([0, 1], TRAIN.take([0, 2]))
    assert len({fixed(ids, TRAIN) for ids in ([0, 2], [2, 0], [0, 1], [0])}) == 4
    assert shots(retriever={"type": "ZeroRetriever"}) == shots(TRAIN.slice(1), retriever=None)


def test_texts_of_tokens_count_and_nothing_else_of_what_gives_them() -> None:
    def fingerprint_with(tokens: Any) -> str:
        return of(DIALOGUE, meta_template=META, tokens=tokens)

    texts = {5: "<s>", 7: "</", 8: "s>"}
    assert (
        fingerprint_with(texts)
        == fingerprint_with(texts.get)
        == fingerprint_with({**texts, 9: "unused"})
        == fingerprint_with(lambda token: texts[token])
    )
    assert fingerprint_with(texts) != fingerprint_with({**texts, 7: "<"})


def test_of_a_chat_template_after_messages() -> None:
    def fingerprint_with(source: str, template: Any = DIALOGUE, **more: Any) -> str:
        return of(template, chat_template=pp.ChatTemplate(source, **more))

    pytest.importorskip("jinja2")
    base = fingerprint_with("{{ messages[0].content }}")
    assert base == fingerprint_with("{{ messages[0].content }}", fallback="refuse", strings="large_string", column="x")
    assert base == fingerprint_with("{{ messages[0].content }}", add_generation_prompt=True)
    others = [
        fingerprint_with("{{ messages[0].content }} "),
        fingerprint_with("{{ messages[0].content }}", bos_token="<s>"),
        of(DIALOGUE),
    ]
    assert len({base, *others}) == 4


def test_of_jinja_templates() -> None:
    pytest.importorskip("jinja2")
    template = pp.JinjaTemplate("{{ q }}")
    assert template.fingerprint() == pp.JinjaTemplate("{{ q }}", fallback="refuse", names={"prompt": "p"}).fingerprint()
    assert template.fingerprint() != pp.JinjaTemplate("{{ q }}", environment="lm_eval").fingerprint()
    chats = [
        {},
        {"column": "chat"},
        {"tools": [{"a": 1, "b": 2}]},
        {"tools": [{"b": 2, "a": 1}]},
        {"x": 1},
        {"x": True},
    ]
    assert len({pp.ChatTemplate("{{ tools }}", **more).fingerprint() for more in chats}) == len(chats)
    assert pp.ChatTemplate("", a=1, b=2).fingerprint() == pp.ChatTemplate("", b=2, a=1).fingerprint()


def test_pickles_and_processes_have_it() -> None:
    import pickle

    renderer = pp.Renderer(**SHOTS, examples=TRAIN)
    assert pickle.loads(pickle.dumps(renderer)).fingerprint() == renderer.fingerprint()
    code = "import promptpress as pp; print(pp.Renderer({'A': '{q}', 'B': 'x'}, mode='ppl').fingerprint())"
    fingerprints = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    ]
    assert fingerprints[0] == fingerprints[1] == of({"A": "{q}", "B": "x"}, mode="ppl") + "\n"


def test_values_are_written_in_one_way() -> None:
    values: list[Any] = [
        None,
        True,
        False,
        0,
        1,
        -1,
        10**5000,
        "1",
        b"1",
        1.0,
        -0.0,
        0.0,
        float("nan"),
        [],
        {},
        [[]],
        [1],
    ]
    values += [["ab"], ["a", "b"], {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1: "x"}, {"1": "x"}, {True: "x"}]
    assert len({written(value) for value in values}) == len(values)
    assert written(float("nan")) == written(-float("nan"))
    assert written((1, "x")) == written([1, "x"])


def test_the_machine_s_order_of_bytes() -> None:
    words = b"".join(n.to_bytes(8, "big", signed=True) for n in (1, -2, 2**40))
    assert little_endian(words, "big") == b"".join(n.to_bytes(8, "little", signed=True) for n in (1, -2, 2**40))
    assert little_endian(words, "little") is words

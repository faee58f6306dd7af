"""Every error has a code: a call for each, that the catalogue is covered, and that the documents list it."""

from __future__ import annotations

import ast
import copy
import ctypes
import pickle
import re
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from marks import UNWARNED
from models.media_model import END, TAGS
from parts.small_tokenizers import small_tokenizer
from promptpress._config.from_harness import meta_template_of
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import engine_of
from promptpress._errors.errors import of_row, render_error

PROJECT = Path(__file__).resolve().parents[2]
Call = Callable[[], object]

TURNS = [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
READER = {"input_columns": ["q"], "output_column": "a"}
CHAT_READER = {"input_columns": ["q"]}
SAMPLES = pa.table({"q": ["1+1?", "2+2?"], "a": ["2", "4"]})
CHAT_ROW = [{"messages": [{"role": "user", "content": "Hi."}]}]
ICE = {"type": "PromptTemplate", "template": "{q} {a}\n"}
SHOT = {"type": "PromptTemplate", "template": "</E>{q} {a}", "ice_token": "</E>"}
FIX = {"type": "FixKRetriever", "fix_id_list": [0]}
SHOTS: dict[str, Any] = {"prompt_template": SHOT, "ice_template": ICE, "retriever": FIX, "reader": READER}
RAW = {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "{q}"}]}
CHAT = {"type": "ChatInferencer", "infer_mode": "last"}
BY_COLUMN = {**SHOTS, "retriever": {"type": "IndexColumn", "column": "shots"}}
TEXT = {"text": {"type": "text", "text": "{question}"}}


def dialogue(*turns: Any, **sections: Any) -> dict[str, Any]:
    return {"type": "PromptTemplate", "template": {"round": list(turns or TURNS), **sections}}


def media(*turns: Any, **entries: Any) -> dict[str, Any]:
    turns = [{"role": "HUMAN", "prompt_mm": entries or TEXT}, *turns]
    return {"prompt_template": {"type": "MMPromptTemplate", "template": {"round": turns}}, "dialect": "aisbench"}


def trains_what_is_left_out() -> object:
    engine = engine_of(pp.ChatTemplate("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"))
    engine.refuse_left_out(frozenset({"message_left_out"}))
    return engine.render([{"messages": [{"role": "assistant", "content": "Hello."}]}], RenderOptions())


def conversation(mode: str = "every") -> dict[str, Any]:
    inferencer = {"type": "MultiTurnGenInferencer", "infer_mode": mode}
    turns = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    template = {"type": "MultiTurnPromptTemplate", "template": {"round": turns}}
    return {"prompt_template": template, "inferencer": inferencer, "dialect": "aisbench"}


def makes(template: Any = "{q}", **settings: Any) -> Call:
    return lambda: pp.Renderer(**{"prompt_template": template, **settings})


def renders(samples: Any, template: Any = "{q}", keep: tuple[str, ...] = (), **settings: Any) -> Call:
    return lambda: pp.Renderer(**{"prompt_template": template, **settings}).render(samples, keep=list(keep))


NEVER_WRITTEN = Path(tempfile.gettempdir()) / "never-written.jsonl"
REQUESTS = pa.table({"q": ["1+1?", "2+2?"], "a": ["2", "2"], "prompt": ["1+1?", "2+2?"]})


def exports(**options: Any) -> Call:
    return lambda: pp.export.openai_batch(REQUESTS, NEVER_WRITTEN, **{"model": "m", **options})


def misspelt() -> None:
    table = pp.Renderer("{questoin}", dialect="opencompass").render(pa.table({"question": ["1+1?"]}))
    pp.export.openai_batch(table, NEVER_WRITTEN, model="m")


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else "x"


def nested_type(depth: int) -> pa.DataType:
    return pa.list_(nested_type(depth - 1)) if depth else pa.int64()


def differs() -> None:
    """A template whose program is that of another one."""
    template, other = pp.JinjaTemplate("{{ q }}"), pp.JinjaTemplate("{{ q }}!")
    engine_of(template).runner.programs_for = engine_of(other).runner.programs_for
    template.render(SAMPLES)


class Unreadable:
    def __repr__(self) -> str:
        raise OSError


def not_utf8() -> pa.Table:
    offsets = pa.array([0, 2, 4], pa.int32()).buffers()[1]
    return pa.table({"q": pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"okx\xff")])})


def out_of_its_buffers() -> pa.Table:
    offsets = pa.array([0, 900, 4], pa.int32()).buffers()[1]
    return pa.table({"q": pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"okok")])})


class ArrowSchema(ctypes.Structure):
    """Arrow's C struct of a type."""


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
ArrowSchema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    *((name, ctypes.c_void_p) for name in ("children", "dictionary")),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]


@RELEASE
def release(schema: Any) -> None:
    schema.contents.release = RELEASE()


def of_months() -> pa.Table:
    """A table with a column of months, a type that pyarrow knows and has no arrays of."""
    schema = ArrowSchema(format=b"tiM", name=b"", release=release)
    months = pa.DataType._import_from_c(ctypes.addressof(schema))
    empty = pa.table({"q": pa.chunked_array([], months)})
    return pa.concat_tables([pa.table({"a": ["1"]}), empty], promote_options="default")


def reply_twice() -> None:
    talk = pp.Renderer(**conversation()).converse(pa.table({"question": [["1", "2"]], "answer": [["3", "4"]]}))
    talk.reply(["one", "two"])


def keeps_too_much() -> None:
    """A text of 32 KiB, 65,536 times over in one batch's prompts, which are one array."""
    samples = pa.record_batch({"q": ["x" * 2**15]})
    pp.Renderer("{q}" * 2**16)(samples)


def takes_too_much() -> None:
    """A text of 64 MiB, two million times: as much as no machine maps."""
    limits = {"prompt_bytes": 2**62, "batch_bytes": 2**62}
    examples = pa.table({"q": ["x" * 2**26], "a": ["1"]})
    samples = pa.table({"q": ["x"], "a": ["2"], "shots": [[0] * 2**21]})
    pp.Renderer(
        **{**BY_COLUMN, "ice_template": "{q}"}, strings="large_string", limits=limits, examples=examples
    ).render(samples)


CALLS: dict[str, list[Call]] = {
    # the configuration
    "wrong_type": [makes(7), makes(retriever=7), makes(tokens=7)],
    "invalid_number": [
        makes(**{**SHOTS, "retriever": {"type": "RandomRetriever", "ice_num": 1, "seed": -1}}),
        lambda: pp.Renderer("{q}").retrieve(-1),
    ],
    "missing_key": [makes({"type": "PromptTemplate"}), makes(retriever={}), lambda: pp.Renderer.from_config({})],
    "unknown_key": [
        makes({**ICE, "templte": 1}),
        lambda: pp.Renderer.from_config({"infer_cg": {}}),
    ],
    "unknown_name": [makes(dialect="helm"), makes(output="xml"), makes(refuse=["tagz"])],
    "unsupported_class": [
        makes({"type": "OddTemplate", "template": ""}),
        makes(retriever={"type": "TopkRetriever"}),
        makes(inferencer={"type": "AgentInferencer"}),
    ],
    "unknown_model_class": [lambda: meta_template_of("opencompass:None"), lambda: meta_template_of("other")],
    "nested_too_deep": [makes(meta_template=nested(300))],
    "unreadable_config": [
        lambda: pp.load_config("nowhere.json"),
        lambda: pp.Renderer.from_config("nowhere.json"),
        lambda: pp.Renderer.from_config({"infer_cfg": ICE}, model="nowhere.json"),
    ],
    "unreadable_data": [renders("nowhere.csv")],
    "unclear_choice": [
        lambda: pp.load_config("config.ini"),
        lambda: pp.Renderer.from_config({"datasets": [{"abbr": "a", "infer_cfg": {}}]}, dataset="b"),
    ],
    "unreadable_object": [makes(Unreadable())],
    "invalid_unicode": [makes("\ud800")],
    "missing_template": [makes(None)],
    "empty_template": [renders(SAMPLES, "")],
    "unclosed_brace": [renders(pa.table({"question": ["1+1?"]}), "{question")],
    "wrong_template_form": [makes({**conversation()["prompt_template"], "template": "{question}"})],
    "template_syntax": [
        lambda: pp.JinjaTemplate("{% if %}"),
        lambda: pp.JinjaTemplate("{{ q|unknown }}"),
        lambda: pp.ChatTemplate("{% endfor %}"),
    ],
    "template_limit": [
        lambda: pp.JinjaTemplate("{{ range(10**9)|list|length }}").render(SAMPLES),
        lambda: pp.JinjaTemplate("{{ a }}" * 20_000),
    ],
    "wrong_meta_template_form": [makes(dialogue(), meta_template=[{"role": "user", "content": ""}], output="messages")],
    "unsupported_mode": [
        makes(**{**conversation(), "mode": "ppl"}),
        lambda: pp.Renderer("{q}").converse(SAMPLES),
        renders(pa.table({"question": [["1"]], "answer": [["3"]]}), **conversation()),
    ],
    "not_compiled": [
        lambda: pp.JinjaTemplate("{{ q|striptags }}", fallback="refuse"),
        lambda: pp.JinjaTemplate("{% if a == '2' %}{{ q|striptags }}{% endif %}", fallback="refuse").render(SAMPLES),
        lambda: pp.ChatTemplate("{{ messages[0].content|striptags }}", fallback="refuse").render(CHAT_ROW),
    ],
    "depends_on_other_rows": [
        lambda: pp.Renderer("{q}", mode="ppl", reader=READER).stream(SAMPLES),
        lambda: pp.Renderer(
            **{**SHOTS, "retriever": {"type": "RandomRetriever", "ice_num": 1, "seed": 1}}, examples=SAMPLES
        )(SAMPLES.to_batches()[0]),
    ],
    "no_text_form": [makes(RAW, output="text")],
    "label_not_in_map": [
        makes({"type": "PromptTemplate", "template": {"A": "a{q}"}}, mode="ppl", labels=["A", "B"]),
    ],
    "empty_label_map": [renders(SAMPLES, {**ICE, "template": {}, "column_token_map": {}}, dialect="openicl")],
    "missing_labels": [makes(mode="ppl")],
    "unknown_label": [lambda: pp.Renderer("{q}", mode="ppl", labels=["A"]).explain(SAMPLES, 0, label="B")],
    "unknown_role": [makes(dialogue({"role": "TEACHER", "prompt": ""}), meta_template=META, output="messages")],
    "invalid_role": [
        makes({"type": "RawPromptTemplate", "messages": [{"role": "usr", "content": ""}]}),
        makes(RAW, meta_template=[{"role": "usr", "content": ""}]),
    ],
    "unmapped_role": [
        makes(
            dialogue({"role": "HUMAN", "prompt": ""}, {"role": "CRITIC", "prompt": ""}),
            output="openai",
            meta_template={"round": [META["round"][0], {"role": "CRITIC", "api_role": "critic"}]},
        ),
        renders(
            pa.table({"talk": [[{"role": "critic", "content": "x"}]]}), [{"expand_column": "talk"}], output="openai"
        ),
    ],
    "duplicate_role": [makes(dialogue(), meta_template={"round": [{"role": "HUMAN"}, {"role": "HUMAN"}]})],
    "missing_role": [makes(None, inferencer=CHAT, reader=READER, meta_template={"round": [{"role": "HUMAN"}]})],
    "missing_api_role": [
        makes(dialogue(), output="messages", meta_template={"round": [{"role": "HUMAN"}, {"role": "BOT"}]})
    ],
    "role_without_prompt": [
        makes(dialogue({"role": "BOT", "prompt": ""}), output="messages", dialect="aisbench", meta_template=META)
    ],
    "string_without_role": [
        makes({"type": "MMPromptTemplate", "template": {"round": ["bare"]}}, dialect="aisbench"),
    ],
    "invalid_section": [makes(dialogue({"section": "middle", "pos": "begin"}), meta_template=META)],
    "generation_outside_round": [makes(dialogue(begin=[TURNS[1]]), output="messages", meta_template=META)],
    "no_messages": [
        renders(pa.table({"q": [[{"role": "assistant", "content": "x"}]]}), None, inferencer=CHAT, reader=CHAT_READER)
    ],
    "incomplete_message": [
        renders(
            pa.table({"q": ["x"], "talk": [[{"role": "user"}]]}),
            {"type": "RawPromptTemplate", "messages": [{"expand_column": "talk"}]},
            output="messages",
        )
    ],
    "unmergeable_content": [makes(RAW, meta_template=[{"role": "user", "content": 7}], output="messages")],
    "unjoinable_parts": [makes(**media(TURNS[0]), output="messages", meta_template={"round": META["round"][:1]})],
    "token_without_text": [makes(dialogue(TURNS[0]), meta_template={"round": [{"role": "HUMAN", "begin": [5]}]})],
    "invalid_token": [
        makes(
            {**dialogue(begin=[""]), "ice_token": ""},
            ice_template=dialogue(),
            retriever=FIX,
            reader=READER,
            examples=SAMPLES,
        ),
        makes({**ICE, "column_token_map": {"q": "<x>", "a": "<x>"}}, dialect="openicl"),
    ],
    "missing_ice_token": [makes(ICE, ice_template=ICE)],
    "ice_token_not_in_template": [makes({**ICE, "ice_token": "</E>"})],
    "missing_ice_template": [makes(SHOT, retriever=FIX, reader=READER, examples=SAMPLES)],
    "missing_examples": [makes(**SHOTS)],
    "missing_output_column": [makes(**{**SHOTS, "reader": {"input_columns": ["q"]}}, examples=SAMPLES)],
    "too_few_examples": [
        renders(
            SAMPLES, **{**SHOTS, "retriever": {"type": "RandomRetriever", "ice_num": 3, "seed": 1}}, examples=SAMPLES
        )
    ],
    "example_index_out_of_range": [
        makes(**{**SHOTS, "retriever": {**FIX, "fix_id_list": [9]}}, examples=SAMPLES),
        renders(SAMPLES.append_column("shots", [[[0], [9]]]), **BY_COLUMN, examples=SAMPLES),
    ],
    "incompatible_examples": [makes(**{**SHOTS, "ice_template": dialogue()}, examples=SAMPLES)],
    "missing_modality": [renders(pa.table({"content": [f"{TAGS['video']}v.mp4{END}"]}), **media())],
    "duplicate_output_column": [
        makes(names={"prompt": "x", "label": "x"}),
        renders(SAMPLES.append_column("prompt", [["", ""]]), keep=("prompt",)),
    ],
    # the data
    "unknown_placeholder": [misspelt],
    "missing_column": [
        renders(SAMPLES, keep=("b",)),
        renders(SAMPLES, **BY_COLUMN, examples=SAMPLES),
        renders(SAMPLES, **conversation("last")),
    ],
    "duplicate_column": [renders(pa.table([SAMPLES["q"], SAMPLES["q"]], names=["q", "q"]))],
    "invalid_column_name": [renders(pa.table({"q\0": ["1"]}))],
    "wrong_input_columns": [makes(None, inferencer=CHAT, reader={"input_columns": ["q", "r"]})],
    "wrong_column_type": [
        renders(pa.table({"question": [1], "answer": [2]}), **conversation("last")),
        renders(pa.table({"q": ["1"], "shots": ["0"]}), **BY_COLUMN, examples=SAMPLES),
        renders(pa.table({"q": [["1"]], "a": [["x"]]}), mode="ppl", reader=READER),
    ],
    "unsupported_column_type": [lambda: pp.Renderer("{q}").render(of_months())],
    "column_nested_too_deep": [renders(pa.table({"q": pa.array([None], nested_type(200))}))],
    "schema_mismatch": [
        lambda: pp.Renderer("{q}").stream([SAMPLES.to_batches()[0], pa.record_batch({"q": [1]})]).read_all()
    ],
    "null_value": [renders(pa.table({"question": [None, ["1"]], "answer": [["2"], ["3"]]}), **conversation("last"))],
    "unconvertible_value": [
        renders(pa.table({"q": pa.array([2**62], pa.timestamp("s"))})),
        renders([{"q": b"x"}, {"q": "a"}]),
    ],
    "invalid_utf8": [renders(not_utf8())],
    "malformed_array": [renders(out_of_its_buffers())],
    "offset_overflow": [keeps_too_much],
    "limit_exceeded": [
        renders(SAMPLES, limits={"prompt_bytes": 1}),
        makes(mode="ppl", labels=["A", "B"], limits={"labels": 1}),
    ],
    "out_of_memory": [takes_too_much],
    "no_arrow_type": [
        renders(
            SAMPLES,
            {
                "type": "RawPromptTemplate",
                "messages": [{"role": "user", "content": "", "n": 1}, {"role": "user", "content": "", "n": "1"}],
            },
            output="messages",
        )
    ],
    "no_json_form": [
        renders(
            SAMPLES,
            {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "", "n": Decimal(1)}]},
            output="messages_json",
        )
    ],
    "row_out_of_range": [lambda: pp.Renderer("{q}").explain(SAMPLES, 7)],
    "turn_out_of_range": [
        lambda: pp.Renderer(inferencer=CHAT, reader=CHAT_READER).explain(pa.table({"q": ["x"], "a": ["y"]}), 0, turn=7),
    ],
    "no_assistant_message": [
        renders(pa.table({"q": [[{"role": "user", "content": "x"}]]}), None, inferencer=CHAT, reader=CHAT_READER)
    ],
    "invalid_replies": [reply_twice],
    "unknown_modality": [
        renders(pa.table({"type": ["smell"], "u": ["x"]}), **media(mm_url="{u}")),
    ],
    "invalid_media": [renders(pa.table({"image": ["[1]"]}), **media(image_url="{image}"))],
    "no_tagged_text": [renders(pa.table({"question": ["plain"]}), **media())],
    "ambiguous_tagged_text": [
        renders(pa.table({"a": [f"{TAGS['text']}x{END}"], "b": [f"{TAGS['text']}x{END}"]}), **media())
    ],
    "refused_finding": [
        renders(pa.table({"content": [f"{TAGS['text']}x{END}untagged"]}), **media(), refuse=["untagged_text"])
    ],
    "template_raised": [
        lambda: pp.JinjaTemplate("{{ q.nothing.at_all }}").render(SAMPLES),
        lambda: pp.ChatTemplate("{{ raise_exception('no') }}").render(CHAT_ROW),
        lambda: pp.ChatTemplate("").render([{"messages": []}]),
    ],
    "left_out": [trains_what_is_left_out],
    "history_rewritten": [
        lambda: (
            pp.ChatTemplate("{{ messages[-1].content }}")
            .begin(CHAT_ROW[0]["messages"], small_tokenizer())
            .extend([{"role": "assistant", "content": "Hello."}])
        ),
    ],
    "unknown_origin": [
        lambda: pp.ChatTemplate("{{ messages[1].content|wordwrap(3) }}").tokenize(
            [{"messages": [*CHAT_ROW[0]["messages"], {"role": "assistant", "content": "Hello."}]}],
            small_tokenizer(),
            mask="assistant",
        ),
    ],
    "duplicate_custom_id": [exports(custom_id="{a}")],
    "invalid_custom_id": [exports(custom_id="{q}", custom_id_length=3)],
    "request_too_large": [exports(max_bytes=100)],
    "invalid_result": [
        lambda: pp.export.join([{"custom_id": "7", "error": "gone"}], REQUESTS),
        lambda: pp.export.join([{}], REQUESTS),
    ],
    "differs_from_reference": [differs],
    "internal_error": [lambda: _core.panicking(False)],
}

EACH = [pytest.param(code, call, id=f"{code}-{n}") for code, calls in CALLS.items() for n, call in enumerate(calls)]


def raised(call: Call) -> pp.TemplateError | pp.RenderError:
    with pytest.raises((pp.TemplateError, pp.RenderError)) as caught:
        call()
    return caught.value


@UNWARNED
@pytest.mark.parametrize(("code", "call"), EACH)
def test_the_error_has_this_code(code: str, call: Call) -> None:
    error = raised(call)
    assert error.code == code
    text = error.message.replace("\0", "\\x00")
    assert text
    assert str(error).endswith(text)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert vars(other) == vars(error)
        assert str(other) == str(error)


def test_each_code_has_a_call_and_each_call_a_code() -> None:
    assert list(CALLS) == list(_core.ERROR_CODES)
    assert [code for code, calls in CALLS.items() if not calls] == []


@pytest.mark.parametrize("kind", [pp.TemplateError, pp.RenderError])
def test_an_error_that_somebody_else_makes_has_no_code(kind: type[Any]) -> None:
    error = kind("theirs")
    assert (error.code, error.message, error.path, error.row, error.column) == ("", "", None, None, None)


# ---------------------------------------------------------------------------------------------------------------------
# Errors that are made in Python.

MAKERS = ("template_error", "render_error")
SOURCES = sorted((PROJECT / "python" / "promptpress").rglob("*.py"))


def first_arguments(source: Path) -> list[ast.expr]:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.args[0] for call in calls if ast.unparse(call.func).rpartition(".")[2] in MAKERS]


def test_codes_that_python_gives_are_in_the_catalogue() -> None:
    given = [argument for source in SOURCES for argument in first_arguments(source)]
    codes = {node.value for node in given if isinstance(node, ast.Constant)}
    assert len(codes) > 20
    assert codes <= set(_core.ERROR_CODES)
    # The others are passed on.
    assert {ast.unparse(node) for node in given if not isinstance(node, ast.Constant)} <= {"code", "error.code"}


def test_errors_are_made_in_one_place_in_python() -> None:
    made = re.compile(r"\b(?:TemplateError|RenderError)\(")
    makers = {source.name for source in SOURCES if made.search(source.read_text(encoding="utf-8"))}
    assert makers == {"errors.py"}


@UNWARNED
def test_an_error_of_the_only_row_becomes_one_of_its_row() -> None:
    error = raised(CALLS["missing_modality"][0])
    of_twelfth = of_row(error, 12)
    assert str(of_twelfth) == str(error).replace("row 0", "row 12")
    assert (of_twelfth.code, of_twelfth.message, of_twelfth.path, of_twelfth.row) == (
        error.code,
        error.message,
        error.path,
        12,
    )


def test_a_nul_character_in_a_place_is_shown() -> None:
    """A column whose name has a NUL character: the text shows it, as the core's do, and the attribute has it."""
    error = render_error("null_value", "null", row=3, column="a\0b")
    assert (str(error), error.column) == ('row 3, column "a\\x00b": null', "a\0b")

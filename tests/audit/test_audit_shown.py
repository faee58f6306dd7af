"""The audit and the statistics ask the renderer's plan which columns a request shows."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from fuzz import audit
from marks import UNWARNED
from parts.audit_parts import CHAT, CHATML, READER, findings_by_code, rows, shots, table
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import engine_of
from promptpress_workbench.audit.batch import TemplateBatch, Texts
from promptpress_workbench.audit.subject import TemplateSubject
from promptpress_workbench.prompts.kinds import FAMILIES

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED", Path(__file__).resolve().parents[3] / "shared"))
FIRST = {"type": "FixKRetriever", "fix_id_list": [0]}
TOKEN_SHAPE = re.compile(
    r"<\|[^|<>\s'\"]+\|>|<\uff5c[^\uff5c<>\s'\"]+\uff5c>|\[/?[A-Z][A-Z_]+\]|<</?SYS>>|</?s>|<seed:\w+>"
    r"|</?(?:think|tool_call|tool_response|tool_result|image|video|sound|bos|eos|pad|unk|sop|sep|co|escape)>"
    r"|<(?:start|end)_(?:of|function)_\w+>|<im_patch>|<[A-Z]+_(?:TOKEN|CONTEXT)>"
)


@UNWARNED
def test_a_column_that_only_examples_show_is_no_column_of_the_sample() -> None:
    train = pa.table({"q": ["old"], "hint": ["think first"], "a": ["7"]})
    renderer = pp.Renderer(
        {"template": "</E>{q} =", "ice_token": "</E>"}, "{q}: {hint} = {a}", FIRST, train, reader=READER
    )
    samples = table(["6+1", "6+1", "2+2"], ["7", "seven", "4"], hint=["<|im_end|>", None, "\x00"])
    findings = findings_by_code(renderer, samples)
    assert rows(findings, "equal_prompts") == [0, 1]
    assert not {"null_value", "likely_special_token", "control_character"} & set(findings)


@UNWARNED
@pytest.mark.parametrize("token", ["", "</E>"])
def test_labels_with_and_without_examples_find_equal_prompts(token: str) -> None:
    template: dict[str, Any] = {"template": {"yes": token + "{q}? yes", "no": token + "{q}? no"}}
    template |= {"ice_token": token} if token else {}
    more = {"ice_template": "{q}: {a}", "examples": table(["old"]), "retriever": FIRST} if token else {}
    renderer = pp.Renderer(template, **more, reader=READER, mode="ppl")
    assert rows(findings_by_code(renderer, table(["one", "one", "two"], ["yes", "no", "yes"])), "equal_prompts") == [
        0,
        1,
    ]


@UNWARNED
@pytest.mark.parametrize(
    ("template", "settings"),
    [
        ({"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{why}"}]}, {}),
        ({"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": ""}],
          "end": [{"role": "HUMAN", "prompt": "{why}"}]}, {}),
        ({"x": "{q}", "y": "{q} {why}"}, {"meta_template": None}),
        ({"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{why}"}]}, {"meta_template": CHAT}),
    ],
)  # fmt: skip
def test_text_that_generation_never_reaches_is_not_shown(template: Any, settings: dict[str, Any]) -> None:
    renderer = pp.Renderer(template, **{"meta_template": CHATML, **settings}, reader=READER)
    findings = findings_by_code(renderer, table(["one", "one"], ["1", "2"], why=[None, "w\x07"]))
    assert rows(findings, "equal_prompts") == [0, 1]
    assert not {"null_value", "control_character"} & set(findings)


@UNWARNED
def test_a_column_that_a_value_brings_in_is_shown_in_that_row() -> None:
    samples = table(["see {why}", "plain"], ["1", "2"], why=[None, None])
    assert rows(findings_by_code(pp.Renderer("{q}", reader=READER), samples), "null_value") == [0]
    assert "null_value" not in findings_by_code(pp.Renderer("{q}", reader=READER, substitution="single_pass"), samples)


@UNWARNED
def test_texts_of_an_expand_column_are_in_no_statistics() -> None:
    renderer = pp.Renderer([{"role": "user", "content": "Hello"}, {"expand_column": "q"}], output="messages")
    statistics = pp.stats(renderer, pa.table({"q": ["lost" * 20, "too"]}))
    assert statistics.bytes.sum == 10
    assert statistics.by_column is not None
    assert statistics.by_column.select(["column", "bytes"]).to_pylist() == [{"column": None, "bytes": 10}]


@UNWARNED
def test_the_last_answer_of_a_conversation_is_not_shown() -> None:
    pair = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    renderer = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": {"round": pair}},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        dialect="aisbench",
        meta_template=CHAT,
    )
    samples = pa.table({"question": [["a", "b"], ["c", "d"]], "answer": [["1", "2\x07"], ["3\x07", "4"]]})
    assert rows(findings_by_code(renderer, samples), "control_character") == [1]


@UNWARNED
def test_findings_stand_in_the_order_of_the_columns_however_samples_come() -> None:
    renderer = pp.Renderer("{a}{b}{c}", substitution="harness")
    samples = pa.table({"a": ["x", "{b}"], "b": ["{c}", "y"], "c": ["z", "z"]})
    wanted = renderer.audit(samples)
    assert [finding["column"] for finding in wanted.to_pylist() if finding["code"] == "placeholder_filled"] == [
        "a",
        "b",
    ]
    stream = pa.RecordBatchReader.from_batches(samples.schema, samples.to_batches(max_chunksize=1))
    assert renderer.audit(stream).equals(wanted)


@pytest.mark.parametrize("size", [1, 2, 100])
def test_the_example_of_an_answer_is_named_in_a_stream_too(size: int) -> None:
    answers = [f"the wide river number {n}" for n in range(6)]
    train = table(["x", "y"], ["the wide river number 3", "z"])
    samples = table([f"question {n}" for n in range(6)], answers)
    renderer = shots({"type": "RandomRetriever", "ice_num": 2}, train)
    assert renderer.audit(samples.to_batches(size)).equals(renderer.audit(samples))
    assert "column 'a', of row 3" in findings_by_code(renderer, samples)["answer_in_example"]["message"]


@pytest.mark.parametrize(
    ("token", "family"),
    [
        ("</s>", "Llama 2"), ("<bos>", "Gemma"), ("<|eom_id|>", "Llama 3"), ("[TOOL_CALLS]", "Mistral"),
        ("<|return|>", "gpt-oss"), ("<|vision_start|>", "Qwen"), ("<think>", "Qwen"), ("<|START_ACTION|>", "Command"),
    ],
)  # fmt: skip
def test_a_control_token_is_found_with_its_family(token: str, family: str) -> None:
    finding = findings_by_code(pp.Renderer("{q}"), pa.table({"q": ["fine", f"a {token} b", "a <b> c"]}))[
        "likely_special_token"
    ]
    assert (finding["first_rows"], finding["start"]) == ([1], 2)
    assert f"{token!r} ({family}" in finding["message"]


def lines_of(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.readlines()


@pytest.mark.skipif(not (SHARED / "chat_templates").is_dir(), reason="the recorded chat templates aren't there")
def test_every_control_token_of_recorded_templates_is_known() -> None:
    seen = set()
    for line in lines_of(SHARED / "chat_templates" / "templates.jsonl.gz"):
        recorded = json.loads(line)
        named = [token for token in recorded["special_tokens"].values() if token.strip()]
        seen |= {*named, *TOKEN_SHAPE.findall(recorded["template"])}
    for path in sorted((SHARED / "golden_tokens" / "tokenizers").glob("*.json.gz")):
        if path.name.startswith(("roberta-like",)):
            continue  # words that were added to try the library
        added = json.loads("".join(lines_of(path)))["added_tokens"]
        seen |= {token["content"] for token in added if token["special"]}
    # Tokens that differ by a number alone are reserved, and nothing writes them.
    reserved = re.compile(r"(?:reserved_special_token_|control_|SPECIAL_|no▁|dummy_)\d+")
    missing = {token for token in seen if token not in FAMILIES and not reserved.search(token)}
    assert len(seen) > 200
    assert missing == set()


@UNWARNED
def test_random_tables_have_the_findings_that_brute_force_finds() -> None:
    audit.CODES.clear()
    assert sum(audit.run(11, number) for number in range(part_of(80))) > part_of(50)
    assert len(audit.CODES) > 20


def test_checks_of_other_threads_never_see_texts_of_rows_that_do_not_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread asks while the first one still leaves out the rows."""
    leaving_out, keep = threading.Event(), Texts.of_rows

    def slow(texts: Texts, mask: pa.Array) -> Texts:
        leaving_out.set()
        time.sleep(0.2)
        return keep(texts, mask)

    monkeypatch.setattr(Texts, "of_rows", slow)
    samples = pa.record_batch({"q": ["shown", "not shown"]})
    engine = engine_of(pp.JinjaTemplate("{{ q if q == 'shown' else '' }}"))
    subject = TemplateSubject(samples.schema, engine=engine)
    run = engine.begin(RenderOptions(spans="detailed"), None)
    (part,) = run.parts(pa.Table.from_batches([samples]), 0)
    batch = TemplateBatch(subject, samples, 0, part.prompts, part.spans)
    first = threading.Thread(target=batch.texts, args=("q",))
    first.start()
    assert leaving_out.wait(10)
    assert [texts.array.to_pylist() for texts in batch.texts("q")] == [["shown"]]
    first.join()

"""The audit of values: placeholders, the template's tokens, tokens that steer a model, odd characters, nulls."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.audit_parts import CHATML, READER, findings_by_code, rows, shots, table

QUESTION_AND_ANSWER = pp.Renderer("Q: {q}\nA: {a}", reader=READER)
MEDIA = {"type": "MMPromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt_mm": {
    "text": {"type": "text", "text": "{question}"}, "image": {"type": "image_url", "image_url": {"url": "{image}"}},
}}]}}  # fmt: skip


def test_a_placeholder_that_changes_the_prompt_is_an_error():
    findings = findings_by_code(
        pp.Renderer("Q: {q}", substitution="harness"), table(["1+1", "é {a} {q}", "fine"], ["2", "gold", "x"])
    )
    finding = findings["placeholder_filled"]
    assert (finding["severity"], finding["rows"], finding["first_rows"], finding["column"]) == ("error", 1, [1], "q")
    assert (finding["start"], finding["end"]) == (3, 6)
    assert "placeholder_in_value" not in findings


def test_braces_that_are_no_placeholder_are_none():
    findings = findings_by_code(pp.Renderer("Q: {q}"), table([r"\frac{1}{2}", "{x}", "{ a }", "{", "set {1, 2}"]))
    assert not {"placeholder_filled", "placeholder_in_value", "unfilled_value"} & set(findings)


def test_a_placeholder_that_changes_nothing_is_a_lesser_finding():
    renderer = pp.Renderer("Q: {q}", substitution="single_pass")
    findings = findings_by_code(renderer, table(["1+1", "see {a}"]))
    assert rows(findings, "placeholder_in_value") == [1]
    assert findings["placeholder_in_value"]["severity"] == "info"
    assert "placeholder_filled" not in findings


def test_a_value_that_completes_a_placeholder_is_found_without_a_place():
    findings = findings_by_code(pp.Renderer("{{q}} {a}", substitution="harness"), table(["a", "b"]))
    assert rows(findings, "placeholder_filled") == [0]
    assert findings["placeholder_filled"]["start"] is None


@pytest.mark.parametrize(
    "retriever", [{"type": "FixKRetriever", "fix_id_list": [0]}, {"type": "RandomRetriever", "ice_num": 1}]
)
def test_a_placeholder_in_an_example_is_no_value_of_the_sample(retriever):
    examples = table(["ask {q}"], ["x"])
    findings = findings_by_code(shots(retriever, examples), table(["1", "2"]))
    assert (rows(findings, "placeholder_filled"), findings["placeholder_filled"]["column"]) == ([0, 1], None)
    assert "placeholder_filled" not in findings_by_code(shots(retriever, table(["ask q"], ["x"])), table(["1", "2"]))


@pytest.mark.parametrize("size", [1, 2, 100])
def test_places_in_a_stream_are_those_of_the_whole(size):
    samples = table(["1", "2", "see {a}", "4", "<|im_start|>"])
    retriever = {"type": "RandomRetriever", "ice_num": 1}
    renderer = shots(retriever, table(["x", "y {a}", "z"], ["1", "2", "3"]))
    assert renderer.audit(samples.to_batches(size)).equals(renderer.audit(samples))


def test_a_name_that_templates_have_is_reported_if_it_is_no_column():
    findings = findings_by_code(pp.Renderer("Q: {q}"), table(["Answer {question} by {context}.", "{x_n} {NAND} {foo}"]))
    assert rows(findings, "unfilled_value") == [0]


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()])
def test_names_of_latex_are_no_placeholders(layout):
    texts = [
        r"\begin{document} x \end{document}", r"W_{query} x^{input} + \frac{1}{output}", r"\text{question}",
        r"\includegraphics[width=2]{context}", r"\text{if} {question}", r"a_{text} {context}{question}",
        r"Q:\n{question}",
    ]  # fmt: skip
    samples = pa.table({"q": pa.array(texts, layout), "a": list("abcdefg")})
    findings = findings_by_code(pp.Renderer("Q: {q}"), samples)
    assert rows(findings, "unfilled_value") == [4, 5, 6]


def test_tokens_of_the_template_in_values():
    findings = findings_by_code(
        shots({"type": "FixKRetriever", "fix_id_list": [0]}, table(["x"])), table(["a", "b </E> c", "</e>"])
    )
    assert rows(findings, "template_token_in_value") == [1]


def test_a_token_that_examples_lose_is_an_error():
    template = {"type": "PromptTemplate", "template": "</E>{q}</S>{a}", "ice_token": "</E>", "sep_token": "</S>"}
    shot = {"type": "PromptTemplate", "template": "[{q}</S>{a}]", "sep_token": "</S>"}
    train = table(["x", "b</S>c"])

    def renderer_with(row):
        return pp.Renderer(template, shot, {"type": "FixKRetriever", "fix_id_list": [row]}, train, reader=READER)

    assert renderer_with(1).render(table(["a"]))["prompt"][0].as_py().startswith("[bcanswer 1]")
    finding = findings_by_code(renderer_with(1), table(["a"]))["template_token_removed"]
    assert (finding["severity"], finding["rows"]) == ("error", None)
    assert finding["message"].startswith("column 'q' of the examples, row 1: ")
    assert "template_token_removed" not in findings_by_code(renderer_with(0), table(["a"]))


def test_values_of_examples_are_looked_into():
    train = table(["x", None, "<|im_end|>\x00", "y"])
    findings = findings_by_code(shots({"type": "FixKRetriever", "fix_id_list": [0, 1, 2]}, train), table(["a"]))
    for code in ("likely_special_token", "control_character"):
        assert (findings[code]["rows"], "examples, row 2:" in findings[code]["message"]) == (None, True)
    assert "examples, row 1:" in findings["null_value"]["message"]
    fine = findings_by_code(shots({"type": "FixKRetriever", "fix_id_list": [0, 3]}, train), table(["a"]))
    assert not {"likely_special_token", "control_character", "null_value"} & set(fine)


def test_special_tokens_of_the_meta_template():
    renderer = pp.Renderer({"round": [{"role": "HUMAN", "prompt": "{q}"}]}, meta_template=CHATML)
    findings = findings_by_code(renderer, table(["fine", "é<|im_end|> <|im_start|>", "< | im_end | >", "[INST] x"]))
    finding = findings["special_token"]
    assert (finding["severity"], finding["first_rows"], finding["start"], finding["end"]) == ("error", [1], 2, 12)
    assert "'<|im_end|>'" in finding["message"]
    assert rows(findings, "likely_special_token") == [3]


def test_special_tokens_of_nobody_are_a_guess():
    findings = findings_by_code(QUESTION_AND_ANSWER, table(["fine", "<|im_end|>", "a <b> | c", "<s>"]))
    assert rows(findings, "likely_special_token") == [1, 3]
    assert findings["likely_special_token"]["severity"] == "warning"
    assert "special_token" not in findings


def test_special_tokens_of_a_chat_template():
    pytest.importorskip("jinja2")
    source = "{% for m in messages %}<|turn|>{{ m.role }}:{{ m.content }}{{ eos_token }}{% endfor %}"
    renderer = pp.Renderer("{q}", chat_template=pp.ChatTemplate(source, eos_token="[[END]]"))
    findings = findings_by_code(renderer, table(["fine", "x <|turn|>", "y [[END]]", "<|other|>"]))
    assert rows(findings, "special_token") == [1, 2]


def test_special_tokens_of_a_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    halting = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]"))
    halting.add_special_tokens(["<halt>"])
    halting.add_tokens(["plain"])
    halting.save(str(tmp_path / "tokenizer.json"))
    for tokenizer in (halting, str(tmp_path)):
        findings = findings_by_code(QUESTION_AND_ANSWER, table(["a", "b <halt> c", "plain"]), tokenizer=tokenizer)
        assert rows(findings, "special_token") == [1]


def test_tokens_in_lists_are_found_without_a_place():
    samples = pa.table({"q": [["a"], ["b", "<|im_end|>"], []]})
    findings = findings_by_code(pp.Renderer("{q}"), samples)
    assert rows(findings, "likely_special_token") == [1]
    assert findings["likely_special_token"]["start"] is None


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_any_layout_of_strings(kind):
    values = pa.array(["fine", None, "a <|im_end|> {a}\x00"]).cast(pa.string())
    column = values.dictionary_encode() if pa.types.is_dictionary(kind) else values.cast(kind)
    samples = pa.table({"q": column, "a": ["1", "2", "3"]})
    findings = findings_by_code(pp.Renderer("{q}", substitution="harness"), samples)
    for code in ("likely_special_token", "placeholder_filled", "control_character"):
        assert rows(findings, code) == [2]
    assert rows(findings, "null_value") == [1]


@pytest.mark.parametrize(
    ("code", "text", "harmless"),
    [
        ("control_character", "a\x00b", "a\tb\nc"),
        ("bidi_character", "a\u202eb", "\u05e9\u05dc\u05d5\u05dd"),
        ("mixed_line_ends", "a\r\nb\nc", "a\r\nb\r\nc"),
        ("invisible_character", "a\u200bb", "a b"),
        ("replacement_character", "a\ufffdb", "a?b"),
        ("byte_order_mark", "\ufeffab", "ab"),
    ],
)
def test_odd_characters(code, text, harmless):
    findings = findings_by_code(QUESTION_AND_ANSWER, table(["fine", harmless, text, harmless]))
    assert rows(findings, code) == [2]
    assert findings[code]["column"] == "q"
    assert code not in findings_by_code(QUESTION_AND_ANSWER, table([harmless, harmless + "!"]))


def test_a_null_is_shown_as_a_word():
    findings = findings_by_code(pp.Renderer("{q}"), table(["None", None, ""]))
    assert rows(findings, "null_value") == [1]
    assert "null_value" not in findings_by_code(pp.Renderer("{q}"), table(["a"], [None]))  # which no template shows


@UNWARNED
def test_media_tags():
    renderer = pp.Renderer(MEDIA, dialect="aisbench")
    text = "<AIS_TEXT_START>Look.<AIS_CONTENT_TAG><AIS_IMAGE_START>a.png<AIS_CONTENT_TAG>"
    samples = pa.table({"content": [text, f"stray {text}", text.replace("Look.", "<AIS_IMAGE_START>x.png")]})
    findings = findings_by_code(renderer, samples)
    assert rows(findings, "untagged_text") == [1]
    assert rows(findings, "media_tag") == [2]
    plain = findings_by_code(pp.Renderer("{q}", dialect="aisbench"), table(["a", "<AIS_IMAGE_START>"]))
    assert rows(plain, "media_tag_in_value") == [1]
    assert "media_tag_in_value" not in findings_by_code(pp.Renderer("{q}"), table(["<AIS_IMAGE_START>"]))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("odd", [[], [3000], [1, 1023, 1024, 4999], range(0, 5000, 100)])
def test_odd_characters_among_many_texts(kind, odd):
    values = [f"text {n}\n" if n % 2 else "dos\r\n" for n in range(5007)]
    for row in odd:
        values[row + 7] += "\x07"
    samples = pa.table({"q": pa.array(values, kind).slice(7), "a": pa.array(range(5000))})
    findings = findings_by_code(pp.Renderer("{q}"), samples)
    assert rows(findings, "control_character") == (list(odd)[:10] or None)
    assert "mixed_line_ends" not in findings

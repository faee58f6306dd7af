"""`explain` and `divergence` of conversations and chats against what `render` gives, and against plain Python."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from case_files import FOLDER, read_cases
from generators.strategies import Case as ChatCase
from generators.strategies import chat_cases
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models.traced_model import Spoken, histories_of_chat, histories_of_messages, histories_of_turns
from parts.turn_parts import REFUSED, WAYS, Request, check_divergence, check_every_request
from test_against_model import QUICK
from test_explain import traced

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED

# Letters of their own tell where a text comes from, whatever else stands in it.
HOSTILE = (
    "{question}",
    "{answer}",
    "{{answer}}",
    "{ans",
    "wer}",
    "{que",
    "stion}",
    "{",
    "}",
    "",
    "{unknown}",
    "\n",
    "😀",
)
QUESTIONS = st.lists(st.sampled_from(("δ", "βδ", *HOSTILE)), max_size=4).map("".join)
ANSWERS = st.lists(st.sampled_from(("ж", "зи", *HOSTILE)), max_size=4).map("".join)
WORDS = st.lists(st.sampled_from(("ㄅ", "ㄆ ", *HOSTILE, "{question}", "{answer}")), max_size=4).map("".join)
LETTERS = {
    **dict.fromkeys("βδ", ("field", "question", None)),
    **dict.fromkeys("жзи", ("field", "answer", None)),
    **dict.fromkeys("ㄅㄆ", ("prompt_template", None, None)),
    **{"❶": ("role.begin", None, "HUMAN"), "❷": ("role.end", None, "HUMAN")},
    **{"❸": ("role.begin", None, "BOT"), "❹": ("role.end", None, "BOT")},
    **{"❺": ("role.begin", None, "SYSTEM"), "❻": ("role.end", None, "SYSTEM")},
    **{"❼": ("meta_template.begin", None, None), "❽": ("meta_template.end", None, None)},
}
META = {
    "begin": "❼",
    "round": [
        {"role": "HUMAN", "begin": "❶", "end": "❷", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "❸", "end": "❹", "api_role": "BOT", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "begin": "❺", "end": "❻", "api_role": "SYSTEM"}],
    "end": "❽",
}
OUTPUTS = ("text", "messages", "prompt_list", "messages_json")
LAYOUTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "list_view": pa.list_view,
    "large_list_view": pa.large_list_view,
}
STRINGS = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))


def check_letters(spans: list[dict[str, Any]], request: Any) -> None:
    """Each letter that stands in one place alone is said to come from there."""
    for text, *_, source, column, example, role in (row[-5:] for row in traced(spans, request)):
        assert example is None
        written = source.removeprefix("filled_")
        for letter in text:
            own_source, own_column, own_role = LETTERS.get(letter, (written, column, None))
            assert (written, column) == (own_source, own_column)
            assert own_role in (None, role)


def spoken(spans: list[dict[str, Any]], request: Any) -> Spoken:
    """The characters of the templates and of the columns, one after the other."""
    out: Spoken = []
    for text, source, column, _, role in (row[-5:] for row in traced(spans, request)):
        if source in ("prompt_template", "field", "filled_field"):
            out += [(character, column, role) for character in text]
    return out


def cut(draw: st.DrawFn, samples: pa.Table) -> pa.Table:
    """The same rows in several chunks, as slices of longer ones."""
    ends = draw(st.lists(st.integers(0, len(samples)), max_size=2))
    parts = [samples.slice(start, end - start) for start, end in pairwise(sorted({0, len(samples), *ends}))]
    within = [pa.concat_tables([samples, part, samples]).combine_chunks() for part in parts]
    return pa.concat_tables(
        [table.slice(len(samples), len(part)) for table, part in zip(within, parts, strict=True)] or [samples]
    )


# ---------------------------------------------------------------------------------------------------------------------
# The cases of the files.


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("c[ho]*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_case_of_the_files(path: Path) -> None:
    covered = rendered = 0
    for case in read_cases(path.read_text(encoding="utf-8")):
        try:
            pp.Renderer(**case.settings)
        except pp.TemplateError:
            continue
        requests = check_every_request(case.settings, case.samples)
        check_divergence(case.settings, case.samples, set(case.samples.column_names))
        covered += len(requests)
        rendered += len(case.expected.get("prompts", []))
    assert covered or not rendered


# ---------------------------------------------------------------------------------------------------------------------
# Conversations at random.


@st.composite
def conversations(draw: st.DrawFn) -> tuple[dict[str, Any], pa.Table]:
    """A conversation's settings and samples; each BOT of a round answers a HUMAN."""
    roles = draw(st.sampled_from(["HB", "HB", "HB", "HBHB", "HHB", "BH", "HBH"]))
    names = {"H": "HUMAN", "B": "BOT"}
    dialogue: dict[str, Any] = {"round": [{"role": names[role], "prompt": draw(WORDS)} for role in roles]}
    if draw(st.booleans()):
        dialogue["begin"] = [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": draw(WORDS)}]
    if draw(st.integers(0, 3)) == 0:
        dialogue["end"] = [{"role": "HUMAN", "prompt": draw(WORDS)}]
    mode = draw(st.sampled_from(["every", "every_with_gt", "every_with_gt", "last", None]))
    inferencer = {"type": "MultiTurnGenInferencer", "infer_mode": mode} if mode else {"type": "GenInferencer"}
    rows = draw(st.integers(1, 4))
    columns = {}
    for name, texts in (("question", QUESTIONS), ("answer", ANSWERS)):
        values = [draw(st.lists(texts, max_size=3)) for _ in range(rows)]
        columns[name] = pa.array(values, draw(st.sampled_from(list(LAYOUTS.values())))(draw(st.sampled_from(STRINGS))))
    columns["unread"] = pa.array(["{answer}"] * rows)
    config = {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": dialogue},
        "reader": {"input_columns": ["question", "answer"], "output_column": "answer"},
        "inferencer": inferencer,
        "dialect": "aisbench",
        "output": draw(st.sampled_from(OUTPUTS)),
        "substitution": draw(st.sampled_from(WAYS)),
    }
    if draw(st.booleans()):
        config["meta_template"] = META
    return config, cut(draw, pa.table({name: columns[name] for name in draw(st.permutations(list(columns)))}))


def history_of(request: Request, histories: list[Spoken]) -> Spoken:
    """Return the text that stands before the turn of a request, by the model."""
    turn = request[1]
    assert turn is not None
    return histories[turn]


@settings(QUICK, max_examples=part_of(300))
@given(conversations())
def test_random_conversations(case: tuple[dict[str, Any], pa.Table]) -> None:
    config, samples = case
    try:
        pp.Renderer(**config)
    except pp.TemplateError:
        assume(False)
    rows = samples.to_pylist()
    template = config["prompt_template"]["template"]
    # A model's own turn ends what follows, and whole conversations hold one.
    is_known = config["inferencer"]["type"] != "GenInferencer" and not ("end" in template and "meta_template" in config)
    for request, spans in check_every_request(config, samples):
        note(spans)
        check_letters(spans, request[2])
        if is_known:
            want = histories_of_turns(template, rows[request[0]], config["substitution"])
            assert spoken(spans, request[2]) == history_of(request, want)
    check_divergence(config, samples, {"question", "answer"})


# ---------------------------------------------------------------------------------------------------------------------
# Chats at random.


@st.composite
def chats(draw: st.DrawFn) -> tuple[dict[str, Any], pa.Table]:
    """A chat's settings and samples: of strings, of lists, or of a column of messages."""
    shape = draw(st.sampled_from(["strings", "lists", "messages"]))
    rows = draw(st.integers(1, 4))
    layout, strings = draw(st.sampled_from(list(LAYOUTS.values()))), draw(st.sampled_from(STRINGS))
    mode = draw(st.sampled_from(["every", "every_with_gt", "every_with_gt", "last"]))
    config: dict[str, Any] = {
        "reader": {"input_columns": ["question"], "output_column": "answer"},
        "inferencer": {"type": "ChatInferencer", "infer_mode": mode},
        "output": draw(st.sampled_from(OUTPUTS)),
        "substitution": draw(st.sampled_from(WAYS)),
    }
    if draw(st.booleans()):
        config["meta_template"] = META
    columns: dict[str, pa.Array] = {"unread": pa.array(list(range(rows)))}
    if shape == "messages":
        config["reader"]["output_column"] = draw(st.sampled_from([None, "unread"]))
        role = st.sampled_from(["user", "assistant", "system", "tool", None])
        message = st.fixed_dictionaries({"role": role, "content": st.one_of(st.none(), QUESTIONS)})
        values = [draw(st.lists(message, max_size=5)) for _ in range(rows)]
        kind = layout(pa.struct([("role", pa.string()), ("content", strings)]))
        columns["question"] = pa.array(values, kind)
    else:
        for name, texts in (("question", QUESTIONS), ("answer", ANSWERS)):
            kind = strings if shape == "strings" else layout(strings)
            cells = texts if shape == "strings" else st.lists(texts, max_size=3)
            columns[name] = pa.array([draw(cells) for _ in range(rows)], kind)
        turn = st.builds(dict, role=st.sampled_from(["SYSTEM", "HUMAN", "BOT"]), prompt=WORDS)
        template = draw(st.one_of(st.none(), WORDS, st.lists(turn, min_size=1, max_size=3).map(lambda t: {"round": t})))
        if template is not None:
            config["prompt_template"] = template
    return config, cut(draw, pa.table({name: columns[name] for name in draw(st.permutations(list(columns)))}))


def of_chat(config: dict[str, Any], row: dict[str, Any]) -> list[Spoken]:
    question, answer = row["question"], row.get("answer")
    if isinstance(question, list) and answer is None:
        return histories_of_messages(question, "question")
    order = [name for name in row if name in ("question", "answer")]
    if isinstance(question, str):
        rounds = [{name: row[name] for name in order}]
    else:
        rounds = [dict(zip(order, texts, strict=True)) for texts in zip(*(row[name] for name in order), strict=False)]
    return histories_of_chat(config.get("prompt_template"), rounds, ("question", "answer"), config["substitution"])


@settings(QUICK, max_examples=part_of(300))
@given(chats())
def test_random_chats(case: tuple[dict[str, Any], pa.Table]) -> None:
    config, samples = case
    rows = samples.to_pylist()
    for request, spans in check_every_request(config, samples):
        note(spans)
        assert spoken(spans, request[2]) == history_of(request, of_chat(config, rows[request[0]]))
    check_divergence(config, samples, {"question", "answer"} if "answer" in samples.column_names else set())


@settings(QUICK, max_examples=part_of(200))
@given(chat_cases())
def test_random_chats_of_any_kind(case: ChatCase) -> None:
    try:
        pp.Renderer(**case.config)
    except pp.TemplateError:
        return
    check_every_request(case.config, case.samples)
    check_divergence(case.config, case.samples, {*case.samples.column_names})


def test_a_string_that_a_placeholder_takes_out_of_a_chat_differs() -> None:
    config = {
        "prompt_template": {"round": [{"role": "HUMAN", "prompt": "{unread}"}, "{q}"]},
        "reader": {"input_columns": ["q"], "output_column": "a"},
        "inferencer": {"type": "ChatInferencer"},
    }
    samples = pa.table({"q": ["{a}", "{a}", "x"], "a": ["", "a section", ""]})
    assert check_divergence(config, samples, {"q"}) == [0, 1]


def test_the_first_turn_is_explained_where_a_later_one_is_refused() -> None:
    turn = {"role": "HUMAN", "prompt": "{question}"}
    config = {
        "prompt_template": {
            "type": "MultiTurnPromptTemplate",
            "template": {"round": [turn, {"role": "BOT", "prompt": "{answer}"}, turn], "end": [turn]},
        },
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every"},
        "meta_template": META,
        "output": "messages",
        "dialect": "aisbench",
    }
    samples = pa.table({"question": [["β", "δ"]], "answer": [["ж", "з"]]})
    talk = pp.Renderer(**config).converse(samples)
    with pytest.raises(REFUSED, match="the role has no prompt"):
        talk.reply(["и"])
    assert [turn for (_, turn, _), _ in check_every_request(config, samples)] == [0]


@pytest.mark.parametrize("output", ["messages", "messages_json"])
@pytest.mark.parametrize("mode", ["gen", "ppl"])
def test_an_empty_text_of_a_label_map_is_no_list(output: str, mode: str) -> None:
    """AISBench's API parser leaves texts as they are."""
    labels = ["A", "B"] if mode == "ppl" else None
    renderer = pp.Renderer({"A": "{q}", "B": "x"}, mode=mode, labels=labels, output=output, dialect="aisbench")
    empty = '""' if output == "messages_json" else ""
    assert renderer.render(pa.table({"q": [""]}))["prompt"][0].as_py() == empty


def test_all_parts_of_a_chats_message_have_one_role() -> None:
    config = {
        "prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}?"}, {"role": "BOT", "prompt": "{a}"}]},
        "reader": {"input_columns": ["q"], "output_column": "a"},
        "inferencer": {"type": "ChatInferencer"},
        "meta_template": META,
        "output": "text",
    }
    spans = pp.Renderer(**config).explain(pa.table({"q": ["β"], "a": ["ж"]}), 0)
    assert spans["role"].to_pylist() == ["user", "user", "user", "user", "assistant"]

"""Rows for each turn of an assistant, next to a model that renders each turn by itself."""

from __future__ import annotations

import json
import pickle
import random
import warnings
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer
from promptpress._engine.table_engine import engine_of
from promptpress._errors.errors import LeftOutWarning
from promptpress._jinja.loop_memory import LoopMemory
from promptpress._tokens.turns import TurnsEngine, TurnsRenderer

pytest.importorskip("jinja2")

Talk = list[dict[str, Any]]
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" + PROMPT
REASONING = "{% if m.reasoning_content and IF %}<think>{{ m.reasoning_content }}</think>{% endif %}"
THINKING = CHATML.replace("{{ m.content }}", REASONING.replace("IF", "loop.last") + "{{ m.content }}")
CALLS = "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments.a }}</call>{% endfor %}"
SOURCES = {
    "appends": CHATML,
    "appends, with tokens after the end": CHATML.replace("<|im_end|>\n", "<|im_end|></s>\n"),
    "appends, with reasoning": THINKING.replace("loop.last", "true"),
    "appends, with calls": CHATML.replace("{{ m.content }}", "{{ m.content }}" + CALLS),
    "appends, with a beginning": "<s>" + CHATML,
    "has generation blocks": CHATML.replace(
        "{{ m.content }}<|im_end|>",
        "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
        "{% else %}{{ m.content }}<|im_end|>{% endif %}",
    ),
    "refuses empty texts": CHATML.replace("{{ m.content }}", "{{ m.content or raise_exception('empty') }}"),
    "asks otherwise": CHATML.replace(PROMPT, "{% if add_generation_prompt %}<|im_start|>model\n{% endif %}"),
    "asks for a thought": CHATML.replace("assistant\n{% endif", "assistant\n<think></think>{% endif"),
    "drops reasoning": THINKING,
    "drops calls": CHATML.replace("{{ m.content }}", "{{ m.content }}{% if loop.last %}" + CALLS + "{% endif %}"),
    "closes": CHATML.replace(PROMPT, "{% if not add_generation_prompt %}</s>{% endif %}" + PROMPT),
}
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}


def talk(rng: random.Random) -> Talk:
    """A random conversation; its texts have no blanks at their ends."""
    messages: Talk = [{"role": "system", "content": "Be brief."}] if rng.random() < 0.3 else []
    for _ in range(rng.randint(0, 6)):
        role = rng.choice(["user", "assistant"])
        message = {"role": role, "content": rng.choice(["1+1?", "It is 2.", "é 🙂", "a\n\nb", "", "<think>x</think>y"])}
        if role == "assistant" and rng.random() < 0.3:
            message["reasoning_content"] = rng.choice(["hm", "so:\nit"])
        if role == "assistant" and rng.random() < 0.2:
            message["tool_calls"] = [CALL]
        if role == "assistant" and rng.random() < 0.1:
            message["weight"] = 0
        messages.append(message)
    return messages


def tokens(chat: pp.ChatTemplate, rows: Any, **arguments: Any) -> pa.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PromptWarning)
        return chat.tokenize(rows, small_tokenizer(), turns="each", **arguments)


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        *((name, mask) for name in SOURCES for mask in ("assistant", "assistant+end", "assistant+turn")),
        ("has generation blocks", "generation"),
    ],
)
def test_the_short_way_gives_what_the_long_way_gives(name: str, mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"{name} {mask}")
    chat = pp.ChatTemplate(SOURCES[name])
    rows = [{"messages": talk(rng)} for _ in range(part_of(120))]
    arguments: dict[str, Any] = {"mask": mask, "errors": "column", "offsets": True, "reasoning": mask != "generation"}
    short = tokens(chat, rows, **arguments)
    monkeypatch.setattr(TurnsEngine, "is_append_only", False)
    assert short.to_pylist() == tokens(chat, rows, **arguments).to_pylist()
    assert len(short)


def test_an_append_only_template_is_rendered_once_for_a_conversation() -> None:
    chat = pp.ChatTemplate(CHATML)
    turns = [{"role": role, "content": "é"} for _ in range(9) for role in ("user", "assistant")]
    rows = tokens(chat, [{"messages": turns}], mask="assistant+end")
    assert (len(rows), rows["turn"].to_pylist(), chat.last_run.rows) == (1, [8], 1)


def test_turns_of_a_long_conversation_are_rendered_once_unless_a_memory_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages = [
        {"role": role, "content": f"{role} {n}", **({"reasoning_content": f"why {n}"} if role == "assistant" else {})}
        for n in range(10)
        for role in ("user", "assistant")
    ]
    rows = [{"messages": messages}]

    def rendered() -> tuple[list[str], dict[str, int]]:
        chat = pp.ChatTemplate(THINKING)
        prompts = chat.render(rows, turns="each")["prompt"].to_pylist()
        assert chat.last_run is not None
        return prompts, dict(chat.last_run.reasons)

    prompts, reasons = rendered()
    beginnings = [
        pp.ChatTemplate(THINKING).render([{"messages": messages[:n]}])["prompt"][0].as_py() for n in range(2, 21, 2)
    ]
    assert prompts == beginnings
    assert any("whose turns are rendered once" in reason for reason in reasons)
    monkeypatch.setattr(LoopMemory, "key", lambda *_: "the same for all")
    prompts, reasons = rendered()
    assert prompts == beginnings
    assert not any("whose turns are rendered once" in reason for reason in reasons)


TALK = [
    {"role": "user", "content": "1+1?"},
    {"role": "assistant", "content": "2.", "reasoning_content": "One more."},
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "4.", "reasoning_content": "Two more."},
    {"role": "user", "content": "Bye."},
]
HEAD = "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n"
NEXT = "<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"
END = "<|im_end|>\n"


def trained(row: dict[str, Any]) -> str:
    """The text of a row's trained tokens."""
    ids = [token for token, is_trained in zip(row["input_ids"], row["assistant_masks"], strict=True) if is_trained]
    return str(small_tokenizer().decode(ids, skip_special_tokens=False))


def texts(source: str, talk: Talk = TALK, **arguments: Any) -> list[tuple[int, str]]:
    table = pp.ChatTemplate(source, **arguments).render([{"messages": talk}], turns="each")
    return [(row["turn"], row["prompt"]) for row in table.to_pylist()]


def test_a_template_that_drops_reasoning_gives_a_row_for_each_turn() -> None:
    rows = [
        (0, f"{HEAD}<think>One more.</think>2.{END}"),
        (1, f"{HEAD}2.{NEXT}<think>Two more.</think>4.{END}"),
    ]
    assert texts(THINKING) == rows
    # A generation prompt that stands in the template for good makes no difference.
    assert texts(THINKING, add_generation_prompt=True) == rows
    table = tokens(pp.ChatTemplate(THINKING), [{"messages": TALK}], mask="assistant+end", reasoning=True)
    answers = ["<think>One more.</think>2.<|im_end|>", "<think>Two more.</think>4.<|im_end|>"]
    assert [trained(row) for row in table.to_pylist()] == answers


def test_a_turn_begins_with_the_generation_prompt() -> None:
    plain = [{key: message[key] for key in ("role", "content")} for message in TALK]
    first = HEAD.replace("assistant", "model")
    second = f"{HEAD}2.{NEXT}"[: -len("assistant\n")] + "model\n"
    assert texts(SOURCES["asks otherwise"], plain) == [(0, f"{first}2.{END}"), (1, f"{second}4.{END}")]
    table = tokens(pp.ChatTemplate(SOURCES["asks otherwise"]), [{"messages": TALK}], mask="assistant+end")
    assert [trained(row) for row in table.to_pylist()] == ["2.<|im_end|>", "4.<|im_end|>"]


@pytest.mark.parametrize("name", SOURCES)
def test_spans_have_no_gaps(name: str) -> None:
    chat = pp.ChatTemplate(SOURCES[name])
    for row in chat.render([{"messages": TALK}], turns="each", spans="detailed").to_pylist():
        assert [span["start"] for span in row["spans"]] == [0, *(span["end"] for span in row["spans"][:-1])]
        assert row["spans"][-1]["end"] == len(row["prompt"].encode())
        written = [row["prompt"].encode()[span["start"] : span["end"]].decode() for span in row["spans"]]
        contents = [text for text, span in zip(written, row["spans"], strict=True) if span["path"] == "content"]
        assert contents == [message["content"] for message in TALK[: 2 * row["turn"] + 2]]


def test_rows_that_begin_the_next_one_are_part_of_it() -> None:
    talk = [*TALK[:2], {"role": "tool", "content": "ok"}, *TALK[3:4]]
    source = THINKING.replace("loop.last", "loop.index0 > last_user").replace(
        "{% for",
        "{% set last_user = (messages | selectattr('role', 'equalto', 'user') | list | length) - 1 %}{% for",
        1,
    )
    assert [turn for turn, _ in texts(source, talk)] == [1]
    (row,) = tokens(pp.ChatTemplate(source), [{"messages": talk}], mask="assistant", reasoning=True).to_pylist()
    assert trained(row) == "<think>One more.</think>2.<think>Two more.</think>4."


def test_columns_numbers_and_warnings() -> None:
    chat = pp.ChatTemplate(THINKING)
    rows = [{"id": "a", "messages": TALK[:1]}, {"id": "b", "messages": TALK}, {"id": "c", "messages": TALK[:1]}]
    with pytest.warns(pp.PromptWarning, match=r"2 of 3 conversations have no turn .* first row 0, 2"):
        table = chat.render(rows, keep="all", turns="each", hashes=True, spans=True)
    assert table.column_names == ["sample", "id", "messages", "turn", "prompt", "spans", "hash"]
    assert table.select(["sample", "id", "turn"]).to_pylist() == [
        {"sample": 1, "id": "b", "turn": 0},
        {"sample": 1, "id": "b", "turn": 1},
    ]
    for row in table.to_pylist():
        assert [span["start"] for span in row["spans"]] == [0, *(span["end"] for span in row["spans"][:-1])]
    assert chat.last_run.rows == 2
    reader = chat.stream(pa.Table.from_pylist(rows[1:2]), turns="each", index="row", tokenize=small_tokenizer())
    assert reader.read_all().column_names == ["row", "turn", "input_ids", "n_tokens"]


def test_messages_that_are_not_trained_have_no_row() -> None:
    talk = [TALK[0], {**TALK[1], "weight": 0}, *TALK[2:]]
    assert [turn for turn, _ in texts(THINKING, talk)] == [1]
    assert [turn for turn, _ in texts(CHATML, [*TALK[:3], {**TALK[3], "train": False}])] == [0]


def test_errors_are_of_rows() -> None:
    chat = pp.ChatTemplate(SOURCES["refuses empty texts"])
    bad = [*TALK[:2], {"role": "user", "content": "x"}, {"role": "assistant", "content": ""}, *TALK[2:]]
    rows = [{"messages": TALK[:2]}, {"messages": bad}, {"messages": "no JSON"}]
    with pytest.raises(pp.RenderError, match=r"^row 1.*turn 1: .*empty"):
        chat.render(rows, turns="each")
    table = chat.render(rows, turns="each", errors="column").to_pylist()
    assert [(row["sample"], row["turn"], row["error"] and row["error"].split(":")[0]) for row in table] == [
        (0, 0, None),
        (1, 0, None),
        (1, 1, "template_raised"),
        (1, 2, "template_raised"),
        (2, None, "unconvertible_value"),
    ]
    skipped = chat.render(rows, turns="each", errors="skip").to_pylist()
    assert [(row["sample"], row["turn"]) for row in skipped] == [(0, 0), (1, 0)]
    assert chat.last_run.errors.rows == 2
    long = tokens(pp.ChatTemplate(THINKING), [{"messages": TALK}], max_tokens=40, errors="column").to_pylist()
    assert [row["error"] is None for row in long] == [True, False]


def test_what_can_not_be() -> None:
    chat = pp.ChatTemplate(CHATML)
    with pytest.raises(TypeError, match="turns: expected 'all' or 'each'"):
        chat.render([{"messages": TALK}], turns="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="last_turn=True"):
        tokens(chat, [{"messages": TALK}], mask="assistant", last_turn=True)
    with pytest.raises(pp.TemplateError, match="turns are those of a column"):
        pp.Renderer("{q}").tokenize([{"q": "1"}], small_tokenizer(), turns="each")
    with pytest.raises(pp.TemplateError, match="continue_final_message"):
        texts(CHATML, continue_final_message=True)


def test_an_engine_of_turns_can_be_pickled() -> None:
    renderer = TurnsRenderer(TurnsEngine.of(engine_of(pp.ChatTemplate(THINKING))))
    again = pickle.loads(pickle.dumps(renderer))
    assert again.fingerprint() == renderer.fingerprint() != pp.ChatTemplate(THINKING).fingerprint()
    rows = pa.table({"messages": [TALK]})
    assert again.stream(rows).read_all() == renderer.stream(rows).read_all()


def test_answers_of_a_column_have_rows() -> None:
    rows = [{"messages": TALK[:3], "gold": "4."}]
    table = tokens(pp.ChatTemplate(THINKING), rows, mask="assistant", answer="gold")
    assert [trained(row) for row in table.to_pylist()] == ["2.", "4."]


def test_what_is_left_out_of_earlier_turns_is_no_loss() -> None:
    chat = pp.ChatTemplate(SOURCES["drops calls"])
    call = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    talk = [TALK[0], call, {"role": "tool", "content": "2"}, TALK[1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeftOutWarning)
        chat.render([{"messages": talk}], turns="each")
    with pytest.warns(LeftOutWarning, match="tool call"):
        chat.render([{"messages": talk}])


PAIRS = [
    {"prompt": "1+1?", "completion": "2."},
    {"prompt": [*TALK[:3]], "completion": [TALK[3]]},
    {"prompt": '["a", "b"]', "completion": '{"messages": []}'},
]


@UNWARNED  # of reasoning that isn't trained
@pytest.mark.parametrize("turns", ["all", "each"])
def test_completions_are_trained(turns: Any) -> None:
    chat = pp.ChatTemplate(CHATML)
    for pair in PAIRS:
        (row,) = chat.tokenize([pair], small_tokenizer(), mask="assistant+end", turns=turns).to_pylist()
        completion = pair["completion"]
        assert trained(row) == (completion if isinstance(completion, str) else "4.") + "<|im_end|>"
        prompt = pair["prompt"]
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        answer = completion if isinstance(completion, list) else [{"role": "assistant", "content": completion}]
        assert (
            row["input_ids"]
            == chat.tokenize([{"messages": messages + answer}], small_tokenizer())["input_ids"][0].as_py()
        )
    rows = [PAIRS[0], {"prompt": "1+1?", "completion": None}]
    with pytest.raises(pp.RenderError, match="row 1: a prompt and its completion: it is null"):
        chat.tokenize(rows, small_tokenizer(), turns=turns)
    table = chat.tokenize(rows, small_tokenizer(), turns=turns, errors="skip")
    assert len(table) == 1


def test_the_template_sees_the_messages_of_pairs_alone() -> None:
    chat = pp.ChatTemplate("{% for m in messages %}{{ m | tojson }}\n{% endfor %}")
    rows = [{"prompt": TALK[:3], "completion": TALK[3:4]}]
    expected = chat.render([{"messages": TALK[:4]}])["prompt"].to_pylist()
    assert chat.render(rows)["prompt"].to_pylist() == expected
    assert chat.render(rows, turns="each")["prompt"].to_pylist() == expected


def test_preferences() -> None:
    chat = pp.ChatTemplate(CHATML)
    tokenizer = small_tokenizer()
    question, good, bad = TALK[0], {"role": "assistant", "content": "2."}, {"role": "assistant", "content": "3"}
    forms = [
        [{"id": 7, "prompt": "1+1?", "chosen": "2.", "rejected": "3"}],
        [{"id": 7, "prompt": [question], "chosen": [good], "rejected": [bad]}],
        [{"id": 7, "chosen": [question, good], "rejected": [question, bad]}],
    ]
    for rows in forms:
        (row,) = pp.export.trl_preference_tokens(rows, chat, tokenizer, keep=["id"]).to_pylist()
        assert list(row) == ["id", "prompt_ids", "chosen_ids", "rejected_ids"]
        decoded = [tokenizer.decode(row[name], skip_special_tokens=False) for name in list(row)[1:]]
        assert decoded == [HEAD, f"2.{END}", f"3{END}"]
    (row,) = pp.export.trl_preference_tokens(
        [{"messages": [question], "good": "2.", "bad": "3"}], chat, tokenizer, chosen="good", rejected="bad"
    ).to_pylist()
    assert [tokenizer.decode(ids, skip_special_tokens=False) for ids in row.values()] == decoded
    with pytest.raises(pp.RenderError, match='column "rejected"'):
        pp.export.trl_preference_tokens([{"prompt": "1", "chosen": "2"}], chat, tokenizer)
    texts, lists, whole = (form[0] for form in forms)
    for sound, fault, error in (
        (texts, {"chosen": None}, "it is null"),
        (texts, {"prompt": None}, "it is null"),
        (lists, {"prompt": []}, "it is empty"),
        (lists, {"rejected": []}, "it is empty"),
        (lists, {"rejected": [question]}, "it has no assistant message"),
        (whole, {"rejected": None}, "it is null"),
        (whole, {"chosen": []}, "it is empty"),
        (whole, {"chosen": [good]}, "both answers differ from their first messages on"),
    ):
        with pytest.raises(pp.RenderError, match=f'row 1, column "{min(fault)}": {error}'):
            pp.export.trl_preference_tokens([sound, sound | fault], chat, tokenizer)
    refusing = pp.ChatTemplate("{{ raise_exception('no') }}")
    with pytest.raises(pp.RenderError, match=r'row 0, column "prompt": .*no'):
        pp.export.trl_preference_tokens(forms[0], refusing, tokenizer)
    beginning = {"chosen": [question, good], "rejected": [question]}
    with pytest.raises(pp.RenderError, match='row 0, column "rejected": one answer is the beginning of the other'):
        pp.export.trl_preference_tokens([beginning], chat, tokenizer)


def test_what_the_template_writes_before_an_answer_is_not_the_prompt() -> None:
    """A model is asked with the generation prompt alone, so it has to write an empty think block itself."""
    source = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    rows = [{"prompt": "1+1?", "chosen": "2.", "rejected": "3"}]
    for asks in (False, True):
        chat = pp.ChatTemplate(source, add_generation_prompt=asks)
        (row,) = pp.export.trl_preference_tokens(rows, chat, small_tokenizer()).to_pylist()
        decoded = [small_tokenizer().decode(ids, skip_special_tokens=False) for ids in row.values()]
        assert decoded == [HEAD, f"<think>\n\n</think>\n\n2.{END}", f"<think>\n\n</think>\n\n3{END}"]


GENERATING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.mark.parametrize("turns", ["all", "each"])
def test_generation_blocks_of_prompts_are_not_trained(turns: Any) -> None:
    rows = [{"prompt": TALK[:3], "completion": TALK[3:4]}, PAIRS[0]]
    table = pp.ChatTemplate(GENERATING).tokenize(rows, small_tokenizer(), mask="generation", turns=turns)
    assert [trained(row) for row in table.to_pylist()] == ["4.<|im_end|>", "2.<|im_end|>"]
    counting = GENERATING.replace("{% for", "{{ messages | length }}{% for", 1)
    with pytest.raises(pp.RenderError, match=r"row 0.*writes the prompt otherwise before its completion"):
        pp.ChatTemplate(counting).tokenize(rows, small_tokenizer(), mask="generation")


def test_untrained_reasoning_has_a_note() -> None:
    rows = [{"messages": TALK[:2]}, {"messages": [TALK[0], {"role": "assistant", "content": "2"}]}]
    chat = pp.ChatTemplate(THINKING)
    with pytest.warns(pp.PromptWarning, match="in 1 of 2 conversations an assistant's reasoning isn't trained"):
        chat.tokenize(rows, small_tokenizer(), mask="assistant", turns="each")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pp.PromptWarning)
        chat.tokenize(rows, small_tokenizer(), mask="assistant", turns="each", reasoning=True)


def test_the_first_row_that_fails_is_named() -> None:
    """Texts are rendered before the prompts that ask for them; the error is that of the first row all the same."""
    source = CHATML.replace(
        "{% for m in messages %}",
        "{% if add_generation_prompt and messages[-1].content == 'a' %}{{ raise_exception('asked') }}{% endif %}"
        "{% if messages[-1].content == 'b' %}{{ raise_exception('said') }}{% endif %}{% for m in messages %}",
        1,
    )
    talks = [[TALK[0], {"role": "assistant", "content": "2."}] for _ in range(4)]
    talks[1] = [{"role": "user", "content": "a"}, talks[1][1]]
    talks[3] = [TALK[0], {"role": "assistant", "content": "b"}]
    chat = pp.ChatTemplate(source)
    for rows, row in ((talks, 1), (talks[2:], 1), ([talks[3], talks[1]], 0), ([talks[1], talks[3]], 0)):
        with pytest.raises(pp.RenderError, match=f"^row {row}"):
            chat.render([{"messages": talk} for talk in rows], turns="each")


def test_prompts_of_both_kinds_in_one_table() -> None:
    """A column that is a text in one row and messages in another holds JSON; its texts are what they say."""
    chat = pp.ChatTemplate(CHATML)
    alone = [chat.tokenize([pair], small_tokenizer(), mask="assistant+end").to_pylist()[0] for pair in PAIRS]
    assert chat.tokenize(PAIRS, small_tokenizer(), mask="assistant+end").to_pylist() == alone
    findings = chat.audit(PAIRS, tokenizer=small_tokenizer(), mask="assistant+end")
    assert "unrenderable_row" not in findings["code"].to_pylist()


def test_nulls_within_messages_stay() -> None:
    """Python rows keep what they hold, however they become rows of turns or conversations."""
    user, answer = (
        {"role": role, "content": [{"type": "text", "text": role, "image": None}]} for role in ("user", "assistant")
    )
    call = {"id": None, "type": "function", "function": {"name": "f", "arguments": {"a": None}}}
    written = "{{ m.content | tojson if m.content }}{{ m.tool_calls | tojson if m.tool_calls }}"
    chat = pp.ChatTemplate("{% for m in messages %}<{{ m.role }}>" + written + "{% endfor %}")
    alone = {"role": "assistant", "content": None, "tool_calls": [call]}
    for messages in ([user, answer], [user, {**answer, "tool_calls": [call]}], [alone]):
        (text,) = chat.render([{"messages": messages}])["prompt"].to_pylist()
        assert "null" in text
        assert chat.render([{"messages": messages}], turns="each")["prompt"].to_pylist() == [text]
        if len(messages) == 2:
            pair = {"prompt": messages[:1], "completion": messages[1:]}
            assert chat.render([pair])["prompt"].to_pylist() == [text]


UNTRAINED: list[Talk] = [
    [{"role": "user", "content": "u"}],
    [{"role": "assistant", "content": "a", "weight": 0}],
]


@pytest.mark.parametrize("messages", UNTRAINED)
def test_a_table_without_a_trained_turn(messages: Talk) -> None:
    with pytest.warns(UserWarning, match="no turn of an assistant"):
        table = pp.ChatTemplate(CHATML).tokenize(
            [{"messages": messages}], small_tokenizer(), mask="assistant", turns="each"
        )
    assert table.num_rows == 0


def test_the_first_error_is_raised() -> None:
    good = TALK[:2]
    strict = pp.ChatTemplate(CHATML.replace("{{ m.content }}", "{{ m.content.strip() }}"))
    bad = [TALK[0], {"role": "assistant"}]
    for rows, row in (([good, None, bad], 1), ([good, bad, None], 1), ([bad, "[1]"], 0)):
        texts = [messages if isinstance(messages, str) else json.dumps(messages) for messages in rows]
        with pytest.raises(pp.RenderError) as caught:
            strict.render([{"messages": text} for text in texts], turns="each")
        assert caught.value.row == row

"""Budgets of tokens together with all that a renderer has, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.small_tokenizers import KINDS, small_tokenizer

pytestmark = UNWARNED

TRAIN = pa.table({"q": [f"{n}+{n}?" for n in range(6)], "a": [str(2 * n) for n in range(6)]})
SAMPLES = pa.table({"q": ["7?", "what is " * 5, "x" * 200, "8?"], "a": ["7", "5", "200", "8"]})
SHOTS = {"shots": 5, "examples": TRAIN, "output_column": "a"}
READER = {"input_columns": ["q"], "output_column": "a"}
FIXED = {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3, 4]}
API = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
TURNS = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
DIALOGUE: dict[str, Any] = {
    "prompt_template": {"type": "PromptTemplate", "template": {"begin": "</E>", **TURNS}, "ice_token": "</E>"},
    "ice_template": {"type": "PromptTemplate", "template": TURNS},
    "retriever": FIXED,
    "examples": TRAIN,
    "reader": READER,
}


def renderer(most: int = 60, **options: Any) -> pp.Renderer:
    return pp.Renderer("Q: {q}\nA: {a}", **{**SHOTS, **options}, tokenizer=small_tokenizer(), max_seq_len=most)


def test_statistics_say_how_many_prompts_keep_how_many_examples() -> None:
    statistics = pp.stats(renderer(), SAMPLES)
    assert statistics.shots is not None
    assert statistics.shots.to_pylist() == [
        {"n_shots": 3, "requests": 2, "truncated": 0},
        {"n_shots": 1, "requests": 1, "truncated": 0},
        {"n_shots": 0, "requests": 1, "truncated": 1},
    ]
    assert "requests by the number of examples that fit" in str(statistics)
    whole, plain = pp.stats(renderer(10**6), SAMPLES), pp.stats(pp.Renderer("Q: {q}\nA: {a}", **SHOTS), SAMPLES)
    assert plain.shots is None
    assert (whole.by_origin, whole.by_column, whole.bytes) == (plain.by_origin, plain.by_column, plain.bytes)
    nothing = pp.stats(renderer(), SAMPLES.slice(0, 0))
    assert nothing.shots is not None
    assert nothing.shots.num_rows == 0


@pytest.mark.parametrize("column", [True, False])
def test_prompts_in_prefix_order_are_the_same(column: bool) -> None:
    options: dict[str, Any] = (
        {"retriever": FIXED} if column else {"retriever": {"type": "RandomRetriever", "ice_num": 4}}
    )
    ice = {"template": "Q: {q}\nA: {a}", "ice_token": "</E>"}
    made = pp.Renderer(
        {"template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"},
        {**ice, "template": "Q: {q}\nA: {a}", "ice_token": None},
        examples=TRAIN, reader=READER, tokenizer=small_tokenizer(), max_seq_len=60, **options,
    )  # fmt: skip
    table = made.render(SAMPLES, index="sample", hashes=True, spans=True).to_pylist()
    ordered = made.render(SAMPLES, order="prefix", shared=True, hashes=True, spans=True)
    plain = ordered.drop_columns(["prefix_group", "shared_bytes"]).sort_by("sample").to_pylist()
    assert plain == table
    shared = ordered.to_pylist()
    for before, row in pairwise(shared):
        assert row["prompt"].encode()[: row["shared_bytes"]] == before["prompt"].encode()[: row["shared_bytes"]]


def test_rows_with_errors_are_left_out_and_others_are_fitted() -> None:
    samples = SAMPLES.append_column("shots", pa.array([[0, 1, 2, 3, 4], None, [0, 99], [4, 3, 2, 1, 0]]))
    made = pp.Renderer(
        {"template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"},
        {"template": "Q: {q}\nA: {a}"},
        {"type": "IndexColumn", "column": "shots"},
        TRAIN, READER, tokenizer=small_tokenizer(), max_seq_len=60,
    )  # fmt: skip
    rows = made.render(samples, errors="column").to_pylist()
    assert [row["n_shots"] for row in rows] == [3, None, None, 3]
    assert [row["truncated"] for row in rows] == [False, None, None, False]
    assert [row["error"] is None for row in rows] == [True, False, False, True]
    left = made.render(samples, errors="skip", index="row")
    assert left["row"].to_pylist() == [0, 3]
    assert made.last_run is not None
    assert made.last_run.errors.rows == 2
    with pytest.raises(pp.RenderError, match="row 1"):
        made.render(samples)


def test_columns_have_other_names() -> None:
    names = {"prompt": "text", "n_shots": "shots", "truncated": "too_long"}
    assert renderer(names=names).render(SAMPLES).column_names == ["text", "shots", "too_long"]
    tokens = renderer(names=names).tokenize(SAMPLES, small_tokenizer())
    assert tokens.column_names == ["input_ids", "n_tokens", "shots", "too_long"]
    with pytest.raises(pp.RenderError, match="would be called 'prompt'"):
        renderer(names={"n_shots": "prompt"}).render(SAMPLES)
    with pytest.raises(pp.RenderError, match="n_shots"):
        renderer().render(SAMPLES.append_column("n_shots", SAMPLES["a"]), keep=["n_shots"])


def test_tokens_are_those_of_the_fitted_prompts() -> None:
    tokenizer, made = small_tokenizer(), renderer()
    prompts, tokens = made.render(SAMPLES), made.tokenize(SAMPLES, tokenizer)
    assert [tokenizer.decode(ids) for ids in tokens["input_ids"].to_pylist()] == prompts["prompt"].to_pylist()
    assert tokens.select(["n_shots", "truncated"]) == prompts.select(["n_shots", "truncated"])
    cut = made.tokenize(SAMPLES, tokenizer, max_tokens=55, truncation="left")
    assert cut.column_names == ["input_ids", "n_tokens", "truncated", "n_shots"]
    assert max(cut["n_tokens"].to_pylist()) == 55
    assert cut["truncated"].to_pylist() == [count > 55 for count in tokens["n_tokens"].to_pylist()]


def test_one_batch_stays_one_batch() -> None:
    made = renderer()
    (batch,) = SAMPLES.to_batches()
    assert pa.Table.from_batches([made(batch)]).select(["prompt", "n_shots", "truncated"]) == made.render(SAMPLES)
    assert made(SAMPLES).select(["prompt", "n_shots", "truncated"]) == made.render(SAMPLES)


def test_messages_are_counted_as_the_harness_prints_them() -> None:
    made = pp.Renderer(**DIALOGUE, meta_template=API, tokenizer=small_tokenizer(), max_seq_len=30)
    table, plain = made.render(SAMPLES), pp.Renderer(**DIALOGUE, meta_template=API)
    assert table.schema == made.output_schema(SAMPLES.schema)
    assert table.schema.field("prompt") == plain.output_schema(SAMPLES.schema).field("prompt")
    for row, whole in zip(table.to_pylist(), plain.render(SAMPLES)["prompt"].to_pylist(), strict=True):
        left = [*whole[: 2 * row["n_shots"]], whole[-1]]
        assert [message["prompt"] for message in row["prompt"]] == [message["prompt"] for message in left]
        count = len(small_tokenizer().encode("".join(message["prompt"] for message in left)).ids)
        assert (count > 30) == row["truncated"]
        assert row["n_shots"] in {0, 5} or count <= 30


@pytest.mark.parametrize("meta", [API, None])
@pytest.mark.parametrize("output", ["openai", "messages_json", "prompt_list"])
def test_other_forms_of_messages_have_the_examples_that_the_harness_leaves(meta: Any, output: Any) -> None:
    """The harness counts the same in whichever form prompts are handed on."""
    budget: dict[str, Any] = {"meta_template": meta, "tokenizer": small_tokenizer(), "max_seq_len": 54}
    made, counted = pp.Renderer(**DIALOGUE, output=output, **budget), pp.Renderer(**DIALOGUE, **budget)
    table = made.render(SAMPLES)
    assert table.schema == made.output_schema(SAMPLES.schema)
    assert table.select(["n_shots", "truncated"]) == counted.render(SAMPLES).select(["n_shots", "truncated"])
    assert len(set(table["n_shots"].to_pylist())) > 2
    for number, count in enumerate(table["n_shots"].to_pylist()):
        fewer = {**DIALOGUE, "retriever": {"type": "FixKRetriever", "fix_id_list": list(range(count))}}
        plain = pp.Renderer(**fewer, output=output, meta_template=meta).render(SAMPLES.slice(number, 1))
        assert pp.to_pylist(table["prompt"])[number] == pp.to_pylist(plain["prompt"])[0]
    batches = pa.Table.from_batches([made(batch) for batch in SAMPLES.to_batches()])
    assert batches.select(table.column_names) == table


def test_a_harness_that_leaves_nothing_out_keeps_all_examples() -> None:
    for options in ({"dialect": "aisbench"}, {"inferencer": {"type": "SWCELossInferencer"}}):
        made = pp.Renderer(**DIALOGUE, **options, output="text", tokenizer=small_tokenizer(), max_seq_len=10)
        rows = made.render(SAMPLES)
        assert set(rows["n_shots"].to_pylist()) == {5}
        assert all(rows["truncated"].to_pylist())
        assert rows["prompt"] == pp.Renderer(**DIALOGUE, **options, output="text").render(SAMPLES)["prompt"]


def test_the_configuration_says_how_many_tokens_there_are() -> None:
    infer = {name: value for name, value in DIALOGUE.items() if name not in {"examples", "reader"}}
    dataset = {"reader_cfg": READER, "infer_cfg": {**infer, "inferencer": {"type": "GenInferencer", "max_seq_len": 3}}}
    options: dict[str, Any] = {"examples": TRAIN, "tokenizer": small_tokenizer()}

    def shots(model: Any, **more: Any) -> Any:
        rendered = pp.Renderer.from_config(dataset, model, **options, **more).render(SAMPLES)
        return rendered["n_shots"].to_pylist() if "n_shots" in rendered.column_names else None

    of_model = {"type": "HuggingFace", "max_seq_len": 30}
    expected = pp.Renderer(**DIALOGUE, output="text", tokenizer=small_tokenizer(), max_seq_len=30).render(SAMPLES)
    assert shots(of_model) == expected["n_shots"].to_pylist()
    # The harness's task puts the model's number, or none, in the path of the inferencer's.
    assert shots({"type": "HuggingFace"}) is None
    assert shots(None) == [0] * 4
    assert shots(of_model, max_seq_len=10**6) == [5] * 4
    with pytest.raises(pp.TemplateError, match="chat_template"):
        shots({"type": "HuggingFacewithChatTemplate", "max_seq_len": 30})
    with pytest.warns(pp.PromptWarning, match="counts tokens in its own way"):
        shots({"type": "OpenAI", "max_seq_len": 30})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pp.Renderer.from_config(dataset, of_model, **options)


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"max_seq_len": None, "fit": "last"}, "max_seq_len"),
        ({"tokenizer": None}, "tokenizer"),
        ({"tokenizer": None, "max_seq_len": None, "fit": "last"}, "tokenizer"),
        ({"max_seq_len": -1}, "max_seq_len"),
        ({"max_seq_len": "60"}, "max_seq_len"),
        ({"max_seq_len": True}, "max_seq_len"),
        ({"fit": "most"}, "fit"),
        ({"fit": "last", "reserve": 61}, "reserve"),
        ({"fit": "last", "reserve": -1}, "reserve"),
        ({"reserve": 1}, "reserve"),
        ({"fit_labels": "jointly"}, "fit_labels"),
        ({"fit": "last", "fit_labels": "all"}, "fit_labels"),
    ],
)
def test_wrong_arguments_name_their_place(options: dict[str, Any], path: str) -> None:
    with pytest.raises(pp.TemplateError) as caught:
        pp.Renderer("{q}", **{"tokenizer": small_tokenizer(), "max_seq_len": 60, **options})
    assert caught.value.path == path


def test_what_has_no_tokens_is_refused(tmp_path: Path) -> None:
    budget: dict[str, Any] = {"tokenizer": small_tokenizer(), "max_seq_len": 60}
    for output in ("messages", "prompt_list", "messages_json", "openai"):
        made = pp.Renderer(**DIALOGUE, meta_template=API, **budget, output=output, fit="last")
        with pytest.raises(pp.TemplateError, match="chat_template= as the text that a chat model gets"):
            made.render(SAMPLES)
    replies = {"type": "ChatInferencer", "infer_mode": "every"}
    with pytest.raises(pp.TemplateError, match="nobody knows what fits"):
        pp.Renderer(inferencer=replies, reader={"input_columns": ["m"], "output_column": None}, **budget)
    chat = pp.ChatTemplate("{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}")
    made = pp.Renderer(**DIALOGUE, chat_template=chat, **budget)
    with pytest.raises(pp.TemplateError, match="needs no marks"):
        made.tokenize(SAMPLES, small_tokenizer(), mask="generation")
    with pytest.raises(FileNotFoundError):
        pp.Renderer("{q}", tokenizer=str(tmp_path), max_seq_len=60)


def test_renderers_with_other_budgets_differ() -> None:
    made = renderer()
    assert made == renderer()
    assert hash(made) == hash(renderer())
    others = [
        renderer(61),
        renderer(fit="first"),
        pp.Renderer("Q: {q}\nA: {a}", **SHOTS),
        renderer(names={"n_shots": "n"}),
    ]
    for other in others:
        assert made != other
        assert other != made
    assert len({budget.fingerprint() for budget in [made, *others]}) == len(others)  # names decide no bytes
    assert "limit=60" in repr(made)


def test_labels_of_a_column_are_fitted_and_explained() -> None:
    config: dict[str, Any] = {
        "prompt_template": {"template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"},
        "ice_template": {"template": "Q: {q}\nA: {a}"},
        "retriever": {"type": "RandomRetriever", "ice_num": 4},
        "examples": TRAIN,
        "reader": READER,
        "mode": "ppl",
    }
    made = pp.Renderer(**config, tokenizer=small_tokenizer(), max_seq_len=60)
    table = made.render(SAMPLES, index="row", spans="detailed")
    labels = sorted(SAMPLES["a"].to_pylist())
    assert table["label"].to_pylist() == labels * len(SAMPLES)
    assert len(set(table["n_shots"].to_pylist())) > 2
    for number, row in enumerate(table.to_pylist()):
        explained = made.explain(SAMPLES, row["row"], row["label"]).to_pylist()
        assert explained[-1]["end"] == len(row["prompt"].encode()), number
        assert [span["end"] for span in explained] == [span["end"] for span in row["spans"]]
    with pytest.raises(pp.TemplateError, match="labels="):
        made.stream(SAMPLES)
    ordered = made.render(SAMPLES, order="prefix").sort_by([("sample", "ascending"), ("label", "ascending")])
    assert ordered["prompt"].to_pylist() == table["prompt"].to_pylist()
    assert pp.stats(made, SAMPLES).shots is not None
    assert made.audit(SAMPLES).num_rows > 0


def test_the_tokenizer_of_a_renderer_is_the_default() -> None:
    """It is that of all methods that take one, with a budget and without."""
    tokenizer, other = small_tokenizer(), small_tokenizer(KINDS[-1])
    plain = pp.Renderer("Q: {q}\nA: {a}", **SHOTS)
    for budget in ({}, {"max_seq_len": 60}):
        made = pp.Renderer("Q: {q}\nA: {a}", **SHOTS, tokenizer=tokenizer, **budget)
        assert ("n_shots" in made.render(SAMPLES).column_names) == bool(budget)
        tokens = made.tokenize(SAMPLES, tokenizer)
        assert made.tokenize(SAMPLES) == tokens
        assert pickle.loads(pickle.dumps(made)).tokenize(SAMPLES) == tokens
        assert made.stream(SAMPLES, tokenize={}).read_all().to_pylist() == tokens.to_pylist()
        assert made.tokenize(SAMPLES, other) != tokens
        assert made.audit(SAMPLES) == made.audit(SAMPLES, tokenizer=tokenizer)
        counted = pp.stats(made, SAMPLES).tokens
        assert counted is not None
        assert counted.sum == pp.stats(made, SAMPLES, tokenizer=tokenizer).tokens.sum  # type: ignore[union-attr]
        assert made == pp.Renderer("Q: {q}\nA: {a}", **SHOTS, tokenizer=tokenizer, **budget)
        assert made != pp.Renderer("Q: {q}\nA: {a}", **SHOTS, tokenizer=other, **budget)
        assert made != plain
        assert (made.fingerprint() == plain.fingerprint()) == (not budget)
    for call in (plain.tokenize, pp.JinjaTemplate("{{ q }}").tokenize, lambda rows: plain.stream(rows, tokenize={})):
        with pytest.raises(TypeError, match=r"Renderer\(tokenizer=\) has one for all calls"):
            call(SAMPLES)

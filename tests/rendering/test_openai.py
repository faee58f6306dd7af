"""`output="openai"` and `roles`: what holds of it beside the cases of `tests/cases/openai/`."""

from __future__ import annotations

import pickle
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from comparing import clean, fits_arrow
from generators.strategies import Case, cases
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models import openai_model
from models.plain_model import ModelError
from test_against_model import model_of

META = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
PAIR = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
SAMPLES = pa.table({"q": ["1+1?", "{a}", "x"], "a": ["2", "{q}", None]})
TALKS = pa.table(
    {
        "q": ["1", "2", "3"],
        "talk": [
            [{"role": "human", "content": "a", "name": None}, {"role": "gpt", "content": "b", "name": "n"}],
            [],
            [{"role": "Tool", "content": "{q}", "name": None}],
        ],
    }
)
EXPANDED = [{"role": "system", "content": "S {q}"}, {"expand_column": "talk"}]
LAYOUTS = ("string", "large_string", "string_view")
CONFIGS: dict[str, tuple[dict[str, Any], pa.Table]] = {
    "messages": ({"prompt_template": PAIR, "meta_template": META}, SAMPLES),
    "ppl": ({"prompt_template": PAIR, "meta_template": META, "mode": "ppl", "labels": ["A", "B"]}, SAMPLES),
    "a text": ({"prompt_template": "Q: {q}"}, SAMPLES),
    "a column": ({"prompt_template": EXPANDED}, TALKS),
    "a column with a meta template": (
        {"prompt_template": EXPANDED, "meta_template": [{"role": "user", "content": "M "}]},
        TALKS,
    ),
}


def of(name: str, **more: Any) -> tuple[pp.Renderer, pa.Table]:
    config, samples = CONFIGS[name]
    return pp.Renderer(**{**config, "output": "openai", **more}), samples


@pytest.mark.parametrize("strings", LAYOUTS)
@pytest.mark.parametrize("name", CONFIGS)
def test_any_split_of_the_rows_gives_the_same(name: str, strings: str) -> None:
    renderer, samples = of(name, strings=strings)
    whole = renderer.render(samples)
    assert whole.schema == renderer.output_schema(samples.schema)
    message = whole.schema.field("prompt").type.value_type
    assert [field.name for field in message][:2] == ["role", "content"]
    assert message.field("role").type == getattr(pa, strings)()
    for size in (1, 2):
        batches = samples.to_batches(max_chunksize=size)
        assert renderer.stream(batches).read_all().combine_chunks() == whole.combine_chunks()
        assert renderer.render(pa.Table.from_batches(batches)).combine_chunks() == whole.combine_chunks()
    second_row = renderer.render(samples.slice(1, 1))["prompt"].to_pylist()
    times = len(whole) // len(samples)
    assert second_row == whole["prompt"].to_pylist()[times : 2 * times]
    empty = renderer.render(samples.slice(0, 0))
    assert (len(empty), empty.schema) == (0, whole.schema)


@pytest.mark.parametrize("name", CONFIGS)
def test_explain_covers_the_contents(name: str) -> None:
    renderer, samples = of(name)
    prompts = renderer.render(samples)["prompt"].to_pylist()
    times = len(prompts) // len(samples)
    for row in range(len(samples)):
        prompt = prompts[row * times]
        spans = renderer.explain(samples, row).to_pylist()
        for number, message in enumerate(prompt):
            spans_of_message = [span for span in spans if span["message"] == number]
            ends = [0, *(span["end"] for span in spans_of_message)]
            assert [span["start"] for span in spans_of_message] == ends[:-1]
            assert ends[-1] == len(message["content"].encode())


def test_explain_counts_texts_among_lists_of_parts_as_parts() -> None:
    template = [{"role": "system", "content": "S {q}"}, {"role": "user", "content": [{"type": "text", "text": "a"}]}]
    spans = pp.Renderer(template, output="openai").explain(SAMPLES, 0)
    assert [(span["message"], span["part"], span["end"]) for span in spans.to_pylist()] == [
        (0, 0, 2),
        (0, 0, 6),
        (1, 0, 1),
    ]


@pytest.mark.parametrize("output", ["openai", "messages_json"])
def test_explain_covers_parts_that_nothing_fills(output: str) -> None:
    """Those of the template and, in OpenAI's form, those of a column; `stats` counts the same bytes."""
    image = {"type": "image_url", "image_url": {"url": "né"}}
    talk = [{"role": "user", "content": [image, {"type": "text", "text": "a"}]}]
    samples = pa.table({"q": ["x", "y"], "talk": [[], talk]})
    message = {"role": "user", "content": [{"type": "text", "text": "b"}, image, {"type": "x"}]}
    columns = [{"expand_column": "talk"}] if output == "openai" else []
    renderer = pp.Renderer([message, *columns, {"role": "user", "content": "{q}"}], output=output)
    first = [("b", 0, 0, None), ("né", 0, 1, None)]
    brought = [("né", 1, 0, "talk"), ("a", 1, 1, "talk")] if columns else []
    last = 0 if columns else None
    want = [[*first, ("x", 1, last, "q")], [*first, *brought, ("y", 2 if brought else 1, last, "q")]]
    explained = [renderer.explain(samples, row).to_pylist() for row in range(2)]
    for texts, spans in zip(want, explained, strict=True):
        expected = [(0, len(text.encode()), *location) for text, *location in texts]
        assert [(s["start"], s["end"], s["message"], s["part"], s["column"]) for s in spans] == expected
    size = sum(span["end"] - span["start"] for spans in explained for span in spans)
    assert size == pp.stats(renderer, samples).bytes.sum


@pytest.mark.parametrize("name", CONFIGS)
def test_divergence_is_that_of_messages(name: str) -> None:
    renderer, samples = of(name)
    config, _ = CONFIGS[name]
    other = pp.Renderer(**{**config, "output": "text" if name == "a text" else "messages"})
    assert renderer.divergence(samples).to_pylist() == other.divergence(samples).to_pylist()
    assert renderer.notes(samples) == other.notes(samples)


def test_roles_are_part_of_a_renderer() -> None:
    config = {"prompt_template": PAIR, "meta_template": META, "output": "openai"}
    renderer = pp.Renderer(**config, roles={"HUMAN": "developer", "SYSTEM": "user"})
    assert renderer == pp.Renderer(**config, roles={"SYSTEM": "user", "HUMAN": "developer"})
    assert renderer != pp.Renderer(**config)
    again = pickle.loads(pickle.dumps(renderer))
    assert again == renderer
    assert again.render(SAMPLES) == renderer.render(SAMPLES)
    assert "roles={'HUMAN': 'developer'" in repr(renderer)


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no dict": ({"roles": ["HUMAN"]}, "wrong_type", "roles: expected a dict"),
    "a role that is no str": ({"roles": {1: "user"}}, "wrong_type", "roles: expected names of roles as keys"),
    "a name that is no str": ({"roles": {"HUMAN": 1}}, "wrong_type", "roles.HUMAN: expected a role"),
    "an empty name": ({"roles": {"HUMAN": ""}}, "wrong_type", "roles.HUMAN: expected a role of OpenAI's form, found"),
    "another output": ({"roles": {"HUMAN": "user"}, "output": "messages"}, "unsupported_mode", 'output="openai"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_roles_that_are_none(name: str) -> None:
    given_settings, code, message = WRONG[name]
    with pytest.raises(pp.TemplateError) as raised:
        pp.Renderer(PAIR, meta_template=META, **{"output": "openai", **given_settings})
    assert (raised.value.code, message in str(raised.value)) == (code, True), str(raised.value)


def test_no_roles_go_with_any_output() -> None:
    assert pp.Renderer("{q}", roles={}).render(SAMPLES)["prompt"][0].as_py() == "1+1?"


def test_a_misspelt_role_is_noted() -> None:
    renderer = pp.Renderer(PAIR, meta_template=META, output="openai", roles={"HUMAM": "user", "CRITIC": "user"})
    (note,) = [note for note in renderer.notes(SAMPLES.schema).to_pylist() if note["place"] == "roles"]
    assert (note["code"], note["remedy"]) == ("unread_key", "did you mean 'HUMAN'?")
    right = pp.Renderer(PAIR, meta_template=META, output="openai", roles={"HUMAN": "user", "CRITIC": "user"})
    assert not [note for note in right.notes(SAMPLES.schema).to_pylist() if note["place"] == "roles"]


SHARED = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN"},
        {"role": "SYSTEM", "api_role": "HUMAN"},
        {"role": "BOT", "api_role": "BOT", "generate": True},
    ]
}


@pytest.mark.parametrize("shared", ["HUMAN", "user", "ASKER"])
def test_one_of_two_with_an_api_role_does_not_rename_both(shared: str) -> None:
    """As OpenCompass's chat-template models have it: what the system says is the user's."""
    meta = {"round": [{**role, "api_role": shared} for role in SHARED["round"][:2]] + SHARED["round"][2:]}
    with pytest.raises(pp.TemplateError, match=f"the api_role '{shared}' is that of 'HUMAN', which is") as raised:
        pp.Renderer(PAIR, meta_template=meta, output="openai", roles={"SYSTEM": "developer"})
    assert (raised.value.code, raised.value.path) == ("unmapped_role", "meta_template.round[0].api_role")
    for roles in ({shared: "developer"}, {"SYSTEM": "developer", "HUMAN": "developer"}):
        renderer = pp.Renderer(PAIR, meta_template=meta, output="openai", roles=roles)
        assert renderer.render(SAMPLES)["prompt"][0].as_py() == [{"role": "developer", "content": "1+1?\n"}]
    same = pp.Renderer(PAIR, meta_template=meta, output="openai", roles={"SYSTEM": "user"})
    assert same.render(SAMPLES)["prompt"][0].as_py() == [{"role": "user", "content": "1+1?\n"}]


PARTS = [{"type": "text", "text": "P"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
MESSAGES_OF_PARTS = [{"role": "user", "content": PARTS}]


@pytest.mark.parametrize("strings", LAYOUTS)
@pytest.mark.parametrize("type_of_texts", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
@pytest.mark.parametrize("with_text", [True, False])
def test_texts_of_a_column_are_parts_where_others_are(
    strings: str, type_of_texts: pa.DataType, with_text: bool
) -> None:
    message = pa.struct([("role", pa.string()), ("content", type_of_texts)])
    talks = [[{"role": "human", "content": "a"}, {"role": "gpt", "content": None}], [], None]
    samples = pa.table({"talk": pa.array(talks, pa.list_(message)), "q": ["1", "2", "3"]})
    template = [
        {"expand_column": "talk"},
        *MESSAGES_OF_PARTS,
        *([{"role": "user", "content": "{q}"}] if with_text else []),
    ]
    renderer = pp.Renderer(template, output="openai", strings=strings)
    table = renderer.render(samples)
    assert table.schema == renderer.output_schema(samples.schema)
    table.validate(full=True)

    def text(value: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": value}]

    conversations = [[{"role": "user", "content": text("a")}, {"role": "assistant"}], [], []]
    want = [
        [*talk, *MESSAGES_OF_PARTS, *([{"role": "user", "content": text(str(n))}] if with_text else [])]
        for n, talk in enumerate(conversations, 1)
    ]
    assert clean(table["prompt"].to_pylist()) == clean(want)


@pytest.mark.parametrize("one_first", [True, False])
def test_columns_of_texts_and_of_parts(one_first: bool) -> None:
    samples = pa.table({"said": [[{"role": "user", "content": "a"}]], "shown": [MESSAGES_OF_PARTS]})
    names = ["said", "shown"] if one_first else ["shown", "said"]
    renderer = pp.Renderer([{"expand_column": name} for name in names], output="openai")
    want = {"said": {"role": "user", "content": [{"type": "text", "text": "a"}]}, "shown": MESSAGES_OF_PARTS[0]}
    assert clean(renderer.render(samples)["prompt"].to_pylist()) == clean([[want[name] for name in names]])


WORDS = [{"role": "user", "content": ["a", "b"]}]


def test_a_column_of_silent_messages_and_one_of_empty_lists_of_parts() -> None:
    samples = pa.table({"a": [[{"role": "user", "content": None}]], "b": [[{"role": "user", "content": []}]]})
    for names in (["a", "b"], ["b", "a"]):
        renderer = pp.Renderer([{"expand_column": name} for name in names], output="openai")
        is_silent = {message["content"] is None for message in renderer.render(samples)["prompt"][0].as_py()}
        assert is_silent == {True, False}


@pytest.mark.parametrize("more", [[], [{"role": "user", "content": "{q}"}], MESSAGES_OF_PARTS, WORDS])
def test_a_column_whose_messages_all_say_nothing(more: list[Any]) -> None:
    calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    samples = pa.table({"talk": [[message]], "q": ["1"]})
    assert samples.schema.field("talk").type.value_type.field("content").type == pa.null()
    renderer = pp.Renderer([{"expand_column": "talk"}, *more], output="openai")
    table = renderer.render(samples)
    assert table.schema == renderer.output_schema(samples.schema)
    prompt = table["prompt"][0].as_py()
    assert (prompt[0]["content"], prompt[0]["tool_calls"], len(prompt)) == (None, calls, 1 + len(more))


def test_from_config_takes_the_meta_template_of_the_model() -> None:
    dataset = {
        "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
        "infer_cfg": {
            "prompt_template": {"type": "PromptTemplate", "template": PAIR},
            "retriever": {"type": "ZeroRetriever"},
            "inferencer": {"type": "GenInferencer"},
        },
    }
    model = {"type": "VLLMCustomAPIChat"}
    renderer = pp.Renderer.from_config(dataset, model, output="openai", roles={"HUMAN": "tool"})
    assert renderer.render(SAMPLES)["prompt"][0].as_py() == [{"role": "tool", "content": "1+1?"}]


def test_a_text_that_ends_in_a_token_is_one_message() -> None:
    """OpenICL's prompt_eos_token is in the message, since it is in the prompt."""
    retriever = {"type": "ZeroRetriever", "prompt_eos_token": "<eos>"}
    reader = {"input_columns": ["q"], "output_column": "a"}
    arguments = {"reader": reader, "retriever": retriever, "dialect": "openicl"}
    (text,) = pp.Renderer(**arguments).render(SAMPLES.slice(0, 1))["prompt"].to_pylist()
    assert text.endswith("<eos>")
    (prompt,) = pp.Renderer(**arguments, output="openai").render(SAMPLES.slice(0, 1))["prompt"].to_pylist()
    assert prompt == [{"role": "user", "content": text}]


def test_parts_that_nobody_speaks() -> None:
    shows = {"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{question}"}}}
    samples = pa.table({"content": ["<AIS_TEXT_START>a<AIS_CONTENT_TAG>"]})

    def renderer(*turns: Any) -> pp.Renderer:
        template = {"type": "MMPromptTemplate", "template": {"round": list(turns)}}
        return pp.Renderer(template, dialect="aisbench", output="openai")

    content = [{"type": "text", "text": "a"}]
    assert renderer(shows).render(samples)["prompt"][0].as_py() == [{"role": "user", "content": content}]
    with pytest.raises(pp.TemplateError, match="several turns show parts"):
        renderer(shows, shows)
    # A column decides what a bare string says, and where it says nothing the parts would be all there is.
    template = {"begin": ["{question}"], "round": [shows]}
    mixed = pp.Renderer({"type": "MMPromptTemplate", "template": template}, dialect="aisbench", output="openai")
    rows = pa.table({"content": samples["content"].to_pylist() * 2, "question": ["x", ""]})
    assert mixed.render(rows.slice(0, 1))["prompt"][0].as_py() == [{"role": "user", "content": "x"}]
    with pytest.raises(pp.RenderError, match="row 1: the row's texts are empty") as raised:
        mixed.render(rows)
    assert raised.value.code == "no_arrow_type"


@pytest.mark.parametrize("strings", LAYOUTS)
def test_many_roles_and_parts_over_slices(strings: str) -> None:
    """More rows than one slice has, with roles, parts and keys of their own in each."""
    rows = 70_000
    roles = ["human", "gpt", "Tool", "system", "critic"]
    talks = [[{"role": roles[n % 5], "content": [{"type": "text", "text": str(n)}]}] for n in range(rows)]
    samples = pa.table({"q": [str(n) for n in range(rows)], "talk": talks})
    renderer = pp.Renderer(EXPANDED, output="openai", roles={"critic": "x"}, strings=strings)
    prompts = renderer.render(samples)["prompt"].combine_chunks()
    names = ["user", "assistant", "tool", "system", "x"]
    for n in (0, 4, 65_535, 65_536, rows - 1):
        assert prompts[n].as_py() == [
            {"role": "system", "content": [{"type": "text", "text": f"S {n}"}]},
            {"role": names[n % 5], "content": [{"type": "text", "text": str(n)}]},
        ]


def rendered(config: dict[str, Any], case: Case) -> list[Any] | Exception:
    try:
        prompts: list[Any] = pp.Renderer(**config, examples=case.train).render(case.samples)["prompt"].to_pylist()
    except (pp.TemplateError, pp.RenderError) as error:
        return error
    return prompts


CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@UNWARNED
@settings(max_examples=part_of(200), deadline=None, database=None, suppress_health_check=CHECKS)
@given(cases(), st.sampled_from(LAYOUTS))
def test_random_cases(case: Case, strings: str) -> None:
    """The messages of the plain model, converted by the plain model of OpenAI's form, are what is rendered."""
    case.config["output"] = "messages"
    config = {**case.config, "output": "openai", "strings": strings}
    want = model_of(case)
    if want is not None:
        try:
            want = openai_model.in_one_type([openai_model.messages(case.config, request) for request in want])
        except ModelError as error:
            note(f"the model refuses: {error}")
            want = None
    got = rendered(config, case)
    if isinstance(got, Exception):
        has_no_type = want is None or not fits_arrow(want)
        assert has_no_type, f"refused without need: {got}"
        return
    assert want is not None, "rendered what the model refuses"
    assert clean(got) == clean(want)

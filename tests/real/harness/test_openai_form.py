"""`output="openai"` beside what the harnesses' own OpenAI models send, for the configurations that they ship.

The harness reads the configuration, retrieves, fills, parses with the model's own parser and has its model build what
it posts; the same configuration goes through `Renderer.from_config`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress._engine.table_engine import engine_of
from promptpress._errors.file_errors import ConfigError, DataError
from promptpress_workbench.cli.verify_harness import HARNESSES, Harness, reply
from real.harness.openai_models import aisbench_model, openai_package, opencompass_model
from real.harness.shipped import datasets, folder, table
from real.harness.shipped_columns import shipped
from real.harness.test_backend_configs import MESSAGES as COLUMNS_OF_MESSAGES

HUMAN, BOT = {"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}
SYSTEM = {"role": "SYSTEM", "api_role": "SYSTEM"}
METAS: dict[str, Any] = {
    "as shipped": {"round": [HUMAN, BOT], "reserved_roles": [SYSTEM]},
    "no system": {"round": [HUMAN, BOT]},
    "none": None,
    "system in the round": {"round": [SYSTEM, HUMAN, BOT]},
    "words around": {"round": [{**HUMAN, "begin": "<", "end": ">"}, BOT], "reserved_roles": [SYSTEM]},
    "a begin": {
        "round": [HUMAN, BOT],
        "reserved_roles": [SYSTEM],
        "begin": {"role": "SYSTEM", "prompt": "Be {question}.", "name": "n"},
    },
}
RAW_METAS: dict[str, Any] = {"none": None, "a list": [{"role": "system", "content": "Be brief. "}], **METAS}
MODELS = {
    # class, what makes one, and how many of the shipped datasets are gone through where not all are
    "opencompass": [("OpenAI", opencompass_model, 16), ("OpenAISDK", opencompass_model, 24)],
    "aisbench": [("VLLMCustomAPIChat", aisbench_model, 5)],
}
UNSUPPORTED = {"unsupported_class", "unsupported_mode", "missing_template", "wrong_input_columns"}
TAGGED = [
    "<AIS_TEXT_START>What is {question}?<AIS_CONTENT_TAG>",
    "<AIS_IMAGE_START>a/b.png<AIS_CONTENT_TAG><AIS_TEXT_START>And this?<AIS_CONTENT_TAG>",
    "<AIS_VIDEO_START>v.mp4<AIS_CONTENT_TAG><AIS_AUDIO_START>s.wav<AIS_CONTENT_TAG><AIS_TEXT_START>x<AIS_CONTENT_TAG>",
]


class Compared:
    """Counts of compared configurations and requests, and the differences."""

    def __init__(self, harness: str) -> None:
        self.harness = HARNESSES[harness]
        self.configurations: set[str] = set()
        self.with_metas: set[str] = set()
        self.requests = 0
        self.kinds: set[str] = set()
        self.differences: list[str] = []

    def compare(self, name: str, config: dict[str, Any], samples: pa.Table, *, kind: str, make: Any, meta: Any) -> None:
        infer = config["infer_cfg"]
        shots = 1 + max([0, *(infer.get("retriever") or {}).get("fix_id_list", [])])
        examples = table(config, max(shots, 4))
        sender = make(kind, meta)
        harness = replace(self.harness)
        object.__setattr__(harness, "parser", lambda _: lambda _: sender.parser)
        try:
            data = harness.dataset_of(config, samples, examples)
            outcome = harness.run(config, data, {"output": "messages", "meta_template": meta})
        except (ConfigError, DataError):  # a package that isn't here, and no word of the harness's
            return
        want = []
        for row in outcome.rows:
            try:
                want.append([sender.sent(request) for request in row.values()])
            except (KeyError, TypeError, AttributeError):  # its own fault, which the request has
                break
        if not want:
            return
        model = {"type": kind, **({"meta_template": meta} if meta is not None else {})}
        try:
            got = rendered(config, model, samples.slice(0, len(want)), examples, harness)
        except (pp.TemplateError, pp.RenderError) as error:
            if error.code not in UNSUPPORTED:
                self.differences.append(f"{name}: refused: {error}")
            return
        self.configurations.add(repr(config))
        self.with_metas.add(name.split(", ")[1])
        self.kinds.add(str(infer.get("inferencer", {}).get("type")).rpartition(".")[2])
        flat = [request for row in want for request in row]
        self.requests += len(flat)
        if as_one_type(flat, got) != got:
            pairs = zip(as_one_type(flat, got), got, strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), None)
            self.differences.append(f"{name}: {len(flat)} and {len(got)} requests; {first}")


def rendered(
    config: dict[str, Any], model: dict[str, Any], samples: pa.Table, examples: pa.Table, harness: Harness
) -> list[Any]:
    options = {"examples": examples, "dialect": harness.dialect, "output": "openai"}
    renderer = pp.Renderer.from_config(config, model, **options)
    if not engine_of(renderer).core.wants_replies:
        table = renderer.render(samples)
        assert table.schema == renderer.output_schema(samples.schema)
        return plain(table["prompt"].to_pylist())
    conversation, replies = renderer.converse(samples), {}
    while len(requests := conversation.requests):
        rows = requests.to_pylist()
        replies.update({(row["sample"], row["turn"]): row["prompt"] for row in rows})
        conversation.reply([reply(row["turn"]) for row in rows])
    return plain([replies[key] for key in sorted(replies)])


def plain(value: Any) -> Any:
    """Without what an Arrow struct has and a message hasn't."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, list) else value


def as_one_type(want: list[Any], got: list[Any]) -> list[Any]:
    """Return what was sent; if ours has lists of parts, a text becomes a list of one part, as OpenAI reads it."""
    want = plain(want)
    if not any(isinstance(message["content"], list) for request in got for message in request):
        return want
    for request in want:
        for message in request:
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
    return want


def samples_of(config: dict[str, Any]) -> pa.Table:
    """Rows with the columns that a configuration names; tagged ones for a template that shows media."""
    samples = table(config, 3)
    if "MMPromptTemplate" in str((config["infer_cfg"].get("prompt_template") or {}).get("type")):
        if "content" in samples.column_names:
            samples = samples.drop_columns(["content"])
        samples = samples.append_column("content", [TAGGED])
    return samples


def go_through(harness: str, *, all_of_them: bool = False) -> Compared:
    compared = Compared(harness)
    configs = list(shipped(harness))
    for kind, make, step in MODELS[harness][: 1 if all_of_them else None]:
        for index, (file, config) in enumerate(configs[:: 1 if all_of_them else step]):
            prompt = config["infer_cfg"].get("prompt_template") or {}
            metas = RAW_METAS if "Raw" in str(prompt.get("type")) else METAS
            for turn, (named, meta) in enumerate(metas.items()):
                if index % len(metas) == turn or named == "as shipped":
                    samples = samples_of(config)
                    compared.compare(f"{kind}, {named}, {file}", config, samples, kind=kind, make=make, meta=meta)
    return compared


@pytest.mark.parametrize("harness", ["opencompass", "aisbench"])
def test_shipped_configurations_are_sent_alike(request, harness):
    request.getfixturevalue(harness)
    with openai_package():
        compared = go_through(harness)
    assert not compared.differences, "\n".join(compared.differences[:20])
    assert len(compared.configurations) >= 100, (len(compared.configurations), compared.requests)
    assert compared.kinds >= {"GenInferencer", "PPLInferencer"}
    assert compared.with_metas >= set(METAS)


@pytest.mark.full
@pytest.mark.parametrize("harness", ["opencompass", "aisbench"])
def test_all_shipped_configurations_are_sent_alike(request, harness):
    request.getfixturevalue(harness)
    with openai_package():
        compared = go_through(harness, all_of_them=True)
    assert not compared.differences, "\n".join(compared.differences[:20])
    assert len(compared.configurations) >= 500


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("name", COLUMNS_OF_MESSAGES)
def test_shipped_configurations_of_columns_of_messages_are_sent_alike(name):
    config = datasets(folder("opencompass") / "configs" / "datasets" / f"{name}.py")[0]
    column, values = COLUMNS_OF_MESSAGES[name]
    samples = table({**config, "infer_cfg": {}}, len(values))
    if column in samples.column_names:
        samples = samples.drop_columns([column])
    samples = samples.append_column(column, [values])
    config = {**config, "infer_cfg": {**config["infer_cfg"], "retriever": {"type": "ZeroRetriever"}}}
    compared = Compared("opencompass")
    for named, meta in (("none", None), ("as shipped", METAS["as shipped"]), ("a list", RAW_METAS["a list"])):
        compared.compare(f"{name}, {named}", config, samples, kind="OpenAI", make=opencompass_model, meta=meta)
    assert not compared.differences, compared.differences
    assert compared.requests


IMAGES = [
    [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "image_url": "https://x/y.png"}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": "data:image/png;base64,AA"}]}],
]


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("column", [True, False])
def test_parts_of_raw_messages_are_sent_alike(column):
    sender = opencompass_model("OpenAI", None)
    samples = pa.table({"messages": IMAGES, "q": ["1", "2"]})
    template = [{"role": "system", "content": "S"}, *([{"expand_column": "messages"}] if column else IMAGES[0])]
    want = [[template[0], *(messages if column else IMAGES[0])] for messages in IMAGES]
    got = plain(pp.Renderer(template, output="openai").render(samples)["prompt"].to_pylist())
    assert got == as_one_type([sender.sent(request) for request in want], got)


@pytest.mark.parametrize(("harness", "kind", "make"), [(h, *m[0][:2]) for h, m in MODELS.items()])
def test_a_begin_without_a_role_is_what_the_models_fail_at(request, harness, kind, make):
    request.getfixturevalue(harness)
    meta = {**METAS["as shipped"], "begin": "Be kind."}
    sender = make(kind, meta)
    parsed = ["Be kind.", {"role": "HUMAN", "prompt": "1+1?"}]
    with pytest.raises((TypeError, KeyError)):
        sender.sent(parsed)
    with pytest.raises(pp.TemplateError) as raised:
        pp.Renderer(
            {"round": [{"role": "HUMAN", "prompt": "{q}"}]}, meta_template=meta, output="openai", dialect=harness
        )
    assert raised.value.code == "string_without_role"


@pytest.mark.parametrize(("harness", "kind", "make"), [(h, *m[0][:2]) for h, m in MODELS.items()])
def test_other_roles_that_the_models_lose_or_pass_on(request, harness, kind, make):
    """docs/fidelity.md lists the roles that the models' lists lack."""
    request.getfixturevalue(harness)
    sender = make(kind, METAS["as shipped"])
    (sent,) = sender.sent([{"role": "CRITIC", "prompt": "no"}])
    assert sent == ({"content": "no"} if harness == "opencompass" else {"role": "CRITIC", "content": "no"})

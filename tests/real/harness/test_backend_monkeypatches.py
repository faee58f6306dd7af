"""Methods and functions of the harness that were wrapped, replaced or added fall back, and the log names them."""

# ruff: noqa: ARG001 - hooks are given the inferencer, the retriever and the model

from __future__ import annotations

import builtins
import copy
import importlib
from contextlib import nullcontext

import pytest
from promptpress import opencompass as backend
from real.harness import scripted
from real.harness.both import MODELS, TEXT, answers
from real.harness.scripted import plain
from real.harness.test_backend_opencompass import LABELLED, READER, RETRIEVERS, TEMPLATES, case

pytestmark = pytest.mark.usefixtures("opencompass")

BASE = "opencompass.models.base"
API = "opencompass.models.base_api"
TEMPLATE = "opencompass.openicl.icl_prompt_template"
RAW = "opencompass.openicl.icl_raw_prompt_template"
PROMPT = "opencompass.utils.prompt"
RETRIEVER = "opencompass.openicl.icl_retriever.icl_base_retriever"
GEN = "opencompass.openicl.icl_inferencer.icl_gen_inferencer"
CHAT = "opencompass.openicl.icl_inferencer.icl_chat_inferencer"


def marked(text):
    """A change that only some rows show, and the first doesn't."""
    if isinstance(text, str):
        return text.replace("so", "SO").replace("on", "ON")
    if isinstance(text, dict):
        return type(text)({key: marked(value) for key, value in text.items()})
    return type(text)(map(marked, text)) if isinstance(text, (list, tuple)) else text


def wrapped(function):
    def changed(*arguments, **others):
        return marked(function(*arguments, **others))

    return changed


# Each with the models and templates that come by it.
FUNCTIONS = [
    (TEMPLATE, "PromptTemplate.generate_item", "text", "dialogue"),
    (TEMPLATE, "PromptTemplate.generate_ice_item", "text", "dialogue"),
    (TEMPLATE, "PromptTemplate._encode_template", "messages", "dialogue"),
    (RAW, "RawPromptTemplate.generate_item", "messages", "raw"),
    (RAW, "RawPromptTemplate.generate_ice_item", "list", "raw"),
    (BASE, "LMTemplateParser.parse_template", "text", "dialogue"),
    (BASE, "LMTemplateParser._prompt2str", "text", "dialogue"),
    (BASE, "LMTemplateParser._role2str", "text", "dialogue"),
    (API, "APITemplateParser.parse_template", "messages", "dialogue"),
    (API, "APITemplateParser._prompt2api", "messages", "dialogue"),
    (API, "APITemplateParser._role2api_role", "messages", "dialogue"),
    (PROMPT, "PromptList.format", "messages", "dialogue"),
    (PROMPT, "PromptList.replace", "text", "dialogue"),
    (PROMPT, "safe_format", "text", "dialogue"),
    (TEMPLATE, "safe_format", "text", "string"),
    (RAW, "safe_format", "messages", "raw"),
    (TEMPLATE, "isinstance", "text", "string"),
    (API, "deepcopy", "messages", "dialogue"),
    (RETRIEVER, "BaseRetriever.generate_ice", "text", "string"),
    (RETRIEVER, "BaseRetriever.generate_prompt_for_generate_task", "text", "string"),
    (BASE, "BaseModel.parse_template", "text", "string"),
    (BASE, "BaseModel.generate_from_template", "text", "string"),
    (GEN, "GenInferencer.get_generation_prompt_list_from_retriever_indices", "text", "string"),
    (GEN, "GenInferencer.inference", "text", "string"),
    (CHAT, "promptlist_to_openai", "text", "string"),
    (CHAT, "ChatInferencer.get_chat_list", "text", "string"),
]


def owner_of(module, path):
    owner = importlib.import_module(module)
    *parts, name = path.split(".")
    for part in parts:
        owner = getattr(owner, part)
    return owner, name


@pytest.mark.parametrize("order", ["before it is on", "while it is on"])
@pytest.mark.parametrize(("module", "path", "model", "templates"), FUNCTIONS)
def test_a_function_that_was_wrapped(  # noqa: PLR0917
    module, path, model, templates, order, logged, rendered, monkeypatch
):
    owner, name = owner_of(module, path)

    def patch(monkeypatch):
        original = getattr(owner, name, None) or getattr(builtins, name)
        monkeypatch.setattr(owner, name, wrapped(original), raising=False)

    inferencer = {"type": "ChatInferencer" if module == CHAT else "GenInferencer"}
    reader = {"input_columns": ["input"], "output_column": "target"} if module == CHAT else READER
    job = case(
        TEMPLATES[templates], **MODELS[model], retriever=RETRIEVERS["fixed"], inferencer=inferencer, reader=reader
    )
    answers_of_runs = []
    for on in (False, True):
        switched = backend.backend() if on else nullcontext()
        if order == "before it is on":
            with monkeypatch.context() as changed:
                patch(changed)
                with switched:
                    answers_of_runs.append(plain_run(job))
        else:
            with switched, monkeypatch.context() as changed:
                patch(changed)
                answers_of_runs.append(plain_run(job))
    off, on = answers_of_runs
    assert on == off
    assert len(logged) == 1
    assert name in logged[0]
    assert rendered == []


def plain_run(job):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        return plain(scripted.run(job, Path(folder)))


def instance(path):
    """Wrap a method on an object."""

    def before(inferencer, retriever, model):
        *parts, name = path.split(".")
        owner = {"inferencer": inferencer, "retriever": retriever, "model": model}[parts.pop(0)]
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, name, wrapped(getattr(owner, name)))

    return before


OBJECTS = [
    "model.template_parser.parse_template",
    "model.template_parser._prompt2str",
    "model.template_parser._split_rounds",
    "model.parse_template",
    "model.generate_from_template",
    "retriever.generate_ice",
    "retriever.generate_prompt_for_generate_task",
    "retriever.generate_label_prompt",
    "inferencer.inference",
    "inferencer.get_dataloader",
]


@pytest.mark.parametrize("kind", ["GenInferencer", "PPLInferencer"])
@pytest.mark.parametrize("path", OBJECTS)
def test_a_method_that_was_wrapped_on_an_object(path, kind, logged, rendered):
    if kind == "PPLInferencer" and path.startswith(("inferencer", "model.generate")):
        pytest.skip("it doesn't come by it")
    templates = LABELLED["dialogues"] if kind == "PPLInferencer" else TEMPLATES["dialogue"]
    job = case(templates, **MODELS["text"], retriever=RETRIEVERS["fixed"], inferencer={"type": kind})
    off, on = answers({**job, "before": instance(path)})
    assert on == off
    if path == "inferencer.inference":
        return  # the caller has the original by then, and so has the backend
    assert len(logged) == 1
    assert path.rpartition(".")[2] in logged[0]
    assert rendered == []


def subclass_at(path):
    """Give an object a subclass of its class."""

    def before(inferencer, retriever, model):
        owner = model.template_parser if path == "parser" else {"model": model, "inferencer": inferencer}[path]
        owner.__class__ = type("Own", (type(owner),), {})

    return before


@pytest.mark.parametrize("path", ["parser", "inferencer"])
@pytest.mark.parametrize("kind", ["GenInferencer", "PPLInferencer"])
def test_a_subclass(path, kind, logged, rendered):
    templates = LABELLED["dialogues"] if kind == "PPLInferencer" else TEMPLATES["dialogue"]
    job = case(templates, **MODELS["text"], inferencer={"type": kind})
    off, on = answers({**job, "before": subclass_at(path)})
    assert on == off
    assert len(logged) == 1
    assert "Own" in logged[0]
    assert rendered == []


def test_a_parser_changed_by_hand_falls_back(logged, rendered):
    def change(inferencer, retriever, model):
        model.template_parser.roles = copy.deepcopy(model.template_parser.roles)
        model.template_parser.roles["HUMAN"]["begin"] = "<other>"

    off, on = answers(case(TEMPLATES["dialogue"], **MODELS["text"], before=change))
    assert on == off
    assert "<other>" in repr(off)
    assert "<other>" not in repr(TEXT)
    assert len(logged) == 1
    assert "roles was changed by hand" in logged[0]
    assert rendered == []


def test_a_template_changed_by_hand_falls_back(logged, rendered, monkeypatch):
    built = scripted.built

    def by_hand(config, *arguments):
        template = built(config, *arguments)
        if hasattr(template, "prompt_type"):
            template.prompt_type = "meta"
        return template

    monkeypatch.setattr(scripted, "built", by_hand)
    off, on = answers(case(TEMPLATES["string"], **MODELS["text"]))
    assert on == off
    assert len(logged) == 1
    assert "prompt_type was changed by hand" in logged[0]
    assert rendered == []


def test_a_method_that_was_added(logged, rendered, monkeypatch):
    owner, _ = owner_of(PROMPT, "PromptList.format")
    monkeypatch.setattr(owner, "__iter__", list.__iter__, raising=False)
    off, on = answers(case(TEMPLATES["dialogue"], **MODELS["text"]))
    assert on == off
    assert len(logged) == 1
    assert "PromptList.__iter__" in logged[0]
    assert rendered == []


def test_a_method_that_was_removed(logged, rendered, monkeypatch):
    owner, _ = owner_of(PROMPT, "PromptList.__radd__")
    monkeypatch.delattr(owner, "__radd__")
    off, on = answers(case(TEMPLATES["dialogue"], **MODELS["text"]))
    assert on == off
    assert len(logged) == 1
    assert rendered == []


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("datasets.formatting.formatting", "_query_table"),
        ("datasets.table", "IndexedTableMixin.fast_slice"),
        ("datasets.formatting.formatting", "query_table"),
    ],
)
def test_how_rows_of_a_dataset_are_found(module, path, logged, rendered, monkeypatch):
    owner, name = owner_of(module, path)
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *arguments, **others: original(*arguments, **others))  # noqa: PLW0108
    off, on = answers(case(TEMPLATES["dialogue"], **MODELS["text"]))
    assert on == off
    assert len(logged) == 1
    assert name in logged[0]
    assert rendered == []

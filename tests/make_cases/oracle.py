"""Expected columns of a case, computed by the models in plain Python."""

from __future__ import annotations

import json
from typing import Any

from models import chat_model, media_model, openai_model, openicl_model, plain_model, turns_model

Rows = list[dict[str, Any]]
Refused = (plain_model.ModelError, openicl_model.RefusedError, media_model.RefusedError)


def model_of(settings: dict[str, Any]) -> Any:
    """The model for a configuration, which has to know its dialect."""
    prompt, dialect = settings.get("prompt_template"), settings.get("dialect") or "opencompass"
    template = last_part(prompt.get("type")) if isinstance(prompt, dict) else ""
    inferencer = last_part((settings.get("inferencer") or {}).get("type"))
    model: Any = plain_model
    if dialect == "openicl":
        model = openicl_model
    elif inferencer == "ChatInferencer":
        model = chat_model
    elif template in ("MMPromptTemplate", "MultiTurnPromptTemplate"):
        model = media_model if template == "MMPromptTemplate" else turns_model
    assert dialect in model.DIALECTS, f"{model.__name__} doesn't know {dialect}"
    return model


def last_part(name: Any) -> str:
    return str(name).rsplit(".", 1)[-1]


def columns_of(settings: dict[str, Any], samples: Rows, train: Rows, replies: Any) -> dict[str, list[Any]]:
    """The columns of the result; raises one of `Refused` where there is none."""
    model = model_of(settings)
    is_json = settings.get("output") == "messages_json"
    if is_json and model is not media_model:
        settings = {**settings, "output": "messages"}
    is_openai = settings.get("output") == "openai"
    if is_openai:
        settings = {**settings, "output": "messages"}
    columns: dict[str, list[Any]] = {}
    if model in (chat_model, turns_model):
        requests = conversation(model, settings, samples, replies)
        columns = {"prompts": [request for *_, request in requests], "samples": [sample for sample, _, _ in requests]}
        if any(turn is not None for _, turn, _ in requests) or not requests:
            columns["turns"] = [turn for _, turn, _ in requests]
    elif model is media_model:
        columns["prompts"] = [model.request(settings, row) for row in samples]
    else:
        columns["prompts"] = model.render(settings, samples, train)
        columns.update(labels_of(model, settings, samples))
    if is_openai:
        sent = [openai_model.messages(settings, request) for request in columns["prompts"]]
        columns["prompts"] = openai_model.in_one_type(sent)
    if is_json:
        columns["prompts"] = [json.dumps(request, ensure_ascii=False) for request in columns["prompts"]]
    return columns


def conversation(model: Any, settings: dict[str, Any], samples: Rows, replies: Any) -> list[Any]:
    if replies is None:
        return list(model.requests(settings, samples))
    turns = range(max(map(len, replies), default=0) + 1)
    return [
        request
        for turn in turns
        for request in model.requests(settings, samples, [texts[:turn] for texts in replies])
        if request[1] == turn
    ]


def labels_of(model: Any, settings: dict[str, Any], samples: Rows) -> dict[str, list[Any]]:
    """The column of labels of ppl: as they are where they have a type, else as texts."""
    if model is openicl_model:
        if settings.get("mode") != "ppl":
            return {}
        prompt, ice = (
            openicl_model.Template(settings[key]) if settings.get(key) is not None else None
            for key in ("prompt_template", "ice_template")
        )
        labels = openicl_model.labels_of(settings, prompt, ice, samples, settings["reader"]["output_column"])
    else:
        read = plain_model.read_model(settings)
        if read.mode != "ppl":
            return {}
        index = read.retriever.get("column")
        labels = read.labels_of([{name: value for name, value in row.items() if name != index} for row in samples])
    if len({type(label) for label in labels} - {type(None)}) > 1:
        labels = [str(label) for label in labels]
    return {"labels": labels * len(samples)}

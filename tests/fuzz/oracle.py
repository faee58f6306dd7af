"""Expected prompts of a case, by the models in plain Python and by the real OpenCompass."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
from comparing import clean, fits_arrow
from models import chat_model, media_model, openicl_model, plain_model

from .configurations import Case
from .faults import general
from .values import UNPRINTABLE, holds, rows_of


class DifferenceError(AssertionError):
    """A case in which something isn't as it has to be; `what` tells the kind of fault, to count each once."""

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(f"{what}: {detail}")
        self.what = what


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """The case has to be refused, and why."""


class Silent(Refused):
    """The oracle has nothing to say."""


def need(condition: object, what: str, detail: Any = "") -> None:
    if not condition:
        raise DifferenceError(what, str(detail() if callable(detail) else detail))


def wanted(case: Case) -> list[Any]:
    """The requests of a case by its model; raises `Refused` where there are none."""
    model, by_model = MODELS[case.model]
    assert (case.config.get("dialect") or "opencompass") in model.DIALECTS, f"{case.model} doesn't know the dialect"
    try:
        requests = by_model(case)
    except (plain_model.ModelError, openicl_model.RefusedError, media_model.RefusedError) as error:
        # Python can't sort None among texts; promptpress can, and puts it first.
        silent = "can't be labels" in str(error)
        raise (Silent if silent else Refused)(str(error)) from None
    if any(UNPRINTABLE in text for text in texts_in(requests)):
        raise Refused("a value has no text")
    return requests


def by_plain_model(case: Case) -> list[Any]:
    config = dict(case.config)
    if config.get("output") == "messages_json":
        config["output"] = "messages"
    return plain_model.render(config, rows_of(case.samples), train_of(case))


def by_openicl_model(case: Case) -> list[Any]:
    return list(openicl_model.render(case.config, rows_of(case.samples), train_of(case)))


def by_chat_model(case: Case) -> list[Any]:
    return [request for _, _, request in chat_model.requests(case.config, rows_of(case.samples))]


def by_media_model(case: Case) -> list[Any]:
    config = {**case.config, "output": case.config["output"].replace("messages_json", "messages")}
    return [media_model.request(config, row) for row in rows_of(case.samples)]


def train_of(case: Case) -> list[dict[str, Any]]:
    return [] if case.train is None else rows_of(case.train)


MODELS: dict[str, tuple[Any, Callable[[Case], list[Any]]]] = {
    "plain_model": (plain_model, by_plain_model),
    "openicl_model": (openicl_model, by_openicl_model),
    "chat_model": (chat_model, by_chat_model),
    "media_model": (media_model, by_media_model),
}


def texts_in(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def refusal(error: BaseException) -> str | None:
    """The message, where an exception is one that promptpress may raise for a configuration or data."""
    return str(error) if isinstance(error, (pp.TemplateError, pp.RenderError)) else None


def rendered(case: Case, config: dict[str, Any] | None = None) -> tuple[pp.Renderer, pa.Table]:
    renderer = pp.Renderer(**{"unknown": "keep", **(config or case.config)}, examples=case.train)
    return renderer, renderer.render(case.samples)


def requests_of(case: Case, table: pa.Table) -> list[Any]:
    requests = table["prompt"].to_pylist()
    if case.config.get("output") == "messages_json":
        return [json.loads(request) for request in requests]
    return list(clean(pp.to_pylist(table["prompt"]) if case.model == "media_model" else requests))


NO_LABELS = (
    "values of this type can't be read as labels or messages",
    "its values would be the labels, which can't be of type",
)
"""Refusals of a column's Arrow type, where its values would decide between templates."""


def may_refuse(case: Case, error: Exception) -> bool:
    """Return true if the contract allows this refusal: a value without a text, or a type that has no labels."""
    if any(message in str(error) for message in NO_LABELS):
        return True
    if case.model == "media_model" and "messages_json" in str(error):
        return True  # parts of several types
    tables = [case.samples] if case.train is None else [case.samples, case.train]
    return any(value is UNPRINTABLE for table in tables for row in rows_of(table) for value in row.values())


def features(case: Case) -> str:
    """Return the features of a case that show the cause of a difference."""
    if case.model != "plain_model":
        return ""
    kind = (case.config.get("retriever") or {}).get("type", "ZeroRetriever")
    shots = case.train is not None and kind != "ZeroRetriever"
    foreign = shots and any(holds(field.type, is_foreign) for field in case.train.schema)
    return f", {case.config.get('substitution')}, {'foreign' if foreign else 'plain' if shots else 'no'} examples"


def is_foreign(kind: pa.DataType) -> bool:
    """Return true if only Python makes the text of a type."""
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return isinstance(kind, pa.BaseExtensionType) or pa.types.is_union(kind) or zoned


def check(case: Case) -> tuple[pp.Renderer, pa.Table] | None:
    """Compare a case's prompts; what was rendered comes back for further checks, None where it was refused."""
    from . import real

    got = against(case, wanted, case.model)
    against(case, real.requests, "OpenCompass", got)
    return got


def against(
    case: Case,
    oracle: Callable[[Case], list[Any]],
    name: str,
    rendered_before: tuple[pp.Renderer, pa.Table] | None = None,
) -> tuple[pp.Renderer, pa.Table] | None:
    """Compare with one oracle. The model knows each refusal; the harness has some of its own that aren't copied."""
    silent = False
    try:
        want, refused = oracle(case), ""
    except Refused as error:
        want, refused, silent = [], str(error) or "refused", isinstance(error, Silent)
    is_model = rendered_before is None
    got = rendered_before
    if is_model or not refused:
        try:
            got = got or rendered(case)
        except (pp.TemplateError, pp.RenderError) as error:
            need(str(error), "a refusal without a message")
            # Without a request the oracles look at nothing, and promptpress at the whole configuration.
            allowed = refused or not want or not fits_arrow(want) or may_refuse(case, error)
            need(allowed, f"refused, and not by {name}: {general(str(error))}", error)
            return None
    if refused:
        # The models read a meta template at once; a token id needs a text only where a prompt shows it.
        silent = silent or refused.startswith("a token has no text")
        # With no label at all there is nothing to refuse.
        need(silent or not is_model or not len(got[1]), f"rendered what {name} refuses: {general(refused)}", refused)
        return got
    assert got is not None
    compare(case, requests_of(case, got[1]), clean(want), name)
    return got


def compare(case: Case, rendered: list[Any], want: list[Any], name: str) -> None:
    if rendered == want:
        return
    index = next((n for n, (text, wanted) in enumerate(zip(rendered, want, strict=False)) if text != wanted), None)
    detail = f"{len(rendered)} requests, not {len(want)}"
    if index is not None:
        detail = f"request {index}: found {rendered[index]!r}, wanted {want[index]!r}"
    raise DifferenceError(f"other prompts than {name} gives{features(case)}", detail)

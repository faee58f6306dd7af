"""The real OpenCompass as a second oracle, where it is installed: its templates and parsers, a sample at a time.

It can't say all: where the documents are followed (docs/fidelity.md) it raises, and so it does for columns that have
the names of its own arguments. What it does give has to be what is rendered.
"""

from __future__ import annotations

import copy
import logging
from functools import cache
from types import SimpleNamespace
from typing import Any

from models import plain_model
from parts import harness_chain

from .configurations import Case
from .oracle import Refused, texts_in
from .values import UNPRINTABLE, rows_of

PARSERS = {"text": "lm", "messages": "api", "messages_json": "api", "prompt_list": "none"}


@cache
def classes() -> SimpleNamespace | None:
    """OpenCompass's classes; None where it isn't installed."""
    from real.harness.installed import OPENCOMPASS

    if OPENCOMPASS.missing() is not None:
        return None
    import warnings

    warnings.simplefilter("ignore")  # of its own imports
    OPENCOMPASS.load()
    logging.disable(logging.CRITICAL)
    from opencompass.models.base import LMTemplateParser
    from opencompass.models.base_api import APITemplateParser
    from opencompass.openicl.icl_prompt_template import PromptTemplate
    from opencompass.openicl.icl_raw_prompt_template import RawPromptTemplate
    from opencompass.utils.prompt import PromptList

    parts = (LMTemplateParser, APITemplateParser, PromptTemplate, RawPromptTemplate, PromptList)
    return SimpleNamespace(**{part.__name__: part for part in parts})


def requests(case: Case) -> list[Any]:
    """Return what the real harness gives for a case; raise `Refused` if it raises or can't render the case."""
    harness = classes()
    if harness is None or case.model != "plain_model" or case.config.get("substitution") == "single_pass":
        raise Refused("isn't asked")
    try:
        model = plain_model.read_model({**case.config, "output": json_as_messages(case.config)})
        labels = model.labels_of(rows_of(case.samples)) if model.mode == "ppl" else None
    except plain_model.ModelError as error:
        raise Refused(str(error)) from None
    if model.main.is_raw and "type" not in (case.config.get("prompt_template") or {"type": ""}):
        raise Refused("isn't asked about bare templates")
    if isinstance(model.meta, plain_model.Meta) and any(
        map(has_tokens, [*model.meta.config["round"], *model.meta.config.get("reserved_roles", [])])
    ):
        raise Refused("tokens are read as documented")
    samples = rows_of(case.samples)
    retriever = dict(case.config["retriever"])
    column = retriever.pop("column", None)
    if column is not None:
        retriever["given_indices"] = [row.pop(column) for row in samples]
    arguments = {
        "prompt_template": case.config.get("prompt_template"),
        "ice_template": case.config.get("ice_template"),
        "retriever": retriever,
        "reader": {**case.config["reader"], "output_column": model.output_column},  # an empty name is none
        "inferencer": {**case.config["inferencer"], **({"labels": labels} if labels is not None else {})},
        "parser": PARSERS[case.config["output"]],
        "meta_template": case.config.get("meta_template"),
        "mode": model.mode,
        "labels": labels,
    }
    data = SimpleNamespace(test=samples, train=[] if case.train is None else rows_of(case.train))
    out = harness_chain.run(copy.deepcopy(arguments), harness, data)
    if out.raised is not None:
        raise Refused(f"{out.stage}: {harness_chain.name_of(out.raised)}: {out.raised}")
    per_sample = out.intermediate if arguments["parser"] == "none" else out.expect
    flat = [request for row in per_sample for request in row] if model.mode == "ppl" else per_sample
    wanted = [as_plain(request) for request in flat]
    if any(UNPRINTABLE in text for text in texts_in(wanted)):
        raise Refused("a value has no text")
    return wanted


def has_tokens(role: Any) -> bool:
    return isinstance(role, dict) and any(isinstance(role.get(key), list) for key in ("begin", "end"))


def json_as_messages(config: dict[str, Any]) -> Any:
    return "messages" if config.get("output") == "messages_json" else config.get("output")


def as_plain(request: Any) -> Any:
    """A prompt list as a list, without its section markers."""
    if isinstance(request, str):
        return str(request)
    return [item for item in request if not (isinstance(item, dict) and set(item) == {"section", "pos"})]

"""From a harness's dataset and model dicts to the arguments of `promptpress.Renderer`.

A dataset dict says far more than its prompts: paths, evaluators, token limits. What touches prompts is passed on as it
stands, and whether it is supported is for `Renderer` to say; the rest is ignored. From the model dict only the parser
and the meta template matter, both looked up by the model class (`promptpress._model_classes`). No data is loaded: the
examples come from the caller, as the samples do.
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import FrameType
from typing import Any

from promptpress._errors import PromptWarning
from promptpress._model_classes import (
    MODEL_CLASSES,
    WRAPPERS,
    did_you_mean,
    find_model_class,
    harness_of,
    last_part,
    template_error,
    type_paths,
)
from promptpress.typing import Dialect, Mode

__all__ = ["CHAT_INFERENCERS", "INFERENCER_MODES", "dialect_of", "renderer_arguments"]

INFERENCER_MODES: Mapping[str, Mode] = {
    # one prompt a sample and label, the output column filled in
    "PPLInferencer": "ppl",
    "LLInferencer": "ppl",
    # one prompt a sample, the output column masked
    "GenInferencer": "gen",
    "ParallelGenInferencer": "gen",
    "SCInferencer": "gen",
    "ToTInferencer": "gen",
    "CLPInferencer": "gen",  # scores the choices as next tokens of a generation prompt
    # These fill a generation prompt and write it down parsed as one, yet score it parsed for perplexity: no row stops
    # at the generating role. mode="ppl" with labels=[None] renders what they score.
    "PPLOnlyInferencer": "gen",
    "InferencePPLOnlyInferencer": "gen",
    "MinKPercentInferencer": "gen",
    # scores the filled prompt as it is, without examples and meta template
    "SWCELossInferencer": "gen",
    # fills the placeholder named by adv_key anew for each candidate instruction: a column of that name stands for it
    "AttackInferencer": "gen",
    # whole conversations
    "ChatInferencer": "gen",
    "ParallelChatInferencer": "gen",
    "AgentInferencer": "gen",
    "ChatMLInferencer": "gen",
    "ParallelChatMLInferencer": "gen",
    # AISBench's own
    "MultiTurnGenInferencer": "gen",
    "BFCLV3FunctionCallInferencer": "gen",
    "LMMGenInferencer": "gen",
}
"""The harnesses' inferencers and the mode that each renders in. For any other `Renderer` decides."""

CHAT_INFERENCERS = ("ChatInferencer", "ParallelChatInferencer")
"""Inferencers that need no template: columns alone make a chat."""
_PACKAGE = os.path.join(os.path.dirname(__file__), "")
_COLUMNS = ("input_columns", "output_column")
# Keys of the dicts beside those that prompts are made of, which no misspelling stands behind.
_OTHER_KEYS = frozenset({"reader", "eval_cfg", "prompt_template", "ice_template", "input_template", "output_template"})
_TYPED_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")
# Prompt classes that OpenCompass doesn't have: they tell the harness even where a bare name stands.
_ONLY_AISBENCH = frozenset(
    {
        "BFCLV3FunctionCallInferencer",
        "LMMGenInferencer",
        "MMPromptTemplate",
        "MultiTurnGenInferencer",
        "MultiTurnPromptTemplate",
        *(MODEL_CLASSES["aisbench"].keys() - MODEL_CLASSES["opencompass"].keys()),
    }
)


def renderer_arguments(
    dataset_cfg: Mapping[str, Any],
    model_cfg: Mapping[str, Any] | None = None,
    *,
    warn: Callable[[str], object] | None = None,
    **overrides: Any,
) -> dict[str, Any]:
    """Return the keyword arguments of `promptpress.Renderer` for one dataset dict and one model dict.

    `overrides` are arguments of `Renderer` that win over what the dicts say; ``dialect`` also decides whose model
    classes are meant. ``examples`` can only come this way. `warn` takes each warning's text. Without it what is
    probably a mistake is a `promptpress.PromptWarning`, and what is left to the caller a plain `UserWarning`; Python's
    default filter shows each text once for the line that called.

    Raises `promptpress.TemplateError`, naming the place, where a dict lacks the parts that prompts are made of.

    >>> dataset = {
    ...     "abbr": "capitals",
    ...     "reader_cfg": {"input_columns": ["country"], "output_column": "city"},
    ...     "infer_cfg": {
    ...         "prompt_template": {"type": "PromptTemplate", "template": "Capital of {country}? {city}"},
    ...         "retriever": {"type": "ZeroRetriever"},
    ...         "inferencer": {"type": "GenInferencer"},
    ...     },
    ... }
    >>> arguments = renderer_arguments(dataset, {"type": "VLLMwithChatTemplate", "path": "any"})
    >>> arguments["output"], arguments["mode"], arguments["dialect"]
    ('messages', 'gen', 'opencompass')
    >>> [role["role"] for role in arguments["meta_template"]["round"]]
    ['HUMAN', 'SYSTEM', 'BOT']
    """
    say = _say if warn is None else warn
    inform = _inform if warn is None else warn
    dataset = _mapping(dataset_cfg, "dataset_cfg", "dataset")
    model = {} if model_cfg is None else _mapping(model_cfg, "model_cfg", "model")
    if "infer_cfg" in model and "infer_cfg" not in dataset:
        raise template_error(
            "wrong_type", "model_cfg", "a dataset dict, and the model's stands first; from_config(dataset, model)"
        )
    infer = _infer_cfg(dataset)
    _refuse_misspelt(dataset, "", ("reader_cfg",))
    _refuse_misspelt(infer, "infer_cfg.", ("prompt_template", "retriever", "inferencer"))
    for key, meant in _misspelt(infer, ("ice_template",)):
        say(f"infer_cfg.{key}: ignored, in the harness and here; did you mean {meant!r}?")
    for key, meant in _misspelt(model, ("meta_template",)):
        say(f"model_cfg.{key}: ignored; did you mean {meant!r}?")
    reader_path, reader = _reader_cfg(dataset, infer)
    if reader is not None:
        _refuse_misspelt(reader, f"{reader_path}.", _COLUMNS)
    arguments: dict[str, Any] = {
        "prompt_template": infer.get("prompt_template"),
        "ice_template": infer.get("ice_template"),
        "retriever": _part(infer, "retriever"),
        "inferencer": _part(infer, "inferencer"),
        "reader": None if reader is None else {key: reader[key] for key in _COLUMNS if key in reader},
        **overrides,
    }
    chats = last_part(_type(arguments["inferencer"])) in CHAT_INFERENCERS
    if arguments["prompt_template"] is None and arguments["ice_template"] is None and not chats:
        raise template_error(
            "missing_template", "infer_cfg.prompt_template", "missing; a prompt_template or an ice_template is needed"
        )
    if arguments.get("dialect") is None:
        arguments["dialect"] = dialect_of(dataset, model)
    if arguments.get("mode") is None:
        names = (path.rpartition(".")[2] for path in type_paths(_type(arguments["inferencer"])))
        known = next((name for name in names if name in INFERENCER_MODES), None)
        arguments["mode"] = None if known is None else INFERENCER_MODES[known]
        name = last_part(_type(arguments["inferencer"]))
        close = difflib.get_close_matches(name, INFERENCER_MODES, 1, 0.85) if known is None and name else []
        if close:
            say(f"infer_cfg.inferencer.type: {name!r} is none that promptpress knows; did you mean {close[0]!r}?")
    arguments.update(_model_arguments(model, arguments, say))
    if any(part.get("max_seq_len") is not None for part in (*_models(model), arguments["inferencer"] or {})):
        inform("max_seq_len isn't applied: no example is dropped and no prompt cut to fit the model")
    shots = last_part(_type(arguments["retriever"])) not in ("", "ZeroRetriever")
    if shots and reader is not None and reader.get("train_range"):
        inform(f"{reader_path}.train_range isn't applied: examples= has to hold the rows that it leaves")
    return arguments


def dialect_of(dataset_cfg: Mapping[str, Any], model_cfg: Mapping[str, Any] | None = None) -> Dialect:
    """Return whose dicts these are: ``"aisbench"``, else ``"opencompass"``.

    Dotted type names and classes decide, the dataset's before the model's; where there are none, names that only
    AISBench has.

    >>> dialect_of({"type": "ais_bench.benchmark.datasets.MyDataset"})
    'aisbench'
    >>> dialect_of({}, {"type": "VLLMCustomAPIChat"}), dialect_of({}, {"type": "VLLM"})
    ('aisbench', 'opencompass')
    """
    infer = dataset_cfg.get("infer_cfg")
    parts = [infer.get(part) for part in _TYPED_PARTS] if isinstance(infer, Mapping) else []
    dataset_types = [_type(part) for part in (dataset_cfg, *parts)]
    model_types = [_type(model) for model in _models(model_cfg)]
    for types in (dataset_types, model_types):
        harnesses = {harness_of(path) for type_ in types for path in type_paths(type_)} - {None}
        if harnesses:
            return "aisbench" if "aisbench" in harnesses else "opencompass"
    telling = any(last_part(type_) in _ONLY_AISBENCH for type_ in dataset_types + model_types)
    return "aisbench" if telling else "opencompass"


def _model_arguments(
    model: Mapping[str, Any], arguments: Mapping[str, Any], say: Callable[[str], object]
) -> dict[str, Any]:
    """Return the meta template and the output: what is overridden, else what the model's class does."""
    *_, model = _models(model)
    output = arguments.get("output")
    overridden = "meta_template" in arguments
    meta_template = arguments["meta_template"] if overridden else model.get("meta_template") or None
    if "type" not in model:
        return {"meta_template": meta_template, "output": output}
    name = last_part(model["type"])
    if not name:
        raise template_error(
            "wrong_type", "model_cfg.type", f"{model['type']!r} is neither the name of a model class nor a class"
        )
    known = find_model_class(model["type"], arguments["dialect"])
    if known is None:
        if output is None or (meta_template is None and not overridden):
            say(
                f"model_cfg.type: {name!r} is no model class that promptpress knows"
                f"{did_you_mean(name, chain(*MODEL_CLASSES.values()))}. The meta template's form decides between text"
                " and messages, and no default meta template is assumed; output= and meta_template= say otherwise"
            )
        return {"meta_template": meta_template, "output": output}
    if not overridden:
        if meta_template is not None and not known.takes_meta_template:
            say(f"model_cfg.meta_template: {name} ignores it, in the harness and here")
        meta_template = known.meta_template(meta_template)
    return {"meta_template": meta_template, "output": known.parser if output is None else output}


def _models(model_cfg: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Give the model dict and, for a class that wraps another model, the dicts within."""
    model = {} if model_cfg is None else model_cfg
    yield model
    while last_part(_type(model)) in WRAPPERS and isinstance(model.get("llm"), Mapping):
        model = model["llm"]
        yield model


def _infer_cfg(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    infer = dataset.get("infer_cfg")
    if infer is None:
        found = ", ".join(repr(key) for key in dataset) or "no keys"
        for key, meant in _misspelt(dataset, ("infer_cfg",)):
            raise template_error("unknown_key", key, f"unknown; did you mean {meant!r}?")
        hint = "; put it one level down" if "prompt_template" in dataset or "ice_template" in dataset else ""
        several = next((key for key in dataset if str(key).endswith("datasets")), None)
        if several is not None:
            hint = f"; from_config takes one of a job's datasets, such as cfg[{several!r}][0]"
        raise template_error(
            "missing_key",
            "infer_cfg",
            f"missing; a dataset dict with 'reader_cfg' and 'infer_cfg' is needed, this has {found}{hint}",
        )
    if not isinstance(infer, Mapping):
        raise template_error("wrong_type", "infer_cfg", f"a {type(infer).__name__}, not a dict")
    return infer


def _reader_cfg(dataset: Mapping[str, Any], infer: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the reader's configuration and its path, from whichever of the places where configurations keep it."""
    places = {
        "reader_cfg": dataset.get("reader_cfg"),
        "infer_cfg.reader_cfg": infer.get("reader_cfg"),
        "infer_cfg.reader": infer.get("reader"),
        "reader": dataset.get("reader"),
    }
    path, reader = next(((path, reader) for path, reader in places.items() if reader is not None), ("reader_cfg", None))
    if reader is not None and not isinstance(reader, Mapping):
        raise template_error("wrong_type", path, f"a {type(reader).__name__}, not a dict")
    return path, reader


def _misspelt(given: Mapping[str, Any], keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give keys that aren't there, and the unknown keys that were probably meant to be them."""
    for key in keys:
        if key not in given:
            # Nearer than `reader_cfg` is to `eval_cfg`, or one kind of template to the other.
            close = difflib.get_close_matches(key, [name for name in given if isinstance(name, str)], 1, 0.8)
            for found in close:
                if found not in _OTHER_KEYS:
                    yield found, key


def _refuse_misspelt(given: Mapping[str, Any], path: str, keys: Iterable[str]) -> None:
    """Refuse what a harness misses too: it has no default for these."""
    for found, key in _misspelt(given, keys):
        raise template_error("unknown_key", f"{path}{found}", f"unknown; did you mean {key!r}?")


def _part(infer: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    part = infer.get(key)
    if part is not None and not isinstance(part, Mapping):
        raise template_error("wrong_type", f"infer_cfg.{key}", f"a {type(part).__name__}, not a dict with a 'type'")
    return part


def _mapping(value: object, path: str, what: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    several = isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value)
    found = f"a list of {len(value)} {what} dicts" if several else f"a {type(value).__name__}"  # type: ignore[arg-type]
    raise template_error("wrong_type", path, f"{found}, not one {what} dict")


def _type(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None


def _say(message: str) -> None:
    warnings.warn(message, PromptWarning, stacklevel=callers_level())


def _inform(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=callers_level())


def callers_level() -> int:
    """Count the frames from who warns to the first one outside the package, as `stacklevel` does."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level - 1 if frame is None else level

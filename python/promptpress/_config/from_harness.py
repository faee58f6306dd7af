"""Arguments of `promptpress.Renderer` from a harness's dataset and model dicts.

A dataset dict contains much more than its prompts: paths, evaluators, token limits. The parts for prompts are passed
to `Renderer` unchanged, which refuses unsupported ones; the rest is ignored. Of the model dict only the parser and the
meta template matter; the model class decides both (`promptpress._config.model_classes`). No data is loaded: the caller
passes the examples, as it passes the samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from promptpress._config.model_classes import (
    MODEL_CLASSES,
    WRAPPERS,
    find_model_class,
    harness_of,
    last_part,
    type_paths,
)
from promptpress._errors.errors import PromptWarning, template_error
from promptpress._errors.suggestions import close_names, did_you_mean
from promptpress._utils.callers import callers_level
from promptpress.typing import Dialect, Mode

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
    # These write down a prompt parsed for generation, but score it parsed for perplexity, where no row stops at the
    # generating role. mode="ppl" with labels=[None] renders the scored prompts.
    "PPLOnlyInferencer": "gen",
    "InferencePPLOnlyInferencer": "gen",
    "MinKPercentInferencer": "gen",
    # scores the filled prompt as it is, without examples and meta template
    "SWCELossInferencer": "gen",
    # fills the placeholder adv_key with each candidate instruction; here a column of that name provides it
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
"""The mode of each inferencer of the harnesses. For other inferencers, `Renderer` decides."""

CHAT_INFERENCERS = ("ChatInferencer", "ParallelChatInferencer")
"""Inferencers that need no template because a column contains the chat."""

_COLUMNS = ("input_columns", "output_column")
# Valid keys of the dicts, which are therefore no misspellings of other keys.
_OTHER_KEYS = frozenset({"reader", "eval_cfg", "prompt_template", "ice_template", "input_template", "output_template"})
_TYPED_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")
# Class names that only AISBench has, so that they identify the harness even without a module.
_ONLY_AISBENCH = frozenset(
    {
        *("BFCLV3FunctionCallInferencer", "LMMGenInferencer", "MMPromptTemplate"),
        *("MultiTurnGenInferencer", "MultiTurnPromptTemplate"),
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

    Args:
        dataset_cfg: The dataset dict.
        model_cfg: The model dict.
        warn: A function that gets the text of each warning. Without it, probable mistakes are
            `promptpress.PromptWarning`s, and things that the caller has to do are `UserWarning`s.
        overrides: Arguments of `Renderer` that win over the dicts. ``dialect`` also decides whose model classes count.

    Raises:
        TemplateError: If a dict lacks a part that prompts need.

    """
    say = _warner(PromptWarning) if warn is None else warn
    inform = _warner(UserWarning) if warn is None else warn
    dataset = _mapping(dataset_cfg, "dataset_cfg", "dataset")
    model = {} if model_cfg is None else _mapping(model_cfg, "model_cfg", "model")
    if "infer_cfg" in model and "infer_cfg" not in dataset:
        raise template_error(
            "wrong_type", "model_cfg", "a dataset dict, and the model's stands first; from_config(dataset, model)"
        )
    infer = _infer_cfg(dataset)
    _refuse_misspelt(dataset, "", ("reader_cfg",))
    _refuse_misspelt(infer, "infer_cfg.", ("prompt_template", "retriever", "inferencer"))
    for key, intended in _misspelt(infer, ("ice_template",)):
        say(f"infer_cfg.{key}: ignored, in the harness and here; did you mean {intended!r}?")
    for key, intended in _misspelt(model, ("meta_template",)):
        say(f"model_cfg.{key}: ignored; did you mean {intended!r}?")
    reader_path, reader = _reader_cfg(dataset, infer)
    if reader is not None:
        _refuse_misspelt(reader, f"{reader_path}.", _COLUMNS)
    arguments: dict[str, Any] = {
        "prompt_template": infer.get("prompt_template"),
        "ice_template": infer.get("ice_template"),
        "retriever": _dict_or_none(infer.get("retriever"), "infer_cfg.retriever", "a dict with a 'type'"),
        "inferencer": _dict_or_none(infer.get("inferencer"), "infer_cfg.inferencer", "a dict with a 'type'"),
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
        arguments["mode"] = next((INFERENCER_MODES[name] for name in names if name in INFERENCER_MODES), None)
        name = last_part(_type(arguments["inferencer"]))
        if arguments["mode"] is None and name and (close := close_names(name, INFERENCER_MODES, cutoff=0.85)):
            say(f"infer_cfg.inferencer.type: {name!r} is none that promptpress knows; did you mean {close[0]!r}?")
    arguments.update(_model_arguments(model, arguments, say))
    if arguments.get("tokenizer") is not None:
        _add_budget(arguments, model_cfg, say)
    elif any(part.get("max_seq_len") is not None for part in (*_models(model), arguments["inferencer"] or {})):
        inform_of_max_seq_len(inform)
    shots = last_part(_type(arguments["retriever"])) not in ("", "ZeroRetriever")
    if shots and reader is not None and reader.get("train_range"):
        inform(f"{reader_path}.train_range isn't applied: examples= has to hold the rows that it leaves")
    return arguments


def inform_of_max_seq_len(inform: Callable[[str], object] | None = None) -> None:
    """Say that the number of tokens of a configuration isn't applied."""
    message = (
        "max_seq_len isn't applied: no example is dropped and no prompt cut to fit the model; tokenizer= applies it"
    )
    (_warner(UserWarning) if inform is None else inform)(message)


def dialect_of(dataset_cfg: Mapping[str, Any], model_cfg: Mapping[str, Any] | None = None) -> Dialect:
    """Return the harness that the dicts are written for: ``"aisbench"``, else ``"opencompass"``.

    Dotted type names and classes decide, those of the dataset before those of the model. Without dotted names, class
    names that only AISBench has decide.
    """
    infer = dataset_cfg.get("infer_cfg")
    parts = [infer.get(part) for part in _TYPED_PARTS] if isinstance(infer, Mapping) else []
    dataset_types = [_type(part) for part in (dataset_cfg, *parts)]
    model_types = [_type(model) for model in _models(model_cfg)]
    for types in (dataset_types, model_types):
        harnesses = {harness_of(path) for type_ in types for path in type_paths(type_)} - {None}
        if harnesses:
            return "aisbench" if "aisbench" in harnesses else "opencompass"
    is_aisbench = any(last_part(type_) in _ONLY_AISBENCH for type_ in dataset_types + model_types)
    return "aisbench" if is_aisbench else "opencompass"


def _model_arguments(
    model: Mapping[str, Any], arguments: Mapping[str, Any], say: Callable[[str], object]
) -> dict[str, Any]:
    """Return the meta template and the output form: the overridden ones, else those of the model's class."""
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
    model_class = find_model_class(model["type"], arguments["dialect"])
    if model_class is None:
        if output is None or (meta_template is None and not overridden):
            say(
                f"model_cfg.type: {name!r} is no model class that promptpress knows"
                f"{did_you_mean(name, chain(*MODEL_CLASSES.values()))}. The meta template's form decides between text"
                " and messages, and no default meta template is assumed; output= and meta_template= say otherwise"
            )
        return {"meta_template": meta_template, "output": output}
    if not overridden:
        if meta_template is not None and not model_class.takes_meta_template:
            say(f"model_cfg.meta_template: {name} ignores it, in the harness and here")
        meta_template = model_class.meta_template(meta_template)
    return {"meta_template": meta_template, "output": model_class.parser if output is None else output}


def _add_budget(arguments: dict[str, Any], model: Mapping[str, Any] | None, say: Callable[[str], object]) -> None:
    """Add the number of tokens to which the harness fits prompts, if there is one."""
    is_harness = arguments.get("fit", "harness") == "harness"
    if model is not None:
        # The harness's task puts the model's number in the place of the inferencer's.
        inferencer = arguments["inferencer"] or {}
        arguments["inferencer"] = {key: value for key, value in inferencer.items() if key != "max_seq_len"} or None
        if arguments.get("max_seq_len") is None:
            arguments["max_seq_len"] = model.get("max_seq_len")
    has_limit = arguments.get("max_seq_len") is not None or "max_seq_len" in (arguments["inferencer"] or {})
    if not has_limit and is_harness:
        return
    *_, model = _models(model)
    if not is_harness or arguments["dialect"] != "opencompass" or "type" not in model:
        return
    model_class, name = find_model_class(model["type"], "opencompass"), last_part(model["type"])
    counted_as = None if model_class is None else model_class.counted_as
    if counted_as == "chat" and arguments.get("chat_template") is None:
        message = (
            f"{name} counts a prompt's tokens as one message of the user in its chat template, and none is given; "
            'ChatTemplate.from_tokenizer makes it; fit="last" counts the prompts themselves'
        )
        raise template_error("missing_key", "chat_template", message)
    if counted_as is None:
        say(
            f"model_cfg.type: {name} counts tokens in its own way, by words or by another library; they are counted "
            "by tokenizer=, so the examples that the harness leaves out may be others"
        )


def _models(model_cfg: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield the model dict and, if its class wraps another model, the dicts inside it."""
    model = {} if model_cfg is None else model_cfg
    yield model
    while last_part(_type(model)) in WRAPPERS and isinstance(model.get("llm"), Mapping):
        model = model["llm"]
        yield model


def _infer_cfg(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    infer = _dict_or_none(dataset.get("infer_cfg"), "infer_cfg")
    if infer is not None:
        return infer
    _refuse_misspelt(dataset, "", ("infer_cfg",))
    hint = "; put it one level down" if "prompt_template" in dataset or "ice_template" in dataset else ""
    several = next((key for key in dataset if str(key).endswith("datasets")), None)
    if several is not None:
        hint = f"; from_config takes one of a job's datasets, such as cfg[{several!r}][0]"
    keys = ", ".join(map(repr, dataset)) or "no keys"
    message = f"missing; a dataset dict with 'reader_cfg' and 'infer_cfg' is needed, this has {keys}{hint}"
    raise template_error("missing_key", "infer_cfg", message)


def _reader_cfg(dataset: Mapping[str, Any], infer: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the path and the value of the reader's configuration, which may be in one of four places."""
    values = {
        "reader_cfg": dataset.get("reader_cfg"),
        "infer_cfg.reader_cfg": infer.get("reader_cfg"),
        "infer_cfg.reader": infer.get("reader"),
        "reader": dataset.get("reader"),
    }
    path, reader = next(((path, reader) for path, reader in values.items() if reader is not None), ("reader_cfg", None))
    return path, _dict_or_none(reader, path)


def _misspelt(mapping: Mapping[str, Any], keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown key that resembles a missing one, and the missing key."""
    for key in keys:
        if key not in mapping:
            # The cutoff is above the similarity of `reader_cfg` and `eval_cfg`, and of two kinds of templates.
            for close in close_names(key, [name for name in mapping if isinstance(name, str)], cutoff=0.8):
                if close not in _OTHER_KEYS:
                    yield close, key


def _refuse_misspelt(mapping: Mapping[str, Any], path: str, keys: Iterable[str]) -> None:
    """Raise a TemplateError for a misspelling of a key without which the harness fails too."""
    for close, key in _misspelt(mapping, keys):
        raise template_error("unknown_key", f"{path}{close}", f"unknown; did you mean {key!r}?")


def _dict_or_none(value: Any, path: str, expected: str = "a dict") -> Mapping[str, Any] | None:
    if value is None or isinstance(value, Mapping):
        return value
    raise template_error("wrong_type", path, f"a {type(value).__name__}, not {expected}")


def _mapping(value: object, path: str, what: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    several = isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value)
    kind = f"a list of {len(value)} {what} dicts" if several else f"a {type(value).__name__}"  # type: ignore[arg-type]
    raise template_error("wrong_type", path, f"{kind}, not one {what} dict")


def _type(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None


def _warner(category: type[Warning]) -> Callable[[str], object]:
    return lambda message: warnings.warn(message, category, stacklevel=callers_level())

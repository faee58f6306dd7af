"""The datasets and models of a configuration file: all of them, or the one that the user chose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptpress import ConfigError
from promptpress.engine.configs import HARNESS_WORDS, SHORT_WORDS, names_of_settings
from promptpress.engine.errors import Choice, close_names, did_you_mean, located
from promptpress.typing import ConfigFile

from promptpress_harness.configs.config_file import Config, content_of
from promptpress_harness.format_prompts import FormatPrompt, evalscope_prompt, nemo_skills_prompt
from promptpress_harness.python_subset import Opaque, RefusedError, Symbol

RENDERER_ARGUMENTS = names_of_settings("template", "harness", "rendering")

SHORT_TEMPLATE = "template"
"""The key of a file in the short form for the template, which is the prompt or the user's message in a chat."""

_AUDIT = "audit"
"""The key for the findings to allow; no prompt depends on it."""

BUDGET_ARGUMENTS = names_of_settings("budget")
"""Arguments of `Renderer` that need a tokenizer, which no file names."""

_PYTHON_KEYS = (*RENDERER_ARGUMENTS, *BUDGET_ARGUMENTS)
"""The keys of a Python file, whose `template` may be a part of its `prompt_template`."""

_KEYS = (*_PYTHON_KEYS, SHORT_TEMPLATE, *SHORT_WORDS)
_HARNESS_PARTS = {
    **{name: ("infer_cfg", name) for name in ("prompt_template", "ice_template", "retriever", "inferencer")},
    "reader": ("infer_cfg", "reader_cfg"),
    "meta_template": ("meta_template",),
}
"""Arguments with the places that a harness's configuration has for them."""

_MAX_DEPTH = 100
_TEMPLATES = ("prompt_template", "ice_template")
_PROMPT_PARTS: tuple[tuple[str, ...], ...] = (
    *(("infer_cfg", key) for key in ("prompt_template", "ice_template", "retriever", "reader_cfg")),
    *(("infer_cfg", "inferencer", k) for k in ("gen_field_replace_token", "normalizing_str", "labels", "infer_mode")),
    ("reader_cfg", "input_columns"),
    ("reader_cfg", "output_column"),
    ("meta_template",),
)
"""The parts of a dataset dict that decide its prompts. In other parts code is left out."""


@dataclass(frozen=True)
class Selection:
    """The configuration of a renderer: arguments of `Renderer`, a harness's dataset dict, or a `str.format` prompt."""

    arguments: Mapping[str, Any] | None = None
    dataset: Mapping[str, Any] | None = None
    format_prompt: FormatPrompt | None = None


def choose_dataset(config: Config, name: str | None) -> Selection:
    """Choose the prompt configuration of a file.

    The name is a dataset's `abbr`, or the variable of a list; it is needed if the datasets differ in their prompts.
    """
    value = _mapping_of(config, "datasets")
    if not isinstance(value, Mapping):
        raise ConfigError(f"{config.path}: holds {_kind(value)}, not a mapping or a list of datasets")
    if _is_dataset(config, value) and not isinstance(value["infer_cfg"], Opaque):
        only: Mapping[str, Any] = _plain(value, ())
        if name not in (None, "all", only.get("abbr")):
            message = f"{config.path} holds one dataset, {only.get('abbr', 'without a name')!r}"
            raise ConfigError(message, given=("dataset", str(name)))
        return Selection(dataset=only)
    entries = list(_entries(value, "datasets"))
    if entries:
        return Selection(dataset=_choose(config, entries, name, "dataset", "dataset"))
    if name is not None:
        raise ConfigError(f"{config.path} holds no datasets", given=("dataset", name))
    prompt = format_prompt_of(config)
    if prompt is not None:
        return Selection(format_prompt=prompt)
    return Selection(arguments=_arguments(config, value))


def format_prompt_of(config: Config) -> FormatPrompt | None:
    """Return the prompt of a file of EvalScope or NeMo-Skills; None for another file."""
    value = config.value
    if config.python or not isinstance(value, Mapping):
        return None
    return evalscope_prompt(config.path, value) or nemo_skills_prompt(config.path, value)


def choose_model(config: Config, name: str | None) -> Mapping[str, Any] | None:
    """Choose the model of a file by its `abbr`, needed if models differ in their prompts; None if it has none."""
    value = _mapping_of(config, "models")
    if not isinstance(value, Mapping):
        raise ConfigError(f"{config.path}: holds {_kind(value)}, not a mapping or a list of models")
    entries = list(_entries(value, "models"))
    if entries:
        return _choose(config, entries, name, "model", "model_abbr")
    if name is not None:
        raise ConfigError(f"{config.path} holds no models", given=("model_abbr", name))
    if "round" in value:  # a meta template by itself
        return {"meta_template": _plain(value, ("meta_template",))}
    if "meta_template" in value or ("type" in value and not _has_prompts(value)):
        model: Mapping[str, Any] = _plain(value, ())
        return model
    # The file has no model. Only a Python file may have names of its own, so in others look for a misspelt key.
    for key in ("meta_template", "models") if not (config.python or _has_prompts(value)) else ():
        for close in close_names(key, map(str, value), cutoff=0.8):
            if close != key:
                raise ConfigError(f"{config.path}: {close}: unknown; did you mean {key!r}?")
    return None


def all_datasets(config: Config) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the name (`abbr`, or variable and index) and the dict of each dataset in a file's lists, in order."""
    value = _mapping_of(config, "datasets")
    if isinstance(value, Mapping) and _is_dataset(config, value):
        return []
    return [(label, _plain(entry, ())) for label, _, entry in list(_labelled_entries(config, "datasets"))]


def all_models(config: Config) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the name and the dict of each model in a file's lists, as `all_datasets`."""
    return [(label, _plain(entry, ())) for label, _, entry in list(_labelled_entries(config, "models"))]


def each_of(config: Config, kind: Literal["datasets", "models"]) -> list[tuple[str, Mapping[str, Any] | ConfigError]]:
    """Return the name and the dict of each dataset or model; in place of an unreadable one, its error."""
    results: list[tuple[str, Mapping[str, Any] | ConfigError]] = []
    for label, _, entry in _labelled_entries(config, kind):
        try:
            results.append((label, _plain(entry, ())))
        except ConfigError as error:
            results.append((label, error))
    return results


def entries_of(config: Config) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """Yield the `abbr` and the variable of each dataset, and its dict, in which code is still `Opaque`."""
    value = _mapping_of(config, "datasets")
    if isinstance(value, Mapping) and _is_dataset(config, value):
        yield (_label(value, "", 0), ""), value
        return
    for label, variable, entry in _labelled_entries(config, "datasets"):
        yield (label, variable), entry


def _mapping_of(config: Config, kind: str) -> Any:
    """Return the value of a file; a file that is a list stands for a mapping with this list."""
    return {kind: config.value} if isinstance(config.value, list) else config.value


def _labelled_entries(config: Config, kind: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the label, the variable and the dict of each dataset or model."""
    value = _mapping_of(config, kind)
    if isinstance(value, Mapping):
        for index, (variable, entry) in enumerate(_entries(value, kind)):
            yield _label(entry, variable, index), variable, entry


def _is_dataset(config: Config, value: Mapping[str, Any]) -> bool:
    """Return true if the file is a dataset; a Python file's `infer_cfg` may be that of the last of several."""
    lists = (item for name, item in value.items() if str(name).endswith("datasets")) if config.python else ()
    return "infer_cfg" in value and not any(isinstance(item, (list, tuple)) and item for item in lists)


def _has_prompts(value: Mapping[str, Any]) -> bool:
    return "infer_cfg" in value or any(name in value for name in _TEMPLATES)


def _entries(value: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the list's name and the dict for each item of the list `datasets`, or of all lists `..._datasets`."""
    names = [kind] if isinstance(value.get(kind), (list, tuple)) else [n for n in value if str(n).endswith(f"_{kind}")]
    seen: set[int] = set()
    for name in names:
        entries = value[name]
        if isinstance(entries, Opaque) and kind not in value:
            raise entries.refusal
        for entry in entries if isinstance(entries, (list, tuple)) else ():
            if isinstance(entry, Opaque):
                raise entry.refusal
            if isinstance(entry, Mapping) and id(entry) not in seen:
                seen.add(id(entry))
                yield str(name), entry


def _choose(
    config: Config, entries: Sequence[tuple[str, Mapping[str, Any]]], name: str | None, kind: str, argument: str
) -> Mapping[str, Any]:
    labelled = [(_label(entry, variable, index), entry) for index, (variable, entry) in enumerate(entries)]
    if name is None:
        chosen = labelled
    else:
        of_variable = [pair for pair, (variable, _) in zip(labelled, entries, strict=True) if variable == name]
        chosen = [(label, entry) for label, entry in labelled if label == name] or of_variable
        if not chosen:
            labels = [label for label, _ in labelled]
            hint = did_you_mean(name, labels, 0.6) or f"; it has {_listed(labels)}"
            raise ConfigError(f"{config.path} has no such {kind}{hint}", given=(argument, name))
    plain: list[Mapping[str, Any]] = [_plain(entry, ()) for _, entry in chosen]
    # Subjects of one benchmark often share their prompts; then any of them will do.
    first = _essence(plain[0])
    if any(_essence(other) != first for other in plain[1:]):
        message = f"{config.path} holds {len(chosen)} {kind}s of different prompts"
        raise ConfigError(message, Choice(argument, f"says which: {_listed([label for label, _ in chosen])}"))
    return plain[0]


def _essence(entry: Mapping[str, Any]) -> object:
    """Return the parts of a dataset or model that decide its prompts, for comparison."""
    if "infer_cfg" not in entry:
        return {key: entry.get(key) for key in ("type", "meta_template")}
    inferencer = entry["infer_cfg"].get("inferencer") if isinstance(entry["infer_cfg"], Mapping) else None
    return [entry["infer_cfg"], inferencer, entry.get("reader_cfg")]


def _label(entry: Mapping[str, Any], variable: str, index: int) -> str:
    label = entry.get("abbr")
    return label if isinstance(label, str) else f"{variable}[{index}]"


def _listed(names: Sequence[str], limit: int = 12) -> str:
    text = ", ".join(map(repr, names[:limit]))
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def _arguments(config: Config, value: Mapping[str, Any]) -> Mapping[str, Any]:
    # A chat needs no template. Whether another inferencer needs one, the renderer checks.
    is_short = not config.python and isinstance(value.get(SHORT_TEMPLATE), str)
    if not is_short and not any(name in value for name in (*_TEMPLATES, "inferencer")):
        for part in ("infer_cfg", "datasets"):
            if isinstance(value.get(part), Opaque):
                raise _located(value[part].refusal, (part,))
        names = [str(n) for n in value if not str(n).startswith("_")]
        raise ConfigError(
            f"{config.path}: holds no prompt configuration (prompt_template, infer_cfg, datasets or ..._datasets); "
            f"it has {_listed(names) or 'nothing'}{_hint(names)}"
        )
    python_keys = (*_PYTHON_KEYS, *SHORT_WORDS) if config.python and _is_short_form(value) else _PYTHON_KEYS
    allowed: tuple[str, ...] = python_keys if config.python else _KEYS
    for name, item in value.items():
        if isinstance(item, Symbol) and name not in allowed:
            continue  # what a Python file imports or defines is no misspelt argument
        close = close_names(str(name), allowed, cutoff=0.85 if config.python else 0.6)
        if name in (*allowed, _AUDIT) or (config.python and not close):
            continue  # a Python file may have names of its own
        if name == "examples":
            message = f"{config.path}: examples: rows stand in no configuration"
            raise ConfigError(message, Choice("examples", "brings them"), is_choice=False)
        hint = f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(allowed)}"
        raise ConfigError(f"{config.path}: {name}: unknown; {hint}")
    if is_short and "prompt_template" in value:
        raise ConfigError(f"{config.path}: template and prompt_template: one of them says what a prompt is")
    return {name: _argument(name, value[name]) for name in allowed if name in value}


def _is_short_form(value: Mapping[str, Any]) -> bool:
    """Return true if a Python file's template is a text, and nothing else is in the words of a harness."""
    template = value.get("prompt_template")
    others = (name for name in HARNESS_WORDS if not isinstance(value.get(name), (Symbol, type(None))))
    return isinstance(template, str) and not any(others)


def _argument(name: str, value: Any) -> Any:
    """Turn the value of an argument of `Renderer` into plain data, and refuse code, which it would lack otherwise."""
    if name in _HARNESS_PARTS:  # which may have parts that prompts don't need
        return _plain(value, _HARNESS_PARTS[name])
    if name == "tokens" and isinstance(value, Mapping):
        # In JSON and TOML, keys are texts.
        value = {int(key) if isinstance(key, str) and key.isdecimal() else key: text for key, text in value.items()}
    if (code := _code_in(value)) is not None:
        raise _located(code.refusal, (name,))
    return _plain(value, (name,))


def _code_in(value: Any, depth: int = 0) -> Opaque | None:
    """Return the first value of a Python file, at any depth, that is code and not the name of a class."""
    if isinstance(value, Opaque):
        return None if isinstance(value, Symbol) and depth else value
    parts: Any = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return next(filter(None, (_code_in(part, depth + 1) for part in parts if depth <= _MAX_DEPTH)), None)


def _hint(names: Sequence[str]) -> str:
    """Return the end of an error message for a file without prompts: its probable kind, or the misspelt key."""
    if {"doc_to_text", "doc_to_target", "doc_to_choice", "output_type"} & set(names):
        return (
            "; a task of lm-evaluation-harness is for the commands render and verify, "
            "or as a dict for promptpress.lm_eval.requests"
        )
    if {"group", "task"} <= set(names):
        return "; this is a group of lm-evaluation-harness's tasks: give the file of one of them"
    if {"round", "begin", "template", "messages"} & set(names):
        return '; a template stands under its name: {"prompt_template": {...}}'
    for key in ("prompt_template", "infer_cfg", "datasets", "ice_template", "inferencer"):
        for close in close_names(key, names, cutoff=0.8):
            return f"; did you mean {key!r} by {close!r}?" if close != key else f"; {key!r} is empty"
    return ""


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


_ABSENT = object()


def _plain(value: Any, path: tuple[str, ...]) -> Any:
    """Turn a value of a Python file into plain data: dotted names for classes; refuse code that prompts need."""
    result = _plain_or_absent(value, path)
    return None if result is _ABSENT else result


def _plain_or_absent(value: Any, path: tuple[str, ...], depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        raise ConfigError(f"{'.'.join(path[:3])}: nested too deeply")
    if isinstance(value, Opaque):
        if isinstance(value, Symbol) and path and path[-1] == "type":
            return value.dotted
        is_needed = any(path[: len(part)] == part for part in _PROMPT_PARTS)
        if is_needed or path in (("infer_cfg",), ("infer_cfg", "inferencer"), ("reader_cfg",)):
            raise _located(value.refusal, path)
        return _ABSENT
    if isinstance(value, Mapping):
        items = ((key, _plain_or_absent(v, (*path, str(key)), depth + 1)) for key, v in value.items())
        return {key: item for key, item in items if item is not _ABSENT}
    if isinstance(value, (list, tuple)):
        listed = [_plain_or_absent(v, (*path, "[]"), depth + 1) for v in value]
        # A list without one of its items would be a different list.
        return _ABSENT if any(item is _ABSENT for item in listed) else type(value)(listed)
    if isinstance(value, range):
        return list(value)
    return value


def _located(refusal: RefusedError, path: tuple[str, ...]) -> ConfigError:
    return ConfigError(f"{'.'.join(path).replace('.[]', '[]')}: {refusal}")


def datasets_as_read(file: ConfigFile) -> list[dict[str, Any]]:
    """Return the `infer_cfg` and `reader_cfg` of each dataset of a loaded file."""
    config = content_of(file)
    try:
        datasets = [_parts_as_read(entry) for _, entry in entries_of(config)]
        if not datasets:
            raise ConfigError(f"{config.path}: holds no datasets (infer_cfg, datasets or ..._datasets)")
    except ConfigError as error:
        raise located(error, config.path) from None
    return datasets


def dataset_as_read(config: Config, name: str | None) -> dict[str, Any] | None:
    """Return the `infer_cfg` and `reader_cfg` of one dataset; None if there is no such dataset."""
    return next((_parts_as_read(entry) for names, entry in entries_of(config) if name is None or name in names), None)


def _parts_as_read(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain_as_read(entry[key], key) for key in ("infer_cfg", "reader_cfg") if key in entry}


def _plain_as_read(value: Any, path: str) -> Any:
    if isinstance(value, Symbol):
        return value.dotted
    if isinstance(value, Opaque):
        raise ConfigError(f"{path}: {value.refusal}")
    if isinstance(value, Mapping):
        return {key: _plain_as_read(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_as_read(item, f"{path}[{n}]") for n, item in enumerate(value)]
    return list(value) if isinstance(value, range) else value

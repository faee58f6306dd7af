"""From a configuration file to the one dataset, and the one model, that it is about."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptpress._config_files.config_file import Config
from promptpress._config_files.python_config import Opaque, RefusedError, Symbol
from promptpress._file_errors import Choice, ConfigError

RENDERER_ARGUMENTS = (
    "prompt_template", "ice_template", "retriever", "reader", "inferencer", "meta_template", "mode", "output", "labels",
    "dialect", "substitution", "strings", "tokens", "names", "roles", "limits",
)  # fmt: skip

_AUDIT = "audit"
"""Which findings are known: no prompt depends on it."""
_TEMPLATES = ("prompt_template", "ice_template")
# The parts of a dataset dict that decide what a prompt is. The rest may be anything, and is left out where it is code.
_PROMPT_PARTS: dict[tuple[str, ...], bool] = {
    ("infer_cfg", "prompt_template"): True,
    ("infer_cfg", "ice_template"): True,
    ("infer_cfg", "retriever"): True,
    ("reader_cfg", "input_columns"): True,
    ("reader_cfg", "output_column"): True,
    ("infer_cfg", "reader_cfg"): True,
    **{
        ("infer_cfg", "inferencer", k): True
        for k in ("gen_field_replace_token", "normalizing_str", "labels", "infer_mode")
    },
    ("meta_template",): True,
}


@dataclass(frozen=True)
class Selection:
    """What the renderer is made of: arguments of `Renderer`, or a harness's dataset dict.

    Example:
        >>> Selection(arguments={"prompt_template": "{q}"}).dataset is None
        True

    """

    arguments: Mapping[str, Any] | None = None
    dataset: Mapping[str, Any] | None = None


def choose_dataset(config: Config, name: str | None) -> Selection:
    """Pick the prompt configuration of a file.

    Args:
        config: the file.
        name: which dataset, by its `abbr` or by the variable that holds it, where there are several.

    Returns:
        The arguments of `Renderer` that the file gives, or one dataset dict.

    Raises:
        ConfigError: when there is none, what is needed of it can't be read, or there are several and the name doesn't
            say which.

    Example:
        >>> choose_dataset(Config("a.json", {"prompt_template": "{q}"}, python=False), None).arguments
        {'prompt_template': '{q}'}

    """
    value = config.value
    if isinstance(value, list):
        value = {"datasets": value}
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
        return Selection(dataset=_pick(config, entries, name, "dataset", "dataset"))
    if name is not None:
        raise ConfigError(f"{config.path} holds no datasets", given=("dataset", name))
    return Selection(arguments=_arguments(config, value))


def choose_model(config: Config, name: str | None) -> Mapping[str, Any] | None:
    """Pick the model of a file.

    Args:
        config: the file.
        name: which model, by its `abbr`, where there are several.

    Returns:
        One model dict; None where the file holds no model.

    Raises:
        ConfigError: when what is needed of it can't be read, or there are several and the name doesn't say which.

    Example:
        >>> choose_model(Config("m.json", {"models": [{"abbr": "a", "type": "VLLM"}]}, python=False), None)
        {'abbr': 'a', 'type': 'VLLM'}

    """
    value = config.value
    if isinstance(value, list):
        value = {"models": value}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{config.path}: holds {_kind(value)}, not a mapping or a list of models")
    entries = list(_entries(value, "models"))
    if entries:
        return _pick(config, entries, name, "model", "model_abbr")
    if name is not None:
        raise ConfigError(f"{config.path} holds no models", given=("model_abbr", name))
    if "round" in value:  # a meta template by itself
        return {"meta_template": _plain(value, ("meta_template",))}
    if "meta_template" in value or ("type" in value and not _has_prompts(value)):
        model: Mapping[str, Any] = _plain(value, ())
        return model
    # A file that is no model, and was taken for one: no names of its own are to be expected but in Python.
    for wanted in ("meta_template", "models") if not (config.python or _has_prompts(value)) else ():
        for close in difflib.get_close_matches(wanted, list(map(str, value)), 1, 0.8):
            if close != wanted:
                raise ConfigError(f"{config.path}: {close}: unknown; did you mean {wanted!r}?")
    return None


def all_datasets(config: Config) -> list[tuple[str, Mapping[str, Any]]]:
    """Give every dataset of a file with its name.

    Args:
        config: the file.

    Returns:
        Names (the `abbr`, or the variable and the place in it) and dataset dicts, in order.

    Raises:
        ConfigError: when what is needed of one can't be read.

    Example:
        >>> [name for name, _ in all_datasets(Config("a.json", [{"abbr": "a", "infer_cfg": {}}], python=False))]
        ['a']

    """
    value = {"datasets": config.value} if isinstance(config.value, list) else config.value
    if isinstance(value, Mapping) and _is_dataset(config, value):
        return []
    return _all(value, "datasets")


def entries_of(config: Config) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """Give every dataset of a file as it was read, with what it may be called.

    Args:
        config: the file.

    Yields:
        The `abbr` and the variable that holds it, and the dict; code is in it as `Opaque`.

    Raises:
        ConfigError: when a dataset, or a list of them, is code.

    Example:
        >>> [names for names, _ in entries_of(Config("a.json", [{"abbr": "a", "infer_cfg": {}}], python=False))]
        [('a', 'datasets')]

    """
    value = {"datasets": config.value} if isinstance(config.value, list) else config.value
    if isinstance(value, Mapping) and _is_dataset(config, value):
        yield (_label(value, "", 0), ""), value
    elif isinstance(value, Mapping):
        for position, (variable, entry) in enumerate(_entries(value, "datasets")):
            yield (_label(entry, variable, position), variable), entry


def all_models(config: Config) -> list[tuple[str, Mapping[str, Any]]]:
    """Give every model of a file with its name.

    Args:
        config: the file.

    Returns:
        As `all_datasets`.

    Raises:
        ConfigError: when what is needed of one can't be read.

    Example:
        >>> all_models(Config("m.json", {"models": [{"abbr": "a", "type": "VLLM"}]}, python=False))
        [('a', {'abbr': 'a', 'type': 'VLLM'})]

    """
    return _all({"models": config.value} if isinstance(config.value, list) else config.value, "models")


def each_of(config: Config, kind: Literal["datasets", "models"]) -> list[tuple[str, Mapping[str, Any] | ConfigError]]:
    """Give every dataset or model of a file with its name; of one that can't be read what is wrong with it.

    Args:
        config: the file.
        kind: which of both.

    Returns:
        As `all_datasets`.

    Example:
        >>> [name for name, _ in each_of(Config("m.json", [{"abbr": "a", "type": "VLLM"}], python=False), "models")]
        ['a']

    """
    value = {kind: config.value} if isinstance(config.value, list) else config.value
    found: list[tuple[str, Mapping[str, Any] | ConfigError]] = []
    entries = _entries(value, kind) if isinstance(value, Mapping) else iter(())
    for i, (variable, entry) in enumerate(entries):
        try:
            found.append((_label(entry, variable, i), _plain(entry, ())))
        except ConfigError as error:
            found.append((_label(entry, variable, i), error))
    return found


def _all(value: Any, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    entries = list(_entries(value, kind)) if isinstance(value, Mapping) else []
    return [(_label(entry, variable, i), _plain(entry, ())) for i, (variable, entry) in enumerate(entries)]


def _is_dataset(config: Config, value: Mapping[str, Any]) -> bool:
    """Whether a file is one dataset by itself; in Python `infer_cfg` may be a name that a loop over several left."""
    lists = (item for name, item in value.items() if str(name).endswith("datasets")) if config.python else ()
    return "infer_cfg" in value and not any(isinstance(item, (list, tuple)) and item for item in lists)


def _has_prompts(value: Mapping[str, Any]) -> bool:
    return "infer_cfg" in value or any(name in value for name in _TEMPLATES)


def _entries(value: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the dicts of the list named `datasets`, else of every list named `..._datasets`, with the list's name."""
    names = [kind] if isinstance(value.get(kind), (list, tuple)) else [n for n in value if str(n).endswith(f"_{kind}")]
    seen: set[int] = set()
    for name in names:
        found = value[name]
        if isinstance(found, Opaque) and kind not in value:
            raise found.refusal
        for entry in found if isinstance(found, (list, tuple)) else ():
            if isinstance(entry, Opaque):
                raise entry.refusal
            if isinstance(entry, Mapping) and id(entry) not in seen:
                seen.add(id(entry))
                yield str(name), entry


def _pick(
    config: Config, entries: Sequence[tuple[str, Mapping[str, Any]]], name: str | None, kind: str, argument: str
) -> Mapping[str, Any]:
    labels = [_label(entry, variable, i) for i, (variable, entry) in enumerate(entries)]
    if name is None:
        found = [entry for _, entry in entries]
    else:
        found = [e for (_, e), label in zip(entries, labels, strict=True) if label == name]
        found = found or [entry for variable, entry in entries if variable == name]
        if not found:
            close = difflib.get_close_matches(name, labels, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; it has {_listed(labels)}"
            raise ConfigError(f"{config.path} has no such {kind}{hint}", given=(argument, name))
    plain: list[Mapping[str, Any]] = [_plain(entry, ()) for entry in found]
    # Subjects of one benchmark often share their prompts; then any of them says what the prompts are.
    first = _essence(plain[0])
    if any(_essence(other) != first for other in plain[1:]):
        chosen = [label for (_, e), label in zip(entries, labels, strict=True) if any(e is f for f in found)]
        message = f"{config.path} holds {len(found)} {kind}s of different prompts"
        raise ConfigError(message, Choice(argument, f"says which: {_listed(chosen)}"))
    return plain[0]


def _essence(entry: Mapping[str, Any]) -> object:
    if "infer_cfg" not in entry:
        return {key: entry.get(key) for key in ("type", "meta_template")}
    inferencer = entry["infer_cfg"].get("inferencer") if isinstance(entry["infer_cfg"], Mapping) else None
    return [entry["infer_cfg"], inferencer, entry.get("reader_cfg")]


def _label(entry: Mapping[str, Any], variable: str, position: int) -> str:
    label = entry.get("abbr")
    return label if isinstance(label, str) else f"{variable}[{position}]"


def _listed(names: Sequence[str], limit: int = 12) -> str:
    text = ", ".join(map(repr, names[:limit]))
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def _arguments(config: Config, value: Mapping[str, Any]) -> Mapping[str, Any]:
    # A chat needs no template; what else an inferencer needs is for the renderer to say.
    if not any(name in value for name in (*_TEMPLATES, "inferencer")):
        for part in ("infer_cfg", "datasets"):
            if isinstance(value.get(part), Opaque):
                raise _located(value[part].refusal, (part,))
        names = [str(n) for n in value if not str(n).startswith("_")]
        raise ConfigError(
            f"{config.path}: holds no prompt configuration (prompt_template, infer_cfg, datasets or ..._datasets); "
            f"it has {_listed(names) or 'nothing'}{_meant(names)}"
        )
    for name in value:
        close = difflib.get_close_matches(str(name), RENDERER_ARGUMENTS, 1, 0.85 if config.python else 0.6)
        if name in (*RENDERER_ARGUMENTS, _AUDIT) or (config.python and not close):
            continue  # a Python file may well have names of its own
        if name == "examples":
            message = f"{config.path}: examples: rows stand in no configuration"
            raise ConfigError(message, Choice("examples", "brings them"), is_choice=False)
        hint = f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(RENDERER_ARGUMENTS)}"
        raise ConfigError(f"{config.path}: {name}: unknown; {hint}")
    return {name: _plain(value[name], ("infer_cfg", name)) for name in RENDERER_ARGUMENTS if name in value}


def _meant(names: Sequence[str]) -> str:
    """Give the end of a message: what a misspelt name, or a template without its name, was probably meant to be."""
    if {"doc_to_text", "doc_to_target", "doc_to_choice", "output_type"} & set(names):
        return (
            "; a task of lm-evaluation-harness is for the commands render and verify, "
            "or as a dict for promptpress.lm_eval.requests"
        )
    if {"group", "task"} <= set(names):
        return "; this is a group of lm-evaluation-harness's tasks: give the file of one of them"
    if {"round", "begin", "template", "messages"} & set(names):
        return '; a template stands under its name: {"prompt_template": {...}}'
    for wanted in ("prompt_template", "infer_cfg", "datasets", "ice_template", "inferencer"):
        for close in difflib.get_close_matches(wanted, names, 1, 0.8):
            return f"; did you mean {wanted!r} by {close!r}?" if close != wanted else f"; {wanted!r} is empty"
    return ""


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


_ABSENT = object()


def _plain(value: Any, place: tuple[str, ...]) -> Any:
    """Turn what a Python file holds into plain data: names for classes, nothing for code that isn't needed.

    Raises the refusal of a value that prompts depend on.
    """
    result = _plain_or_absent(value, place)
    return None if result is _ABSENT else result


def _plain_or_absent(value: Any, place: tuple[str, ...], depth: int = 0) -> Any:
    if depth > 100:
        raise ConfigError(f"{'.'.join(place[:3])}: nested too deeply")
    needed = any(place[: len(p)] == p for p in _PROMPT_PARTS)
    if isinstance(value, Opaque):
        if isinstance(value, Symbol) and place and place[-1] == "type":
            return value.dotted
        if needed or place in (("infer_cfg",), ("infer_cfg", "inferencer"), ("reader_cfg",)):
            raise _located(value.refusal, place)
        return _ABSENT
    if isinstance(value, Mapping):
        items = ((key, _plain_or_absent(v, (*place, str(key)), depth + 1)) for key, v in value.items())
        return {key: item for key, item in items if item is not _ABSENT}
    if isinstance(value, (list, tuple)):
        listed = [_plain_or_absent(v, (*place, "[]"), depth + 1) for v in value]
        # Without one of its items a list would be another list.
        return _ABSENT if any(item is _ABSENT for item in listed) else type(value)(listed)
    if isinstance(value, range):
        return list(value)
    return value


def _located(refusal: RefusedError, place: tuple[str, ...]) -> ConfigError:
    where = ".".join(place).replace(".[]", "[]")
    return ConfigError(f"{where}: {refusal}")

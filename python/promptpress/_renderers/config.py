"""A configuration file for Python: what it holds, by name, and renderers of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from promptpress._errors.file_errors import ConfigError, located
from promptpress._renderers.renderer import Renderer
from promptpress.typing import ConfigLike

_NAMES_SHOWN = 8


@dataclass(frozen=True, repr=False)
class LoadedConfig:
    """The content of a configuration file; made by [`load_config`][promptpress.load_config].

    Args:
        path: The file.
        datasets: Dataset dicts (`reader_cfg`, `infer_cfg`) by their `abbr`, or by the variable that holds them and
            their place in it.
        models: Model dicts, by the same names. A file that is a meta template by itself is a model without a class.
        arguments: Arguments of `Renderer`, where the file holds those, or a prompt of NeMo-Skills or EvalScope that
            is the same as such arguments; else None.

    >>> import json, pathlib, tempfile
    >>> import promptpress as pp
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "a.json")
    >>> _ = path.write_text(json.dumps({"prompt_template": "Q: {question}", "models": [{"abbr": "m", "type": "VLLM"}]}))
    >>> config = pp.load_config(path)
    >>> isinstance(config, pp.Config), list(config.models)
    (True, ['m'])
    >>> folder.cleanup()
    """

    path: str
    datasets: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, Mapping[str, Any]]
    arguments: Mapping[str, Any] | None
    _config: Any = field(compare=False)

    def renderer(
        self,
        dataset: str | None = None,
        model: ConfigLike | None = None,
        model_abbr: str | None = None,
        **overrides: Any,
    ) -> Renderer:
        """Make the renderer of one dataset and one model.

        Args:
            dataset: Which dataset, where there are several that differ in what prompts show.
            model: A model dict, or the file of one. None: one of this file's own, where it has any.
            model_abbr: Which model, where there are several.
            overrides: Arguments of `Renderer` that win over what the file says, such as `examples=`.

        Returns:
            The renderer.

        Raises:
            TemplateError: When the configuration is wrong, or it isn't clear which is meant.

        >>> import json, pathlib, tempfile
        >>> import promptpress as pp
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "a.json")
        >>> _ = path.write_text(json.dumps({"prompt_template": "Q: {question}"}))
        >>> pp.load_config(path).renderer().required_columns
        ['question']
        >>> folder.cleanup()
        """
        return Renderer.from_config(self, model, dataset=dataset, model_abbr=model_abbr, **overrides)

    def __repr__(self) -> str:
        parts = [repr(self.path)]
        for name, held in (("datasets", self.datasets), ("models", self.models), ("arguments", self.arguments)):
            if held:
                parts.append(f"{name}={_listed(held)}")
        return f"Config({', '.join(parts)})"


def load_config(path: str | os.PathLike[str]) -> LoadedConfig:
    """Read a configuration file: `.json`, `.yaml`, `.toml`, or a harness's `.py`, which is read and never executed.

    Args:
        path: The file.

    Returns:
        What it holds.

    Raises:
        TemplateError: When it can't be read, or holds nothing that prompts are made of.

    >>> import json, pathlib, tempfile
    >>> import promptpress as pp
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "sums.json")
    >>> _ = path.write_text(json.dumps({"abbr": "sums", "infer_cfg": {"prompt_template": {"template": "{q}"}}}))
    >>> config = pp.load_config(path)
    >>> config.datasets["sums"]["infer_cfg"]
    {'prompt_template': {'template': '{q}'}}
    >>> folder.cleanup()
    """
    # Reading Python's files as data takes long to import, and most processes read none.
    from promptpress_harness.configs import selection  # noqa: PLC0415
    from promptpress_harness.configs.config_file import read_config  # noqa: PLC0415

    file = os.fspath(path)
    try:
        config = read_config(file)
        datasets, models = _named(selection.all_datasets(config)), _named(selection.all_models(config))
        arguments: Mapping[str, Any] | None = None
        if not datasets and not models:
            model = selection.choose_model(config, None)
            if model is not None:
                models = {str(model.get("abbr") or _stem(file)): model}
            else:
                chosen = selection.choose_dataset(config, None)
                arguments = _renderer_arguments(chosen.arguments)
                if chosen.format_prompt is not None and not chosen.format_prompt.has_choices:
                    arguments = chosen.format_prompt.arguments({})
                if chosen.dataset is not None:
                    datasets = {str(chosen.dataset.get("abbr") or _stem(file)): chosen.dataset}
        elif not datasets and isinstance(config.value, Mapping) and "infer_cfg" in config.value:
            only = selection.choose_dataset(config, None).dataset or {}
            datasets = {str(only.get("abbr") or _stem(file)): only}
    except ConfigError as error:
        raise located(error, file) from None
    return LoadedConfig(file, MappingProxyType(datasets), MappingProxyType(models), arguments, config)


def _renderer_arguments(arguments: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the arguments of a file with the names that `Renderer` has for them."""
    if arguments is None or "template" not in arguments:
        return arguments
    rest = {name: value for name, value in arguments.items() if name != "template"}
    return {"prompt_template": arguments["template"], **rest}


def _named(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Mapping[str, Any]]:
    """Give names to entries; of two of one name the second one's says so."""
    named: dict[str, Mapping[str, Any]] = {}
    for name, entry in entries:
        number, unique = 2, name
        while unique in named:
            unique, number = f"{name} ({number})", number + 1
        named[unique] = entry
    return named


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f", ... {len(every) - _NAMES_SHOWN} more" if len(every) > _NAMES_SHOWN else ""
    return f"[{', '.join(map(repr, every[:_NAMES_SHOWN]))}{more}]"

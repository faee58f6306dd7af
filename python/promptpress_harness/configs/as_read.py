"""The complete `infer_cfg` and `reader_cfg` of a file's datasets, including parts that prompts don't need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpress import ConfigError
from promptpress.engine.errors import located
from promptpress.typing import ConfigFile

from promptpress_harness.configs.config_file import Config, content_of
from promptpress_harness.configs.selection import entries_of
from promptpress_harness.python_subset import Opaque, Symbol


def datasets_as_read(file: ConfigFile) -> list[dict[str, Any]]:
    """Return the `infer_cfg` and `reader_cfg` of each dataset of a loaded file.

    Raises:
        TemplateError: If there is no dataset, or one of the parts contains code.

    """
    config = content_of(file)
    try:
        datasets = [_whole(entry) for _, entry in entries_of(config)]
        if not datasets:
            raise ConfigError(f"{config.path}: holds no datasets (infer_cfg, datasets or ..._datasets)")
    except ConfigError as error:
        raise located(error, config.path) from None
    return datasets


def dataset_as_read(config: Config, name: str | None) -> dict[str, Any] | None:
    """Return the `infer_cfg` and `reader_cfg` of one dataset; None if there is no such dataset.

    Args:
        config: The file.
        name: The dataset's name, as in `choose_dataset`.

    Raises:
        ConfigError: If one of the parts contains code.

    >>> dataset_as_read(Config("a.json", {"abbr": "a", "infer_cfg": {}, "path": "b"}, python=False), None)
    {'infer_cfg': {}}

    """
    return next((_whole(entry) for names, entry in entries_of(config) if name is None or name in names), None)


def _whole(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(entry[key], key) for key in ("infer_cfg", "reader_cfg") if key in entry}


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, Symbol):
        return value.dotted
    if isinstance(value, Opaque):
        raise ConfigError(f"{path}: {value.refusal}")
    if isinstance(value, Mapping):
        return {key: _plain(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{n}]") for n, item in enumerate(value)]
    return list(value) if isinstance(value, range) else value

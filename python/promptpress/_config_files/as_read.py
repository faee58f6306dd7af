"""A file's datasets with all that stands in them: what prompts don't need, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpress._config_files.config_file import Config
from promptpress._config_files.python_config import Opaque, Symbol
from promptpress._config_files.selection import entries_of
from promptpress._file_errors import ConfigError, located
from promptpress.typing import ConfigFile

__all__ = ["dataset_as_read", "datasets_as_read"]


def datasets_as_read(file: ConfigFile) -> list[dict[str, Any]]:
    """Give the `infer_cfg` and `reader_cfg` of every dataset.

    Args:
        file: What `load_config` gave.

    Returns:
        The dicts.

    Raises:
        TemplateError: When there is no dataset, or code stands in one of these.

    """
    config: Config = file._config  # type: ignore[attr-defined]
    try:
        found = [_whole(entry) for _, entry in entries_of(config)]
        if not found:
            raise ConfigError(f"{config.path}: holds no datasets (infer_cfg, datasets or ..._datasets)")
    except ConfigError as error:
        raise located(error, config.path) from None
    return found


def dataset_as_read(config: Config, name: str | None) -> dict[str, Any] | None:
    """Give the `infer_cfg` and `reader_cfg` of one dataset.

    Args:
        config: The file.
        name: Which, as `choose_dataset` takes it.

    Returns:
        A dict of them; None where there is no dataset.

    Raises:
        ConfigError: When code stands in one of these.

    Example:
        >>> dataset_as_read(Config("a.json", {"abbr": "a", "infer_cfg": {}, "path": "b"}, python=False), None)
        {'infer_cfg': {}}

    """
    return next((_whole(entry) for names, entry in entries_of(config) if name is None or name in names), None)


def _whole(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(entry[key], key) for key in ("infer_cfg", "reader_cfg") if key in entry}


def _plain(value: Any, place: str) -> Any:
    if isinstance(value, Symbol):
        return value.dotted
    if isinstance(value, Opaque):
        raise ConfigError(f"{place}: {value.refusal}")
    if isinstance(value, Mapping):
        return {key: _plain(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{place}[{n}]") for n, item in enumerate(value)]
    return list(value) if isinstance(value, range) else value

"""Reads the YAML of a task of lm-evaluation-harness, with the files that it includes, without the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptpress import ConfigError
from promptpress.engine.errors import reason
from promptpress_harness.bounded_file import read_bytes

_MAX_FILE_BYTES = 1 << 24
_UNSUPPORTED_KEYS = {
    "group": "a group of tasks",
    "task_list": "several tasks",
    "class": "a task with a class of its own",
}


class Function:
    """A function that a task names by `!function`; it is never imported."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise ConfigError(f"!function {self.name}: functions of a task aren't called")

    def __repr__(self) -> str:
        return f"!function {self.name}"


def read_task(path: str) -> dict[str, Any]:
    """Read a task, and refuse a group of tasks."""
    config = _read(Path(path), path, ())
    for key, what in _UNSUPPORTED_KEYS.items():
        if key in config:
            raise ConfigError(f"{path}: {key}: this is {what}; give the YAML of one task")
    if isinstance(config.get("task"), list):
        raise ConfigError(f"{path}: task: this is a group of tasks; give the YAML of one task")
    return config


def _read(file: Path, path: str, including: tuple[Path, ...]) -> dict[str, Any]:
    """Read a file and the files that it includes; `including` are the files that lead to this one."""
    resolved = file.expanduser().resolve()
    if resolved in including:
        raise ConfigError(f"{path}: includes itself, by way of {including[-1].name}")
    config = _load(path)
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: a task is a mapping; found a {type(config).__name__}")
    includes = config.pop("include", None)
    merged: dict[str, Any] = {}
    for name in includes if isinstance(includes, list) else [] if includes is None else [includes]:
        if not isinstance(name, str):
            raise ConfigError(f"{path}: include: expected the name of a file; found {name!r}")
        included = _read(file.parent / name, str(Path(path).parent / name), (*including, resolved))
        included.pop("task_list", None)  # the list belongs to the included file only
        merged |= included
    return merged | config


def _load(path: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(f"{path}: YAML needs PyYAML: pip install 'promptpress[cli]'") from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """The safe loader, with functions as `Function`."""

    Loader.add_constructor("!function", lambda loader, node: Function(str(loader.construct_scalar(node))))
    try:
        return yaml.load(read_bytes(path, _MAX_FILE_BYTES), Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path}:{line}: not valid YAML: {error.problem or error.context}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: not valid YAML: {reason(error)}") from None

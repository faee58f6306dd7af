"""A reader for configuration files: JSON, YAML, TOML, or a harness's Python file, which is read as data."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from promptpress import ConfigError
from promptpress.engine.configs import is_remote
from promptpress.engine.errors import reason

from promptpress_harness.bounded_file import read_text

_MAX_FILE_BYTES = 1 << 28

_OF_SAMPLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather")
"""Suffixes of files that hold samples, and no configuration."""


@dataclass(frozen=True)
class Config:
    """The content of a configuration file."""

    path: str
    value: Any
    python: bool


def content_of(file: Any) -> Config:
    """Return the content of a loaded file (a result of `load_config`), for the private modules."""
    config: Config = attrgetter("_config")(file)
    return config


def read_config(path: str) -> Config:
    """Read a configuration file in the format of its suffix: `.json`, `.yaml`, `.yml`, `.toml` or `.py`.

    The value of a Python file is a dict of the names that the file defines.

    Raises:
        ConfigError: If the file can't be read or has another suffix.

    """
    if is_remote(path):
        raise ConfigError(f"{path}: a configuration is a local file; samples may be at an address", is_choice=True)
    suffix = Path(path).suffix.lower()
    if suffix == ".py":
        # Other formats don't need the import of Python's parser.
        from promptpress_harness.python_subset.statements import read_python  # noqa: PLC0415

        return Config(path, read_python(path), python=True)
    if suffix not in _READERS:
        message = f"{path}: a configuration is a {', '.join(_READERS)} or .py file"
        hint = "samples come with --data" if suffix in _OF_SAMPLES else ""
        raise ConfigError(message, for_command=hint, is_choice=True)
    text = read_text(path, _MAX_FILE_BYTES)
    try:
        return Config(path, _READERS[suffix](path, text), python=False)
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except ConfigError:
        raise
    except ValueError as error:  # an integer with too many digits, an invalid date
        raise ConfigError(f"{path}: {reason(error)}") from None


def _json(path: str, text: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in items:
            if key in result:
                raise ConfigError(f"{path}: the key {key!r} stands twice in one object")
            result[key] = value
        return result

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not valid JSON: {error.msg} (column {error.colno})") from None


def _yaml(path: str, text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra, needed for this format only
    except ImportError:
        raise ConfigError(f"{path}: YAML needs PyYAML: pip install 'promptpress[cli]'") from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """The safe loader, but it refuses duplicate keys, of which it would silently use the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: list[Any] = []
            for key_node, value_node in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    continue
                key = self.construct_object(key_node, deep=True)
                if node.flow_style and len(node.value) == 1 and _is_empty(value_node) and isinstance(key, str):
                    line = node.start_mark.line + 1
                    raise ConfigError(f"{path}:{line}: {{{key}}} is a mapping in YAML; quote the text: '{{{key}}}'")
                if key in seen:
                    line = key_node.start_mark.line + 1
                    raise ConfigError(f"{path}:{line}: the key {key!r} stands twice in one mapping")
                seen.append(key)
            result: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return result

    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        hint = _quoting(text, line)
        raise ConfigError(f"{path}:{line}: not valid YAML: {error.problem or error.context}{hint}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: not valid YAML: {reason(error)}") from None


def _is_empty(node: Any) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null" and node.value == "")


def _quoting(text: str, line: int) -> str:
    """Return the end of an error message for a line whose text needs quotes or has a tab in its indent."""
    lines = text.splitlines()
    excerpt = lines[line - 1].strip() if line <= len(lines) else ""
    value = excerpt.partition(": ")[2].strip() or excerpt.removeprefix("- ")
    if "\t" in (lines[line - 1] if line <= len(lines) else ""):
        return "; YAML indents by spaces, not by tabs"
    if value[:1] in {"{", "[", "<", "%", "@", "`", "*", "&", "!"} or ": " in value:
        return "; a text that begins with a brace or the like, or has ': ' in it, is quoted in YAML: \"...\""
    return ""


def _toml(path: str, text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - each reader imports what it needs
    else:
        try:
            import tomli as tomllib  # noqa: PLC0415 - an extra, needed for this format only
        except ImportError:
            raise ConfigError(f"{path}: TOML needs tomli: pip install 'promptpress[cli]'") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = "; a text is quoted in TOML" if "Invalid value" in str(error) else ""
        raise ConfigError(f"{path}: not valid TOML: {reason(error)}{hint}") from None


_READERS: dict[str, Callable[[str, str], Any]] = {".json": _json, ".yaml": _yaml, ".yml": _yaml, ".toml": _toml}

"""The findings that a configuration's file allows."""

from __future__ import annotations

from collections.abc import Mapping

from promptpress import ConfigError
from promptpress.engine.errors import did_you_mean
from promptpress_harness.configs.config_file import Config
from promptpress_harness.configs.selection import Selection

from promptpress_workbench.audit.codes import known_codes


def allowed_findings(config: Config, selection: Selection) -> list[str]:
    """Return the findings that a configuration allows by `audit: {allow: [...]}`, in the file or the dataset's dict."""
    allowed: list[str] = []
    for mapping in (config.value, selection.dataset):
        given = mapping.get("audit") if isinstance(mapping, Mapping) else None
        if given is None or (config.python and not isinstance(given, Mapping)):
            continue
        if not isinstance(given, Mapping):
            raise ConfigError(f"{config.path}: audit: expected a mapping with 'allow', found a {type(given).__name__}")
        for key in given:
            if key != "allow":
                hint = did_you_mean(str(key), ["allow"]) or "; it may have 'allow'"
                raise ConfigError(f"{config.path}: audit.{key}: unknown{hint}")
        codes = given.get("allow") or ()
        try:
            known_codes(codes)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{config.path}: audit.{error}") from None
        allowed += codes
    return allowed

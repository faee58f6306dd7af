"""The configurations and models that can be chosen on the page, and the renderer of each choice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from promptpress import ConfigError, Renderer
from promptpress.typing import Mode, Output, Substitution
from promptpress_harness.configs.config_file import Config, read_config
from promptpress_harness.configs.selection import all_datasets, all_models, choose_dataset, choose_model

from promptpress_workbench.audit.codes import allowed_findings

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate  # they need Jinja2


@dataclass(frozen=True)
class Choice:
    """A configuration as the fields of the page choose it.

    `prompts` and `model` are names of the catalogue. A field that is None follows the configuration.
    """

    prompts: str
    model: str | None = None
    mode: str | None = None
    output: str | None = None
    substitution: str | None = None

    def changed(self, **fields: str | None) -> Choice:
        return replace(self, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ConfigEntry:
    """A file of the catalogue, and the name of an entry in it if it holds several."""

    path: str
    entry: str | None = None


class Catalogue:
    """The prompt configurations and models of some files, by their names, and the renderers that `make` makes of them.

    `template` is a Jinja template or a chat template that takes the place of configurations.
    """

    MODES: Sequence[str] = get_args(Mode)
    OUTPUTS: Sequence[str] = get_args(Output)
    SUBSTITUTIONS: Sequence[str] = get_args(Substitution)

    def __init__(
        self,
        configs: Sequence[str],
        models: Sequence[str],
        make: Callable[[Choice, ConfigEntry, ConfigEntry | None], Renderer] | None = None,
        read: Callable[[str], Config] = read_config,
        template: tuple[str, JinjaTemplate | ChatTemplate] | None = None,
    ) -> None:
        self.prompts: dict[str, ConfigEntry] = {}
        self.models: dict[str, ConfigEntry] = {}
        self._make = make
        self._read = read
        self._cached: dict[Choice, Renderer] = {}
        self._lock = threading.Lock()
        self._template = None if template is None else template[1]
        self.has_settings = template is None
        """True if mode, output and substitution can be chosen; a template has none."""
        if template is not None:
            _add(self.prompts, ConfigEntry(template[0]))
        for path in configs:
            config = read(path)
            for entry in _datasets_of(config):
                _add(self.prompts, ConfigEntry(path, entry))
            if isinstance(config.value, dict) and "models" in config.value:
                for name, _ in all_models(config):
                    _add(self.models, ConfigEntry(path, name))
        for path in models:
            config = read(path)
            names: list[str | None] = [name for name, _ in all_models(config)]
            if not names and choose_model(config, None) is None:
                raise ConfigError(f"{path}: holds no model (a list 'models', a model dict or a meta_template)")
            for entry in names or [None]:
                _add(self.models, ConfigEntry(path, entry))

    @property
    def compares(self) -> bool:
        """True if there is another choice to compare one with: a template alone has none."""
        return self.has_settings or len(self.prompts) > 1

    def other_prompts(self, choice: Choice) -> Choice | None:
        """Return the choice that a choice is compared with: of other prompts; None if there are none."""
        name = _counterpart(self.prompts, choice.prompts)
        return None if name is None else choice.changed(prompts=name)

    def other_model(self, choice: Choice) -> Choice | None:
        """Return the choice that a choice is compared with: of another model; None if there is none."""
        name = None if choice.model is None else _counterpart(self.models, choice.model)
        return None if name is None else choice.changed(model=name)

    def allowed(self, choice: Choice) -> list[str]:
        """Return the codes of the findings that the choice's file allows."""
        if self._template is not None:
            return []
        entry = self.prompts[choice.prompts]
        config = self._read(entry.path)
        return allowed_findings(config, choose_dataset(config, entry.entry))

    def renderer(self, choice: Choice) -> Renderer | JinjaTemplate | ChatTemplate:
        """Return the renderer of a choice, which is made once."""
        if self._template is not None:
            return self._template
        assert self._make is not None  # only a template needs none
        with self._lock:
            if choice not in self._cached:
                if len(self._cached) >= 64:
                    self._cached.clear()
                model = None if choice.model is None else self.models[choice.model]
                self._cached[choice] = self._make(choice, self.prompts[choice.prompts], model)
            return self._cached[choice]


def _datasets_of(config: Config) -> list[str | None]:
    names: list[Any] = [name for name, _ in all_datasets(config)]
    if not names:
        choose_dataset(config, None)  # raises the error
    return names or [None]


def _counterpart(entries: dict[str, ConfigEntry], chosen: str) -> str | None:
    """Return the entry to compare another one with: that of its name in another file, the file's first, or the next."""
    entry = entries[chosen]
    elsewhere = [name for name, other in entries.items() if other.path != entry.path]
    namesakes = [name for name in elsewhere if entries[name].entry == entry.entry]
    others = [name for name in entries if name != chosen]
    return next(iter([*namesakes, *elsewhere, *others]), None)


def _add(names: dict[str, ConfigEntry], entry: ConfigEntry) -> None:
    """Add an entry under the shortest name that is free: the entry's own, else the file's with it."""
    file = entry.path.replace("\\", "/").rsplit("/", 1)[-1]
    suffix = f" {entry.entry}" if entry.entry else ""
    for name in (entry.entry or file, f"{file}{suffix}", f"{entry.path}{suffix}"):
        if names.get(name, entry) == entry:
            names[name] = entry
            return

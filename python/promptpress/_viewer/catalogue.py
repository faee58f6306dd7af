"""What can be chosen on the page, and the renderer of each choice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.selection import all_datasets, all_models, choose_dataset, choose_model
from promptpress._file_errors import ConfigError
from promptpress._renderer import Renderer
from promptpress.typing import Mode, Output, Substitution


@dataclass(frozen=True)
class Choice:
    """A configuration as the page's fields say it; None stands for what the configuration itself says.

    Args:
        prompts: the name of the prompt configuration, one of the catalogue's `prompts`.
        model: the name of the model, one of its `models`.
        mode: `gen` or `ppl`.
        output: a form of output.
        substitution: `harness` or `single_pass`.

    Example:
        >>> Choice("mmlu.py").changed(mode="ppl").mode
        'ppl'

    """

    prompts: str
    model: str | None = None
    mode: str | None = None
    output: str | None = None
    substitution: str | None = None

    def changed(self, **fields: str | None) -> Choice:
        """Give the choice with some fields changed.

        Args:
            fields: what they are then.

        Returns:
            Another choice.

        """
        return replace(self, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Source:
    """Where a name of the catalogue stands: a file, and the entry in it.

    Example:
        >>> Source("mmlu.py", "mmlu_gen").entry
        'mmlu_gen'

    """

    path: str
    entry: str | None = None


class Catalogue:
    """The prompt configurations and models of some files, and the renderers made of them.

    Args:
        configs: files of prompt configurations.
        models: files of models.
        make: makes the renderer of a choice, whose prompts and model stand there.
        read: what reads a file.

    Raises:
        ConfigError: when a file can't be read, or holds nothing of the kind.

    Example:
        >>> Catalogue([], [], lambda choice, prompts, model: None).prompts
        {}

    """

    MODES: Sequence[str] = get_args(Mode)
    OUTPUTS: Sequence[str] = get_args(Output)
    SUBSTITUTIONS: Sequence[str] = get_args(Substitution)

    def __init__(
        self,
        configs: Sequence[str],
        models: Sequence[str],
        make: Callable[[Choice, Source, Source | None], Renderer],
        read: Callable[[str], Config] = read_config,
    ) -> None:
        self.prompts: dict[str, Source] = {}
        self.models: dict[str, Source] = {}
        self._make = make
        self._made: dict[Choice, Renderer] = {}
        self._lock = threading.Lock()
        for path in configs:
            config = read(path)
            for entry in _datasets_of(config):
                _add(self.prompts, Source(path, entry))
            if isinstance(config.value, dict) and "models" in config.value:
                for name, _ in all_models(config):
                    _add(self.models, Source(path, name))
        for path in models:
            config = read(path)
            names: list[str | None] = [name for name, _ in all_models(config)]
            if not names and choose_model(config, None) is None:
                raise ConfigError(f"{path}: holds no model (a list 'models', a model dict or a meta_template)")
            for entry in names or [None]:
                _add(self.models, Source(path, entry))

    def renderer(self, choice: Choice) -> Renderer:
        """Give the renderer of a choice; it is made once.

        Args:
            choice: what is chosen.

        Returns:
            The renderer.

        Raises:
            FileError: when a file can't be read any more.
            promptpress.TemplateError: when the parts don't go together.

        """
        with self._lock:
            if choice not in self._made:
                if len(self._made) >= 64:
                    self._made.clear()
                model = None if choice.model is None else self.models[choice.model]
                self._made[choice] = self._make(choice, self.prompts[choice.prompts], model)
            return self._made[choice]


def _datasets_of(config: Config) -> list[str | None]:
    names: list[Any] = [name for name, _ in all_datasets(config)]
    if not names:
        choose_dataset(config, None)  # says what is wrong with it
    return names or [None]


def _add(names: dict[str, Source], source: Source) -> None:
    """Name an entry as shortly as the others allow: the entry, else the file with it."""
    file = source.path.replace("\\", "/").rsplit("/", 1)[-1]
    short = source.entry or file
    entry = f" {source.entry}" if source.entry else ""
    for name in (short, f"{file}{entry}", f"{source.path}{entry}"):
        if names.get(name, source) == source:
            names[name] = source
            return

"""The datasets and models of a command line: one of each, or all of a file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.selection import Selection, all_datasets, all_models

from .configured_renderer import configuration
from .template_option import with_template

ALL = "all"
"""What --dataset and --model-abbr call every one of a file, where none has that name."""


@dataclass(frozen=True)
class Job:
    """One dataset, one model, and what both are called.

    Example:
        >>> Job("gsm8k", Selection(arguments={}), None).label
        'gsm8k'

    """

    label: str
    dataset: Selection
    model: Mapping[str, Any] | None


def jobs(arguments: Namespace, read: Callable[[str], Config] = read_config) -> list[Job]:
    """Read what the command line means.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        read: what reads a configuration file.

    Returns:
        Every dataset with every model, in the order of the files; one where the options say one.

    Raises:
        FileError: when a file can't be read, holds nothing of the kind, or holds several and none is said.

    """
    read = with_template(arguments, read)
    kept: dict[str, Config] = {}

    def once(path: str) -> Config:
        if path not in kept:
            kept[path] = read(path)
        return kept[path]

    datasets = _all(arguments.dataset, all_datasets, once, arguments.config)
    holder = arguments.config if arguments.model is None else arguments.model
    models = _all(arguments.model_abbr, all_models, once, holder)
    found = []
    # Where all aren't asked for, the options choose.
    for dataset in datasets if datasets is not None else (None,):
        for model in models if models is not None else (None,):
            one = Namespace(**vars(arguments))
            chosen: Selection | None = None
            if dataset is not None:
                one.dataset, chosen = None, Selection(dataset=dataset[1])
            if model is not None or (
                getattr(arguments, "backend", False) and models is None and arguments.model_abbr == ALL
            ):
                one.model_abbr = None
            both = configuration(one, once, dataset=chosen, model=None if model is None else model[1])
            label = " ".join(part[0] for part in (dataset, model) if part is not None)
            found.append(Job(label, *both))
    return found


def takes_all(arguments: Namespace) -> bool:
    """Say whether the command line may mean several datasets or models.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        Whether `all` is said of either.

    Example:
        >>> takes_all(Namespace(dataset="all", model_abbr=None))
        True

    """
    return ALL in (arguments.dataset, arguments.model_abbr)


def _all(
    name: str | None,
    entries: Callable[[Config], list[tuple[str, Mapping[str, Any]]]],
    read: Callable[[str], Config],
    path: str,
) -> list[tuple[str, Mapping[str, Any]]] | None:
    if name != ALL:
        return None
    found = entries(read(path))
    return None if not found or any(label == ALL for label, _ in found) else found

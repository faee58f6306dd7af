"""The datasets and models that a command line chooses: one of each, or all of a file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from promptpress_harness.configs.config_file import Config, read_config
from promptpress_harness.configs.selection import Selection, all_datasets, all_models

from promptpress_workbench.cli.sources.configured_renderer import configuration
from promptpress_workbench.cli.sources.template_option import with_template

ALL = "all"
"""The value of --dataset and --model-abbr that chooses all entries of a file, unless an entry has this name."""


@dataclass(frozen=True)
class Job:
    """A dataset and a model, with a label that names both."""

    label: str
    dataset: Selection
    model: Mapping[str, Any] | None


def jobs(arguments: Namespace, read: Callable[[str], Config] = read_config) -> list[Job]:
    """Return the jobs of the command line: each chosen dataset with each chosen model."""
    read = cache(with_template(arguments, read))
    datasets = _all(arguments.dataset, all_datasets, read, arguments.config)
    models_path = arguments.config if arguments.model is None else arguments.model
    models = _all(arguments.model_abbr, all_models, read, models_path)
    out = []
    # None stands for the entry that the options choose.
    for dataset in datasets if datasets is not None else (None,):
        for model in models if models is not None else (None,):
            options = Namespace(**vars(arguments))
            selection: Selection | None = None
            if dataset is not None:
                options.dataset, selection = None, Selection(dataset=dataset[1])
            if model is not None or (
                getattr(arguments, "backend", False) and models is None and arguments.model_abbr == ALL
            ):
                options.model_abbr = None
            parts = configuration(options, read, dataset=selection, model=None if model is None else model[1])
            label = " ".join(part[0] for part in (dataset, model) if part is not None)
            out.append(Job(label, *parts))
    return out


def takes_all(arguments: Namespace) -> bool:
    """Return true if the command line may choose several datasets or models."""
    return ALL in (arguments.dataset, arguments.model_abbr)


def _all(
    name: str | None,
    entries: Callable[[Config], list[tuple[str, Mapping[str, Any]]]],
    read: Callable[[str], Config],
    path: str,
) -> list[tuple[str, Mapping[str, Any]]] | None:
    """Return all entries of a file with their names; None if not all are chosen, or if the file has no list."""
    if name != ALL:
        return None
    listed = entries(read(path))
    return None if not listed or any(label == ALL for label, _ in listed) else listed

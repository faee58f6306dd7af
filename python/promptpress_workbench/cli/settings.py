"""Settings of a command line that several commands share, read once from the parsed arguments."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from promptpress.engine.errors import OutputError, UsageError
from promptpress.engine.tokens import TokenSettings

from promptpress_workbench.cli.errors import in_options
from promptpress_workbench.cli.options import FORMAT_OPTIONS, TOKEN_OPTIONS
from promptpress_workbench.files.read.formats import DataFormat, RowChoice
from promptpress_workbench.files.write.output_file import STDOUT, STDOUT_DEVICES, is_stream

if TYPE_CHECKING:
    from promptpress_workbench.cli.dataset_rows import DatasetRows

ALL = "all"
"""The value of --dataset and --model-abbr that chooses all entries of a file, unless an entry has this name."""

TEMPLATE = "--template"
"""The name of the configuration that `--template` gives."""

_TOKEN_ARGUMENTS = {"token_labels": "labels", "special_tokens": "add_special_tokens"}
"""The arguments of `TokenSettings` whose names differ from the option's."""


@dataclass(frozen=True)
class Settings:
    """Choices of how prompts are made, how samples are read and where output goes; None is an option's default.

    Options that a command lacks have their defaults. `other` and the options of `diff` for B aren't part of it.
    """

    # How prompts are made.
    config: str | None = None
    template: str | None = None
    system: str | None = None
    optional_system: bool | None = None
    answer: str | None = None
    shots: int | None = None
    shots_seed: int | None = None
    model: str | None = None
    dataset: str | None = None
    model_abbr: str | None = None
    output: str | None = None
    roles: dict[str, str] | None = None
    mode: str | None = None
    labels: list[Any] | None = None
    substitution: str | None = None
    dialect: str | None = None
    strings: str | None = None
    limits: dict[str, int] | None = None
    unknown: Literal["refuse", "keep"] | None = None
    tokenizer: str | None = None
    max_seq_len: int | None = None
    fit: str | None = None
    reserve: int | None = None
    fit_labels: str | None = None
    examples: list[str] | None = None
    jinja: str | None = None
    chat_template: str | None = None
    column: str | None = None
    add_generation_prompt: bool | None = None
    chat_argument: list[tuple[str, str]] | None = None
    system_merge: bool | None = None
    decode_arguments: bool | None = None
    refuse_left_out: list[str] | None = None
    argument_column: list[dict[str, str]] | None = None
    environment: str | None = None
    jinja_option: list[tuple[str, str]] | None = None
    constant: list[tuple[str, str]] | None = None
    fallback: str | None = None
    now: datetime | None = None
    fewshot_as_multiturn: bool | None = None
    processed_docs: bool | None = None
    # How samples are read, and which of them.
    data: list[str] | None = None
    rows: DatasetRows | None = None
    """The rows of the dataset that CONFIG names, if the command line names no files; `data` is their file then."""
    data_format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    records: str | None = None
    batch_size: int | None = None
    skip_corrupt: bool | None = None
    where: str | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int | None = None
    errors: Literal["raise", "column", "skip"] | None = None
    # Where output goes, and which columns it has.
    out: str = STDOUT
    out_format: str | None = None
    compression: str | None = None
    no_clobber: bool = False
    resume: bool = False
    keep: list[str] | None = None
    index: str | None = None
    order: Literal["prefix"] | None = None
    turns: Literal["all", "each"] | None = None
    mask: str | None = None
    shared: bool | None = None
    hashes: bool | None = None
    quiet: bool = False
    progress: bool = False
    print_first: bool = False
    strict: bool = False

    @classmethod
    def of(cls, arguments: Namespace) -> Settings:
        """Return the settings of parsed arguments; `out` is `-` for standard output, `config` the first of several."""
        values = {name: getattr(arguments, name) for name in _FIELDS if hasattr(arguments, name)}
        for name in ("config", "model"):
            if isinstance(values.get(name), list):  # `view` takes several
                values[name] = next(iter(values[name]), None)
        if values.get("out") in (None, *STDOUT_DEVICES):
            values["out"] = STDOUT
        return cls(**values)

    @property
    def config_name(self) -> str | None:
        """CONFIG, or `TEMPLATE` if there is a template in its place."""
        return self.config if self.template is None else TEMPLATE

    @property
    def takes_all(self) -> bool:
        """True if the command line may choose several datasets or models."""
        return ALL in (self.dataset, self.model_abbr)

    @property
    def format(self) -> DataFormat:
        """The format of files, as far as the command line says it."""
        return DataFormat(*(getattr(self, name) for name in FORMAT_OPTIONS))

    @property
    def row_choice(self) -> RowChoice:
        """The rows that `--where` and `--sample` choose."""
        if self.seed is not None and self.sample is None:
            raise UsageError("--seed: goes with --sample N, which draws rows at random")
        return RowChoice(self.where, self.sample, self.seed or 0)

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of the options that the command line contains."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def refuse_existing(self, paths: Iterable[str | None]) -> None:
        """Refuse the first of some paths that exists, if `--no-clobber` is given."""
        for path in paths if self.no_clobber else ():
            if path is None or path in (STDOUT, *STDOUT_DEVICES) or is_stream(path):
                continue
            if os.path.lexists(path):
                raise OutputError(f"{path}: is there already, and --no-clobber keeps it")


_FIELDS = tuple(field.name for field in fields(Settings))


def token_settings(arguments: Namespace, **more: Any) -> dict[str, Any]:
    """Return the arguments of `TokenSettings` that a command line gives, and those that the command decides."""
    given = {_TOKEN_ARGUMENTS.get(name, name): getattr(arguments, name, None) for name in TOKEN_OPTIONS} | more
    settings = {name: value for name, value in given.items() if value is not None}
    try:
        TokenSettings(**settings)
    except ValueError as error:
        raise UsageError(in_options(str(error))) from error
    return settings

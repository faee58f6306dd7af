"""`promptpress render CONFIG --dataset all --out FOLDER/`: a file for each dataset and model, and a summary."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
import unicodedata
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.dataset_files import ADDED_COLUMNS, DatasetFiles, UnknownFilesError, files_of
from promptpress._config_files.selection import Selection, each_of
from promptpress._file_errors import ConfigError, FileError, UsageError
from promptpress._inputs.formats import FORMATS, Written
from promptpress._inputs.samples import Samples, example_rows
from promptpress._outputs.formats import check_compression
from promptpress._outputs.out_format import out_format
from promptpress._outputs.output_file import STDOUT, STDOUT_DEVICES, output_file
from promptpress._outputs.parts import forget
from promptpress._view.visible import encodable, printable

from .clobber import refuse_existing
from .configured_renderer import configuration, renderer_of
from .done import Done
from .errors import ExitCode, exit_code_of, of_command
from .jobs import ALL
from .notes import held_back
from .prompt_stream import TableSamples
from .render import open_samples, refuse_overwriting, render_samples
from .resume import remember_clock
from .template_option import with_template
from .threads import set_threads

_UNSAFE = re.compile(r"[^\w.+-]+")
_MAX_NAME_BYTES = 150
SUMMARY = "summary.json"


@dataclass
class One:
    """One dataset with one model, and what became of it.

    Example:
        >>> One("gsm8k", None, Selection(arguments={})).label
        'gsm8k'

    """

    dataset: str
    model: str | None
    chosen: Selection | ConfigError
    model_dict: Mapping[str, Any] | ConfigError | None = None
    file: str = ""
    data: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    done: Done | None = None
    status: str = "failed"
    why: str = ""
    code: str = ""
    exit_code: ExitCode = ExitCode.OK

    @property
    def label(self) -> str:
        """What it is called."""
        return self.dataset if self.model is None else f"{self.dataset} {self.model}"


def render_all(arguments: Namespace) -> ExitCode:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        That of what went wrong first, by severity; else that of the data where some weren't rendered.

    Raises:
        FileError: when something is wrong with all of them.

    """
    folder, kind = _folder(arguments)
    if arguments.print_first:
        raise UsageError("--print-first goes with one dataset; `promptpress show` shows any")
    set_threads(arguments.threads)
    work = _listed(arguments)
    data = _named(arguments.data, work, "--data", applies_to_all=arguments.dataset != ALL)
    examples = _named(arguments.examples, work, "--examples", applies_to_all=arguments.dataset != ALL)
    _name_files(work, folder, f".{kind}")
    refuse_existing(arguments, [*(one.file for one in work), os.path.join(folder, SUMMARY)])
    start = time.perf_counter()
    total = Done()
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {arguments.out}: no folder can be made there: {error.strerror}") from error
    width = max(len(one.label) for one in work)
    for one in work:
        one.data, one.examples = data.get(one.dataset, []), examples.get(one.dataset, [])
        _render_one(one, arguments)
        if one.done is not None:
            total.rows += one.done.rows
            total.prompt_bytes += one.done.prompt_bytes
            total.errors += one.done.errors
            total.skipped += one.done.skipped
        if not arguments.quiet or one.done is None:
            _say(f"{one.status:12}  {one.label:{width}}  {_told(one)}")
    _write_summary(arguments, folder, work)
    if all(one.done is not None for one in work):
        for one in work:
            forget(one.file)
    if not arguments.quiet:
        counts = {status: sum(one.status == status for one in work) for status in dict.fromkeys(o.status for o in work)}
        _say(f"{len(work):,} in all: " + ", ".join(f"{n:,} {status}" for status, n in counts.items()))
        total.tell_faults()
        _say(total.summary(time.perf_counter() - start))
    codes = [one.exit_code for one in work if one.exit_code != ExitCode.OK]
    return max(codes, default=total.exit_code)


def _folder(arguments: Namespace) -> tuple[str, str]:
    """Give the folder, and the format of its files."""
    out = arguments.out
    if out == STDOUT or out in STDOUT_DEVICES:
        raise UsageError(f"--out {out}: {ALL} writes a file for each; name a folder, such as prompts/")
    suffix = os.path.splitext(out)[1].lower()
    if not os.path.isdir(out) and not out.endswith(("/", os.sep)) and (suffix in FORMATS or os.path.isfile(out)):
        raise UsageError(
            f"--out {out}: {ALL} writes a file for each; name a folder, such as {os.path.splitext(out)[0]}/"
        )
    kind = arguments.out_format or "jsonl"
    check_compression(kind, arguments.compression)
    return out, kind


def _listed(arguments: Namespace) -> list[One]:
    """List every dataset with every model, those too that can't be read."""
    kept: dict[str, Config] = {}
    plain = with_template(arguments, read_config)

    def read(path: str) -> Config:
        if path not in kept:
            kept[path] = plain(path)
        return kept[path]

    datasets: list[tuple[str, Selection | ConfigError]] = []
    if arguments.dataset == ALL:
        for name, entry in each_of(read(arguments.config), "datasets"):
            datasets.append((name, entry if isinstance(entry, ConfigError) else Selection(dataset=entry)))
    if not datasets:
        one = Namespace(**{**vars(arguments), "model": None, "model_abbr": None})
        one.dataset = None if arguments.dataset == ALL else arguments.dataset
        chosen, _ = configuration(one, read, model={})
        held = chosen.dataset or {}
        stem = os.path.splitext(os.path.basename(arguments.config.lstrip("-")))[0]
        datasets = [(str(held.get("abbr") or one.dataset or stem), chosen)]
    models: list[tuple[str | None, Mapping[str, Any] | ConfigError | None]] = []
    if arguments.model_abbr == ALL:
        models += each_of(read(arguments.config if arguments.model is None else arguments.model), "models")
    if not models:
        one = Namespace(**{**vars(arguments), "dataset": None})
        one.model_abbr = None if arguments.model_abbr == ALL else arguments.model_abbr
        first = next((chosen for _, chosen in datasets if isinstance(chosen, Selection)), Selection(dataset={}))
        models = [(None, configuration(one, read, dataset=first)[1])]
    return [One(name, model, chosen, entry) for name, chosen in datasets for model, entry in models]


def _named(
    given: Sequence[str] | None, work: Sequence[One], option: str, *, applies_to_all: bool
) -> dict[str, list[str]]:
    """Read `NAME=FILE` by the datasets' names; a bare file is every dataset's only where there is one."""
    names = list(dict.fromkeys(one.dataset for one in work))
    found: dict[str, list[str]] = {}
    for text in given or ():
        fitting = [name for name in names if text.startswith(f"{name}=")]
        if fitting:
            name = max(fitting, key=len)
            found.setdefault(name, []).append(text[len(name) + 1 :])
        elif applies_to_all:
            found.setdefault(names[0], []).append(text)
        else:
            before, equals, _ = text.partition("=")
            close = difflib.get_close_matches(before, names, 1) if equals else []
            listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            hint = f"did you mean {close[0]}=...?" if close else f"the datasets are {listed}"
            raise UsageError(f"{option} {text}: with --dataset {ALL} it is NAME=FILE; {hint}")
    return found


def _name_files(work: Sequence[One], folder: str, suffix: str) -> None:
    """Give each a file's name that any file system takes, and no other has."""
    taken: set[str] = set()
    for one in work:
        text = unicodedata.normalize("NFC", one.dataset if one.model is None else f"{one.dataset}__{one.model}")
        stem = _UNSAFE.sub("_", text).strip("._-") or "dataset"
        stem = stem.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
        number, unique = 2, stem
        while unique.casefold() in taken:
            unique, number = f"{stem}-{number}", number + 1
        taken.add(unique.casefold())
        one.file = os.path.join(folder, f"{unique}{suffix}")


def _render_one(one: One, arguments: Namespace) -> None:
    """Render one; what goes wrong is its own affair."""
    try:
        for part in (one.chosen, one.model_dict):
            if isinstance(part, ConfigError):
                raise part
        one.done = _rendered(one, arguments)
        one.status = "rendered"
    except UnknownFilesError as error:
        one.status, one.why = "not rendered", f"{error}; --data '{one.dataset}=FILE' brings rows"
        one.code, one.exit_code = "unreadable_data", ExitCode.DATA
    except FileError as error:
        one.why, one.code, one.exit_code = error.of_command(), error.code, exit_code_of(error)
    except promptpress.TemplateError as error:
        one.why, one.code, one.exit_code = of_command(error), error.code, ExitCode.CONFIGURATION
    except promptpress.RenderError as error:
        one.why, one.code, one.exit_code = of_command(error), error.code, ExitCode.DATA


def _rendered(one: One, arguments: Namespace) -> Done:
    chosen, model = one.chosen, one.model_dict
    assert isinstance(chosen, Selection)
    assert not isinstance(model, ConfigError)
    own = Namespace(**vars(arguments))
    own.out, own.data, own.examples = one.file, list(one.data), list(one.examples)
    samples: Samples | TableSamples
    if one.data:
        train = example_rows(one.examples, arguments.data_format)
        samples = open_samples(arguments, one.data)
    else:
        if one.examples:
            raise UsageError(f"--examples {one.dataset}=...: needs --data {one.dataset}=FILE, too")
        if chosen.dataset is None:
            raise UnknownFilesError("the configuration says of no file that it holds the rows")
        files = files_of(chosen.dataset)
        rows = _rows(files)
        one.data = own.data = [files.path]
        train, test = files.train(rows), files.test(rows)
        samples = TableSamples(
            test if arguments.limit is None else test.slice(0, arguments.limit), arguments.batch_size
        )
    refuse_overwriting(own)
    remember_clock(own)
    with held_back(own) as held:
        renderer = renderer_of(own, chosen, model, train)
    if isinstance(samples, TableSamples):
        added = ADDED_COLUMNS & set(renderer.required_columns) - set(samples.schema.names)
        if added:
            raise UnknownFilesError(f"a template names {min(added)!r}, which the harness adds to the rows")
    try:
        out: Written = out_format(one.file, arguments.out_format)
        return render_samples(own, out, renderer, samples, held, is_one_of_many=True)
    finally:
        if isinstance(samples, Samples):
            samples.close()


def _rows(files: DatasetFiles) -> pa.Table:
    """Read a dataset's own file."""
    samples = Samples([files.path], files.format)
    try:
        files.check(samples.schema.names, has_times=samples.has_times)
        return samples.table()
    finally:
        samples.close()


def _told(one: One) -> str:
    if one.done is None:
        return one.why
    return f"{one.done.rows:,} rows, {one.done.prompt_bytes:,} bytes: {one.file}"


def _write_summary(arguments: Namespace, folder: str, work: Sequence[One]) -> None:
    """Write what became of each, for programs."""
    entries = list(_entries(work, folder))
    value = {"promptpress": promptpress.__version__, "config": arguments.config, "rendered": entries}
    with output_file(os.path.join(folder, SUMMARY)) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n")


def _entries(work: Sequence[One], folder: str) -> Iterator[dict[str, Any]]:
    for one in work:
        entry: dict[str, Any] = {"dataset": one.dataset, "model": one.model, "status": one.status.replace(" ", "_")}
        if one.done is None:
            entry |= {"why": one.why, "code": one.code}
        else:
            file = os.path.relpath(one.file, folder)
            entry |= {"file": file, "rows": one.done.rows, "prompt_bytes": one.done.prompt_bytes}
            if one.done.errors:
                entry["errors"] = one.done.errors
            if one.done.skipped:
                entry["skipped"] = [
                    {"file": group.path, "row_group": group.number, "rows": group.rows} for group in one.done.skipped
                ]
            entry["fingerprint"] = one.done.fingerprint
            if one.done.hash is not None:
                entry["hash"] = one.done.hash
        yield {**entry, "data": one.data, "examples": one.examples}


def _say(text: str) -> None:
    # What an abbr holds may steer the terminal.
    print(encodable(f"promptpress: {printable(text)}", sys.stderr.encoding), file=sys.stderr)

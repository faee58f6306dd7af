"""`promptpress render CONFIG --dataset all --out FOLDER/`: writes a file for each dataset and model, and a summary."""

from __future__ import annotations

import json
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine.errors import FileError, FilledValuesWarning, LeftOutWarning, UsageError, close_names, counted
from promptpress_harness.configs.config_file import UnknownFilesError, read_config
from promptpress_harness.configs.selection import Selection, each_of

from promptpress_workbench.cli.configurations import (
    configuration,
    held_warnings,
    open_samples,
    renderer_of,
    with_template,
)
from promptpress_workbench.cli.dataset_rows import DatasetRows
from promptpress_workbench.cli.errors import ExitCode, code_and_text
from promptpress_workbench.cli.output import refuse_overwriting
from promptpress_workbench.cli.prompt_stream import with_clock
from promptpress_workbench.cli.render import render_samples
from promptpress_workbench.cli.run_counts import Done
from promptpress_workbench.cli.settings import ALL, Settings
from promptpress_workbench.cli.terminal import print_error_line, say
from promptpress_workbench.files.read.formats import SUFFIXES, HarnessTypes
from promptpress_workbench.files.read.samples import example_rows
from promptpress_workbench.files.write.formats import check_compression, out_format
from promptpress_workbench.files.write.output_file import STDOUT, STDOUT_DEVICES, output_file
from promptpress_workbench.files.write.parts import forget

_UNSAFE = re.compile(r"[^\w.+-]+")
_MAX_NAME_BYTES = 150
SUMMARY = "summary.json"


@dataclass
class Entry:
    """A dataset with a model (each may be the error of reading it), its files, and the result of rendering."""

    dataset: str
    model: str | None
    selection: Selection | ConfigError
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
        """The name of the entry in messages."""
        return self.dataset if self.model is None else f"{self.dataset} {self.model}"


def render_all(settings: Settings, folder: str) -> ExitCode:
    """Render all entries into a folder, report each, and write the summary; return the highest exit code."""
    kind = _format_in(folder, settings)
    if settings.print_first:
        raise UsageError("--print-first goes with one dataset; `promptpress show` shows any")
    entries = _entries(settings)
    data = _files_by_dataset(settings.data, entries, "--data", is_one_dataset=settings.dataset != ALL)
    examples = _files_by_dataset(settings.examples, entries, "--examples", is_one_dataset=settings.dataset != ALL)
    _name_files(entries, folder, f".{kind}")
    settings.refuse_existing([*(entry.file for entry in entries), os.path.join(folder, SUMMARY)])
    start = time.perf_counter()
    total = Done(is_strict=settings.strict, leaves_out=settings.errors == "skip")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: no folder can be made there: {error.strerror}") from error
    width = max(len(entry.label) for entry in entries)
    for entry in entries:
        entry.data, entry.examples = data.get(entry.dataset, []), examples.get(entry.dataset, [])
        _render_entry(entry, settings)
        text = entry.why
        if (done := entry.done) is not None:
            total.rows += done.rows
            total.prompt_bytes += done.prompt_bytes
            total.samples += done.samples
            total.errors += done.errors
            total.skipped += done.skipped
            text = f"{counted(done.rows, 'row')}, {counted(done.prompt_bytes, 'byte')}: {entry.file}"
        if not settings.quiet or done is None:
            # An abbr may contain characters that control a terminal or break the line.
            print_error_line(f"promptpress: {entry.status:12}  {entry.label:{width}}  {text}")
    _write_summary(settings, folder, entries)
    if all(entry.done is not None for entry in entries):
        for entry in entries:
            forget(entry.file)
    if not settings.quiet:
        counts = Counter(entry.status for entry in entries)
        say(f"{len(entries):,} in all: " + ", ".join(f"{n:,} {status}" for status, n in counts.items()))
        total.report_faults()
        say(total.summary(time.perf_counter() - start))
    codes = [entry.exit_code for entry in entries if entry.exit_code != ExitCode.OK]
    return max(codes, default=total.exit_code)


def _format_in(out: str, settings: Settings) -> str:
    """Return the format of the files in the folder `out`; refuse a file."""
    is_stdout = out == STDOUT or out in STDOUT_DEVICES
    stem, suffix = os.path.splitext(out)
    is_file = not os.path.isdir(out) and (suffix.lower() in SUFFIXES or os.path.isfile(out))
    if is_stdout or (is_file and not out.endswith(("/", os.sep))):
        example = "prompts" if is_stdout else stem
        raise UsageError(f"--out {out}: {ALL} writes a file for each; name a folder, such as {example}/")
    kind = settings.out_format or "jsonl"
    check_compression(kind, settings.compression)
    return kind


def _entries(settings: Settings) -> list[Entry]:
    """Return every dataset with every model, also those that can't be read."""
    read = cache(with_template(settings, read_config))
    config_name = str(settings.config_name)
    datasets: list[tuple[str, Selection | ConfigError]] = []
    if settings.dataset == ALL:
        for name, entry in each_of(read(config_name), "datasets"):
            datasets.append((name, entry if isinstance(entry, ConfigError) else Selection(dataset=entry)))
    if not datasets:
        dataset = None if settings.dataset == ALL else settings.dataset
        selection, _ = configuration(replace(settings, model=None, model_abbr=None, dataset=dataset), read, model={})
        abbr = (selection.dataset or {}).get("abbr")
        stem = os.path.splitext(os.path.basename(config_name.lstrip("-")))[0]
        datasets = [(str(abbr or dataset or stem), selection)]
    models: list[tuple[str | None, Mapping[str, Any] | ConfigError | None]] = []
    if settings.model_abbr == ALL:
        models += each_of(read(config_name if settings.model is None else settings.model), "models")
    if not models:
        abbr = None if settings.model_abbr == ALL else settings.model_abbr
        first = next((part for _, part in datasets if isinstance(part, Selection)), Selection(dataset={}))
        models = [(None, configuration(replace(settings, dataset=None, model_abbr=abbr), read, dataset=first)[1])]
    return [Entry(name, model, part, model_part) for name, part in datasets for model, model_part in models]


def _files_by_dataset(
    values: Sequence[str] | None, entries: Sequence[Entry], option: str, *, is_one_dataset: bool
) -> dict[str, list[str]]:
    """Parse values `NAME=FILE` with names of datasets; if there is one dataset, a file needs no name."""
    names = list(dict.fromkeys(entry.dataset for entry in entries))
    files: dict[str, list[str]] = {}
    for text in values or ():
        matches = [name for name in names if text.startswith(f"{name}=")]
        if matches:
            name = max(matches, key=len)
            files.setdefault(name, []).append(text[len(name) + 1 :])
        elif is_one_dataset:
            files.setdefault(names[0], []).append(text)
        else:
            before, equals, _ = text.partition("=")
            close = close_names(before, names) if equals else []
            listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            hint = f"did you mean {close[0]}=...?" if close else f"the datasets are {listed}"
            raise UsageError(f"{option} {text}: with --dataset {ALL} it is NAME=FILE; {hint}")
    return files


def _name_files(entries: Sequence[Entry], folder: str, suffix: str) -> None:
    """Set the file of each entry: a unique name that any file system accepts."""
    stems: set[str] = set()
    for entry in entries:
        text = unicodedata.normalize("NFC", "__".join(filter(None, (entry.dataset, entry.model))))
        stem = _UNSAFE.sub("_", text).strip("._-") or "dataset"
        stem = stem.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
        number, unique = 2, stem
        while unique.casefold() in stems:
            unique, number = f"{stem}-{number}", number + 1
        stems.add(unique.casefold())
        entry.file = os.path.join(folder, f"{unique}{suffix}")


def _render_entry(entry: Entry, settings: Settings) -> None:
    """Render an entry and record the result; an error doesn't end the run."""
    try:
        if isinstance(entry.selection, ConfigError):
            raise entry.selection
        if isinstance(entry.model_dict, ConfigError):
            raise entry.model_dict
        entry.done = _rendered(entry, settings, entry.selection, entry.model_dict)
        entry.status = "rendered"
    except UnknownFilesError as error:
        entry.status, entry.why = "not rendered", f"{error}; --data '{entry.dataset}=FILE' brings rows"
        entry.code, entry.exit_code = "unreadable_data", ExitCode.DATA
    except (FilledValuesWarning, LeftOutWarning) as error:
        entry.exit_code, entry.why = code_and_text(error)
        entry.code = "left_out" if isinstance(error, LeftOutWarning) else "values_filled_in"
    except (FileError, promptpress.TemplateError, promptpress.RenderError) as error:
        entry.exit_code, entry.why = code_and_text(error)
        entry.code = error.code


def _rendered(entry: Entry, settings: Settings, selection: Selection, model: Mapping[str, Any] | None) -> Done:
    """Render an entry with the files of the command line, or else with those that the dataset names."""
    options = replace(settings, out=entry.file, data=list(entry.data), examples=list(entry.examples))
    train: Callable[[HarnessTypes | None], pa.Table | None] | None
    if entry.data:
        train = partial(example_rows, entry.examples, settings.format) if entry.examples else None
    else:
        if entry.examples:
            raise UsageError(f"--examples {entry.dataset}=...: needs --data {entry.dataset}=FILE, too")
        rows = DatasetRows.of(selection)
        entry.data = [rows.path]
        options = replace(options, data=entry.data, rows=rows)
        train = lambda _: rows.train  # noqa: E731 - they are read already
    refuse_overwriting(options)
    options = with_clock(options)
    with held_warnings(options) as held:
        renderer = renderer_of(options, selection, model, train)
    samples = open_samples(options, entry.data, renderer)
    try:
        out = out_format(entry.file, settings.out_format)
        return render_samples(options, out, renderer, samples, held, is_one_of_many=True)
    finally:
        samples.close()


def _write_summary(settings: Settings, folder: str, entries: Sequence[Entry]) -> None:
    """Write the results of all entries as JSON, for programs."""
    results = [_result(entry, folder) for entry in entries]
    value = {"promptpress": promptpress.__version__, "config": settings.config_name, "rendered": results}
    with output_file(os.path.join(folder, SUMMARY)) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n")


def _result(entry: Entry, folder: str) -> dict[str, Any]:
    status = entry.status.replace(" ", "_")
    result: dict[str, Any] = {"dataset": entry.dataset, "model": entry.model, "status": status}
    if (done := entry.done) is None:
        result |= {"why": entry.why, "code": entry.code}
    else:
        file = os.path.relpath(entry.file, folder)
        result |= {"file": file, "rows": done.rows, "prompt_bytes": done.prompt_bytes}
        if done.errors:
            result["errors"] = done.errors
        if done.skipped:
            result["skipped"] = [{"file": g.path, "row_group": g.number, "rows": g.rows} for g in done.skipped]
        result["fingerprint"] = done.fingerprint
        if done.hash is not None:
            result["hash"] = done.hash
    return {**result, "data": entry.data, "examples": entry.examples}

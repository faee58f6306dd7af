"""The prompts of a choice of configuration and model over the stored samples: of one row, some rows, or all."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from promptpress import ConfigError, Renderer
from promptpress.engine import RenderOptions, TableRenderer
from promptpress.engine import core as _core
from promptpress.engine.errors import reason, render_error
from promptpress.engine.tables import PROMPT_COLUMN
from promptpress.engine.tables import lazy_compute as pc
from promptpress.typing import Mode, Output, Substitution
from promptpress_harness.configs.config_file import Config, read_config
from promptpress_harness.configs.selection import all_datasets, all_models, choose_dataset, choose_model

from promptpress_workbench.audit.allowed import allowed_findings
from promptpress_workbench.files.read.samples import AnySamples
from promptpress_workbench.prompts.prepared_source import PreparedSource
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import RequestBatch, take
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import RendererSource, TemplateSource
from promptpress_workbench.prompts.tokenized import TokenView

_BATCH = 65536
_FIRST = 1024
"""Rows whose examples are drawn for the first page, before those of all rows."""


@dataclass(frozen=True)
class Choice:
    """A configuration as the fields of the page choose it, by names of the catalogue; None is as configured."""

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
    """The configurations and models of some files, or a template, by name, and the renderers that `make` makes."""

    MODES: Sequence[str] = get_args(Mode)
    OUTPUTS: Sequence[str] = get_args(Output)
    SUBSTITUTIONS: Sequence[str] = get_args(Substitution)

    def __init__(
        self,
        configs: Sequence[str],
        models: Sequence[str],
        make: Callable[[Choice, ConfigEntry, ConfigEntry | None], Renderer] | None = None,
        read: Callable[[str], Config] = read_config,
        template: tuple[str, TableRenderer[Any]] | None = None,
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

    def knows(self, field: str, value: str) -> bool:
        """Return true if a field of a choice can have a value; an empty one is as configured."""
        names = {"prompts": self.prompts, "model": self.models, "mode": self.MODES, "output": self.OUTPUTS}
        return value in names.get(field, self.SUBSTITUTIONS) if value else field != "prompts"

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

    def renderer(self, choice: Choice) -> TableRenderer[Any]:
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


class StoredRows:
    """The stored samples as the rows of a source of prompts; methods wait until the rows have been read."""

    def __init__(self, store: SampleStore) -> None:
        self.store = store
        self.schema: pa.Schema = store.schema

    @property
    def num_rows(self) -> int:
        """The number of rows; while it isn't known, the number of those that have been read."""
        return self.store.ready if self.store.num_rows is None else self.store.num_rows

    def row(self, number: int) -> pa.Table:
        self.store.wait(number + 1)
        if not 0 <= number < self.store.ready:
            message = f"there is no such row: rows count from 0, and there are {self.store.ready}"
            raise render_error("row_out_of_range", message, row=number)
        return self.store.rows(number, number + 1)

    def batches(self) -> Iterator[pa.RecordBatch]:
        for _, part in self.store.slices(_BATCH):
            table = part
            with suppress(pa.ArrowException):  # Arrow can't do it for all types
                table = part.combine_chunks()  # larger batches render faster
            yield from table.to_batches()

    def column(self, name: str) -> pa.ChunkedArray:
        index, kind = self.schema.get_field_index(name), self.schema.field(name).type
        chunks = [chunk for _, part in self.store.slices(_BATCH) for chunk in part.column(index).chunks]
        return pa.chunked_array(chunks, kind)


class StoredPrompts(RendererSource):
    """The prompts of a renderer; `window` renders samples without the rows before them."""

    rows: StoredRows

    def __init__(self, renderer: Renderer, rows: StoredRows, answer: str | None = None) -> None:
        super().__init__(renderer, rows, answer)
        self.renderer: Renderer = renderer
        self._store = rows.store
        self._first_draws: pa.Array | None = None
        self._all_draws: pa.Array | None = None
        self._drawing = threading.Lock()
        if self.engine.core.by_position:
            threading.Thread(target=self._draw_all, name="promptpress-draws", daemon=True).start()

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        table = self._with_examples(self._store.rows(start, stop), start)
        return self._requests(self._row_engine, table.to_batches(), start)

    def _draws(self, stop: int) -> pa.Array:
        if stop > _FIRST or self._all_draws is not None:
            return self._draw_all()
        if self._first_draws is None or len(self._first_draws) < stop:
            self._first_draws = self.engine.retrieve(max(stop, min(_FIRST, self.num_samples)))
        return self._first_draws

    def _draw_all(self) -> pa.Array:
        """Draw the examples of all rows once: each draw continues from the one before, a million in half a second."""
        with self._drawing:
            if self._all_draws is None or len(self._all_draws) < self.num_samples:
                self._all_draws = self.engine.retrieve(self.num_samples)
            return self._all_draws


class StoredTemplate(TemplateSource):
    """The texts of a template; `window` renders rows without those before them."""

    renderer: TableRenderer[Any]
    rows: StoredRows

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        rendered = self.engine.render(self.rows.store.rows(start, stop), RenderOptions(errors="column"))
        for batch in rendered.to_batches():
            samples = _core.repeated_rows(start, batch.num_rows, 1)
            yield RequestBatch(samples, batch.column(0), numbering="own", errors=batch.column(1))
            start += batch.num_rows


class StoredRendered(RenderedSource):
    """The prompts of a rendered file."""

    rows: StoredRows

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        for row in range(start, min(stop, self.num_samples)):
            for number in self.requests_of(row):
                yield self._batch(self.rows.row(number).to_batches()[0], number)

    def values(self, name: str, first: int, count: int) -> pa.Array:
        """Return a column's values for some requests, counted in the order of `requests`."""
        if self._is_ascending or self._samples is None:
            return take(self.rows.store.rows(first, first + count).column(name), pa.array(range(count), pa.int64()))
        return take(self.rows.store.table().column(name), pc.array_sort_indices(self._samples).slice(first, count))


class StoredPrepared(PreparedSource):
    """The rows of a prepared data set."""

    rows: StoredRows

    def _batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        for first, part in self.rows.store.slices(_BATCH):  # a copy in larger batches costs more than it saves
            batches = part.to_batches()
            yield from zip(accumulate((batch.num_rows for batch in batches), initial=first), batches, strict=False)

    def window(self, start: int, stop: int) -> Iterator[RequestBatch]:
        first = start
        for batch in self.rows.store.rows(start, stop).to_batches():
            yield from self.texts_of(batch, first)
            first += batch.num_rows


Source = StoredPrompts | StoredTemplate | StoredRendered | StoredPrepared
AnyPrompts = TableRenderer[Any] | None


class Sources:
    """The source of each choice, made once. Without a catalogue, the samples are rendered prompts, or token ids."""

    def __init__(
        self,
        store: SampleStore,
        catalogue: Catalogue | None,
        prompt_column: str = PROMPT_COLUMN,
        tokens: TokenView | None = None,
        *,
        ids_column: str | None = None,
        shows_ids: bool = False,
        answer: str | None = None,
    ) -> None:
        self._answer = answer
        self.tokens = tokens
        """The view that gives prompts their tokens; None without a tokenizer."""
        self.ids_column = ids_column
        self.shows_ids = shows_ids
        self._rows = StoredRows(store)
        self._prompt_column = prompt_column
        self._catalogue = catalogue
        self.is_rendered = catalogue is None
        self._cached: dict[AnyPrompts, Source] = {}
        self._lock = threading.Lock()

    def of(self, choice: Choice) -> Source:
        """Return the prompts of a choice, with the errors of `Catalogue.renderer`."""
        renderer = None if self._catalogue is None else self._catalogue.renderer(choice)
        with self._lock:
            if renderer not in self._cached:
                self._cached[renderer] = self._source(renderer)
            return self._cached[renderer]

    def prompts(self, choice: Choice, row: int) -> list[Prompt]:
        """Return the prompts of one row, with their tokens if there is a tokenizer."""
        source = self.of(choice)
        prompts = source.prompts(row)
        return prompts if self.tokens is None else self.tokens.with_cells(source, prompts)

    def allowed(self, choice: Choice) -> list[str]:
        return [] if self._catalogue is None else self._catalogue.allowed(choice)

    def _source(self, renderer: AnyPrompts) -> Source:
        if renderer is None and self.ids_column is not None and self.tokens is not None:
            return StoredPrepared(self._rows, self.tokens.loaded, self.ids_column)
        if renderer is None:
            return StoredRendered(self._rows, self._prompt_column)
        if isinstance(renderer, Renderer):
            return StoredPrompts(renderer, self._rows, self._answer)
        return StoredTemplate(renderer, self._rows, self._answer)


class SampleStore:
    """The samples in an uncompressed Arrow file in a temporary folder, which is deleted at the end.

    A Parquet file may be one row group of a million rows, and a JSONL file has no index at all: neither gives row
    900,000 without the rows before it. So the rows are copied once, as fast as they can be read, and the first can be
    used as soon as their batch is copied. The mapped pages belong to the page cache, not to the process.
    """

    def __init__(self, samples: AnySamples, folder: str | None = None) -> None:
        self.schema: pa.Schema = samples.schema
        self.ready = 0
        self.done = False
        self.error: str | None = None
        self._expected: int | None = samples.num_rows
        self._folder = Path(tempfile.mkdtemp(prefix="promptpress-view-", dir=folder))
        self._path = self._folder / "samples.arrows"
        self._ends: list[int] = []  # the end of each batch in the file
        self._grown = threading.Condition()
        self._closed = False
        self._mapped = pa.Table.from_batches([], self.schema)
        self._thread = threading.Thread(target=self._copy, args=(samples,), name="promptpress-samples", daemon=True)
        self._thread.start()

    @property
    def num_rows(self) -> int | None:
        """The number of rows; None while it isn't known."""
        return self.ready if self.done else self._expected

    def wait(self, rows: int, timeout: float | None = None) -> bool:
        """Wait until so many rows are there or there will be no more, at most `timeout` seconds; true if they are."""
        with self._grown:
            self._grown.wait_for(lambda: self.ready >= rows or self.done, timeout)
            return self.ready >= rows

    def wait_all(self) -> None:
        with self._grown:
            self._grown.wait_for(lambda: self.done)

    def rows(self, start: int, stop: int) -> pa.Table:
        """Return the rows from `start` up to `stop` without copying them; rows that aren't there yet are left out."""
        return self.table(stop).slice(start, max(0, stop - start))

    def table(self, rows: int | None = None) -> pa.Table:
        """Return the rows that are there as one table over the mapped file: all, or at least `rows` of them."""
        with self._grown:
            wanted = self.ready if rows is None else min(rows, self.ready)
            if self._mapped.num_rows < wanted:
                self._mapped = self._map()
            return self._mapped

    def slices(self, rows: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield all rows as they come, at most `rows` at a time, each table after its first row's number."""
        start = 0
        self.wait(rows)
        while (part := self.rows(start, start + rows)).num_rows:
            yield start, part
            start += part.num_rows
            self.wait(start + rows)

    def close(self) -> None:
        """Delete the file. Rows returned before stay readable if the system allows that."""
        self._closed = True
        self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _copy(self, samples: AnySamples) -> None:
        try:
            with open(self._path, "wb", buffering=0) as file:
                for batch in samples.reader():
                    if self._closed:
                        return
                    # Each batch is a stream of its own, with its own dictionaries.
                    with pa.ipc.new_stream(file, self.schema) as writer:
                        writer.write_batch(batch)
                    with self._grown:
                        self.ready += batch.num_rows
                        self._ends.append(file.tell())
                        self._grown.notify_all()
        except BaseException as error:
            # pyarrow's errors of damaged files are OSErrors too, so the error of the samples themselves goes first.
            message = str(samples.error or error)
            if samples.error is None and isinstance(error, OSError):
                message = (
                    f"{self._folder}: {reason(error)}; the samples are copied there, and TMPDIR names another place"
                )
            self.error = message
        finally:
            samples.close()
            with self._grown:
                self.done = True
                if not self._closed and self.ready:
                    self._mapped = self._map()
                self._grown.notify_all()
            if os.name == "posix":  # mapped rows stay, and nothing is left however the process ends
                shutil.rmtree(self._folder, ignore_errors=True)

    def _map(self) -> pa.Table:
        whole = pa.memory_map(str(self._path)).read_buffer()
        batches = []
        start = 0
        for end in self._ends:
            with pa.ipc.open_stream(whole.slice(start, end - start)) as stream:
                batches.append(stream.read_next_batch())
            start = end
        return pa.Table.from_batches(batches, self.schema)

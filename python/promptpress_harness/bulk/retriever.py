"""The replacements for a retriever and its dataset in the loop of an inferencer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from promptpress.engine.tables import values_of

from promptpress_harness.bulk.bulk_call import BulkCall
from promptpress_harness.bulk.dataset import Rows
from promptpress_harness.bulk.rendering import Prompt, PromptSource, Shots

_MAX_CACHED_TEXTS = 1024
_BLOCK_ROWS = 1024


class Examples:
    """The examples of a call, joined by the harness's code, but each rendered once."""

    def __init__(self, bulk_call: BulkCall) -> None:
        self._bulk_call = bulk_call
        self._items: dict[int, Any] = {}
        self._texts: dict[Any, Any] = {}

    def build(self, rows: Sequence[int]) -> Any:
        """Return the harness's own object."""
        return self._bulk_call.ice(rows)

    def parsed(self, parser: Any, parse: Callable[[Any, Any, str], Any], shots: Shots, mode: str) -> Any:
        """Return parsed examples, without a prompt."""
        key = (id(parser), mode, tuple(shots.rows))
        if key in self._texts:
            return self._texts[key]
        parsed = parse(parser, self._joined(shots.rows), mode)
        # Texts can be shared, but the harness may change messages.
        if isinstance(parsed, str):
            if len(self._texts) >= _MAX_CACHED_TEXTS:
                self._texts.clear()
            self._texts[key] = parsed
        return parsed

    def parsed_batch(self, parser: Any, parse: Callable[[Any, Any, str], Any], batch: Any, mode: str) -> Any:
        """Return a parsed list of examples; None if the list holds other things."""
        if not all(type(shots) is Shots for shots in batch):
            return None
        parsed = [self.parsed(parser, parse, shots, mode) for shots in batch]
        # No examples are an empty string, even if others are prompt lists.
        kinds = {bool(shots.rows): shots for shots in batch}
        are_strings = all(isinstance(self._joined(shots.rows), str) for shots in kinds.values())
        # A parser looks at a whole list of strings before it parses them one by one.
        return parse(parser, type(batch)(parsed), mode) if are_strings else parsed

    def _joined(self, rows: Sequence[int]) -> Any:
        """Join examples by the harness's own method, each rendered once."""
        template = self._bulk_call.ice_template
        if template is None or not rows:
            return self._bulk_call.ice(rows)
        retriever = self._bulk_call.retriever
        stand_in = SimpleNamespace(
            index_ds=_Same(),
            dataset_reader=SimpleNamespace(output_column=None),
            ice_separator=retriever.ice_separator,
            ice_eos_token=retriever.ice_eos_token,
            ice_template=SimpleNamespace(prompt_type=template.prompt_type, generate_ice_item=self._item),
        )
        return self._bulk_call.joined(stand_in, rows)

    def _item(self, row: int, label: Any) -> Any:
        if row not in self._items:
            retriever = self._bulk_call.retriever
            sample = retriever.index_ds[row]
            label = sample[retriever.dataset_reader.output_column]
            self._items[row] = self._bulk_call.ice_template.generate_ice_item(sample, label)
        return self._items[row]


class _Same:
    """A dataset whose rows, and their columns, are the rows' numbers."""

    def __getitem__(self, row: int) -> Any:
        return _Number(row)


class _Number(int):
    def __getitem__(self, name: Any) -> int:
        return self


class LazySamples:
    """A dataset whose values are read when they are used, from many samples at a time."""

    def __init__(self, rows: Rows, dataset: Any) -> None:
        self._rows = rows
        self._dataset = dataset
        self._start = 0
        self._columns: dict[Any, list[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, key: Any) -> Any:
        return _Sample(self, key) if type(key) is int and 0 <= key < self._rows.count else self._dataset[key]

    def value(self, row: int, name: Any) -> Any:
        """Return one value of one sample."""
        if name not in self._rows.schema.names:
            return self._dataset[row][name]
        start = row - row % _BLOCK_ROWS
        if start != self._start:
            self._columns.clear()
            self._start = start
        if name not in self._columns:
            self._columns[name] = values_of(self._rows.slice(start, start + _BLOCK_ROWS), name)
        return self._columns[name][row - start]

    def sample(self, row: int) -> Any:
        """Return one sample as the dataset returns it."""
        return self._dataset[row]


class _Sample:
    """One sample, whose values are read one by one."""

    __slots__ = ("_row", "_samples")

    def __init__(self, samples: LazySamples, row: int) -> None:
        self._samples = samples
        self._row = row

    def __getitem__(self, name: Any) -> Any:
        return self._samples.value(self._row, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples.sample(self._row), name)


class CachedRetriever:
    """A harness's retriever that has retrieved its rows already, so that it does so once."""

    def __init__(self, retriever: Any, shots: Any) -> None:
        self.wrapped = retriever
        self.shots = shots

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    def retrieve(self) -> Any:
        """Return the rows that were retrieved already."""
        return self.shots


class BulkRetriever(CachedRetriever):
    """A retriever that returns placeholders; all that the loops of the inferencers don't use is the harness's."""

    def __init__(self, bulk_call: BulkCall, generation: PromptSource | None = None) -> None:
        super().__init__(bulk_call.retriever, bulk_call.renderer.shots)
        self._bulk_call = bulk_call
        self._generation = generation
        self._examples = Examples(bulk_call)
        self._labels: dict[int, tuple[Any, PromptSource]] = {}
        self._last: Shots | None = None
        self.test_ds = LazySamples(bulk_call.renderer.samples, bulk_call.retriever.test_ds)

    def generate_ice(self, idx_list: Sequence[int], **_: Any) -> Shots:
        """Return the examples of a sample."""
        last = self._last
        if last is None or last.rows is not idx_list:
            last = self._last = Shots(self._examples, idx_list)
        return last

    def generate_label_prompt(self, idx: int, ice: Shots, label: Any, **_: Any) -> Prompt:
        """Return the prompt of a sample and a label."""
        if id(label) not in self._labels:
            # The label is kept, so that no other gets its id.
            self._labels[id(label)] = label, self._bulk_call.label(label, idx, ice.rows)
        return Prompt(self._labels[id(label)][1], idx, ice.rows)

    def generate_prompt_for_generate_task(self, idx: int, ice: Shots, **_: Any) -> Prompt:
        """Return the prompt of a sample."""
        assert self._generation is not None
        return Prompt(self._generation, idx, ice.rows)

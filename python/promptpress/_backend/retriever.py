"""What an inferencer's loop sees in the place of its retriever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from promptpress._backend.bulk_call import BulkCall
from promptpress._backend.dataset import Rows
from promptpress._backend.prompt_source import PromptSource
from promptpress._backend.prompts import Prompt, Shots

_MAX_CACHED_TEXTS = 1024
_BLOCK_ROWS = 1024


class Examples:
    """Examples as the harness joins them, each rendered once.

    Args:
        bulk_call: The call.
    """

    def __init__(self, bulk_call: BulkCall) -> None:
        self._bulk_call = bulk_call
        self._items: dict[int, Any] = {}
        self._texts: dict[Any, Any] = {}

    def build(self, rows: Sequence[int]) -> Any:
        """The harness's own object."""
        return self._bulk_call.ice(rows)

    def parsed(self, parser: Any, parse: Callable[[Any, Any, str], Any], shots: Shots, mode: str) -> Any:
        """What a parser makes of examples without a prompt."""
        key = (id(parser), mode, tuple(shots.rows))
        found = self._texts.get(key)
        if found is None:
            found = parse(parser, self._joined(shots.rows), mode)
            # Texts can be shared; messages may be changed by who gets them.
            if isinstance(found, str):
                if len(self._texts) >= _MAX_CACHED_TEXTS:
                    self._texts.clear()
                self._texts[key] = found
        return found

    def parsed_batch(self, parser: Any, parse: Callable[[Any, Any, str], Any], batch: Any, mode: str) -> Any:
        """What a parser makes of a list of them; None if other things are in it."""
        if not all(type(shots) is Shots for shots in batch):
            return None
        parsed = [self.parsed(parser, parse, shots, mode) for shots in batch]
        # No examples are a string, whatever others are.
        kinds = {bool(shots.rows): shots for shots in batch}
        are_strings = all(isinstance(self._joined(shots.rows), str) for shots in kinds.values())
        # A parser looks into a list of strings before it takes one by one.
        return parse(parser, type(batch)(parsed), mode) if are_strings else parsed

    def _joined(self, rows: Sequence[int]) -> Any:
        """The harness's own joining, over examples that are rendered already."""
        template = self._bulk_call.ice_template
        if template is None or not rows:
            return self._bulk_call.ice(rows)
        retriever = self._bulk_call.retriever
        stand_in = SimpleNamespace(
            index_ds=_Same(),
            dataset_reader=SimpleNamespace(output_column=None),
            ice_separator=retriever.ice_separator,
            ice_eos_token=retriever.ice_eos_token,
        )
        items = SimpleNamespace(prompt_type=template.prompt_type, generate_ice_item=self._item)
        return self._bulk_call.joined(stand_in, rows, items)

    def _item(self, row: int, label: Any) -> Any:
        if row not in self._items:
            retriever = self._bulk_call.retriever
            sample = retriever.index_ds[row]
            label = sample[retriever.dataset_reader.output_column]
            self._items[row] = self._bulk_call.ice_template.generate_ice_item(sample, label)
        return self._items[row]


class _Same:
    """Rows that are their own numbers, and so are their columns."""

    def __getitem__(self, row: int) -> Any:
        return _Number(row)


class _Number(int):
    def __getitem__(self, name: Any) -> int:
        return self


class LazySamples:
    """A dataset whose values are read when they are touched, many samples at a time.

    Args:
        rows: The dataset's rows.
        dataset: The dataset; it does whatever isn't a look at one value.
    """

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
        """One value of one sample."""
        if name not in self._rows.schema.names:
            return self._dataset[row][name]
        start = row - row % _BLOCK_ROWS
        if start != self._start:
            self._columns.clear()
            self._start = start
        if name not in self._columns:
            table = self._rows.slice(start, min(start + _BLOCK_ROWS, self._rows.count))
            self._columns[name] = table[name].to_pylist()
        return self._columns[name][row - start]

    def row_of(self, row: int) -> Any:
        """One sample as the dataset gives it."""
        return self._dataset[row]


class _Sample:
    """One sample, of which a value is looked at."""

    __slots__ = ("_row", "_samples")

    def __init__(self, samples: LazySamples, row: int) -> None:
        self._samples = samples
        self._row = row

    def __getitem__(self, name: Any) -> Any:
        return self._samples.value(self._row, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples.row_of(self._row), name)


class BulkRetriever:
    """A retriever whose prompts and examples are built when they are touched.

    Whatever it isn't asked for by the loops of the inferencers is the harness's.

    Args:
        bulk_call: The call.
        generation: The prompts of a generation task, if it is one.
    """

    def __init__(self, bulk_call: BulkCall, generation: PromptSource | None = None) -> None:
        self._retriever = bulk_call.retriever
        self._bulk_call = bulk_call
        self._generation = generation
        self._examples = Examples(bulk_call)
        self._labels: dict[int, tuple[Any, PromptSource]] = {}
        self._last: Shots | None = None
        self.test_ds = LazySamples(bulk_call.renderer.samples, bulk_call.retriever.test_ds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._retriever, name)

    def retrieve(self) -> Any:
        """What was chosen already."""
        return self._bulk_call.renderer.shots

    def generate_ice(self, idx_list: Sequence[int], **_: Any) -> Shots:
        """The examples of a sample."""
        last = self._last
        if last is None or last.rows is not idx_list:
            last = self._last = Shots(self._examples, idx_list)
        return last

    def generate_label_prompt(self, idx: int, ice: Shots, label: Any, **_: Any) -> Prompt:
        """The prompt of a sample and a label."""
        known = self._labels.get(id(label))
        if known is None:
            # The label is kept, so that no other gets its id.
            known = self._labels[id(label)] = label, self._bulk_call.label(label, idx, ice.rows)
        return Prompt(known[1], idx, ice.rows)

    def generate_prompt_for_generate_task(self, idx: int, ice: Shots, **_: Any) -> Prompt:
        """The prompt of a sample."""
        assert self._generation is not None
        return Prompt(self._generation, idx, ice.rows)


class CachedRetriever:
    """A retriever that has chosen already, and does so once.

    Args:
        retriever: The harness's retriever.
        shots: What it chose.
    """

    def __init__(self, retriever: Any, shots: Any) -> None:
        self._retriever = retriever
        self.shots = shots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._retriever, name)

    @property
    def wrapped(self) -> Any:
        """The harness's retriever."""
        return self._retriever

    def retrieve(self) -> Any:
        """What was chosen."""
        return self.shots

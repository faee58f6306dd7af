"""The renderer of one call's samples, which renders a block of them at a time; the rows and objects that it makes."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain
from threading import RLock
from types import CodeType, FunctionType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import Renderer, to_pylist
from promptpress.engine import silent
from promptpress.engine.tables import values_of
from pyarrow import types

from promptpress_harness.bulk.dataset import Rows
from promptpress_harness.bulk.monkeypatches import (
    NotCoveredError,
    check_as_constructed,
    check_no_shadows,
    check_unpatched_class,
    class_with_code,
    code_names,
)
from promptpress_harness.bulk.report import current_record
from promptpress_harness.registry import loaded

_METHOD = "generate_item"
_METHODS = {"__init__", _METHOD}
_CHANCE = frozenset({"random", "time", "datetime", "uuid", "os", "open", "global", "secrets"})
"""Names by which code may give another row for the same sample."""


def filled_base(kind: type, templates: Collection[Any]) -> type | None:
    """Return the base of a harness's class that only makes rows in its own way; None for other classes."""
    base = kind.__base__
    if base is None or kind in templates or base not in templates:
        return None
    functions = {name: value for name, value in vars(kind).items() if isinstance(value, FunctionType)}
    is_shipped = kind.__module__.partition(".")[0] == base.__module__.partition(".")[0]
    is_filled = is_shipped and kind.__bases__ == (base,) and _METHOD in functions and functions.keys() <= _METHODS
    return base if is_filled else None


class RowFilling:
    """The rows that a template's class makes of samples.

    NotCoveredError is raised if the template isn't as its class makes it, or its rows may depend on more than the
    sample.
    """

    def __init__(self, template: Any, base: type, output_column: str) -> None:
        kind = class_with_code(type(template))
        self._name = kind.__name__
        self._output_column = output_column
        self.columns: tuple[str, ...] = ()
        """The columns of the rows that were made last."""
        try:
            check_as_constructed(template)
        except TypeError:
            raise NotCoveredError(f"the template {self._name} is made of arguments") from None
        for part in vars(template).values():
            if type(part).__module__.partition(".")[0] == base.__module__.partition(".")[0]:
                check_unpatched_class(type(part))
                check_no_shadows(part)
        code: CodeType = vars(kind)[_METHOD].__code__
        if not _CHANCE.isdisjoint(code_names(code)):
            raise NotCoveredError(f"the rows of the template {self._name} may differ from run to run")
        self._calls: list[tuple[Any, ...]] = []
        calls, result = self._calls, object()
        self._result = result

        def noted(self: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ARG001 - a method
            calls.append((arguments, options))
            return result

        # Next to the template's class stands one that notes the call which would go to the base.
        noting = type("Noting", (base,), {_METHOD: noted})
        self._template: Any = object.__new__(type("Filling", (kind, noting), {}))
        self._template.__dict__.update(vars(template))

    def table(self, samples: pa.Table) -> pa.Table:
        """Return the rows that are made of samples, with a column for the token; they all have the same columns."""
        rows = [self._row(sample) for sample in samples.to_pylist()]
        self.columns = tuple(rows[0]) if rows else ()
        if any(tuple(row) != self.columns for row in rows) or self._output_column in self.columns:
            raise NotCoveredError(f"the rows of the template {self._name} differ in their columns")
        columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in self.columns}
        return pa.table(columns | {self._output_column: pa.array([""] * len(rows))})

    def _row(self, sample: dict[str, Any]) -> dict[str, str]:
        self._calls.clear()
        marks: Sequence[Any] = (object(), object(), object())
        is_returned = getattr(self._template, _METHOD)(sample, *marks) is self._result
        if is_returned and len(self._calls) == 1:
            (row, *others), options = self._calls[0]
            is_passed = len(others) == len(marks) and all(map(lambda a, b: a is b, others, marks)) and not options
            if is_passed and type(row) is dict and all(type(part) is str for pair in row.items() for part in pair):
                return row
        raise NotCoveredError(f"the template {self._name} does more than to make a row of texts")


def requests_of(prompts: pa.ChunkedArray, kind: Callable[[list[Any]], Any]) -> Callable[[int], Any]:
    """Return a function that builds a request of a rendered block from its index.

    It makes a list of messages, of the class `kind`, anew each time, because the harness may change the list.
    """
    if not types.is_nested(prompts.type):
        texts: list[Any] = prompts.to_pylist()
        return texts.__getitem__
    array = pa.concat_arrays(prompts.chunks)
    structs = array.values
    columns = [structs.field(n) for n in range(structs.type.num_fields)]
    if any(column.null_count or types.is_nested(column.type) for column in columns):

        def converted(index: int) -> Any:
            requests: list[Any] = to_pylist(array.slice(index, 1))
            return kind(requests[0])

        return converted
    names = [structs.type.field(n).name for n in range(len(columns))]
    offsets = array.offsets.to_pylist()
    length = offsets[1] - offsets[0]
    if len(names) == 2 and length and offsets == list(range(offsets[0], offsets[-1] + 1, length)):
        starts = array.offsets.slice(0, len(array)).cast(pa.int64())
        first, second = names
        first_values, second_values = (_by_request(column, starts, length) for column in columns)

        def request_of_two(index: int) -> Any:
            pairs = zip(first_values[index], second_values[index], strict=True)
            return kind([{first: a, second: b} for a, b in pairs])

        return request_of_two
    values = [column.to_pylist() for column in columns]

    def request(index: int) -> Any:
        rows = zip(*(column[offsets[index] : offsets[index + 1]] for column in values), strict=True)
        return kind([dict(zip(names, row, strict=True)) for row in rows])

    return request


def _by_request(column: pa.Array, starts: pa.Array, length: int) -> list[tuple[Any, ...]]:
    """Return the values of a column, `length` of them a request.

    A position that has the same value in all requests, as roles and fixed examples have, is converted once.
    """
    start, count = starts[0].as_py(), len(starts)
    column = column.slice(start, count * length)
    starts = pc.subtract(starts, start)
    as_before = pc.equal(column.slice(length), column.slice(0, (count - 1) * length))
    positions: list[Iterable[Any]] = []
    for n in range(length):
        if count == 1 or pc.all(as_before.take(pc.add(starts.slice(0, count - 1), n))).as_py():
            positions.append(itertools.repeat(column[n].as_py(), count))
        else:
            positions.append(column.take(pc.add(starts, n)).to_pylist())
    return list(zip(*positions, strict=True))


def kind_of(request: Any) -> Callable[[list[Any]], Any]:
    """Return a function that makes a list of messages a request of the same classes as the harness's `request`.

    A harness copies messages of its configuration, so they keep their class.
    """
    kind: Callable[[list[Any]], Any] = type(request)
    messages = {type(item) for item in request if isinstance(item, dict)} if isinstance(request, list) else set()
    if len(messages) != 1 or messages == {dict}:
        return kind
    (message,) = messages
    make = partial(_config_dict, message) if message is loaded("mmengine.config", "ConfigDict") else message
    return lambda items: kind([make(item) if isinstance(item, dict) else item for item in items])


def _config_dict(config_dict: Callable[..., Any], item: dict[str, Any]) -> Any:
    """Return mmengine's dict of a message.

    It searches each value for dicts to convert, four times as long as all else takes. In texts there are none.
    """
    if not all(type(value) is str for value in item.values()):
        return config_dict(item)
    message = config_dict()
    dict.update(message, item)
    return message


_MAX_RENDERERS = 32
_MAX_LARGEST_BLOCKS = 64  # the most rendered samples that are held, in blocks of the largest size
_SHOTS_COLUMN = "promptpress shots"


class CallRenderer:
    """The samples of one call, the examples of each, and what their prompts have in common.

    The list `shots` is read again later, because the harness shortens its items. NotCoveredError is raised if the
    datasets or the examples' rows aren't covered.
    """

    largest_block = 1024
    """The most samples that are rendered at a time."""

    is_shared = False
    """True if several threads ask for prompts."""

    def __init__(
        self, samples: Any, examples: Any, shots: list[Sequence[int]], settings: dict[str, Any], joints: dict[str, Any]
    ) -> None:
        self.samples = Rows(samples)
        self.record = current_record()
        self.lock = RLock()
        self.shots = shots
        self.filling: RowFilling | None = None
        """The maker of the rows that templates are filled with; None: they are the samples."""
        self._settings = settings
        self._joints = joints
        if len(shots) != self.samples.count:
            raise NotCoveredError("the retriever chooses for more or fewer samples than there are")
        if _SHOTS_COLUMN in self.samples.schema.names:
            raise NotCoveredError(f"the dataset has a column {_SHOTS_COLUMN!r}")
        # Many samples share one list.
        lists = {id(rows): rows for rows in shots}.values()
        used = sorted(set(chain.from_iterable(lists)))
        self._example_indexes = {row: index for index, row in enumerate(used)}
        self._examples: pa.Table | None = None
        if used:
            self.example_rows = Rows(examples)
            if not all(type(row) is int and 0 <= row < self.example_rows.count for row in used):
                raise NotCoveredError("the retriever chooses rows that the train split doesn't have")
            self._examples = self.example_rows.take(used)
        self._renderers: OrderedDict[Any, Renderer] = OrderedDict()
        self._blocks: OrderedDict[tuple[int, int], tuple[Any, int]] = OrderedDict()
        self._held_rows = 0

    def render(self, arguments: dict[str, Any], key: Any, start: int, shots: list[Sequence[int]]) -> Any:
        """Render consecutive samples with the rows of their examples, and return their prompts.

        `arguments` are further ones of `Renderer`, and `finish`, the harness's parser, for classes that need it; `key`
        identifies them in the cache.
        """
        table = self.samples.slice(start, start + len(shots))
        if self.filling is not None:
            table = self.filling.table(table)
        first = shots[0]
        if shots.count(first) == len(shots):
            renderer = self._renderer(arguments, (key, tuple(first)), self._fixed(first))
        else:
            column = pa.array([[self._example_indexes[row] for row in rows] for rows in shots], pa.list_(pa.int64()))
            table = table.append_column(_SHOTS_COLUMN, column)
            renderer = self._renderer(
                arguments, (key, None), {"type": "IndexColumn", "column": _SHOTS_COLUMN, **self._joints}
            )
        return renderer.render(table)["prompt"]

    def example_values(self, column: str) -> set[Any]:
        """Return the values of the examples in a column."""
        return set() if self._examples is None else set(values_of(self._examples, column))

    def _fixed(self, rows: Sequence[int]) -> dict[str, Any]:
        if not rows:
            return {"type": "ZeroRetriever", "ice_eos_token": self._joints["ice_eos_token"]}
        return {"type": "FixKRetriever", "fix_id_list": [self._example_indexes[row] for row in rows], **self._joints}

    def _renderer(self, arguments: dict[str, Any], key: Any, retriever: dict[str, Any]) -> Renderer:
        renderer = self._renderers.get(key)
        if renderer is None:
            examples = None if retriever["type"] == "ZeroRetriever" else self._examples
            arguments = {name: value for name, value in arguments.items() if name != "finish"}
            renderer = silent(Renderer(**{**self._settings, **arguments}, retriever=retriever, examples=examples))
            self._renderers[key] = renderer
            if len(self._renderers) > _MAX_RENDERERS:
                self._renderers.popitem(last=False)
        else:
            self._renderers.move_to_end(key)
        return renderer

    def kind_of(self, arguments: dict[str, Any], request: Any) -> Callable[[Any], Any]:  # noqa: ARG002 - for other classes
        """Return a function that makes a rendered request an object of the same class as a harness's request."""
        return kind_of(request)

    def requests_of(
        self,
        arguments: dict[str, Any],  # noqa: ARG002 - for other classes
        prompts: Any,
        kind: Callable[[Any], Any],
    ) -> Callable[[int], Any]:
        """Return a function that builds a request of a rendered block from its index; `kind` comes from `kind_of`."""
        return requests_of(prompts, kind)

    @property
    def block_rows(self) -> int:
        """The most samples of a new block, so that as many blocks as there are now can be held.

        A loop may go through all labels of a sample before the next, and it comes back to the block of each.
        """
        fair = _MAX_LARGEST_BLOCKS * self.largest_block // max(1, len(self._blocks))
        return min(self.largest_block, max(1, fair))

    def add_block(self, owner: Any, length: int, rows: int) -> None:
        """Count a stored block, and have the oldest blocks dropped if too many samples are held.

        The owner's `drop` is called with `length`, the number of examples, by which it keeps its blocks.
        """
        key = (id(owner), length)
        self._held_rows += rows - self._blocks.get(key, (None, 0))[1]
        self._blocks[key] = owner, rows
        self._blocks.move_to_end(key)
        while self._held_rows > _MAX_LARGEST_BLOCKS * self.largest_block:
            (_, oldest), (other, dropped_rows) = self._blocks.popitem(last=False)
            self._held_rows -= dropped_rows
            other.drop(oldest)

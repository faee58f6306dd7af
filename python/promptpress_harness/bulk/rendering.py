"""Placeholders for prompts, and the prompts of one template for one parser, rendered a block of samples at a time.

The harness's loops carry a placeholder to a parser, which takes the rendered text or messages. Any other use builds the
harness's own object, by the harness's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_harness.bulk.monkeypatches import same


@dataclass(slots=True, eq=False, repr=False)
class Prompt:
    """The prompt of one sample, before any parser, from a `PromptSource`."""

    source: Any
    row: int
    shots: Sequence[int]
    """The rows of the sample's examples."""

    __hash__ = None  # type: ignore[assignment]

    def build(self) -> Any:
        """Return the harness's own object."""
        return self.source.build(self.row, self.shots)

    def __eq__(self, other: object) -> bool:
        return bool(self.build() == (other.build() if isinstance(other, Prompt) else other))

    def __str__(self) -> str:
        return str(self.build())

    def __repr__(self) -> str:
        return repr(self.build())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.build())

    def __len__(self) -> int:
        return len(self.build())

    def __getitem__(self, index: Any) -> Any:
        return self.build()[index]


@dataclass(slots=True, eq=False, repr=False)
class Shots:
    """The examples of one sample, before any parser, from `Examples`."""

    source: Any
    rows: Sequence[int]

    def build(self) -> Any:
        """Return the harness's own object."""
        return self.source.build(self.rows)


class Prompts(Sequence[Any]):
    """A sequence that makes the item of a row when the item is read."""

    __slots__ = ("_make", "_rows")

    def __init__(self, make: Callable[[int], Any], rows: range) -> None:
        self._make = make
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows[index]
        return Prompts(self._make, rows) if isinstance(rows, range) else self._make(rows)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._rows)


def accept_placeholders(parse: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    """Return a replacement for a parser's `parse_template` that takes placeholders too."""

    def parse_template(self: Any, prompt_template: Any, mode: str) -> Any:
        kind = type(prompt_template)
        if kind is Prompt or kind is Shots:
            return prompt_template.source.parsed(self, parse, prompt_template, mode)
        if kind is Prompts:
            prompt_template = list(prompt_template)
            kind = list
        if (kind is tuple or kind is list) and prompt_template:
            first = prompt_template[0]
            if type(first) is Prompt or type(first) is Shots:
                parsed = first.source.parsed_batch(self, parse, prompt_template, mode)
                if parsed is not None:
                    return parsed
                built = (item.build() if type(item) in {Prompt, Shots} else item for item in prompt_template)
                return parse(self, kind(built), mode)
        return parse(self, prompt_template, mode)

    parse_template.__wrapped__ = parse  # type: ignore[attr-defined]
    return parse_template


FIRST_BLOCK_ROWS = 32
Build = Callable[[int, Sequence[int]], Any]
Settings = Callable[[Any, type], "dict[str, Any] | None"]


class Block:
    """Consecutive rendered samples."""

    __slots__ = ("common", "end", "request", "shots", "start")

    def __init__(self, start: int, shots: list[Sequence[int]], request: Callable[[int], Any]) -> None:
        self.start = start
        self.end = start + len(shots)
        self.shots = shots
        self.common = shots[0] if shots.count(shots[0]) == len(shots) else None
        self.request = request

    def holds(self, prompt: Prompt) -> bool:
        """Return true if the block has a prompt's sample with its examples."""
        index, shots = prompt.row - self.start, prompt.shots
        return 0 <= index < len(self.shots) and (self.common is shots or self.shots[index] == shots)


class Rendering:
    """The requests of one source and one parser.

    Each number of examples is tried on the first sample that has it: the harness makes the request too, and only if
    both are the same do others come from blocks. So the harness's errors for a configuration are raised here.
    """

    __slots__ = ("_block", "_blocks", "_harness", "_key", "_kinds", "_marks", "_older", "_renderer", "_settings")

    def __init__(
        self,
        renderer: CallRenderer,
        settings: dict[str, Any] | None,
        harness: Callable[[Prompt], Any],
        marks: bytearray,
    ) -> None:
        self._renderer = renderer
        self._settings = settings
        self._harness = harness
        self._key = object()
        # All by the number of examples. A kind makes a request's class, or is None if requests aren't covered.
        self._kinds: dict[int, Any] = {}
        self._blocks: dict[int, Block] = {}
        # The block before each: threads may still read it, and loops parse a batch a second time.
        self._older: dict[int, Block] = {}
        self._block: Block | None = None
        self._marks = marks

    def request(self, prompt: Prompt, end: int = 0) -> Any:
        """Return a parsed prompt; `end` is the end of the samples that are parsed with it."""
        block = self._block
        row = prompt.row
        if block is None or not block.holds(prompt):
            with self._renderer.lock:
                block = self._block_of(prompt, end)
            if block is None:
                self._marks[row] = 2
                return self._harness(prompt)
        self._marks[row] = 1
        return block.request(row - block.start)

    def requests(self, prompts: Sequence[Prompt]) -> list[Any]:
        """Return several parsed prompts."""
        block = self._block
        first = prompts[0].row
        if block is not None and block.common is not None and block.start <= first:
            common, row = block.common, first
            for prompt in prompts:
                if prompt.row != row or prompt.shots is not common:
                    break
                row += 1
            else:
                if row <= block.end:
                    request, start = block.request, block.start
                    self._marks[first:row] = bytes((1,)) * (row - first)
                    return [request(n - start) for n in range(first, row)]
        end = first + len(prompts)
        if prompts[-1].row + 1 != end:
            end = 0
        return [self.request(prompt, end) for prompt in prompts]

    def _block_of(self, prompt: Prompt, end: int) -> Block | None:
        row, length = prompt.row, len(prompt.shots)
        previous = self._blocks.get(length)
        if previous is not None and previous.holds(prompt):
            self._block = previous
            return previous
        older = self._older.get(length)
        if older is not None and older.holds(prompt):
            return older
        kind = self._kinds[length] if length in self._kinds else self._kind_of(prompt)
        if kind is None:
            return None
        # A loop that reads on gets larger blocks; one that jumps gets small ones.
        start, is_shared = row, self._renderer.is_shared
        size = max(FIRST_BLOCK_ROWS, end - row)
        if previous is not None:
            grown = min(2 * (previous.end - previous.start), self._renderer.block_rows)
            # One of several threads may be ahead of the first.
            if previous.end == row or (is_shared and previous.end < row < previous.end + grown):
                size, start = max(size, grown), previous.end
        size = min(size, self._renderer.block_rows)
        # A thread that is late needs one prompt; the others are elsewhere.
        is_late = is_shared and previous is not None and row < previous.start
        if is_late:
            size = 1
        else:
            if previous is not None:
                self._older[length] = previous
            self._block = None
            self._blocks.pop(length, None)
        del previous, older
        # A list that isn't longer stays the same object, because lists are compared by identity first.
        shots = [rows if len(rows) <= length else rows[:length] for rows in self._renderer.shots[start : start + size]]
        shots[row - start] = prompt.shots
        try:
            settings = self._settings or {}
            prompts = self._renderer.render(settings, self._key, start, shots)
            block = Block(start, shots, self._renderer.requests_of(settings, prompts, kind))
        except Exception as error:
            self._give_up(length, f"rendering failed ({error})")
            return None
        if is_late:
            return block
        self._block = self._blocks[length] = block
        self._renderer.add_block(self, length, size)
        self._renderer.record.rendered()
        return block

    def drop(self, length: int) -> None:
        """Drop the blocks of a number of examples."""
        with self._renderer.lock:
            self._older.pop(length, None)
            if self._blocks.pop(length, None) is self._block:
                self._block = None

    def _kind_of(self, prompt: Prompt) -> Any:
        """Return the kind of a prompt's request, if the harness makes the same request."""
        length = len(prompt.shots)
        if self._settings is None:
            self._kinds[length] = None
            return None
        expected = self._harness(prompt)
        kind = self._renderer.kind_of(self._settings, expected)
        try:
            prompts = self._renderer.render(self._settings, self._key, prompt.row, [prompt.shots])
            covered = same(self._renderer.requests_of(self._settings, prompts, kind)(0), expected)
        except Exception as error:
            return self._give_up(length, f"rendering failed ({error})")
        if not covered:
            return self._give_up(length, "the harness's prompt is another")
        self._kinds[length] = kind
        return kind

    def _give_up(self, length: int, reason: str) -> None:
        self._renderer.record.left(reason)
        self._kinds[length] = None


class PromptSource:
    """The source of one call's prompts of one template.

    `build` builds the harness's own object; that of one row is built at once, and raises the harness's errors.
    `parser_settings` returns arguments of `Renderer` for a parser and a class of prompts; None if they aren't covered.
    """

    __slots__ = ("_last", "_marks", "_parser_settings", "_renderings", "_settings", "build", "renderer", "shape")

    def __init__(  # noqa: PLR0917 - all of them are needed
        self,
        renderer: CallRenderer,
        settings: dict[str, Any],
        build: Build,
        parser_settings: Settings,
        row: int,
        shots: Sequence[int],
    ) -> None:
        self.renderer = renderer
        self.build = build
        self.shape = type(build(row, shots))
        self._settings = settings
        self._parser_settings = parser_settings
        self._renderings: dict[Any, tuple[Rendering, Any]] = {}
        self._marks = renderer.record.marks(renderer.samples.count)
        self._last: tuple[Any, Any, Any] = (None, None, None)

    def prompt(self, row: int) -> Prompt:
        """Return the prompt of a sample with the examples that were retrieved for it."""
        return Prompt(self, row, self.renderer.shots[row])

    def build_each_length(self) -> None:
        """Build the first prompt of each number of examples, in the order of the rows.

        Some loops build all prompts before they call the model. If a dataset is covered, only the number of examples
        decides whether a prompt can be built, so the harness's error is raised here.
        """
        built: set[int] = set()
        for row, shots in enumerate(self.renderer.shots):
            if len(shots) not in built:
                built.add(len(shots))
                self.build(row, shots)

    def text(self, prompt: Prompt) -> str:
        """Return a prompt that is a string, as the harness builds it."""
        rendering, _ = self._renderings.get(None, (None, None))
        text: str = prompt.build() if rendering is None else rendering.request(prompt)
        return text

    def parsed(self, parser: Any, parse: Callable[[Any, Any, str], Any], prompt: Prompt, mode: str) -> Any:
        """Return a parsed prompt; `parse` is the harness's own method of the parser."""
        request = self._rendering(parser, parse, mode).request(prompt)
        return parse(parser, request, mode) if self.shape is str else request

    def parsed_batch(self, parser: Any, parse: Callable[[Any, Any, str], Any], prompts: Any, mode: str) -> Any:
        """Return a parsed list or tuple of prompts; None if one of them isn't of this source."""
        rendering = self._rendering(parser, parse, mode)
        for prompt in prompts:
            if type(prompt) is not Prompt or prompt.source is not self:
                return None
        requests = rendering.requests(prompts)
        # A parser looks at a whole list of strings before it parses them one by one.
        return parse(parser, type(prompts)(requests), mode) if self.shape is str else requests

    def _rendering(self, parser: Any, parse: Callable[[Any, Any, str], Any], mode: str) -> Rendering:
        last, last_mode, rendering = self._last
        if last is parser and last_mode == mode:
            return rendering  # type: ignore[no-any-return]
        # Strings go to any parser as they are.
        key = None if self.shape is str else (id(parser), mode)
        entry = self._renderings.get(key)
        if entry is None:
            settings: dict[str, Any] | None = None
            if self.shape is str:
                settings = {"output": "text"}
            elif mode == self._settings["mode"]:
                settings = self._parser_settings(parser, self.shape)

            def harness(prompt: Prompt) -> Any:
                built = prompt.build()
                return built if self.shape is str else parse(parser, built, mode)

            if settings is not None:
                settings = {**self._settings, **settings, "finish": lambda built: parse(parser, built, mode)}
            # The parser is kept, so that no other gets its id. Another thread may have been faster.
            new_entry = (Rendering(self.renderer, settings, harness, self._marks), parser)
            entry = self._renderings.setdefault(key, new_entry)
        self._last = (parser, mode, entry[0])
        return entry[0]

"""Prompts of one template for one parser, rendered a block of samples at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptpress._backend.call_renderer import CallRenderer
from promptpress._backend.objects import same
from promptpress._backend.prompts import Prompt

FIRST_BLOCK_ROWS = 32


class Block:
    """Rendered samples that follow one another."""

    __slots__ = ("common", "end", "request", "shots", "start")

    def __init__(self, start: int, shots: list[Sequence[int]], request: Callable[[int], Any]) -> None:
        self.start = start
        self.end = start + len(shots)
        self.shots = shots
        self.common = shots[0] if shots.count(shots[0]) == len(shots) else None
        self.request = request


def _holds(block: Block, prompt: Prompt) -> bool:
    """Whether a prompt is one of a block's."""
    at, shots = prompt.row - block.start, prompt.shots
    return 0 <= at < len(block.shots) and (block.common is shots or block.shots[at] == shots)


class Rendering:
    """The requests of one source and one parser.

    Whatever number of examples comes up is tried on the first sample that has it: the harness makes its request too,
    and only if both are the same are others taken from blocks. So what the harness raises for a configuration it raises
    here.

    Args:
        renderer: Renders the samples of the call.
        settings: Arguments of `Renderer` beside the call's; None: everything is made by the harness's code.
        harness: The harness's own request for a prompt.
        marks: Where it is noted which way each sample's prompt went.
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
        self._kinds: dict[int, Any] = {}  # by the number of examples: the class of a request, None if not covered
        self._block: Block | None = None
        self._blocks: dict[int, Block] = {}
        # The one before each: threads may still be at it, and loops give a batch to the parser a second time.
        self._older: dict[int, Block] = {}
        self._marks = marks

    def request(self, prompt: Prompt, end: int = 0) -> Any:
        """What the parser makes of a prompt.

        Args:
            prompt: The prompt.
            end: Before which sample the ones end that are asked for with it.
        """
        block = self._block
        row = prompt.row
        if block is None or not _holds(block, prompt):
            with self._renderer.lock:
                block = self._block_of(prompt, end)
            if block is None:
                self._marks[row] = 2
                return self._harness(prompt)
        self._marks[row] = 1
        return block.request(row - block.start)

    def requests(self, prompts: Sequence[Prompt]) -> list[Any]:
        """What the parser makes of several prompts."""
        block = self._block
        first = prompts[0].row
        if block is not None and block.common is not None and block.start <= first:
            common, at = block.common, first
            for prompt in prompts:
                if prompt.row != at or prompt.shots is not common:
                    break
                at += 1
            else:
                if at <= block.end:
                    request, start = block.request, block.start
                    self._marks[first:at] = bytes((1,)) * (at - first)
                    return [request(row - start) for row in range(first, at)]
        end = first + len(prompts)
        if prompts[-1].row + 1 != end:
            end = 0
        return [self.request(prompt, end) for prompt in prompts]

    def _block_of(self, prompt: Prompt, end: int) -> Block | None:
        row, length = prompt.row, len(prompt.shots)
        known = self._blocks.get(length)
        if known is not None and _holds(known, prompt):
            self._block = known
            return known
        older = self._older.get(length)
        if older is not None and _holds(older, prompt):
            return older
        kind = self._kinds[length] if length in self._kinds else self._kind_of(prompt)
        if kind is None:
            return None
        # Who reads on gets larger blocks; who jumps gets small ones.
        start, is_shared = row, self._renderer.is_shared
        size = max(FIRST_BLOCK_ROWS, end - row)
        if known is not None:
            grown = min(2 * (known.end - known.start), self._renderer.block_rows)
            # Of several threads another than the first may be ahead.
            if known.end == row or (is_shared and known.end < row < known.end + grown):
                size, start = max(size, grown), known.end
        size = min(size, self._renderer.block_rows)
        # A thread that was left behind asks for one prompt; the others are elsewhere.
        is_late = is_shared and known is not None and row < known.start
        if is_late:
            size = 1
        else:
            if known is not None:
                self._older[length] = known
            self._block = None
            self._blocks.pop(length, None)
        del known, older
        shots = [
            others if len(others) <= length else others[:length]
            for others in self._renderer.shots[start : start + size]
        ]
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
        """Let go the block of so many examples."""
        with self._renderer.lock:
            self._older.pop(length, None)
            if self._blocks.pop(length, None) is self._block:
                self._block = None

    def _kind_of(self, prompt: Prompt) -> Any:
        """Try one prompt; the class of its request if both ways give the same."""
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

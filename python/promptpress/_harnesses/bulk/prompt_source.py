"""The source of prompts: one template, and one label of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptpress._harnesses.bulk.call_renderer import CallRenderer
from promptpress._harnesses.bulk.prompts import Prompt
from promptpress._harnesses.bulk.rendering import Rendering

Build = Callable[[int, Sequence[int]], Any]
Settings = Callable[[Any, type], "dict[str, Any] | None"]


class PromptSource:
    """The source of one call's prompts of one template.

    Args:
        renderer: The renderer of the call's samples.
        settings: Arguments of `Renderer` for the template; `mode` among them.
        build: Builds the harness's own object for a sample and its examples.
        parser_settings: Returns arguments of `Renderer` for a parser and a class of prompts; None if not covered.
        row: A sample, whose prompt the harness builds at once, and raises its errors.
        shots: The examples of that sample.
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

"""What the prompts of one template, and of one label, are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptpress._backend.call_renderer import CallRenderer
from promptpress._backend.prompts import Prompt
from promptpress._backend.rendering import Rendering

Build = Callable[[int, Sequence[int]], Any]
Settings = Callable[[Any, type], "dict[str, Any] | None"]


class PromptSource:
    """Prompts of one template.

    Args:
        renderer: Renders the samples of the call that they belong to.
        settings: Arguments of `Renderer` for the template; `mode` among them.
        build: The harness's own object for a sample and its examples.
        parser_settings: Arguments of `Renderer` for a parser and a class of prompts; None if they aren't covered.
        row: The sample to look at first; the harness builds it, and raises what it raises.
        shots: Its examples.
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
        self._renderings: dict[Any, Any] = {}
        self._marks = renderer.record.marks(renderer.samples.count)
        self._last: tuple[Any, Any, Any] = (None, None, None)

    def prompt(self, row: int) -> Prompt:
        """The prompt of a sample with the examples that were chosen for it."""
        return Prompt(self, row, self.renderer.shots[row])

    def build_each_length(self) -> None:
        """Build the first prompt of each number of examples, in the order of the rows.

        Some loops build all prompts before they ask the model. For a dataset that is covered only the number of
        examples decides whether a prompt can be built, so what the harness raises meanwhile is raised here.
        """
        built: set[int] = set()
        for row, shots in enumerate(self.renderer.shots):
            if len(shots) not in built:
                built.add(len(shots))
                self.build(row, shots)

    def text(self, prompt: Prompt) -> str:
        """A prompt that is a string, as the harness builds it."""
        known = self._renderings.get(None)
        text: str = prompt.build() if known is None else known[0].request(prompt)
        return text

    def parsed(self, parser: Any, parse: Callable[[Any, Any, str], Any], prompt: Prompt, mode: str) -> Any:
        """What a parser makes of a prompt.

        Args:
            parser: The harness's parser.
            parse: Its own method, as a function.
            prompt: The prompt.
            mode: The parser's argument.
        """
        last, last_mode, rendering = self._last
        if last is not parser or last_mode != mode:
            rendering = self._rendering(parser, parse, mode)
        if self.shape is str:
            return parse(parser, rendering.request(prompt), mode)
        return rendering.request(prompt)

    def parsed_batch(self, parser: Any, parse: Callable[[Any, Any, str], Any], prompts: Any, mode: str) -> Any:
        """What a parser makes of a list or tuple whose first item is a prompt of this source.

        None if other things are in it.
        """
        last, last_mode, rendering = self._last
        if last is not parser or last_mode != mode:
            rendering = self._rendering(parser, parse, mode)
        for prompt in prompts:
            if type(prompt) is not Prompt or prompt.source is not self:
                return None
        requests = rendering.requests(prompts)
        # A parser looks into a list of strings before it takes one by one.
        return parse(parser, type(prompts)(requests), mode) if self.shape is str else requests

    def _rendering(self, parser: Any, parse: Callable[[Any, Any, str], Any], mode: str) -> Rendering:
        # Strings go to the parser as they are, whoever it is.
        key = None if self.shape is str else (id(parser), mode)
        found = self._renderings.get(key)
        if found is None:
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
            # The parser is kept, so that no other gets its id.
            made = (Rendering(self.renderer, settings, harness, self._marks), parser)
            found = self._renderings.setdefault(key, made)  # another thread may have been faster
        rendering: Rendering = found[0]
        self._last = (parser, mode, rendering)
        return rendering

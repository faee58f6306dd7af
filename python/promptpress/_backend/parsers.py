"""Parsers that know prompts which haven't been built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpress._backend.prompts import Prompt, Prompts, Shots


def knowing_prompts(parse: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    """A parser's `parse_template` that takes placeholders too.

    Args:
        parse: The harness's method.

    Returns:
        What stands in its place.
    """

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
                built = (one.build() if type(one) in {Prompt, Shots} else one for one in prompt_template)
                return parse(self, kind(built), mode)
        return parse(self, prompt_template, mode)

    parse_template.__wrapped__ = parse  # type: ignore[attr-defined]
    return parse_template

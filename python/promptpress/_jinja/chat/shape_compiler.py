"""Programs for shapes of conversations: a chat template, compiled with its texts left open."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from promptpress._jinja.chat.messages import TAG, cut, normalised, tagged
from promptpress._jinja.partial.builder import Builder
from promptpress._jinja.partial.compile import Compiled, compile_names
from promptpress._jinja.partial.machine import Machine
from promptpress._jinja.partial.values import BailError, Sym, UnsupportedError, asked, forget, is_opaque
from promptpress._jinja.reference import Reference

__all__ = ["HOLES", "compile_shape"]

HOLES = "holes"
"""The one column of such a program: the texts of a conversation's holes."""


def compile_shape(
    reference: Reference, skeleton: str, names: Mapping[str, Any], continued: str | None
) -> tuple[Compiled | None, str | None]:
    """Compile a template for conversations of a shape.

    Args:
        reference: The template.
        skeleton: The shape, as the core gives it.
        names: What the template is rendered with beside the messages.
        continued: Which field of the last message is to be continued, if any.

    Returns:
        The program; or None, and why there is none.

    """
    builder = Builder((HOLES,))
    numbers = itertools.count()
    before = asked()
    try:
        messages = normalised(_open(json.loads(skeleton), builder, numbers), is_opaque)
        after = None if continued is None else _continued(builder, messages, continued, reference.source)
    except Exception as error:  # whatever each such row raises
        return None, str(error) if isinstance(error, BailError) else f"raises {type(error).__name__}: {error}"
    finally:
        forget(before)
    return compile_names(reference, builder, {"messages": messages, **names}, None, after=after), None


def _open(skeleton: Any, builder: Builder, numbers: Iterator[int]) -> Any:
    """The values of a skeleton: strings begin with "=", and "?" is the next hole."""
    if isinstance(skeleton, str):
        return builder.hole(next(numbers)) if skeleton == "?" else skeleton[1:]
    if isinstance(skeleton, list):
        return [_open(item, builder, numbers) for item in skeleton]
    if isinstance(skeleton, dict):
        return {key: _open(value, builder, numbers) for key, value in skeleton.items()}
    return skeleton


def _continued(builder: Builder, messages: list[Any], field: str, source: str) -> Callable[[Machine, Any], Any]:
    """Put the tag behind the last message, and say what becomes of the text."""

    def join(text: Any, tag: str) -> Any:
        if not is_opaque(text):
            return text + tag
        return builder.operation("concat", text.node, builder.constant(tag))

    def same(one: Any, other: Any) -> bool:
        if is_opaque(one) and is_opaque(other):
            if one.node == other.node:
                return True
            raise UnsupportedError("two texts of reasoning may be equal")
        return not is_opaque(one) and not is_opaque(other) and bool(one == other)

    final = tagged(messages, field, source, join, same)
    return lambda machine, text: _cut(machine, text, final)


def _cut(machine: Machine, text: Any, final: Any) -> Any:
    """`cut` of a text that may not be there yet."""
    if not is_opaque(text) and not is_opaque(final):
        return machine.real(cut, text, final)
    if type(text) is not Sym or not (type(final) is Sym or type(final) is str):
        raise UnsupportedError("the text is none that could be cut")
    parts = _parts(machine, text)
    _demand(machine, text, final.strip() if type(final) is str else final, parts)
    last = parts[-1]
    if type(last) is str and TAG.strip() in last:
        end = last.rindex(TAG.strip())
        head = machine.concat([*parts[:-1], last[:end]])
        return head if last.startswith(TAG, end) else machine.operate("rstrip", head, None)
    tag = TAG.strip()
    machine.branch(machine.condition(machine.operate("contains", text, tag)), _go_on, _refuse)
    at = machine.operate("rfind", text, tag)
    head = machine.operate("slice", text, None, at, None)
    found = machine.operate("slice", text, at, machine.operate("add", at, len(TAG)), None)
    has_blank = machine.condition(machine.operate("eq", found, TAG))
    return machine.branch(has_blank, lambda: head, lambda: machine.operate("rstrip", head, None))


def _parts(machine: Machine, text: Sym) -> list[Any]:
    """What a text is put together of: texts, and values of the row."""
    out: list[Any] = []
    todo = [text.node]
    while todo:
        number = todo.pop()
        name, *operands = machine.builder.nodes[number]
        machine.spend(1)
        if name == "concat":
            todo += reversed(operands)
        else:
            out.append(machine.constant_or_sym(number))
    # A tag may lie in two constants that stand next to each other.
    joined: list[Any] = []
    for is_text, parts in itertools.groupby(out, lambda part: type(part) is str):
        neighbours = list(parts)
        joined += ["".join(neighbours)] if is_text else neighbours
    return joined


def _demand(machine: Machine, text: Sym, final: Any, parts: list[Any]) -> None:
    """Let rows go whose text lacks the last message."""
    if type(final) is Sym:
        whole = [part.node for part in parts if type(part) is Sym]
        if final.node in whole or any(_is_strip(machine, machine.builder.nodes[node], final.node) for node in whole):
            return
        final = machine.operate("strip", final, None)
    machine.branch(machine.condition(machine.operate("contains", text, final)), _go_on, _refuse)


def _is_strip(machine: Machine, node: tuple[Any, ...], of: int) -> bool:
    """Whether a node is what `strip()` leaves of a text."""
    blanks = len(node) < 3 or machine.builder.constants.get(node[2], "") is None
    return node[:2] == ("strip", of) and blanks


def _go_on() -> None:
    return None


def _refuse() -> None:
    raise BailError("the final message isn't in the text")

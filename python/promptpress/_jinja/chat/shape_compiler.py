"""Programs for shapes of conversations: a chat template is compiled with the texts of the messages left open."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from promptpress._jinja.chat.messages import TAG, cut, normalised, tagged
from promptpress._jinja.compiler.builder import Builder
from promptpress._jinja.compiler.compile import Compiled, compile_names
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.values import (
    BailError,
    Sym,
    UnsupportedError,
    forget_inspections,
    inspections,
    is_opaque,
)
from promptpress._jinja.reference import Reference

SLOTS = "slots"
"""The only column of such a program: the texts of a conversation's slots."""


def compile_shape(
    reference: Reference, skeleton: str, names: Mapping[str, Any], continued: str | None
) -> tuple[Compiled | None, str | None]:
    """Compile a template for conversations of one shape; return the program, or None and the reason.

    Args:
        reference: The template.
        skeleton: The shape, as the core gives it.
        names: The variables of the template, without the messages.
        continued: The field of the last message that is to be continued, if any.
    """
    builder = Builder((SLOTS,))
    numbers = itertools.count()
    before = inspections()
    try:
        messages = normalised(_open(json.loads(skeleton), builder, numbers), is_opaque)
        after = None if continued is None else _continued(builder, messages, continued, reference.source)
    except Exception as error:  # each such row raises it, whatever it is
        return None, str(error) if isinstance(error, BailError) else f"raises {type(error).__name__}: {error}"
    finally:
        forget_inspections(before)
    return compile_names(reference, builder, {"messages": messages, **names}, None, after=after), None


def _open(skeleton: Any, builder: Builder, numbers: Iterator[int]) -> Any:
    """Return the values of a skeleton: strings begin with "=", and "?" is the next slot."""
    if isinstance(skeleton, str):
        return builder.slot(next(numbers)) if skeleton == "?" else skeleton[1:]
    if isinstance(skeleton, list):
        return [_open(item, builder, numbers) for item in skeleton]
    if isinstance(skeleton, dict):
        return {key: _open(value, builder, numbers) for key, value in skeleton.items()}
    return skeleton


def _continued(builder: Builder, messages: list[Any], field: str, source: str) -> Callable[[Machine, Any], Any]:
    """Put the tag after the last message; return a function that cuts the rendered text."""

    def join(text: Any, tag: str) -> Any:
        if not is_opaque(text):
            return text + tag
        return builder.operation("concat", text.node, builder.constant(tag))

    def same(left: Any, right: Any) -> bool:
        if is_opaque(left) and is_opaque(right):
            if left.node == right.node:
                return True
            raise UnsupportedError("two texts of reasoning may be equal")
        return not is_opaque(left) and not is_opaque(right) and bool(left == right)

    final = tagged(messages, field, source, join, same)
    return lambda machine, text: _cut(machine, text, final)


def _cut(machine: Machine, text: Any, final: Any) -> Any:
    """Apply `cut` to a text that may not be known yet."""
    if not is_opaque(text) and not is_opaque(final):
        return machine.real(cut, text, final)
    if type(text) is not Sym or not (type(final) is Sym or type(final) is str):
        raise UnsupportedError("the text is none that could be cut")
    parts = _parts(machine, text)
    _require(machine, text, final.strip() if type(final) is str else final, parts)
    last = parts[-1]
    if type(last) is str and TAG.strip() in last:
        end = last.rindex(TAG.strip())
        head = machine.concat([*parts[:-1], last[:end]])
        return head if last.startswith(TAG, end) else machine.operate("rstrip", head, None)
    tag = TAG.strip()
    machine.branch(machine.condition(machine.operate("contains", text, tag)), _accept, _refuse)
    start = machine.operate("rfind", text, tag)
    head = machine.operate("slice", text, None, start, None)
    found_tag = machine.operate("slice", text, start, machine.operate("add", start, len(TAG)), None)
    has_blank = machine.condition(machine.operate("eq", found_tag, TAG))
    return machine.branch(has_blank, lambda: head, lambda: machine.operate("rstrip", head, None))


def _parts(machine: Machine, text: Sym) -> list[Any]:
    """Return the parts of a concatenated text: texts, and values of the row."""
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
    # A tag may lie in two neighbouring constants.
    joined: list[Any] = []
    for is_text, parts in itertools.groupby(out, lambda part: type(part) is str):
        neighbours = list(parts)
        joined += ["".join(neighbours)] if is_text else neighbours
    return joined


def _require(machine: Machine, text: Sym, final: Any, parts: list[Any]) -> None:
    """Let Jinja2 render rows whose text lacks the last message."""
    if type(final) is Sym:
        whole = [part.node for part in parts if type(part) is Sym]
        if final.node in whole or any(_is_strip(machine, machine.builder.nodes[node], final.node) for node in whole):
            return
        final = machine.operate("strip", final, None)
    machine.branch(machine.condition(machine.operate("contains", text, final)), _accept, _refuse)


def _is_strip(machine: Machine, node: tuple[Any, ...], of: int) -> bool:
    """Return true if a node is `strip()` of a text."""
    blanks = len(node) < 3 or machine.builder.constants.get(node[2], "") is None
    return node[:2] == ("strip", of) and blanks


def _accept() -> None:
    return None


def _refuse() -> None:
    raise BailError("the final message isn't in the text")

"""Jinja2 with values that know their origins: the environment and the rendering.

The code of the template is Jinja2's own. The environment passes texts on with their origins wherever Jinja2 joins,
prints, calls or filters; a text that a function has made of data in a way that isn't known here is all data. The
rendering compares the text with that of the plain values, so a difference can't go unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature, unwrap
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jinja2.runtime import BlockReference, LoopContext, Macro, markup_join
from jinja2.utils import Namespace
from markupsafe import Markup, escape

from promptpress._jinja.sandbox.bounds import charge, charge_text, weigh
from promptpress._jinja.sandbox.environments import plain_json
from promptpress._jinja.sandbox.guarded_filters import LazyWrappers
from promptpress._jinja.traced_values import (
    Origin,
    TracedFloat,
    TracedInt,
    TracedText,
    between,
    checked,
    common_origin,
    escaped,
    formatted,
    holds_data,
    is_safe,
    is_traced,
    joined,
    marked,
    of_template,
    origin_of,
    origins_in,
    pieces,
    plain,
    scalar,
    whole,
)

if TYPE_CHECKING:
    from jinja2 import Template


def text_of(value: Any) -> str:
    """Return `str(value)`."""
    if is_traced(value) or type(value) not in (dict, list, tuple):
        return str(value)
    result = str(plain(value))
    return checked(Writer(repr, ", ", ": ", has_tuples=True).parts(value), result, value)


def json_of(value: Any, text: str, *, ensure_ascii: bool, indent: Any, separators: Any, sort_keys: bool) -> str:
    """Return a value's JSON with origins; `text` is the JSON that `json.dumps` writes with these options."""
    item, key = separators or ((", ", ": ") if indent is None else (",", ": "))
    step = indent if indent is None or isinstance(indent, str) else " " * indent
    writer = Writer(lambda part: json.dumps(part, ensure_ascii=ensure_ascii), item, key, step, sort_keys=sort_keys)
    return checked(writer.parts(value), text, value)


@dataclass
class Writer:
    """Writes lists and dicts in parts; `indent` begins a line once for each level, None writes one line."""

    scalar: Callable[[Any], str]
    item: str
    key: str
    indent: str | None = None
    sort_keys: bool = False
    has_tuples: bool = False

    def parts(self, value: Any, around: Origin | None = None, depth: int = 1) -> list[Any]:
        """Return the parts of a value's text; `around` is the origin of the value that it is part of."""
        charge(1)
        if type(value) is dict:
            around = origin_of(value) or around
            items = sorted(value.items()) if self.sort_keys else value.items()
            members = [
                [*self.parts(key, around, depth), (self.key, around), *self.parts(item, around, depth + 1)]
                for key, item in items
            ]
            return self._members("{", members, "}", around, depth)
        if type(value) in (list, tuple):
            around = origin_of(value) or around
            members = [self.parts(item, around, depth + 1) for item in value]
            end = ",)" if type(value) is tuple and len(value) == 1 else ")"
            is_tuple = type(value) is tuple and self.has_tuples
            return self._members("(" if is_tuple else "[", members, end if is_tuple else "]", around, depth)
        origin = common_origin(origins_in(value)) if is_traced(value) else around
        return [(self.scalar(plain(value)), origin)]

    def _members(
        self, opening: str, members: list[list[Any]], closing: str, around: Origin | None, depth: int
    ) -> list[Any]:
        if not members:
            return [(opening + closing, around)]
        out: list[Any] = [(opening, around)]
        for number, member in enumerate(members):
            out += [((self.item if number else "") + self._line(depth), around), *member]
        return [*out, (self._line(depth - 1) + closing, around)]

    def _line(self, depth: int) -> str:
        if self.indent is None:
            return ""
        charge(len(self.indent) * depth >> 4)
        return "\n" + self.indent * depth


_PASSING = frozenset(
    {"attr", "batch", "d", "default", "dictsort", "first", "groupby", "items", "last", "list", "map", "max", "min"}
    | {"random", "reject", "rejectattr", "reverse", "select", "selectattr", "slice", "sort", "unique"}
)
"""Filters that return their values, or parts of them, as they are."""


_SUMS = frozenset("+-")
_OF_DICTS = frozenset(dir(dict))
_OF_LOOPS = frozenset({"index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"})


def tracing(environment: Any) -> Any:
    """Return an environment like another one, whose templates pass origins on."""
    engine = environment.overlay()
    real_call, real_binop, real_getattr = engine.call, engine.call_binop, engine.getattr

    def call(context: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        # The sandbox wraps `format` of texts.
        method = unwrap(function) if isinstance(function, FunctionType) else function
        owner = getattr(method, "__self__", None)
        if type(function) is BlockReference:
            return _block_text(context, function.name)
        makes_text = isinstance(owner, (str, type)) or is_traced(owner) or isinstance(function, FunctionType)
        if not makes_text:
            return real_call(context, function, *args, **kwargs)
        if isinstance(owner, str) and not is_traced(owner) and method is function and holds_data(args):
            function = getattr(of_template(owner), method.__name__)
        return _with_origin(real_call(context, function, *args, **kwargs), owner, args, tuple(kwargs.values()))

    def call_binop(context: Any, operator: str, left: Any, right: Any) -> Any:
        if type(left) is type(right) is int and operator in _SUMS:
            return left + right if operator == "+" else left - right
        if operator == "%" and isinstance(left, str) and (isinstance(left, TracedText) or holds_data(right)):
            real_binop(context, operator, plain(left), plain(right))  # counts the text, or raises
            return formatted(left, right)
        if operator == "+" and type(left) is Markup and isinstance(right, TracedText):
            left = of_template(left)
        return _with_origin(real_binop(context, operator, left, right), left, right)

    def concat(texts: Iterable[Any]) -> Any:
        parts = list(texts)
        charge_text(sum(len(part) for part in parts if isinstance(part, str)))
        if not any(isinstance(part, TracedText) for part in parts):
            return "".join(parts)
        return joined([piece for part in parts for piece in pieces(part)])

    def joined_texts(join: Any, parts: tuple[Any, ...]) -> Any:
        charge_text(sum(map(weigh, parts)))
        texts = list(map(_soft, parts))
        is_marked = join is markup_join and any(map(is_safe, texts))
        return joined(between("", texts, is_marked=is_marked), is_marked=is_marked)

    def printable(value: Any) -> Any:
        environment.printable(value)
        return _soft(value) if is_traced(value) or type(value) in (dict, list, tuple) else value

    def attribute(value: Any, name: str) -> Any:
        # Most attributes are keys of messages, and fields of namespaces: nothing that a sandbox has to look at.
        kind = type(value)
        if kind is dict and name not in _OF_DICTS:
            return value[name] if name in value else environment.undefined(obj=value, name=name)
        if kind is LoopContext and name in _OF_LOOPS:
            return getattr(value, name)
        if issubclass(kind, Namespace) and not name.startswith("_"):
            field = getattr(value, name, None)
            if type(field) in (bool, int) or is_traced(field):
                return field
        return real_getattr(value, name)

    engine.call, engine.call_binop, engine.concat, engine.joined = call, call_binop, concat, joined_texts
    engine.getattr = attribute
    engine.weighed = lambda value: value if type(value) is int else environment.weighed(value)
    engine.finalize = printable
    engine.filters = LazyWrappers(environment.filters, partial(_filter, environment))
    engine.tests = LazyWrappers(environment.tests, _test)
    return engine


def template_of(environment: Any, code: Any) -> Template:
    """Return the template of some code, which runs in an environment."""
    # Each row's context copies the globals, and Jinja2's own layers of them take longer than most templates.
    template: Template = environment.template_class.from_code(environment, code, dict(environment.globals))
    return template


def traced_template(environment: Any, code: Any) -> Template:
    """Return the template of some code whose texts have origins, also where Jinja2's code escapes or marks them."""
    # Code of a tracing environment would be the same: it only calls what the environment has.
    template = template_of(tracing(environment), code)
    template.root_render_func.__globals__.update(Markup=marked, escape=_escape, Macro=_Macro)
    return template


def _escape(value: Any) -> Any:
    return escaped(value) if isinstance(value, TracedText) else escape(value)


class _Macro(Macro):
    """A macro that keeps the origins of its text where it marks it as safe."""

    def _invoke(self, arguments: list[Any], autoescape: bool) -> str:
        made: str = self._func(*arguments)
        return marked(made) if autoescape else made


_Macro.__name__ = "Macro"  # which its text shows


def _block_text(context: Any, name: str) -> str:
    """Return what a block of the template writes where the template calls it."""
    text: str = context.environment.concat(context.blocks[name][0](context))
    return marked(text) if context.eval_ctx.autoescape else text


def _soft(value: Any) -> str:
    """Return `str(value)`, or the value itself if it is a text: then it stays safe for HTML."""
    return value if isinstance(value, str) else text_of(value)


_OF_ONE_TEXT: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(["string", "safe"], _soft),
    **dict.fromkeys(["e", "escape"], lambda value: escaped(_soft(value))),
    "forceescape": lambda value: escaped(text_of(value)),
}
"""Filters that keep or escape each character."""


def _with_origin(result: Any, *made_of: Any) -> Any:
    """Return a result of data with the origin of the data, if the function that made it has lost it."""
    if isinstance(result, str) and not isinstance(result, TracedText):
        return result if _is_given(result, made_of) or not holds_data(*made_of) else whole(result, *made_of)
    if type(result) in (int, float):
        origin = common_origin(origin for value in made_of if is_traced(value) for origin in origins_in(value))
        return result if origin is None else _number(result, origin)
    return result


def _is_given(result: Any, values: Iterable[Any]) -> bool:
    """Return true if a result is one of the values that a function was given."""
    return any(result is value or (type(value) is tuple and _is_given(result, value)) for value in values)


def _number(number: Any, origin: Origin) -> Any:
    made: Any = TracedInt(number) if type(number) is int else TracedFloat(number)
    made.origin = origin
    return made


def _filter(environment: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a filter so that its text has origins."""
    if name in _PASSING:
        return function
    if name in ("length", "count"):
        return lambda value: len(value) if type(value) in (dict, list) else _with_origin(function(value), value)
    skipped = 1 if getattr(function, "jinja_pass_arg", None) is not None else 0

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        given, keywords = arguments[skipped:], tuple(named.values())
        if name in ("join", "sum") and given and isinstance(given[0], Iterator):
            given = (list(given[0]), *given[1:])
            arguments = (*arguments[:skipped], *given)
        if name in _OF_ONE_TEXT and len(given) == 1 and not named and holds_data(given[0]):
            text = function(*arguments[:skipped], plain(given[0]))
            return checked(pieces(_OF_ONE_TEXT[name](given[0])), text, given[0])
        if not holds_data(*given, *keywords):
            return function(*arguments, **named)
        if name == "tojson":
            return _json(environment, function, arguments[:skipped], given, named)
        if name == "join" and len(given) == 1 + (len(given) == 2) and not named:
            values = list(given[0])
            text = function(*arguments[:skipped], plain(values), *plain(given[1:]))
            separator = _soft(given[1]) if len(given) > 1 else ""
            return checked(between(separator, map(_soft, values), is_marked=is_safe(text)), text, *given, values)
        return _with_origin(function(*arguments, **named), *given, *keywords)

    return run


def _json(
    environment: Any, function: Callable[..., Any], passed: tuple[Any, ...], given: tuple[Any, ...], named: Any
) -> Any:
    text = function(*passed, *plain(given), **plain(dict(named)))
    if unwrap(environment.filters["tojson"]) is not plain_json:
        return whole(text, *given)
    bound = signature(plain_json).bind(*given, **named)
    bound.apply_defaults()
    value, options = bound.arguments.pop("x"), {name: plain(item) for name, item in bound.arguments.items()}
    return json_of(value, text, **options)


def _test(_name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a test so that it gets Python's own truths and None."""

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        return function(*map(scalar, arguments), **{name: scalar(value) for name, value in named.items()})

    return run

"""The engines' environments by name: they render as the real ones do, but are sandboxed."""

from __future__ import annotations

import inspect
import itertools
import json
from _string import formatter_field_name_split  # type: ignore[import-not-found]  # as Formatter does
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache, partial, update_wrapper
from string import Formatter
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import jinja2
from jinja2 import BaseLoader, nodes, pass_eval_context
from jinja2.exceptions import SecurityError
from jinja2.exceptions import TemplateError as EngineError
from jinja2.ext import Extension
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Namespace

from promptpress._config.tokenizer import MARKS
from promptpress._errors.errors import did_you_mean, template_error
from promptpress._jinja.sandbox.bounded import BoundedEnvironment
from promptpress._jinja.sandbox.bounds import SHORT, charge_text, read, weigh
from promptpress._jinja.sandbox.guarded_filters import substituted

if TYPE_CHECKING:
    from jinja2.nodes import EvalContext
    from jinja2.parser import Parser
    from jinja2.runtime import Macro, Undefined

_UNDEFINED: dict[str, type[jinja2.Undefined]] = {
    "default": jinja2.Undefined,
    "strict": jinja2.StrictUndefined,
    "chainable": jinja2.ChainableUndefined,
    "debug": jinja2.DebugUndefined,
}
_EXTENSIONS = ("do", "loopcontrols")
_MODULE = "jinja2.ext."
_NEWLINES = ("\n", "\r\n", "\r")

_FLAGS = ("trim_blocks", "lstrip_blocks", "keep_trailing_newline", "autoescape")
_PREFIXES = ("line_statement_prefix", "line_comment_prefix")
_DELIMITERS = (
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string"),
)

ENVIRONMENT_DEFAULTS: dict[str, dict[str, Any]] = {
    "jinja2": {},
    "transformers": {"trim_blocks": True, "lstrip_blocks": True, "extensions": ("loopcontrols",)},
    "lm_eval": {"undefined": "strict", "keep_trailing_newline": True},
}
"""The options in which each environment differs from `jinja2.Environment()`, keyed by the environment's name."""


def _one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        raise template_error("unknown_name", name, f"{value!r} is not one of {', '.join(map(repr, choices))}{hint}")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise template_error("wrong_type", name, f"expected True or False, found {value!r}")
    return value


def _delimiter(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise template_error("wrong_type", name, f"expected a text that isn't empty, found {value!r}")
    return value


def _prefix(name: str, value: Any) -> str | None:
    return None if value is None else _delimiter(name, value)


def _extensions(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise template_error("wrong_type", name, f"expected a list of names, found {value!r}")
    names = [item.removeprefix(_MODULE) if isinstance(item, str) else item for item in value]
    for item in names:
        if item not in _EXTENSIONS:
            message = (
                f"{item!r} is not one of {', '.join(map(repr, _EXTENSIONS))}: other extensions run code of their own, "
                "which no sandbox holds"
            )
            raise template_error("unknown_name", name, message)
    return tuple(dict.fromkeys(names))


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "undefined": partial(_one_of, choices=_UNDEFINED),
    **dict.fromkeys(_FLAGS, _flag),
    "newline_sequence": partial(_one_of, choices=_NEWLINES),
    "extensions": _extensions,
    **dict.fromkeys(_DELIMITERS, _delimiter),
    **dict.fromkeys(_PREFIXES, _prefix),
}


def changed_options(environment: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check a user's options, and return those that change an environment, in the order of their names."""
    out = {}
    for name in sorted(options):
        check = _CHECKS.get(name)
        if check is None:
            message = f"there is no such option of an environment{did_you_mean(name, _CHECKS)}"
            raise template_error("unknown_name", name, message)
        value = check(name, options[name])
        if value != _default(environment, name):
            out[name] = value
    return out


def _default(environment: str, name: str) -> Any:
    defaults = ENVIRONMENT_DEFAULTS[environment]
    if name in defaults:
        return defaults[name]
    if name == "undefined":
        return "default"
    return inspect.signature(jinja2.Environment).parameters[name].default


def engine_options(environment: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `jinja2.Environment` for an environment with some options."""
    merged = {**ENVIRONMENT_DEFAULTS[environment], **options}
    # An environment's templates may go on using what it has.
    defaults = ENVIRONMENT_DEFAULTS[environment].get("extensions", ())
    extensions = dict.fromkeys((*defaults, *merged.pop("extensions", ())))
    undefined = _UNDEFINED[merged.pop("undefined", "default")]
    return {**merged, "undefined": undefined, "extensions": [_MODULE + name for name in extensions]}


_Named = TypeVar("_Named", bound=Callable[..., Any])


def _named(name: str) -> Callable[[_Named], _Named]:
    """Give an object the name that it has in transformers, because templates and error messages can show it."""

    def rename(thing: _Named) -> _Named:
        thing.__module__, thing.__name__ = "transformers.utils.chat_template_utils", name
        thing.__qualname__ = f"_cached_compile_jinja_template.<locals>.{name}"
        return thing

    return rename


def _copy_as(function: _Named, module: str, name: str) -> _Named:
    """Return a copy of a function with the name that Python's error messages contain."""
    original = cast("FunctionType", function)
    copy = FunctionType(
        original.__code__, original.__globals__, original.__name__, original.__defaults__, original.__closure__
    )
    copy.__kwdefaults__ = original.__kwdefaults__
    copy.__module__, copy.__qualname__ = module, name
    return cast("_Named", copy)


class Environment(BoundedEnvironment):
    """An environment for engines that aren't sandboxed themselves: it refuses only what is unsafe.

    A template may change its own lists and dicts, and `str.format` looks names up as Python does.
    """

    call = _copy_as(BoundedEnvironment.call, "jinja2.runtime", "Context.call")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.globals["range"] = range

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return SandboxedEnvironment.is_safe_attribute(self, obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        # The engine would return the attribute, so it isn't undefined.
        raise SecurityError(f"access to attribute {attribute!r} of {type(obj).__name__!r} object is unsafe.")

    def getattr(self, obj: Any, attribute: str) -> Any:
        if attribute == "format" and type(obj) is str and len(obj) <= SHORT and not _looks_into_values(obj):
            return obj.format
        return super().getattr(obj, attribute)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is None:
            return None

        def formatted(*args: Any, **kwargs: Any) -> str:
            names = args[0] if value.__name__ == "format_map" and args else kwargs
            for template in _nested_templates(value.__self__):
                self._refuse_unsafe_fields(template, args, names)
            out: str = value(*args, **kwargs)
            return out

        return update_wrapper(formatted, value)

    def _refuse_unsafe_fields(self, template: str, args: tuple[Any, ...], names: Any) -> None:
        numbers = itertools.count()
        for _, field, _, _ in Formatter().parse(template):
            if field is None:
                continue
            first, rest = formatter_field_name_split(field)
            if first == "":
                first = next(numbers)
            try:
                value = args[first] if isinstance(first, int) else names[first]
                for is_attribute, name in rest:
                    value = self._attribute(value, name) if is_attribute else value[name]
            except (AttributeError, LookupError, TypeError):
                return  # str.format raises the error

    def _attribute(self, owner: Any, name: str) -> Any:
        value = None if name.startswith("_") else getattr(owner, name)
        if not self.is_safe_attribute(owner, name, value):
            self.unsafe_undefined(owner, name)
        return value


@lru_cache(maxsize=256)
def _looks_into_values(template: str) -> bool:
    """Return true unless a format surely reads no attribute or item of its values."""
    try:
        fields = [(field, spec or "") for _, field, spec, _ in Formatter().parse(template) if field is not None]
    except ValueError:
        return True
    return any("." in field or "[" in field or "{" in spec for field, spec in fields)


def _nested_templates(template: str) -> Iterator[str]:
    """Yield a format and the formats in its fields' specifications."""
    yield template
    try:
        inner = [spec for _, _, spec, _ in Formatter().parse(template) if spec and "{" in spec]
    except ValueError:
        return  # str.format raises the error
    for spec in inner:
        yield from _nested_templates(spec)


def environment(
    name: str, now: datetime | None = None, options: Mapping[str, Any] | None = None, *, is_marked: bool = False
) -> BoundedEnvironment:
    """Make the environment in which an engine compiles and renders templates.

    The engines are "jinja2" (`jinja2.Environment()`), "transformers" (that of `apply_chat_template`) and "lm_eval"
    (that of `lm_eval.utils.apply_template`). The clock of `strftime_now` is the time of this call without `now`. The
    options are `changed_options`' result. If `is_marked`, `MARKS` stand around the text of each `{% generation %}`
    block.
    """
    make = ENVIRONMENTS.get(name)
    if make is None:
        message = f"expected one of {', '.join(map(repr, ENVIRONMENTS))}, found {name!r}"
        raise template_error("unknown_name", "environment", message)
    try:
        made = make(datetime.now() if now is None else now, engine_options(name, options or {}))
    except AssertionError as error:
        raise template_error("template_syntax", "environment", f"Jinja2 refuses the delimiters: {error}") from error
    if is_marked:
        made.add_extension(_MarkedGeneration)  # takes the tag from the one before
    made.guard()
    return made


def _lm_eval(_now: datetime, options: dict[str, Any]) -> BoundedEnvironment:
    made = Environment(**options)
    # The harness passes the class itself, so loading another template fails with a message that depends on it.
    made.loader = cast("BaseLoader", BaseLoader)
    made.filters["regex_replace"] = regex_replace
    return made


def _transformers(now: datetime, options: dict[str, Any]) -> BoundedEnvironment:
    @_named("strftime_now")
    def strftime_now(format: str) -> str:  # noqa: A002 - a template may give it by name
        return now.strftime(format)

    made = BoundedEnvironment(**{**options, "extensions": [_Generation, *options["extensions"]]})
    made.filters["tojson"] = plain_json
    made.globals.update(
        raise_exception=_raise_exception, strftime_now=strftime_now, dict=_DictMaker(), namespace=_GuardedNamespace
    )
    return made


ENVIRONMENTS: dict[str, Callable[[datetime, dict[str, Any]], BoundedEnvironment]] = {
    "jinja2": lambda _now, options: Environment(**options),
    "transformers": _transformers,
    "lm_eval": _lm_eval,
}


def regex_replace(string: Any, pattern: Any, repl: Any, count: int = 0) -> Any:
    return substituted(string, pattern, repl, count)


@_named("raise_exception")
def _raise_exception(message: Any) -> None:
    charge_text(weigh(message))
    raise EngineError(message)


@_named("tojson")
def plain_json(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@_named("TemplateDict")
class _DictMaker:
    """Replaces the type `dict`, so that a template can't reach its other attributes."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*read(args), **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


@_named("TemplateNamespace")
class _GuardedNamespace(Namespace):
    """A namespace without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *given = args
        attributes = dict(*given, **kwargs)
        for name in attributes:
            _refuse_underscore(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_underscore(name)
        super().__setitem__(name, value)


def _refuse_underscore(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        message = (
            f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}. "
            "Please rename the attribute."
        )
        raise SecurityError(message)


class _Generation(Extension):
    """`{% generation %}`: the text of its body. Transformers also records the span, which doesn't change the text."""

    tags = {"generation"}  # noqa: RUF012 - as Extension has it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

    @pass_eval_context
    def _text(self, _context: EvalContext, caller: Macro) -> Any:
        return caller()


class _MarkedGeneration(_Generation):
    """`{% generation %}` with marks around the text of its body."""

    def parse(self, parser: Parser) -> list[nodes.Node]:  # type: ignore[override]  # Jinja2 takes a list, too
        block = super().parse(parser)
        before, after = (nodes.Output([nodes.TemplateData(mark)]).set_lineno(block.lineno) for mark in MARKS)
        return [before, block, after]

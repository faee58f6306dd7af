"""Values that know their origins: texts, numbers, truths and None. Templates treat them as the plain values.

Lists and dicts are plain ones that hold such values. Keys of dicts are such texts too.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from promptpress._jinja.sandbox.bounds import charge


class Origin(NamedTuple):
    """An origin of bytes, with the path of the value in its message or argument, such as `tool_calls[0].function.name`.

    The source is `template`, `field` (a value of the row), `argument` (a value that was given for all rows), `computed`
    (from several values), or `jinja2` (not known).
    """

    source: str
    column: str | None = None
    message: int | None = None
    role: str | None = None
    path: str | None = None

    def under(self, key: str) -> Origin:
        """Return the origin of a dict's value."""
        return self._replace(path=f"{self.path}.{key}" if self.path else key)

    def item(self, number: int) -> Origin:
        """Return the origin of a list's item."""
        return self._replace(path=f"{self.path or ''}[{number}]")

    def parent(self) -> Origin:
        """Return the origin of the list or dict that holds a value."""
        steps = _STEPS.findall(self.path or "")[:-1]
        return self._replace(path=_path(steps))


TEMPLATE = Origin("template")
COMPUTED = Origin("computed")
UNKNOWN = Origin("jinja2")

_STEPS = re.compile(r"[^.\[]+|\[\d+\]")


def common_origin(origins: Iterable[Origin | None]) -> Origin | None:
    """Return the origin of a text that was made of several values; None stands for the template.

    Values within one message give the part of it that holds all of them.
    """
    different = list(dict.fromkeys(origin for origin in origins if origin is not None))
    if len(different) < 2:
        return different[0] if different else None
    first = different[0]
    if any(other[:4] != first[:4] for other in different) or first == COMPUTED:
        return COMPUTED
    paths = [_STEPS.findall(origin.path or "") for origin in different]
    common: list[str] = []
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        common.append(steps[0])
    if not common and first.source == "argument":
        return COMPUTED
    return first._replace(path=_path(common))


def _path(steps: list[str]) -> str | None:
    return ".".join(steps).replace(".[", "[") or None


Piece = tuple[str, "Origin | None"]
"""A part of a text, and its origin; None: the template."""


class TracedText(str):
    """A text whose parts have origins: `ends` has the end of each part with its origin, None if that isn't known."""

    __slots__ = ("ends",)
    ends: tuple[tuple[int, Origin | None], ...]

    def __new__(cls, text: str = "", ends: tuple[tuple[int, Origin | None], ...] | None = None) -> TracedText:
        made = super().__new__(cls, text)
        made.ends = ((len(text), COMPUTED),) if ends is None else ends
        return made

    def __str__(self) -> TracedText:
        return self

    def __add__(self, other: Any) -> Any:
        return _added(self, other) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return _added(other, self) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return joined(list(pieces(self)) * count, is_marked=is_safe(self))

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> Any:
        return formatted(self, values)

    def __rmod__(self, template: Any) -> Any:
        return formatted(template, self) if isinstance(template, str) else NotImplemented

    def __format__(self, spec: str) -> Any:
        return format(plain(self), spec)

    def __iter__(self) -> Iterator[Any]:
        # The characters of a safe text aren't safe themselves.
        return (joined(self._pieces(index, index + 1)) for index in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key.step in (None, 1):
            start, stop, _ = key.indices(len(self))
            return self.part(start, stop)
        indices = range(len(self))[key]
        if isinstance(indices, int):
            return self.part(indices, indices + 1)
        parts = [piece for index in indices for piece in self._pieces(index, index + 1)]
        return joined(parts, is_marked=is_safe(self))

    def part(self, start: int, stop: int) -> str:
        """Return the characters between two positions; of a safe text they are safe too."""
        return joined(self._pieces(start, stop), is_marked=is_safe(self))

    def _pieces(self, start: int, stop: int) -> list[Piece]:
        out: list[Piece] = []
        begin = 0
        for end, origin in self.ends:
            first, last = max(start, begin), min(stop, end)
            if first < last:
                out.append((str.__getitem__(self, slice(first, last)), origin))
            begin = end
        return out

    def _parts(self, parts: Iterable[str], between: str | None) -> list[str]:
        """Return parts of the text that follow each other, with a text or any blanks between them."""
        out, position = [], 0
        for part in parts:
            position = str.find(self, part, position) if between is None else position
            out.append(self.part(position, position + len(part)))
            position += len(part) + len(between or "")
        return out

    def split(self, sep: Any = None, maxsplit: Any = -1) -> list[str]:
        return self._parts(plain(self).split(sep, maxsplit), sep)

    def rsplit(self, sep: Any = None, maxsplit: Any = -1) -> list[str]:
        parts = plain(self).rsplit(sep, maxsplit)
        if sep is not None:
            return self._parts(parts, sep)
        out, end = [], len(self)
        for part in reversed(parts):
            start = str.rfind(self, part, 0, end)
            out.append(self.part(start, start + len(part)))
            end = start
        return out[::-1]

    def splitlines(self, keepends: Any = False) -> list[str]:
        lines, position = [], 0
        for with_end, without in zip(plain(self).splitlines(True), plain(self).splitlines(keepends), strict=True):
            lines.append(self.part(position, position + len(without)))
            position += len(with_end)
        return lines

    def partition(self, sep: Any) -> Any:
        return tuple(self._parts(plain(self).partition(sep), ""))

    def rpartition(self, sep: Any) -> Any:
        return tuple(self._parts(plain(self).rpartition(sep), ""))

    def strip(self, chars: Any = None) -> str:
        return self.part(len(self) - len(plain(self).lstrip(chars)), len(plain(self).rstrip(chars)))

    def lstrip(self, chars: Any = None) -> str:
        return self.part(len(self) - len(plain(self).lstrip(chars)), len(self))

    def rstrip(self, chars: Any = None) -> str:
        return self.part(0, len(plain(self).rstrip(chars)))

    def removeprefix(self, prefix: Any) -> str:
        return self.part(len(self) - len(plain(self).removeprefix(prefix)), len(self))

    def removesuffix(self, suffix: Any) -> str:
        return self.part(0, len(plain(self).removesuffix(suffix)))

    def replace(self, old: Any, new: Any, count: Any = -1) -> str:
        result = plain(self).replace(old, new, count)
        if not old:
            return whole(result, self, new)
        inserted = pieces(escaped(new) if is_safe(result) else new)
        out: list[Piece] = []
        position = 0
        while count != 0 and (match_start := str.find(self, old, position)) >= 0:
            out += [*self._pieces(position, match_start), *inserted]
            position, count = match_start + len(old), count - 1
        return checked([*out, *self._pieces(position, len(self))], result, self, new)

    def join(self, items: Any) -> str:
        values = list(items)
        result = plain(self).join(values)
        return checked(between(self, values, is_marked=is_safe(result)), result, self, *values)


def _keeping(name: str) -> Callable[..., Any]:
    """Return a method whose result has the parts of the text, if it has as many characters as the text."""

    def run(self: TracedText, *arguments: Any, **named: Any) -> str:
        result: str = getattr(plain(self), name)(*arguments, **named)
        is_same = len(result) == len(self) and not arguments and not named
        return _made(result, self.ends) if is_same else whole(result, self, *arguments, *named.values())

    return run


for _name in (
    *("lower", "upper", "casefold", "title", "capitalize", "swapcase"),
    *("center", "ljust", "rjust", "zfill", "expandtabs", "translate"),
):
    setattr(TracedText, _name, _keeping(_name))


class TracedMarkup(TracedText, Markup):  # type: ignore[misc]  # mypy: TracedText's methods say str
    """A text that is safe for HTML and whose parts have origins: what is joined to it is escaped."""

    __slots__ = ()

    def __str__(self) -> TracedText:
        return TracedText(str.__str__(self), self.ends)

    def __repr__(self) -> str:
        return repr(plain(self))

    def unescape(self) -> str:
        return whole(plain(self).unescape(), self)

    def striptags(self) -> str:
        return whole(plain(self).striptags(), self)


class _TracedScalar:
    """A value with an origin, which its text has too."""

    origin: Origin

    def __str__(self) -> Any:
        text = repr(self)
        return TracedText(text, ((len(text), self.origin),))


class TracedInt(_TracedScalar, int):
    """An int with an origin."""


class TracedFloat(_TracedScalar, float):
    """A float with an origin."""


class TracedBool(_TracedScalar, int):
    """A truth with an origin; a number, because Python's own class has no subclasses."""

    def __repr__(self) -> str:
        return str(bool(self))


class TracedNone(_TracedScalar):
    """None with an origin."""

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or type(other) is TracedNone

    def __hash__(self) -> int:
        return hash(None)

    def __repr__(self) -> str:
        return "None"


_TEXTS = (TracedText, TracedMarkup)
_SCALARS = (*_TEXTS, TracedInt, TracedFloat, TracedBool, TracedNone)


class _Containers(threading.local):
    """The origins of lists and dicts of data, by their ids, for the rendering in this thread."""

    origins: Mapping[int, Origin] = MappingProxyType({})


_CONTAINERS = _Containers()


@contextmanager
def known_containers(origins: Mapping[int, Origin]) -> Iterator[None]:
    """Let `origin_of` know lists and dicts that `traced` has made, also empty ones and those with unknown parts."""
    before, _CONTAINERS.origins = _CONTAINERS.origins, origins
    try:
        yield
    finally:
        _CONTAINERS.origins = before


def traced(value: Any, origin: Origin, containers: dict[int, Origin] | None = None) -> Any:
    """Return a value of JSON's types with origins, in which each part has its path; another value stays as it is.

    `containers` receives the origins of the lists and dicts that are made, for `known_containers`.
    """
    kind = type(value)
    if kind is str:
        return TracedText(value, ((len(value), origin),)) if value else value
    made: Any
    if kind is dict:
        origins = {key: origin.under(str(key)) for key in value}
        made = {traced(key, origins[key]): traced(item, origins[key], containers) for key, item in value.items()}
    elif kind in (list, tuple):
        made = kind(traced(item, origin.item(number), containers) for number, item in enumerate(value))
    if kind in (dict, list, tuple):
        if containers is not None:
            containers[id(made)] = origin
        return made
    if kind is bool:
        made = TracedBool(value)
    elif kind is int:
        made = TracedInt(value)
    elif kind is float:
        made = TracedFloat(value)
    elif value is None:
        made = TracedNone()
    else:
        return value
    made.origin = origin
    return made


def is_json(value: Any) -> bool:
    """Return true if a value has JSON's types alone, so that all of it can have origins."""
    if type(value) is dict:
        return all(map(is_json, value)) and all(map(is_json, value.values()))
    if type(value) in (list, tuple):
        return all(map(is_json, value))
    return value is None or type(value) in (bool, int, float, str)


def plain(value: Any, copies: dict[int, Any] | None = None) -> Any:
    """Return a value without origins; lists and dicts are copied, each once."""
    kind = type(value)
    if kind in _TEXTS:
        return Markup(str.__str__(value)) if kind is TracedMarkup else str.__str__(value)
    if kind in _SCALARS:
        if kind is TracedBool:
            return bool(value)
        return None if kind is TracedNone else int(value) if kind is TracedInt else float(value)
    if kind not in (dict, list, tuple):
        return value
    copies = {} if copies is None else copies
    if id(value) not in copies:
        if kind is dict:
            copies[id(value)] = {plain(key, copies): plain(item, copies) for key, item in value.items()}
        else:
            copies[id(value)] = kind(plain(item, copies) for item in value)
    return copies[id(value)]


def scalar(value: Any) -> Any:
    """Return a truth or None without its origin, and any other value as it is."""
    if type(value) is TracedBool:
        return bool(value)
    return None if type(value) is TracedNone else value


def origins_in(*values: Any) -> Iterator[Origin]:
    """Yield the origins of all data in values; a list or dict that is there several times is searched once."""
    # The first origin is found without a look at all the rest.
    todo, seen = [iter(values)], set()
    while todo:
        for value in todo[-1]:
            if type(value) in _TEXTS:
                yield from (origin for _, origin in value.ends if origin is not None)
            elif type(value) in _SCALARS:
                yield value.origin
            elif type(value) in (dict, list, tuple) and id(value) not in seen:
                seen.add(id(value))
                charge(1)
                todo.append(chain(value, value.values()) if type(value) is dict else iter(value))
                break
        else:
            todo.pop()


def is_traced(value: Any) -> bool:
    """Return true for a text, a number, a truth or None that has an origin."""
    return type(value) in _SCALARS


def origin_of(value: Any, cache: dict[int, Origin | None] | None = None) -> Origin | None:
    """Return the origin of a value; None if it is the template's, or a list or dict that the template has made."""
    if is_traced(value):
        return common_origin(origins_in(value))
    if type(value) not in (dict, list, tuple):
        return None
    if (origin := _CONTAINERS.origins.get(id(value))) is not None or not value:
        return origin
    cache = {} if cache is None else cache
    if id(value) not in cache:
        charge(1)
        # A dict is data if its keys are, and a list if its items are.
        parts = [origin_of(part, cache) for part in value]
        cache[id(value)] = None if None in parts else common_origin(part and part.parent() for part in parts)
    return cache[id(value)]


def holds_data(*values: Any) -> bool:
    """Return true if data is among values, or in one of them."""
    return next(origins_in(*values), None) is not None


def is_safe(text: Any) -> bool:
    """Return true for a text that is safe for HTML."""
    return issubclass(type(text), Markup)  # isinstance would look at a value of the row


def marked(text: str) -> str:
    """Return a text marked as safe for HTML."""
    return TracedMarkup(text, text.ends) if isinstance(text, TracedText) else Markup(text)


def escaped(text: str) -> str:
    """Return a text with escapes for HTML, or as it is if it is safe."""
    if is_safe(text):
        return text
    return joined([(str(escape(part)), origin) for part, origin in pieces(text)], is_marked=True)


def of_template(text: str) -> TracedText:
    """Return a text of the template as one that knows its origin."""
    return _made(text, ((len(text), None),))


def _made(text: str, ends: tuple[tuple[int, Origin | None], ...]) -> TracedText:
    return TracedMarkup(text, ends) if is_safe(text) else TracedText(text, ends)


def _added(left: str, right: str) -> str:
    is_marked = is_safe(left) or is_safe(right)
    return joined(between("", (left, right), is_marked=is_marked), is_marked=is_marked)


def pieces(text: str) -> list[Piece]:
    """Return the parts of a text."""
    if type(text) not in _TEXTS:
        return [(text, None)] if text else []
    out: list[Piece] = []
    begin = 0
    for end, origin in text.ends:  # type: ignore[attr-defined]
        out.append((str.__getitem__(text, slice(begin, end)), origin))
        begin = end
    return out


def joined(parts: list[Piece], *, is_marked: bool = False) -> str:
    """Join parts into a text, which is safe for HTML or isn't; into one of str's own if all of it is the template's."""
    ends: list[tuple[int, Origin | None]] = []
    length = 0
    for text, origin in parts:
        if not text:
            continue
        length += len(text)
        if ends and (ends[-1][1] is origin or ends[-1][1] == origin):
            ends.pop()
        ends.append((length, origin))
    text = "".join([part for part, _ in parts])
    text = Markup(text) if is_marked else text
    return text if all(origin is None for _, origin in ends) else _made(text, tuple(ends))


def whole(text: str, *made_of: Any) -> str:
    """Return a text that was computed from values, all of it with their common origin."""
    return with_origin(text, common_origin(origin for value in made_of for origin in _origins(value)))


def with_origin(text: str, origin: Origin | None) -> str:
    """Return a text all of which has an origin."""
    return text if origin is None or not text else _made(text, ((len(text), origin),))


def _origins(value: Any) -> Iterable[Origin | None]:
    origin = origin_of(value)
    return origins_in(value) if origin is None else [origin]


def checked(parts: list[Piece], text: str, *made_of: Any) -> str:
    """Join parts if they make a text; if they don't, the text has the common origin of all that it is made of."""
    made = joined(parts, is_marked=is_safe(text))
    return made if made == text else whole(text, *made_of)


def between(separator: str, texts: Iterable[str], *, is_marked: bool = False) -> list[Piece]:
    """Return the parts of texts with a separator between them; of a text that is to be safe, they are escaped."""
    given = map(escaped, texts) if is_marked else texts
    middle = pieces(escaped(separator) if is_marked else separator)
    return [piece for number, text in enumerate(given) for piece in (*(middle if number else ()), *pieces(text))]


def formatted(template: str, values: Any) -> str:
    """Return `template % values`."""
    result = plain(template) % plain(values)
    parts = plain(template).split("%s")
    given = values if type(values) is tuple else (values,)
    if type(template) in _TEXTS or len(parts) != len(given) + 1 or any("%" in part for part in parts):
        return whole(result, template, values)
    out: list[Piece] = [(parts[0], None)]
    for value, part in zip(given, parts[1:], strict=True):
        text = with_origin(str(plain(value)), common_origin(origins_in(value)))
        text = value if isinstance(value, str) else str(value) if type(value) in _SCALARS else text
        out += [*pieces(escaped(text) if is_safe(result) else text), (part, None)]
    return checked(out, result, template, values)

"""The base of the public renderers: an object that can't be changed, over one engine."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, overload

from promptpress._engine.table_engine import TableEngine

Engine = TypeVar("Engine", bound=TableEngine)


class TableRenderer(Generic[Engine]):
    """Holds an engine: compared, hashed and pickled by it."""

    __slots__ = ("__weakref__", "_engine")

    _engine: Engine
    _engine_class: ClassVar[type[TableEngine]]

    def _set(self, engine: Engine) -> None:
        object.__setattr__(self, "_engine", engine)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed: {name!r} is set when it is made")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableRenderer) or self._engine_class is not other._engine_class:
            return NotImplemented
        return bool(self._engine == other._engine)

    def __hash__(self) -> int:
        return hash(self._engine)

    def __getstate__(self) -> dict[str, Any]:
        return self._engine.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(self._engine_class.of_state(state))  # type: ignore[arg-type]  # a class variable has no type variable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._engine!r})"


@overload
def engine_of(renderer: TableRenderer[Engine]) -> Engine: ...
@overload
def engine_of(renderer: TableRenderer[Any]) -> TableEngine: ...
def engine_of(renderer: TableRenderer[Any]) -> TableEngine:
    """Return the engine of a renderer, for the rooms that go beyond its public methods."""
    engine: TableEngine = _ENGINE(renderer)
    return engine


_ENGINE = attrgetter("_engine")

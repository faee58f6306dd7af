"""The `loop` of a template. Its state is an object's own, which no way of a fork can take back."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any

from jinja2 import runtime
from jinja2.utils import missing

if TYPE_CHECKING:
    from promptpress._jinja.partial.forks import Forks
    from promptpress._jinja.partial.values import UnsupportedError

__all__ = ["LoopContext"]


class LoopContext(runtime.LoopContext):
    """Jinja's own, which refuses to go on or to look ahead where a value of the row decides whether it does.

    Looking ahead in a list changes nothing that can be seen; from a generator it takes a value, which the state of the
    way has, and the loop has too. Where the way is given up, the one would forget what the other remembers.

    Args:
        machine: Where the evaluation stands.
        iterable: What the loop goes over.
        undefined: The engine's class of undefined values.

    """

    def __init__(self, machine: Forks, iterable: Iterable[Any], undefined: Any) -> None:
        super().__init__(iterable, undefined)
        self._machine = machine
        self._forks = machine.forks

    def _refused(self) -> UnsupportedError | None:
        """Return the refusal, if a value of the row decides whether this happens."""
        if self._machine.forks == self._forks:
            return None
        return self._machine.unsupported("how far a loop goes is decided by a value of the row")

    @property
    def length(self) -> int:
        """The number of items."""
        if self._length is None and not isinstance(self._iterable, Sized) and (refusal := self._refused()):
            raise refusal
        return super().length

    def _peek_next(self) -> Any:
        if self._after is not missing or isinstance(self._iterable, Sized):
            return super()._peek_next()
        ahead = super()._peek_next()
        if ahead is not missing and (refusal := self._refused()):
            self._after = missing  # as the way takes back what the generator gave
            raise refusal
        return ahead

    def __next__(self) -> tuple[Any, runtime.LoopContext]:
        if refusal := self._refused():
            raise refusal
        return super().__next__()

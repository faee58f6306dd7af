"""What a template knows as `loop`. Its state is an object's own, which no way of a fork can take back."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any

from jinja2 import runtime
from jinja2.utils import missing

if TYPE_CHECKING:
    from promptpress._jinja.partial.forks import Forks

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

    def _refuse_forks(self) -> None:
        if self._machine.forks != self._forks:
            raise self._machine.unsupported("how far a loop goes is decided by a value of the row")

    @property
    def length(self) -> int:
        """The number of items."""
        if self._length is None and not isinstance(self._iterable, Sized):
            self._refuse_forks()
        return super().length

    def _peek_next(self) -> Any:
        known = self._after
        ahead = super()._peek_next()
        if known is missing and ahead is not missing and not isinstance(self._iterable, Sized):
            try:
                self._refuse_forks()
            except BaseException:
                self._after = missing
                raise
        return ahead

    def changed(self, *value: Any) -> bool:
        """Return true if the values differ from those of the call before."""
        self._refuse_forks()
        return super().changed(*value)

    def __next__(self) -> tuple[Any, runtime.LoopContext]:
        self._refuse_forks()
        return super().__next__()

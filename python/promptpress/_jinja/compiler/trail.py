"""A dict that can return to an earlier state, so that a condition costs only what its ways change."""

from __future__ import annotations

from typing import Any

_ABSENT = object()


class Trail(dict[Any, Any]):
    """A dict that records its changes. Only `trail[key] = value` changes it.

    >>> trail = Trail()
    >>> trail["a"] = 1
    >>> mark = trail.mark()
    >>> trail["a"] = 2
    >>> trail.undo(mark), trail
    ({'a': 2}, {'a': 1})
    """

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        super().__init__()
        self._changes: list[tuple[Any, Any]] = []

    def __setitem__(self, key: Any, value: Any) -> None:
        self._changes.append((key, self.get(key, _ABSENT)))
        super().__setitem__(key, value)

    def mark(self) -> int:
        """Return a mark of the present state, for `undo`."""
        return len(self._changes)

    def undo(self, mark: int) -> dict[Any, Any]:
        """Return to the state at a mark.

        Returns:
            The values that the changed keys had until now, in the order in which the keys were last changed.
        """
        last: dict[Any, Any] = {}
        for key, before in reversed(self._changes[mark:]):
            if key not in last:
                last[key] = self[key]
            if before is _ABSENT:
                del self[key]
            else:
                super().__setitem__(key, before)
        del self._changes[mark:]
        return dict(reversed(last.items()))

    def redo(self, changes: dict[Any, Any]) -> None:
        """Repeat changes that `undo` returned."""
        for key, value in changes.items():
            self[key] = value

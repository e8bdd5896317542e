"""A shelf whose objects are found by what they concern, without going through all of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from ridgeline.cluster.store import Key, Shelf, Stored

T = TypeVar("T", bound=Stored)


@dataclass(slots=True, kw_only=True)
class GroupedShelf(Shelf[T]):
    """A shelf that groups its objects when they are first asked for after a change.

    Attributes:
        group_of: The group of an object.
    """

    group_of: Callable[[T], Key]
    _groups: dict[Key, tuple[T, ...]] | None = field(default=None)

    def group(self, key: Key) -> tuple[T, ...]:
        """Return the objects of one group, in no particular order."""
        if self._groups is None:
            groups: dict[Key, list[T]] = {}
            for item in self.all():
                groups.setdefault(self.group_of(item), []).append(item)
            self._groups = {key: tuple(items) for key, items in groups.items()}
        return self._groups.get(key, ())

    def put(self, item: T) -> bool:
        """Keep what a stream or an answer told; tell whether anything changed by it."""
        self._groups = None
        return Shelf.put(self, item)

    def release(self, key: Key, uid: str) -> T | None:
        """Forget an object, deleted (`drop`) or of no concern any more."""
        self._groups = None
        return Shelf.release(self, key, uid)

    def lay_over(self, mark: int, listed: Iterable[T]) -> tuple[Key, ...]:
        """Lay a listing over the shelf; return the keys that it changed."""
        self._groups = None
        return Shelf.lay_over(self, mark, listed)

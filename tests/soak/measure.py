"""What a process holds on to: memory, file descriptors, tasks, the sizes of what it remembers."""

import asyncio
import gc
import os
import sys
import tracemalloc
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.soak.process import Operator

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_OUTSIDE: Final = (type, types.ModuleType, types.FunctionType, types.MethodType, types.FrameType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at a process.

    Attributes:
        hour: Simulated hours since the beginning.
        rss_bytes: Resident memory of the whole process, the simulation's included.
        allocated_blocks: Blocks of memory that Python has allocated and not given back.
        traced_bytes: The same in bytes; 0 where it is not traced.
        held_bytes: What one operator process holds: its store, its memory and its metrics.
        file_descriptors: Open ones.
        tasks: Tasks of the event loop, this one included.
        stored_objects: Objects in the watch store.
        largest_status_bytes: Size of the largest status.
    """

    hour: float
    rss_bytes: int
    allocated_blocks: int
    traced_bytes: int
    held_bytes: int
    file_descriptors: int
    tasks: int
    stored_objects: int
    largest_status_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """How a number grows in time: least squares, with the error of the slope.

    Attributes:
        mean: Mean of the number.
        per_hour: Growth in an hour.
        error: Standard error of the growth.
    """

    mean: float
    per_hour: float
    error: float

    @property
    def flat(self) -> bool:
        """Whether it does not grow, as far as its noise tells, or by less than 1 % in a day."""
        return self.per_hour - 2.0 * self.error <= 0.01 / 24.0 * abs(self.mean)


def sample(hour: float, operator: Operator, statuses: Iterable[Any]) -> Sample:
    """Take a look, after a collection of garbage."""
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
    store = operator.store
    objects = len(store.servings.all()) + len(store.deployments.all()) + len(store._pods.all())
    return Sample(
        hour=hour,
        rss_bytes=int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE,
        allocated_blocks=sys.getallocatedblocks(),
        traced_bytes=traced,
        held_bytes=held_bytes(operator),
        file_descriptors=len(os.listdir("/proc/self/fd")),
        tasks=len(asyncio.all_tasks()),
        stored_objects=objects,
        largest_status_bytes=max((len(repr(each)) for each in statuses), default=0),
    )


def held_bytes(operator: Operator) -> int:
    """Return the bytes of all that an operator process reaches, the simulation left out."""
    outside = {id(operator), id(operator.client), id(operator._cluster), id(operator.stream)}
    outside |= {id(operator._server), id(operator.cadence._sources)}
    waiting: list[Any] = [operator.store, operator.reconciler, operator.cadence, operator.metrics]
    seen: set[int] = set()
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or id(one) in outside or isinstance(one, _OUTSIDE):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting.extend(gc.get_referents(one))
    return total


def slope(hours: Sequence[float], values: Sequence[float]) -> Slope:
    """Fit a line.

    Raises:
        ValueError: There are fewer than three points.
    """
    count = len(hours)
    if count < 3:
        raise ValueError("a slope with an error needs three points")
    middle, mean = sum(hours) / count, sum(values) / count
    spread = sum((each - middle) ** 2 for each in hours)
    along = zip(hours, values, strict=True)
    per_hour = sum((hour - middle) * (value - mean) for hour, value in along) / spread
    rest = sum(
        (value - mean - per_hour * (hour - middle)) ** 2
        for hour, value in zip(hours, values, strict=True)
    )
    return Slope(mean=mean, per_hour=per_hour, error=(rest / (count - 2) / spread) ** 0.5)

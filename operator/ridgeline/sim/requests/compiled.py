"""Compilation of the simulator's inner loop."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function as machine code, kept on disk where the disk allows it.

    The kept code is found stale by the age of the function's own file alone: functions that call
    each other, and the constants they use, belong into one file.
    """
    try:
        return cast("Callable[P, T]", numba.njit(cache=True)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast("Callable[P, T]", numba.njit(function))

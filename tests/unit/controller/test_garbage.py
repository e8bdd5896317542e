"""What lives long is out of the collector's way, and its garbage is found all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from ridgeline.controller.garbage import set_long_lived_aside


class Ring:
    """An object that only the cycle collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The collector of other tests stays as it was."""
    yield
    gc.unfreeze()


def test_what_lives_is_gone_through_no_more() -> None:
    kept = Ring()
    set_long_lived_aside()
    assert gc.get_freeze_count() > 0
    assert not any(each is kept for each in gc.get_objects())


def test_what_was_set_aside_and_became_garbage_is_freed_the_next_time() -> None:
    ring = Ring()
    seen = weakref.ref(ring)
    set_long_lived_aside()
    del ring
    gc.collect()
    assert seen() is not None
    set_long_lived_aside()
    assert seen() is None

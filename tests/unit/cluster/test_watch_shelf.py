"""The watch store against a cluster that changes while it is listed and told of."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ridgeline.cluster.store import Key, Shelf


@dataclass(frozen=True, kw_only=True)
class Thing:
    """The least that the store needs of an object."""

    namespace: str = "ns"
    name: str = "a"
    uid: str = "1"
    resource_version: str = "1"
    content: int = 0

    @property
    def key(self) -> Key:
        return self.namespace, self.name


class StreamsAndListings(RuleBasedStateMachine):
    """A cluster with objects that come, change and go; a stream, listings and late answers.

    The stream tells every change in order, as late as it likes; it may lose deletions (as a relist
    after an expired watch does). An answer to a write of ours may come at any time after it, within
    one listing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.cluster: dict[Key, Thing] = {}
        self.stream: list[tuple[bool, Thing]] = []
        self.answers: list[Thing] = []
        self.shelf: Shelf[Thing] = Shelf()
        self.listing: tuple[int, tuple[Thing, ...]] | None = None

    names = st.sampled_from(["a", "b", "c"])

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    @rule(name=names)
    def create_or_change(self, name: str) -> None:
        before = self.cluster.get(("ns", name))
        version = self._next()
        item = Thing(
            name=name, uid=before.uid if before else f"uid-{version}", resource_version=version
        )
        self.cluster[item.key] = item
        self.stream.append((True, item))

    @rule(name=names)
    def change_by_ourselves(self, name: str) -> None:
        before = self.cluster.get(("ns", name))
        if before is None:
            return
        item = replace(before, resource_version=self._next(), content=self.version)
        self.cluster[item.key] = item
        self.stream.append((True, item))
        self.answers.append(item)

    @rule(name=names, lost=st.booleans())
    def delete(self, name: str, lost: bool) -> None:
        gone = self.cluster.pop(("ns", name), None)
        version = self._next()
        if gone is not None and not lost:
            self.stream.append((False, replace(gone, resource_version=version)))

    @precondition(lambda self: self.stream)
    @rule()
    def the_stream_tells(self) -> None:
        exists, item = self.stream.pop(0)
        if exists:
            self.shelf.put(item)
        else:
            self.shelf.drop(item.key, item.uid)

    @precondition(lambda self: self.answers)
    @rule(index=st.integers(min_value=0))
    def an_answer_comes(self, index: int) -> None:
        self.shelf.put(self.answers.pop(index % len(self.answers)))

    @precondition(lambda self: self.listing is None)
    @rule()
    def a_listing_starts(self) -> None:
        mark = self.shelf.listing_started()
        self.listing = (mark, tuple(self.cluster.values()))

    @precondition(lambda self: self.listing is not None and not self.answers)
    @rule()
    def the_listing_ends(self) -> None:
        assert self.listing is not None
        mark, listed = self.listing
        self.listing = None
        before = {each.key: each for each in self.shelf.all()}
        changed = self.shelf.lay_over(mark, listed)
        after = {each.key: each for each in self.shelf.all()}
        differs = {key for key in before | after if before.get(key) != after.get(key)}
        assert set(changed) == differs

    @initialize()
    def nothing_is_primed(self) -> None:
        assert not self.shelf.primed

    @invariant()
    def no_object_is_made_up(self) -> None:
        assert all(int(each.resource_version) <= self.version for each in self.shelf.all())

    def teardown(self) -> None:
        """Whatever came before: once all is told and listed, the store is the cluster."""
        while self.stream:
            self.the_stream_tells()
        while self.answers:
            self.an_answer_comes(0)
        if self.listing is not None:
            self.the_listing_ends()
        mark = self.shelf.listing_started()
        self.shelf.lay_over(mark, tuple(self.cluster.values()))
        assert {each.key: each for each in self.shelf.all()} == self.cluster
        assert self.shelf.primed


StreamsAndListings.TestCase.settings = settings(
    max_examples=150, stateful_step_count=25, deadline=None
)
TestStreamsAndListings = StreamsAndListings.TestCase


class WithoutLosses(StreamsAndListings):
    """While the stream loses nothing, no listing is needed for the store to be the cluster."""

    @rule(name=StreamsAndListings.names)
    def delete(self, name: str) -> None:
        gone = self.cluster.pop(("ns", name), None)
        version = self._next()
        if gone is not None:
            self.stream.append((False, replace(gone, resource_version=version)))

    def teardown(self) -> None:
        while self.stream:
            self.the_stream_tells()
        while self.answers:
            self.an_answer_comes(0)
        if self.listing is not None:
            self.the_listing_ends()
        assert {each.key: each for each in self.shelf.all()} == self.cluster


WithoutLosses.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestWithoutLosses = WithoutLosses.TestCase


def shelf_of(*items: Thing) -> Shelf[Thing]:
    shelf: Shelf[Thing] = Shelf()
    shelf.lay_over(shelf.listing_started(), items)
    return shelf


def contents(shelf: Shelf[Thing]) -> dict[str, Thing]:
    return {each.name: each for each in shelf.all()}


def test_an_older_state_does_not_replace_a_newer_one() -> None:
    shelf = shelf_of(Thing(resource_version="10"))

    assert not shelf.put(Thing(resource_version="9", content=1))
    assert shelf.put(Thing(resource_version="11"))
    assert not shelf.put(Thing(resource_version="11"))
    assert not shelf.put(Thing(uid="0", resource_version="8"))  # its predecessor of the same name

    assert contents(shelf) == {"a": Thing(resource_version="11")}


def test_a_successor_of_the_same_name_stays_when_its_predecessor_goes() -> None:
    shelf = shelf_of(Thing(uid="new", resource_version="10"))

    assert shelf.drop(("ns", "a"), "old") is None
    assert shelf.get(("ns", "a")) is not None
    assert shelf.drop(("ns", "a"), "new") is not None
    assert shelf.drop(("ns", "a"), "new") is None


def test_an_answer_after_the_deletion_brings_nothing_back() -> None:
    shelf = shelf_of(Thing(resource_version="10"))
    shelf.drop(("ns", "a"), "1")

    assert not shelf.put(Thing(resource_version="11"))
    assert shelf.put(Thing(uid="2", resource_version="12"))


def test_a_listing_wins_over_an_older_state_that_a_lagging_stream_told_meanwhile() -> None:
    shelf = shelf_of(Thing(resource_version="10"))
    mark = shelf.listing_started()
    shelf.put(Thing(resource_version="11"))

    assert shelf.lay_over(mark, [Thing(resource_version="12")]) == (("ns", "a"),)
    assert contents(shelf) == {"a": Thing(resource_version="12")}


def test_what_a_stream_told_meanwhile_wins_over_an_older_listing() -> None:
    shelf = shelf_of(Thing(resource_version="10"), Thing(name="b", uid="2"))
    mark = shelf.listing_started()
    shelf.put(Thing(resource_version="12"))
    shelf.drop(("ns", "b"), "2")

    listed = [Thing(resource_version="11"), Thing(name="b", uid="2")]
    assert shelf.lay_over(mark, listed) == ()
    assert contents(shelf) == {"a": Thing(resource_version="12")}


def test_what_is_remembered_of_the_gone_does_not_pile_up() -> None:
    shelf = shelf_of()
    for generation in range(50):
        for index in range(20):
            uid = f"{generation}-{index}"
            shelf.put(Thing(name=f"t{index}", uid=uid, resource_version=str(generation + 1)))
            shelf.drop(("ns", f"t{index}"), uid)
        shelf.lay_over(shelf.listing_started(), ())

    remembered = _size(shelf, "_gone") + _size(shelf, "_touched")
    assert remembered <= 80


def test_versions_that_are_no_numbers_are_taken_as_they_come() -> None:
    shelf = shelf_of(Thing(resource_version="b"))

    assert shelf.put(Thing(resource_version="a"))


def _size(shelf: Shelf[Any], field: str) -> int:
    kept: Iterable[object] = getattr(shelf, field)
    return len(list(kept))

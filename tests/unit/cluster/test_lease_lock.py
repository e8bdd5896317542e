"""From when a Lease counts as renewed, and when as lost."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

from ridgeline.cluster.lease import Leadership, _PatientLock, _TermOverError

NAME, NAMESPACE = "ridgeline", "ridgeline-system"


class Told:
    """What a lock tells whoever holds the Lease by it."""

    def __init__(self) -> None:
        self.renewed: list[float] = []
        self.lost = 0

    def lose(self) -> None:
        self.lost += 1


def lock_of(told: Told) -> _PatientLock:
    api: Any = SimpleNamespace(client=object())
    return _PatientLock(
        (NAME, NAMESPACE),
        "one",
        api,
        call_seconds=30.0,
        duration_seconds=15.0,
        renewed=told.renewed.append,
        lost=told.lose,
        may_take=lambda: None,
    )


def record(holder: str | None, renewed: str = "2026-01-01T00:00:00Z") -> LeaderElectionRecord:
    return LeaderElectionRecord(holder, "15", "2026-01-01T00:00:00Z", renewed)


async def test_a_renewal_counts_from_before_it_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[float] = []

    async def slow(*_: Any) -> bool:
        sent.append(time.monotonic())
        await asyncio.sleep(0.05)
        return True

    monkeypatch.setattr(LeaseLock, "update", slow)
    told = Told()
    # The others wait from when the renewal was stored, however late its answer comes.
    assert await lock_of(told).update(NAME, NAMESPACE, record("one"))
    assert told.renewed[0] <= sent[0]


async def test_a_renewal_that_was_refused_renews_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: Any) -> bool:
        return False

    monkeypatch.setattr(LeaseLock, "update", refused)
    told = Told()
    assert not await lock_of(told).update(NAME, NAMESPACE, record("one"))
    assert told.renewed == []


@pytest.mark.parametrize(("holder", "lost"), [("other", 1), ("one", 0)])
async def test_a_lease_that_names_another_is_lost_at_once(
    monkeypatch: pytest.MonkeyPatch, holder: str, lost: int
) -> None:
    async def found(*_: Any) -> tuple[bool, LeaderElectionRecord]:
        return True, record(holder)

    monkeypatch.setattr(LeaseLock, "get", found)
    told = Told()
    await lock_of(told).get(NAME, NAMESPACE)
    assert told.lost == lost


class Term:
    """A term that ends at once: the Lease was lost in it."""

    async def run(self) -> None:
        raise _TermOverError


async def test_a_lease_that_was_lost_and_given_back_is_taken_in_the_next_term_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holder: str | None = "other"

    async def get(*_: Any) -> tuple[bool, LeaderElectionRecord]:
        return True, record(holder)

    async def update(*_: Any) -> bool:
        return True

    monkeypatch.setattr(LeaseLock, "get", get)
    monkeypatch.setattr(LeaseLock, "update", update)
    api: Any = SimpleNamespace(client=object())
    leadership = Leadership(api, namespace=NAMESPACE, name=NAME, identity="one")
    lock, over = leadership._election().election_config.lock, Term()

    async def taken() -> bool:
        await lock.get(NAME, NAMESPACE)
        return bool(await lock.update(NAME, NAMESPACE, record("one")))

    # Whoever waits sees another holder, and takes the Lease when it is given back.
    assert not await taken()
    holder = None
    assert await taken()
    holder = "one"
    assert await taken()

    # It stood still while another one led, and gave the Lease back.
    holder = "other"
    assert not await taken()
    holder = None
    with pytest.raises(_TermOverError):
        await taken()
    term: Any = over
    await leadership._one_term(term)
    assert await taken()

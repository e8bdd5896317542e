"""Two operators on a real API server, each with a gateway of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.handle import Cluster
from tests.leaders.holding import HoldingGateway
from tests.leaders.operators import Replica
from tests.leaders.stage import Stage, Watcher, staged


@dataclass(kw_only=True)
class Pair:
    """A leader and a standby.

    Attributes:
        stage: What they look after.
        gateways: The way of each to the API server, by the operator's name.
        leader: The one that leads.
        standby: The other one.
    """

    stage: Stage
    gateways: dict[str, HoldingGateway]
    leader: Replica
    standby: Replica

    def taken_over(self) -> None:
        """Wait until the standby has taken over, and call them by their new parts."""
        self.stage.wait(lambda: self.standby.leads, "a takeover")
        self.leader, self.standby = self.standby, self.leader

    def look(self) -> None:
        """Call them by their parts: on a slow machine these may have changed by themselves."""
        first, second = self.stage.operators.values()
        self.stage.wait(lambda: first.leads != second.leads, "a leader and a standby")
        self.leader, self.standby = (first, second) if first.leads else (second, first)


@pytest.fixture(scope="package")
def running(control_plane: Cluster) -> Iterator[Pair]:
    """Two that run for the tests of this folder."""
    gateways: dict[str, HoldingGateway] = {}
    with contextlib.ExitStack() as stack:

        def gateway_of(name: str, kubeconfig: Path, folder: Path) -> Path:
            own = folder / f"gateway-of-{name}"
            own.mkdir()
            gateways[name] = stack.enter_context(HoldingGateway(kubeconfig, own))
            return gateways[name].kubeconfig

        stage = stack.enter_context(staged(control_plane, gateway_of=gateway_of))
        leader, standby = stage.both_ready()
        yield Pair(stage=stage, gateways=gateways, leader=leader, standby=standby)


@pytest.fixture
def pair(running: Pair) -> Pair:
    """Both run, and one of them leads."""
    running.look()
    return running


@pytest.fixture
def watcher(pair: Pair) -> Watcher:
    """An observer of what is written from here on."""
    return Watcher(pair.stage)

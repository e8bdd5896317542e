"""Faults of the operator's own surroundings: memory, disk, names, network, clock, credentials."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import ssl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.cluster.handle import Cluster
from tests.cluster.waiting import wait_until
from tests.component.telemetry.certificates import self_signed
from tests.faults.day.hollow import HollowNode
from tests.faults.day.machine import (
    NAME_SERVERS,
    black_hole,
    disk_of,
    fill,
    memory_limited,
    own_names,
    own_network,
    small_disk,
)
from tests.faults.day.names import Mood
from tests.faults.day.play import Fault
from tests.faults.day.room import PATIENCE_S, Room, Setting, fresh_token, opened

LAST_S: Final = 20.0
_SPACE_LEFT: Final = 2**20


def _killed_for_memory(room: Room) -> list[str]:
    with memory_limited(room.operator.pid) as version:
        room.turn()
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: room.operator.ended, "the kernel's kill", timeout_s=30)
        code = room.operator.code
    room.notes.append(f"killed by the kernel (control group {version})")
    room.tend()
    return [] if code == -signal.SIGKILL else [f"the operator was not killed: {code}"]


def _no_address_space(room: Room) -> list[str]:
    """Refuse it every new mapping; what it does about it is its own affair."""
    pid = room.operator.pid
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    had = resource.prlimit(pid, resource.RLIMIT_AS)
    limit = pages * os.sysconf("SC_PAGE_SIZE") + _SPACE_LEFT
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, had[1]))
    room.turn()
    room.rest(LAST_S)
    if room.operator.running and room.operator.pid == pid:
        resource.prlimit(pid, resource.RLIMIT_AS, had)
    return []


def _disk_full(room: Room) -> list[str]:
    filler = fill(disk_of(room))
    room.turn()
    room.rest(LAST_S)
    complaints = ["it ended for a full disk"] if room.restarts else []
    room.operator.kill()
    room.start_operator()
    try:
        room.operator.wait_ready(timeout_s=PATIENCE_S)
    except (RuntimeError, TimeoutError) as error:
        complaints.append(f"it could not start on a full disk: {error}")
    filler.unlink()
    return complaints


def _names_fail(*moods: Mood) -> Callable[[Room], list[str]]:
    def strike(room: Room) -> list[str]:
        server = NAME_SERVERS[room.namespace]
        server.mood = moods[0]
        room.gateway.hang_up()
        room.turn()
        for each in moods:
            server.mood = each
            room.rest(LAST_S)
            room.gateway.hang_up()
        server.mood = Mood.WELL
        return []

    return strike


def _way_gone(room: Room) -> list[str]:
    with black_hole(os.getpid()):
        room.turn()
        room.rest(2 * LAST_S)
    return []


def _clock_jumps(room: Room) -> list[str]:
    room.turn()
    for seconds in (3600.0, -3600.0, 0.0, 86400.0 * 400, 0.0):
        room.step_clock(seconds)
        room.rest(5.0)
    return []


@contextlib.contextmanager
def with_certificates(cluster: Cluster, node: HollowNode) -> Iterator[Room]:
    """A room whose operator speaks TLS, and believes what a file says."""
    with tempfile.TemporaryDirectory(prefix="ridgeline-tls-") as folder:
        first = self_signed(Path(folder), "first", "IP:127.0.0.1")
        authority = Path(folder) / "ca.crt"
        shutil.copy(first[0], authority)
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*first)
        with opened(cluster, node, Setting(tls=tls, authority=authority)) as room:
            yield room


def _rotated(room: Room) -> list[str]:
    """Another authority, certificate and token, in the files that the operator was given."""
    authority = room.setting.authority
    assert authority is not None
    second = self_signed(room.folder, "second", "IP:127.0.0.1")
    old = room.token.read_text()
    _replace(authority, second[0].read_text())
    _replace(room.token, fresh_token(room.cluster, room.namespace))
    room.setting.tls.load_cert_chain(*second)
    room.gateway.refuse_token(old)
    room.gateway.hang_up()
    room.turn()
    room.rest(LAST_S)
    return ["it was restarted"] if room.restarts else []


def _replace(file: Path, text: str) -> None:
    written = file.with_suffix(".new")
    written.write_text(text)
    written.replace(file)


PROCESS_FAULTS: Final = (
    Fault(
        name="operator out of memory",
        given="its control group allows not a page more: the kernel kills it; it is started again",
        promise="nothing is lost; the roll under way is carried on, none is made twice",
        strike=_killed_for_memory,
        quick=False,
    ),
    Fault(
        name="operator out of address space",
        given="every new mapping is refused (`RLIMIT_AS`) for 20 s, without a kill",
        promise="it goes on or ends, and is whole afterwards",
        strike=_no_address_space,
    ),
    Fault(
        name="disk full",
        given="its 1 MiB disk (temporary files, records) is full; it is killed and started on it",
        promise="it goes on, and it starts; only recording ends",
        strike=_disk_full,
        room=small_disk,
    ),
    Fault(
        name="name server silent, then failing",
        given="in a mount namespace with its own resolv.conf: no answer for 20 s, then SERVFAIL "
        "for 20 s, and every connection is ended",
        promise="nothing is begun on what is not known; it goes on by itself",
        strike=_names_fail(Mood.SILENT, Mood.FAILING),
        room=own_names,
        blind=True,
    ),
    Fault(
        name="network a black hole",
        given="in a network namespace at the end of a veth: all packets vanish for 40 s, no "
        "connection ends",
        promise="nothing is begun; connections that are dead are given up",
        strike=_way_gone,
        room=own_network,
        blind=True,
    ),
    Fault(
        name="clock jumps",
        given="its time of day is an hour ahead, an hour back, right, 400 days ahead and right "
        "again, 5 s each",
        promise="no roll is made twice, and none for the clock's sake",
        strike=_clock_jumps,
    ),
    Fault(
        name="certificates and token replaced",
        given="the API server shows a certificate of another authority and refuses the old token; "
        "the files that the operator was given hold the new ones",
        promise="it reads them anew, without a restart",
        strike=_rotated,
        room=with_certificates,
        quick=True,
    ),
)

"""What is ours is known exactly, and nothing else is touched."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cleaning import cgroups_of, mounts_under, remove_leftovers
from tests.cluster.errors import ClusterError
from tests.cluster.locking import build_once
from tests.cluster.network import SLOTS, Network
from tests.cluster.paths import new_state_dir
from tests.cluster.processes import ProcessId, identify
from tests.cluster.progress import Progress, Silent
from tests.cluster.spec import Level, Ports, Spec, load_spec


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_a_recycled_pid_is_never_killed(sleeper: subprocess.Popen[bytes]) -> None:
    ours = identify(sleeper.pid)
    assert ours is not None
    earlier = dataclasses.replace(ours, start_ticks=ours.start_ticks - 1)
    earlier.stop(grace_s=0)
    assert not earlier.alive()
    assert sleeper.poll() is None


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    program = f"{ignore} print('deaf', flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"deaf\n"
    identity = identify(process.pid)
    assert identity is not None
    identity.stop(grace_s=0.05)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()


def test_there_is_no_identity_of_a_pid_without_a_process(
    sleeper: subprocess.Popen[bytes],
) -> None:
    sleeper.kill()
    sleeper.wait()
    assert identify(sleeper.pid) is None
    assert not ProcessId(pid=sleeper.pid, start_ticks=1).alive()


def test_mounts_are_found_below_the_folder_alone_and_deepest_first() -> None:
    mounts = (
        "tmpfs /tmp/a tmpfs rw 0 0\n"
        "tmpfs /tmp/a/b/c tmpfs rw 0 0\n"
        "overlay /tmp/ab overlay rw 0 0\n"
        "tmpfs /tmp/a/with\\040space tmpfs rw 0 0\n"
        "proc /proc proc rw 0 0\n"
    )
    assert mounts_under(Path("/tmp/a"), mounts) == ["/tmp/a/b/c", "/tmp/a/with space", "/tmp/a"]


def test_only_control_groups_of_our_containers_are_ours(tmp_path: Path) -> None:
    task = "containerd/state/io.containerd.runtime.v2.task/k8s.io"
    state, cgroups = tmp_path / "state", tmp_path / "cgroup"
    (state / "node-0" / task / "ours").mkdir(parents=True)
    for group in ("memory/k8s.io/ours", "memory/k8s.io/theirs", "cpu/k8s.io/ours", "k8s.io/ours"):
        (cgroups / group).mkdir(parents=True)
    expected = ["cpu/k8s.io/ours", "k8s.io/ours", "memory/k8s.io/ours"]
    assert [str(path.relative_to(cgroups)) for path in cgroups_of(state, cgroups)] == expected


def test_leftovers_go_and_may_be_gone_already(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "node-0" / "deep").mkdir(parents=True)
    remove_leftovers(state)
    assert not state.exists()
    remove_leftovers(state)


def test_address_plans_do_not_overlap() -> None:
    plans = [Network(slot=slot) for slot in range(SLOTS)]
    ranges = [one for plan in plans for one in (plan.link, plan.pods, plan.services)]
    clashes = [(a, b) for i, a in enumerate(ranges) for b in ranges[:i] if a.overlaps(b)]
    assert clashes == []


def test_a_spec_survives_being_written() -> None:
    spec = Spec(
        level=Level.FULL,
        state_dir=Path("/tmp/x"),
        kubernetes_dir=Path("/k"),
        prometheus_dir=Path("/p"),
        nodes=3,
        slot=2,
        ports=Ports(api=1),
        archives=(Path("/a.tar"),),
    )
    assert load_spec(spec.dump()) == spec


def test_a_state_folder_too_deep_for_sockets_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 80)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(ClusterError, match="too long for Unix sockets; set TMPDIR=/tmp"):
        new_state_dir()
    assert list(deep.iterdir()) == []


def test_a_failed_build_leaves_no_result(tmp_path: Path) -> None:
    def fail(scratch: Path) -> None:
        (scratch / "half").touch()
        raise ClusterError("no")

    with pytest.raises(ClusterError):
        build_once(tmp_path / "result", fail, Silent())
    assert [path.name for path in tmp_path.iterdir()] == [".result.lock"]


def test_two_builders_build_once(tmp_path: Path) -> None:
    built: list[int] = []
    inside = threading.Event()
    second_waits = threading.Event()

    class Heard(Progress):
        def say(self, text: str) -> None:
            assert text == "waiting for another build of .result"
            second_waits.set()

    def slow(scratch: Path) -> None:
        built.append(1)
        inside.set()
        assert second_waits.wait(timeout=30)

    first = threading.Thread(target=lambda: build_once(tmp_path / "result", slow, Silent()))
    first.start()
    assert inside.wait(timeout=30)
    build_once(tmp_path / "result", lambda scratch: built.append(2), Heard())
    first.join()
    assert built == [1]

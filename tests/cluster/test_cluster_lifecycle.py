"""A cluster that goes leaves nothing: taken down, interrupted at any moment, or orphaned."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import launch as launching
from tests.cluster.cleaning import cgroups_of
from tests.cluster.errors import ClusterError
from tests.cluster.handle import load_cluster
from tests.cluster.images import BUSYBOX_IMAGE
from tests.cluster.launch import Options, launch
from tests.cluster.network import Network
from tests.cluster.paths import REPO
from tests.cluster.progress import Silent
from tests.cluster.provide import external, provided
from tests.cluster.spec import Level
from tests.cluster.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240), pytest.mark.slow]

_COMMAND = (sys.executable, "-m", "tests.cluster")
_NAME = f"lifecycle-{os.getpid()}"


@pytest.fixture(autouse=True)
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """State folders of these tests lie apart, so that each can say what is left of its own."""
    if os.environ.get("RIDGELINE_SKIP_CLUSTER") == "1":
        pytest.skip("RIDGELINE_SKIP_CLUSTER=1")
    monkeypatch.delenv("RIDGELINE_KUBECONFIG", raising=False)
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


def _traces(folder: Path) -> dict[str, list[str]]:
    """Everything on this machine that belongs to clusters with state under the folder."""
    processes = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            if entry.name.isdigit() and f"{folder}/" in words:
                processes.append(words.replace("\0", " "))
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]
    files = [str(path) for path in folder.iterdir()]
    return {"processes": processes, "mounts": mounts, "files": files}


_NOTHING: dict[str, list[str]] = {"processes": [], "mounts": [], "files": []}


def _machine() -> dict[str, str]:
    """What a full cluster could change for the whole machine."""
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
    tunables = ("vm/overcommit_memory", "kernel/panic", "net/ipv4/ip_forward")
    return {
        "firewall": "\n".join(
            line for line in rules.splitlines() if "KUBE" in line or "CNI" in line
        ),
        **{name: Path("/proc/sys", name).read_text() for name in tunables},
        "folders": "\n".join(
            name
            for name in ("/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet",
                         "/var/log/pods", "/opt/containerd")
            if Path(name).exists()
        ),
    }  # fmt: skip


def _device(folder: Path) -> Path:
    """The network device of the one full cluster with its state under the folder."""
    (slot,) = folder.glob("*/slot")
    device = Path("/sys/class/net", Network(slot=int(slot.read_text())).device)
    assert device.exists()
    return device


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, *words], cwd=REPO, capture_output=True, text=True, check=False, timeout=200
    )


def test_down_leaves_nothing_of_a_full_cluster_with_pods(own_tmp: Path) -> None:
    before = _machine()
    up = _command("up", "--name", _NAME, "--nodes", "2")
    try:
        assert up.returncode == 0, up.stderr
        (state,) = own_tmp.iterdir()
        cluster = load_cluster(state / "cluster.json")
        for name, process in cluster.pids.items():
            assert process.alive(), name
        cluster.kubectl(
            "create", "deployment", "web", f"--image={BUSYBOX_IMAGE}", "--replicas=3",
            "--", "tail", "-f", "/dev/null",
        )  # fmt: skip
        cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        device, groups = _device(own_tmp), cgroups_of(state)
        assert len(groups) > 0
        again = _command("up", "--name", _NAME)
        assert again.returncode == 1
        assert "runs already" in again.stderr
        assert f"{_NAME}: running" in _command("status").stdout
    finally:
        down = _command("down", "--name", _NAME)
    assert down.returncode == 0, down.stderr
    assert [name for name, process in cluster.pids.items() if process.alive()] == []
    assert _traces(own_tmp) == _NOTHING
    assert _machine() == before
    assert not device.exists()
    assert [group for group in groups if group.exists()] == []
    assert _NAME not in _command("status").stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["mounts are", "images are in", "API server is ready", "Ready"])
def test_an_interrupted_up_leaves_nothing(
    own_tmp: Path, moment: str, number: signal.Signals
) -> None:
    words = [*_COMMAND, "up", "--name", _NAME, "--nodes", "2"]
    with subprocess.Popen(words, cwd=REPO, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        seen = next((line for line in process.stderr if moment in line), None)
        device = _device(own_tmp)
        process.send_signal(number)
        rest = process.stderr.read()
        assert seen is not None, rest
    assert process.returncode == 130, rest
    assert _traces(own_tmp) == _NOTHING
    assert not device.exists()
    assert _NAME not in _command("status").stdout


def test_a_cluster_ends_with_a_starter_that_dies_hard(own_tmp: Path) -> None:
    words = [*_COMMAND, "run", "--nodes", "1", "--", "sleep", "600"]
    with subprocess.Popen(words, cwd=REPO, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("controllers are at work" in line for line in process.stderr)
        (state,) = own_tmp.iterdir()
        wait_until((state / "cluster.json").exists, "the cluster's description")
        device = _device(own_tmp)
        process.kill()
    wait_until(lambda: _traces(own_tmp) == _NOTHING, "the orphan's end", timeout_s=30)
    wait_until(lambda: not device.exists(), "the end of its network", timeout_s=10)


def test_run_gives_the_command_a_cluster_and_returns_its_code(own_tmp: Path) -> None:
    script = 'test "$KUBECONFIG" = "$RIDGELINE_KUBECONFIG" && kubectl get nodes -o name && exit 7'
    result = _command("run", "--level", "control-plane", "--", "sh", "-c", script)
    assert result.returncode == 7, result.stderr
    assert _traces(own_tmp) == _NOTHING


def test_two_clusters_live_side_by_side(own_tmp: Path) -> None:
    options = Options(level=Level.CONTROL_PLANE)
    with provided(options, Silent()) as one, provided(options, Silent()) as other:
        one.kubectl("create", "namespace", "only-here")
        assert "only-here" not in other.kubectl("get", "namespaces", "-o", "name")
        assert one.api_server != other.api_server
    assert _traces(own_tmp) == _NOTHING


def test_a_component_that_dies_is_named_with_its_last_words(
    own_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "free_ports", lambda count: [1, 1, 1])
    with pytest.raises(ClusterError, match=r"etcd ended with code 1\n(.*\n)*.*address"):
        launch(Options(level=Level.CONTROL_PLANE), Silent())
    assert _traces(own_tmp) == _NOTHING


def test_another_cluster_is_used_and_left_alone(
    own_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provided(Options(level=Level.CONTROL_PLANE), Silent()) as cluster:
        elsewhere = own_tmp / "elsewhere"
        elsewhere.write_text(cluster.kubeconfig.read_text())
        monkeypatch.setenv("RIDGELINE_KUBECONFIG", str(elsewhere))
        monkeypatch.setenv("RIDGELINE_PROMETHEUS_URL", "http://prometheus.example")
        with provided(Options(), Silent()) as given:
            assert given.api_server == cluster.api_server
            assert given.prometheus_url == "http://prometheus.example"
            assert given.audit_log is None
            with pytest.raises(ClusterError, match="no audit log"):
                given.writes()
        assert cluster.kubectl("get", "namespaces")["items"]
        assert external(cluster.kubeconfig, None).audit_log == cluster.audit_log


def test_a_kubeconfig_that_is_not_there_is_named() -> None:
    with pytest.raises(ClusterError, match="RIDGELINE_KUBECONFIG=/nowhere: there is no such file"):
        external(Path("/nowhere"), None)


def test_cluster_json_says_where_everything_is(own_tmp: Path) -> None:
    with provided(Options(level=Level.CONTROL_PLANE), Silent()) as cluster:
        assert cluster.state_dir is not None
        data = json.loads((cluster.state_dir / "cluster.json").read_text())
        assert data["api_server"] == cluster.api_server
        assert Path(data["audit_log"]).exists()
        assert load_cluster(cluster.state_dir / "cluster.json") == cluster

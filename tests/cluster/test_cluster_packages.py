"""Debian packages: what is missing is told, and their services stay off while they install."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import packages
from tests.cluster.errors import ClusterError
from tests.cluster.progress import Progress
from tests.cluster.spec import Level


def test_only_what_is_missing_is_named() -> None:
    def find(program: str) -> str | None:
        return None if program in {"etcd", "runc"} else program

    assert packages.missing(Level.FULL, find) == ["etcd-server", "runc"]
    assert packages.missing(Level.CONTROL_PLANE, find) == ["etcd-server"]


def test_a_small_cluster_needs_no_container_runtime() -> None:
    asked = []

    def find(program: str) -> str | None:
        asked.append(program)
        return program

    packages.missing(Level.CONTROL_PLANE, find)
    assert asked == ["etcd", "openssl"]


def test_a_user_is_told_what_to_install_and_the_other_ways(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "missing", lambda level: ["etcd-server"])
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"missing: etcd-server.*RIDGELINE_KUBECONFIG"):
        packages.require(Level.CONTROL_PLANE, Progress(), yes=True)


def test_a_full_cluster_asks_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match="needs root"):
        packages.require(Level.FULL, Progress(), yes=True)


def test_nothing_is_installed_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(packages, "missing", lambda level: ["etcd-server"])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda program: program)
    monkeypatch.setattr(packages, "_agreed", lambda: False)
    installed: list[str] = []
    monkeypatch.setattr(packages, "_install", installed.extend)
    with pytest.raises(ClusterError, match="not installed: etcd-server"):
        packages.require(Level.CONTROL_PLANE, Progress(), yes=False)
    assert installed == []


@pytest.mark.parametrize("ci", [True, False])
def test_a_yes_or_ci_installs_what_is_missing(monkeypatch: pytest.MonkeyPatch, ci: bool) -> None:
    monkeypatch.setenv("CI", "true" if ci else "")
    absent = ["etcd-server"]
    monkeypatch.setattr(packages, "missing", lambda level: list(absent))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda program: program)
    monkeypatch.setattr(packages, "_install", lambda wanted: absent.clear())
    packages.require(Level.CONTROL_PLANE, Progress(), yes=not ci)
    assert absent == []


def test_services_stay_off_meanwhile_and_the_policy_comes_back(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 0\n")
    policy.chmod(0o700)
    with packages.no_services(policy):
        assert "exit 101" in policy.read_text()
        assert policy.stat().st_mode & 0o777 == 0o755
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"
    assert policy.stat().st_mode & 0o777 == 0o700


def test_a_policy_that_was_not_there_goes_again(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    with pytest.raises(RuntimeError), packages.no_services(policy):
        raise RuntimeError
    assert not policy.exists()

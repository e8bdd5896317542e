"""An operator that sees the whole cluster, to count GPUs, and writes in one namespace only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster.handle import Cluster
from tests.e2e.accounts import NAMESPACED_RULES, kubeconfig_of, put_account, remove_account, rule
from tests.e2e.rooms import operator_of
from tests.scene.operator_process import OperatorProcess

ACCOUNT = "counting"
SEEING = (
    rule("ridgeline.dev", "speculativeservings speculationpolicies", "list watch"),
    rule("ridgeline.dev", "acceleratorprofiles", "list watch"),
    rule("apps", "deployments", "list watch"),
    rule("", "pods nodes", "list watch"),
    rule("policy", "poddisruptionbudgets", "list watch"),
)
"""What an operator for the whole cluster reads; it writes in one namespace only."""


@contextlib.contextmanager
def counting_operator(
    cluster: Cluster, room: str, folder: Path, **changes: Any
) -> Iterator[OperatorProcess]:
    """An operator that sees all namespaces and may write in the room alone; it is ready.

    `folder` is for its kubeconfig; `changes` are those of its configuration.
    """
    put_account(cluster, room, ACCOUNT, NAMESPACED_RULES, everywhere=SEEING)
    kubeconfig = kubeconfig_of(cluster, room, ACCOUNT, folder)
    try:
        with operator_of(cluster, room, kubeconfig=kubeconfig, namespaces=[], **changes) as process:
            process.wait_ready()
            yield process
    finally:
        remove_account(cluster, room, ACCOUNT)

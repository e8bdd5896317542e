"""Copies of objects that an API server has stored, put into its etcd under names of their own."""

from __future__ import annotations

import base64
import json
import urllib.request
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import scale_fleet as fleet
from benchmarks.scale_fleet import Member, Object
from ridgeline.terms.names import SERVING_PLURAL
from tests.cluster.errors import ClusterError
from tests.cluster.handle import Cluster

Entry = tuple[str, Object]
"""Key in etcd, and the object."""

_ROOT: Final = "/registry"
_GROUP: Final = "ridgeline.dev"
_MOST_AT_ONCE: Final = 100
"""etcd takes 128 in one transaction, and 1.5 MiB."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """The first of each kind, as the API server answered it: number 0."""

    node: Object
    deployment: Object
    pod: Object
    serving: Object


def enlarge(cluster: Cluster, models: Models, joining: Sequence[Member], nodes: range) -> None:
    """Add nodes, and servings with their Deployments and Pods; models are there already.

    Raises:
        ClusterError: etcd cannot be reached, or refused.
    """
    if cluster.state_dir is None:
        raise ClusterError("copies can be put only into the etcd of a cluster of tests/cluster")
    ports = json.loads((cluster.state_dir / "spec.json").read_text())["ports"]
    put(f"http://127.0.0.1:{ports['etcd']}", copies(models, joining, nodes))


def copies(models: Models, joining: Sequence[Member], nodes: range) -> Iterator[Entry]:
    """What is put beside the models."""
    for number in nodes:
        if number:
            yield _node(models.node, number)
    for member in joining:
        if member.number:
            yield _named(models.deployment, member, "deployments")
        for index, name in enumerate(member.pods):
            if member.number or index:
                yield _pod(models.pod, member, index, name)
    # Last, so that a serving finds its target whole.
    for member in joining:
        if member.number:
            yield _named(models.serving, member, f"{_GROUP}/{SERVING_PLURAL}")


def put(etcd_url: str, entries: Iterable[Entry]) -> None:
    """Put objects into etcd.

    Raises:
        ClusterError: It cannot be reached, or refused.
    """
    batch: list[dict[str, Any]] = []
    for key, body in entries:
        batch.append({"requestPut": {"key": _base64(key), "value": _base64(json.dumps(body))}})
        if len(batch) == _MOST_AT_ONCE:
            _transact(etcd_url, batch)
            batch = []
    if batch:
        _transact(etcd_url, batch)


def _transact(etcd_url: str, batch: Sequence[dict[str, Any]]) -> None:
    request = urllib.request.Request(
        f"{etcd_url}/v3/kv/txn", data=json.dumps({"success": batch}).encode()
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            done = json.loads(answer.read())
    except OSError as error:
        raise ClusterError(f"etcd does not take copies: {error}") from error
    if not done.get("succeeded"):
        raise ClusterError(f"etcd does not take copies: {done}")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _node(model: Object, number: int) -> Entry:
    old, new = fleet.node_name(0), fleet.node_name(number)
    return f"{_ROOT}/minions/{new}", _fresh(model, {f'"{old}"': f'"{new}"'})


def _named(model: Object, member: Member, folder: str) -> Entry:
    body = _fresh(model, _renamed(member))
    return f"{_ROOT}/{folder}/{member.namespace}/{member.name}", body


def _pod(model: Object, member: Member, index: int, name: str) -> Entry:
    old, serial = model["metadata"]["name"], member.serial_of(index)
    body = _fresh(
        model,
        {
            f'"{old}"': f'"{name}"',
            **_renamed(member),
            f'"{fleet.node_name(0)}"': f'"{member.node_of(index)}"',
            f'"{fleet.address_of(0)}"': f'"{fleet.address_of(serial)}"',
            fleet.container_id(0): fleet.container_id(serial),
        },
    )
    return f"{_ROOT}/pods/{member.namespace}/{name}", body


def _renamed(member: Member) -> dict[str, str]:
    first = Member(number=0, replicas=member.replicas)
    return {
        first.name: member.name,
        f'"{first.namespace}"': f'"{member.namespace}"',
    }


def _fresh(model: Object, replaced: dict[str, str]) -> Object:
    """A copy with other texts, another uid, and no version: etcd gives it one."""
    text = json.dumps(model)
    for old, new in replaced.items():
        text = text.replace(old, new)
    body: Object = json.loads(text)
    body["metadata"]["uid"] = str(uuid.uuid4())
    del body["metadata"]["resourceVersion"]
    return body

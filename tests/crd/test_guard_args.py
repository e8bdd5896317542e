"""The guard and argument lists: the operator's own calls, by the operator's own token."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path as File

import pytest
from kubernetes.aio.client import ApiClient

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.args_write import args_write
from ridgeline.cluster.errors import RefusedError, StaleVersionError
from ridgeline.cluster.target import ProfileWrite, TargetApi
from ridgeline.terms.names import PROFILE_MANAGER
from tests.chart.rendering import Object
from tests.cluster.handle import Cluster
from tests.crd.guard_server import Guarded, guarded
from tests.crd.test_guard import _deployment, _made, _patch, _read

EAGLE = '{"method":"eagle","model":"o/h","num_speculative_tokens":4}'


def _with_args(name: str) -> Object:
    body = _deployment(name)
    body["spec"]["template"]["spec"]["containers"][0]["args"] = ["serve", "m"]
    return body


@contextlib.asynccontextmanager
async def _targets(guard: Guarded) -> AsyncIterator[TargetApi]:
    """The operator's writes, made by the account that the guard binds."""
    kubeconfig = str(guard.cluster.kubeconfig)
    api = await KubernetesApi.connect(kubeconfig, user_agent="test")
    token = guard.cluster.kubectl(
        "create", "token", "ridgeline", "-n", guard.namespace, "-o", "json"
    )
    configuration = api.client.configuration
    configuration.api_key = {"BearerToken": "Bearer " + json.loads(token)["status"]["token"]}
    configuration.cert_file = configuration.key_file = None
    await api.close()
    bound = KubernetesApi(ApiClient(configuration=configuration))
    yield TargetApi(bound)
    await bound.close()
    await asyncio.sleep(0.05)  # TLS connections need a moment to end


async def _give(targets: TargetApi, guard: Guarded, name: str, config: str) -> None:
    """Write a profile; read anew while the Deployment's controller writes, too."""
    for _ in range(50):
        with contextlib.suppress(StaleVersionError):
            await targets.apply(await _in_args(targets, guard, name, config))
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"Deployment {name} never stood still")


async def _in_args(targets: TargetApi, guard: Guarded, name: str, config: str) -> ProfileWrite:
    live = await targets.read(guard.namespace, name)
    return ProfileWrite(
        namespace=guard.namespace,
        deployment=name,
        uid=live.uid,
        resource_version=live.resource_version,
        container="vllm",
        serving="serving",
        profile="eagle" if config else "none",
        config=config,
        args=args_write(live, live.containers[0], config),
    )


async def test_a_profile_goes_into_the_arguments_and_out_again_when_the_chart_says_so(
    control_plane: Cluster, helm_binary: File
) -> None:
    with guarded(control_plane, helm_binary, {"guard": {"allowArgs": True}}) as loose:
        path = _made(loose, _with_args("profile"))
        before = _read(loose, path)
        async with _targets(loose) as targets:
            for config in (EAGLE, "", EAGLE):
                await _give(targets, loose, "profile", config)
            words = _read(loose, path)["spec"]["template"]["spec"]["containers"][0]["args"]
            assert words == ["serve", "m", f"--speculative-config={EAGLE}"]
            await targets.release(await targets.read(loose.namespace, "profile"))
        after = _read(loose, path)
        assert after["spec"] == before["spec"]
        assert PROFILE_MANAGER not in {m["manager"] for m in after["metadata"]["managedFields"]}
        # Nothing else of the container, and of another one nothing but its arguments.
        patch = _patch(after)
        (container,) = patch["spec"]["template"]["spec"]["containers"]
        container["image"] = "registry.example/other"
        answer = loose.operator.apply(path, patch, force=True)
        assert loose.refused(answer, "containers[].image"), answer.message


async def test_a_profile_does_not_go_into_the_arguments_otherwise(
    control_plane: Cluster, helm_binary: File
) -> None:
    with guarded(control_plane, helm_binary) as guard:
        await _is_refused(guard)


async def _is_refused(guard: Guarded) -> None:
    path = _made(guard, _with_args("kept"))
    before = _read(guard, path)
    async with _targets(guard) as targets:
        write = await _in_args(targets, guard, "kept", EAGLE)
        for dry_run in (True, False):
            with pytest.raises(RefusedError, match="denied request"):
                await targets.apply(write, dry_run=dry_run)
    assert _read(guard, path)["spec"] == before["spec"]

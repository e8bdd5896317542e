"""A profile in a container's argument list, on a real API server: taken over, and given back."""

from collections.abc import Mapping
from typing import Any

import pytest

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.args_write import args_write
from ridgeline.cluster.errors import AnotherObjectError, FieldConflictError, StaleVersionError
from ridgeline.cluster.marker import CanaryMark
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.target import TargetApi
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import (
    EAGLE,
    apply_as,
    create,
    deployment,
    item,
    owners,
    path,
    settled,
    vllm_container,
    write_of,
)

NGRAM = '{"method":"ngram","num_speculative_tokens":3}'
PLAIN = ("--model=m", "--port", "8000", "-tp", "2")
SPELLINGS = {
    "none": PLAIN,
    "separate": ("--model=m", "--speculative-config", NGRAM, "--port", "8000"),
    "underscore": (f"--speculative_config={NGRAM}", *PLAIN),
    "short": ("--model=m", "-sc", NGRAM, "--port", "8000"),
    "dotted": (
        *("--model=m", "--speculative-config.method", "ngram", "--port", "8000"),
        *("--speculative-config.num_speculative_tokens=3", "--seed=0"),
    ),
    "trio": ("--spec-method", "ngram", *PLAIN, "--spec-tokens=3"),
}
MAKERS = ("create", "apply", "kubectl")


def chart(room: str, name: str, args: tuple[str, ...], **other: Any) -> dict[str, Any]:
    """A Deployment whose arguments read nothing of ours."""
    body = deployment(room, name, **other)
    container = body["spec"]["template"]["spec"]["containers"][0]
    del container["envFrom"]
    container["args"] = list(args)
    return body


async def make(
    api: KubernetesApi,
    control_plane: Cluster,
    how: str,
    body: dict[str, Any],
    *,
    force: bool = True,
) -> None:
    """Make or change a Deployment as its owner does."""
    if how == "create":
        await create(api, body)
    elif how == "apply":
        await apply_as(api, "flux", body, force=force)
    else:
        control_plane.kubectl("apply", "-f", "-", input_object=body)


async def give(api: KubernetesApi, room: str, name: str, profile: str, config: str) -> Any:
    """Write a profile into the arguments; return the object as it is when it stands still."""
    await settled(api, room, name)
    live = await TargetApi(api).read(room, name)
    await TargetApi(api).apply(in_args(live, profile, config))
    return await settled(api, room, name)


def in_args(live: DeploymentObject, profile: str, config: str, **other: Any) -> Any:
    """The write that puts a profile into the arguments."""
    return write_of(
        live, profile, config, args=args_write(live, live.containers[0], config), **other
    )


def template_of(body: Mapping[str, Any]) -> Any:
    """The Pod template."""
    return body["spec"]["template"]


def list_owners(body: Mapping[str, Any]) -> set[str]:
    """Who owns the argument list."""
    found = set()
    for manager, fields in owners(body).items():
        level = fields
        for step in ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"vllm"}'):
            level = level.get(step, {})
        if "f:args" in level:
            found.add(manager)
    return found


@pytest.mark.parametrize("how", MAKERS)
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_profile_is_written_changed_and_given_back_byte_for_byte(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, how: str, spelling: str
) -> None:
    await make(api, control_plane, how, chart(room, name, SPELLINGS[spelling]))
    before = await settled(api, room, name)

    first = await give(api, room, name, "eagle2", EAGLE)
    assert list_owners(first) == {PROFILE_MANAGER}
    off = await give(api, room, name, "none", "")
    again = await give(api, room, name, "eagle2", EAGLE)

    words = vllm_container(first)["args"]
    assert EAGLE in words or any(each.endswith(f"={EAGLE}") for each in words)
    assert template_of(first)["metadata"]["labels"][PROFILE_LABEL] == "eagle2"
    assert not any(each.startswith(("--spec", "-sc")) for each in vllm_container(off)["args"])
    assert template_of(again) == template_of(first)

    released = await TargetApi(api).release(await TargetApi(api).read(room, name))

    after = await settled(api, room, name)
    assert template_of(after) == template_of(before)
    assert PROFILE_MANAGER not in owners(after)
    assert SERVING_ANNOTATION not in after["metadata"].get("annotations", {})
    assert (released.args_ours, released.marker, released.template_profile) == ((), None, None)


@pytest.mark.parametrize("how", MAKERS)
async def test_who_made_the_list_has_it_again_after_its_next_apply(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, how: str
) -> None:
    await make(api, control_plane, how, chart(room, name, PLAIN))
    await give(api, room, name, "eagle2", EAGLE)
    await TargetApi(api).release(await TargetApi(api).read(room, name))
    await settled(api, room, name)

    maker = "kubectl" if how == "create" else how
    for words in (PLAIN, (*PLAIN, "--seed=1")):
        # Without force: nobody is in the way.
        await make(api, control_plane, maker, chart(room, name, words), force=False)

    after = await api.request("GET", path(room, name))
    assert vllm_container(after)["args"] == [*PLAIN, "--seed=1"]


@pytest.mark.parametrize("how", ["apply", "kubectl"])
async def test_an_upgrade_by_its_owner_is_what_the_next_write_starts_from(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, how: str
) -> None:
    await make(api, control_plane, how, chart(room, name, (*PLAIN, f"-sc={NGRAM}")))
    await give(api, room, name, "eagle2", EAGLE)

    upgraded = ("--model=m", "--port", "9000", f"--speculative-config={NGRAM}", "--new-flag")
    await make(api, control_plane, how, chart(room, name, upgraded))
    taken = await settled(api, room, name)
    assert vllm_container(taken)["args"] == list(upgraded)
    assert PROFILE_MANAGER not in list_owners(taken)
    assert PROFILE_MANAGER in owners(taken)

    after = await give(api, room, name, "eagle2", EAGLE)
    assert vllm_container(after)["args"] == [
        *("--model=m", "--port", "9000", f"--speculative-config={EAGLE}", "--new-flag")
    ]
    await TargetApi(api).release(await TargetApi(api).read(room, name))
    released = await settled(api, room, name)
    assert vllm_container(released)["args"] == list(upgraded)
    assert PROFILE_MANAGER not in owners(released)


async def test_nothing_is_written_when_the_list_says_it_already(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, chart(room, name, PLAIN))
    before = await give(api, room, name, "eagle2", EAGLE)

    after = await give(api, room, name, "eagle2", EAGLE)

    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


async def test_nothing_but_the_list_is_taken_over(api: KubernetesApi, room: str, name: str) -> None:
    await apply_as(api, "flux", chart(room, name, PLAIN, labels={PROFILE_LABEL: "mine"}))
    before = await settled(api, room, name)
    live = await TargetApi(api).read(room, name)

    with pytest.raises(FieldConflictError) as told:
        await TargetApi(api).apply(in_args(live, "eagle2", EAGLE))

    assert {each.field for each in told.value.conflicts} == {
        f".spec.template.metadata.labels.{PROFILE_LABEL}",
        '.spec.template.spec.containers[name="vllm"].args',
    }
    assert await api.request("GET", path(room, name)) == before


async def test_a_rehearsal_takes_nothing_over(api: KubernetesApi, room: str, name: str) -> None:
    await apply_as(api, "flux", chart(room, name, PLAIN))
    before = await settled(api, room, name)
    live = await TargetApi(api).read(room, name)

    rehearsed = await TargetApi(api).apply(in_args(live, "eagle2", EAGLE), dry_run=True)

    assert rehearsed.template_profile == "eagle2"
    assert await api.request("GET", path(room, name)) == before


async def test_an_old_version_or_another_object_is_never_forced(
    api: KubernetesApi, room: str, name: str
) -> None:
    await apply_as(api, "flux", chart(room, name, PLAIN))
    await settled(api, room, name)
    old = await TargetApi(api).read(room, name)
    await apply_as(api, "flux", chart(room, name, (*PLAIN, "--seed=1")))
    await settled(api, room, name)

    with pytest.raises(StaleVersionError):
        await TargetApi(api).apply(in_args(old, "eagle2", EAGLE))
    nobody = "00000000-0000-0000-0000-000000000000"
    live = await TargetApi(api).read(room, name)
    with pytest.raises(AnotherObjectError):
        await TargetApi(api).apply(in_args(live, "eagle2", EAGLE, uid=nobody))

    after = await api.request("GET", path(room, name))
    assert vllm_container(after)["args"] == [*PLAIN, "--seed=1"]


async def test_a_canary_is_taken_back_with_the_list_and_unpaused(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, chart(room, name, PLAIN))
    before = await settled(api, room, name)
    await give(api, room, name, "eagle2", EAGLE)
    live = await TargetApi(api).read(room, name)
    mark = CanaryMark(label=None, config=None)
    held = await TargetApi(api).apply(in_args(live, "eagle2", EAGLE, canary=mark))
    assert held.paused_by_us
    assert held.containers == live.containers

    live = await TargetApi(api).read(room, name)
    await TargetApi(api).release(live)

    after = await settled(api, room, name)
    assert after["spec"] == before["spec"]
    assert PROFILE_MANAGER not in owners(after)


async def test_a_list_that_its_owner_has_adopted_with_our_flag_stays_his(
    api: KubernetesApi, room: str, name: str
) -> None:
    await apply_as(api, "flux", chart(room, name, PLAIN))
    written = await give(api, room, name, "eagle2", EAGLE)
    adopted = tuple(vllm_container(written)["args"])
    await apply_as(api, "flux", chart(room, name, adopted))
    assert list_owners(await settled(api, room, name)) == {"flux", PROFILE_MANAGER}

    await TargetApi(api).release(await TargetApi(api).read(room, name))

    after = await settled(api, room, name)
    assert vllm_container(after)["args"] == list(adopted)
    assert list_owners(after) == {"flux"}
    assert PROFILE_MANAGER not in owners(after)


async def test_an_exact_release_of_an_old_version_writes_nothing(
    api: KubernetesApi, room: str, name: str
) -> None:
    await create(api, chart(room, name, PLAIN))
    await give(api, room, name, "eagle2", EAGLE)
    old = await TargetApi(api).read(room, name)
    before = await give(api, room, name, "none", "")

    with pytest.raises(StaleVersionError):
        await TargetApi(api).release(old, exact=True)

    assert await api.request("GET", path(room, name)) == before


async def test_an_item_of_ours_goes_with_the_write_of_the_list(
    api: KubernetesApi, room: str, name: str
) -> None:
    """From injection mode Env to Args without a release in between."""
    await create(api, deployment(room, name))
    await settled(api, room, name)
    live = await TargetApi(api).read(room, name)
    await TargetApi(api).apply(write_of(live, "ngram", NGRAM))

    after = await give(api, room, name, "eagle2", EAGLE)

    assert vllm_container(after)["args"] == ["--model=m", f"--speculative-config={EAGLE}"]
    assert "env" not in vllm_container(after)
    await TargetApi(api).release(await TargetApi(api).read(room, name))
    released = await api.request("GET", path(room, name))
    assert vllm_container(released)["args"] == [
        *("--model=m", f"--speculative-config=$({PROFILE_ENV})")
    ]


async def test_an_item_of_somebody_else_is_no_matter(
    api: KubernetesApi, room: str, name: str
) -> None:
    await apply_as(api, "flux", chart(room, name, PLAIN, env=[item("")]))
    await settled(api, room, name)
    live = await TargetApi(api).read(room, name)

    rehearsed = await TargetApi(api).apply(in_args(live, "eagle2", EAGLE), dry_run=True)

    assert rehearsed.template_profile == "eagle2"


async def test_a_list_of_nothing_but_our_flag_comes_and_goes(
    api: KubernetesApi, room: str, name: str
) -> None:
    body = chart(room, name, (f"--speculative-config={NGRAM}",))
    body["spec"]["template"]["spec"]["containers"][0]["command"] = ["vllm", "serve", "m"]
    await apply_as(api, "flux", body)
    before = await settled(api, room, name)

    off = await give(api, room, name, "none", "")
    assert not vllm_container(off).get("args")
    on = await give(api, room, name, "eagle2", EAGLE)
    assert vllm_container(on)["args"] == [f"--speculative-config={EAGLE}"]
    await TargetApi(api).release(await TargetApi(api).read(room, name))

    after = await settled(api, room, name)
    assert template_of(after) == template_of(before)
    assert PROFILE_MANAGER not in owners(after)

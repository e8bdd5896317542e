"""`kubectl ridgeline force|suspend|resume`: what a person orders."""

import asyncio
import re
from typing import Annotated, Final

import typer

from ridgeline.cli.person import Kubeconfig, Namespace, ServingName, connected, fail, serving_of
from ridgeline.cluster.errors import ClusterError
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.person import PersonApi

_PROFILE: Final = re.compile(r"(?=.{1,63}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A DNS label, as the schema has it for names of profiles."""


def force(
    name: ServingName,
    profile: Annotated[
        str | None, typer.Argument(help="Profile to run; must be one of spec.profiles.")
    ] = None,
    off: Annotated[
        bool, typer.Option("--off", help="Take the order back: the cut-offs decide again.")
    ] = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Order a profile, whatever the cut-offs say, until the order is taken back.

    It is the annotation ridgeline.dev/force-profile: no dwell, cooldown, budget or canary applies,
    in either mode. A roll that could not finish is still not begun.

    Examples:
      kubectl ridgeline force llama-70b none
      kubectl ridgeline force llama-70b --off
    """
    if (profile is None) == (not off):
        fail("give one of the two: the profile to run, or --off to take an order back", status=2)
    if profile is not None and not _PROFILE.fullmatch(profile):
        fail(
            f"{profile!r} is no name of a profile: lower-case letters, digits and -, at most 63, "
            "as in spec.profiles",
            status=2,
        )
    try:
        told = asyncio.run(_force(namespace, name, kubeconfig, None if off else profile))
    except ClusterError as error:
        fail(str(error))
    typer.echo(told)


async def _force(
    namespace: str | None, name: str, kubeconfig: str | None, profile: str | None
) -> str:
    async with connected(kubeconfig, namespace) as (api, where):
        serving = await serving_of(api, where, name)
        known = _profiles(serving)
        if profile is not None and profile not in known:
            raise ClusterError(
                f"{where}/{name} has no profile {profile!r}: choose one of {', '.join(known)}"
            )
        if serving.forced_profile == profile:
            return f"{where}/{name}: nothing to change, {_order(profile)}"
        await PersonApi(api).order(serving, profile)
    return f"{where}/{name}: {_order(profile)}{_unless(serving)}"


def _order(profile: str | None) -> str:
    return "no profile is ordered: the cut-offs decide" if profile is None else f"{profile} ordered"


def _unless(serving: ServingObject) -> str:
    return "; it is suspended, and waits until it is resumed" if _suspended(serving) else ""


def suspend(name: ServingName, namespace: Namespace = None, kubeconfig: Kubeconfig = None) -> None:
    """Stop acting on a serving: it is observed on, and nothing new is begun.

    A canary under way is taken back. Where Git owns the serving, set spec.suspend there: it would
    put its own value back.

    Example:
      kubectl ridgeline suspend llama-70b
    """
    _set_suspended(namespace, name, kubeconfig, suspended=True)


def resume(name: ServingName, namespace: Namespace = None, kubeconfig: Kubeconfig = None) -> None:
    """Act on a serving again.

    Example:
      kubectl ridgeline resume llama-70b
    """
    _set_suspended(namespace, name, kubeconfig, suspended=False)


def _set_suspended(
    namespace: str | None, name: str, kubeconfig: str | None, *, suspended: bool
) -> None:
    try:
        told = asyncio.run(_suspend(namespace, name, kubeconfig, suspended=suspended))
    except ClusterError as error:
        fail(str(error))
    typer.echo(told)


async def _suspend(
    namespace: str | None, name: str, kubeconfig: str | None, *, suspended: bool
) -> str:
    state = "suspended" if suspended else "resumed"
    async with connected(kubeconfig, namespace) as (api, where):
        serving = await serving_of(api, where, name)
        if _suspended(serving) == suspended:
            return f"{where}/{name}: nothing to change, {state} already"
        await PersonApi(api).suspend(serving, suspended=suspended)
    return f"{where}/{name}: {state}"


def _suspended(serving: ServingObject) -> bool:
    return serving.spec.get("suspend") is True


def _profiles(serving: ServingObject) -> list[str]:
    return [str(each.get("name")) for each in serving.spec.get("profiles") or ()]

"""Beginning a roll: the one place where a target is written.

    read live ─▶ still as decided? ─▶ dry run ─▶ announce in status ─▶ apply ─▶ Rolling

Nothing is announced that the API server would refuse, and nothing is applied that was not
announced: a process killed between the two leaves an intent that its successor finishes or
abandons (`policy.roll`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cluster.args_write import args_write
from ridgeline.cluster.errors import (
    AnotherObjectError,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
)
from ridgeline.cluster.marker import CanaryMark
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.target import ProfileWrite
from ridgeline.controller.ports import Targets
from ridgeline.controller.resolve import ResolvedTarget, resolve_target
from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    Profile,
    render,
)
from ridgeline.policy.facts import Problem
from ridgeline.terms.names import PROFILE_ENV
from ridgeline.terms.reasons import Reason

_ATTEMPTS: Final = 3
"""Tries against a target whose status moves under our hands (each try reads it anew)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A roll that was decided: what is to be applied to which target.

    Attributes:
        namespace: Namespace of serving and target.
        serving: Name of the serving.
        spec: Its spec.
        profiles: Its profiles.
        profile: The profile to apply.
        uid: Identity of the target that was decided about.
        generation: Its generation then.
        canary: What the target holds before, where it is to be held back for a canary: such a
            write is rehearsed, too, since somebody else may own `spec.paused`.
    """

    namespace: str
    serving: str
    spec: SpeculativeServingSpec
    profiles: tuple[Profile, ...]
    profile: Profile
    uid: str
    generation: int
    canary: CanaryMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The roll was not begun.

    Attributes:
        problem: Why.
    """

    problem: Problem


class TargetMovedError(Exception):
    """The target is not as it was decided about any more; decide again."""


async def rehearse(targets: Targets, order: Order) -> Refusal | None:
    """Try the write without writing; return why it would be refused, `None` when it would not.

    Raises:
        TargetMovedError: The target has changed since the decision.
        ClusterError: The API server cannot be reached.
    """
    outcome = await _write(targets, order, dry_run=True)
    return outcome if isinstance(outcome, Refusal) else None


async def begin(targets: Targets, order: Order) -> DeploymentObject | Refusal:
    """Apply the profile; return the Deployment as it is then.

    A canary's is not held back by this write: pausing in the apply that brings the profile would
    make no Pod at all.

    Raises:
        TargetMovedError: The target has changed since the decision; nothing was written.
        ClusterError: The API server cannot be reached; it is not known whether it was written.
    """
    return await _write(targets, order, dry_run=False)


async def _write(targets: Targets, order: Order, *, dry_run: bool) -> DeploymentObject | Refusal:
    async def once() -> DeploymentObject:
        live = await targets.read(order.namespace, order.spec.target_ref.name)
        if _is_applied(order, live):
            return live  # the answer to an earlier write was lost
        write = _profile_write(order, _as_decided(order, live))
        if dry_run:
            write = replace(write, canary=order.canary)
        return await targets.apply(write, dry_run=dry_run)

    return await attempted(once, "the profile")


async def attempted(
    once: Callable[[], Awaitable[DeploymentObject]], what: str
) -> DeploymentObject | Refusal:
    """Read and write a target, again where it moved in between; return it, or why it was refused.

    Args:
        once: Reads the target and writes it.
        what: What is written, for the message.

    Raises:
        TargetMovedError: The target is another one, or moves all the time.
        ClusterError: The API server cannot be reached; it is not known whether it was written.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return await once()
        except StaleVersionError as error:
            if attempt == _ATTEMPTS - 1:
                raise TargetMovedError(str(error)) from error
        except (NotFoundError, AnotherObjectError) as error:
            raise TargetMovedError(str(error)) from error
        except FieldConflictError as error:
            return Refusal(problem=conflict_of(error))
        except (ArgsError, InvalidSpeculativeConfigError) as error:
            return Refusal(problem=Problem(reason=Reason.ARGS_NOT_EDITABLE, message=str(error)))
        except RefusedError as error:
            message = f"the API server refused {what}: {error}"
            return Refusal(problem=Problem(reason=Reason.WRITE_REFUSED, message=message))
    raise AssertionError("every attempt either returns or raises")


def _is_applied(order: Order, live: DeploymentObject) -> bool:
    resolved = resolve_target(order.spec, order.profiles, live, None)
    return (
        live.uid == order.uid
        and live.template_profile == order.profile.name
        and not isinstance(resolved, Problem)
        and resolved.facts.active_profile == order.profile.name
    )


def _as_decided(order: Order, live: DeploymentObject) -> ResolvedTarget:
    if live.uid != order.uid or live.generation != order.generation:
        raise TargetMovedError("the target was changed while its roll was being decided")
    resolved = resolve_target(order.spec, order.profiles, live, None)
    if isinstance(resolved, Problem):
        raise TargetMovedError(resolved.message)
    if resolved.facts.rollout is not None:
        raise TargetMovedError("a rollout of the target has begun meanwhile")
    return resolved


def _profile_write(order: Order, target: ResolvedTarget) -> ProfileWrite:
    config = render(order.profile)
    in_args = target.facts.in_args
    return ProfileWrite(
        namespace=order.namespace,
        deployment=target.deployment.name,
        uid=target.deployment.uid,
        resource_version=target.deployment.resource_version,
        container=target.container.name,
        serving=order.serving,
        profile=order.profile.name,
        config=config,
        on_delete=order.spec.on_delete,
        args=args_write(target.deployment, target.container, config) if in_args else None,
    )


PAUSED_FIELD: Final = ".spec.paused"


def cannot_pause(problem: Problem) -> bool:
    """Tell whether a write was refused because somebody else owns `spec.paused`."""
    return problem.reason is Reason.FIELD_CONFLICT and PAUSED_FIELD in problem.message


def conflict_of(error: FieldConflictError) -> Problem:
    """Return whose field is in the way, and what to do about it."""
    owners = sorted({each.manager for each in error.conflicts})
    fields = sorted({each.field for each in error.conflicts})
    if fields == [PAUSED_FIELD]:
        return Problem(
            reason=Reason.FIELD_CONFLICT,
            message=f"field manager {', '.join(map(repr, owners))} owns .spec.paused, so the "
            "rollout cannot be held back for a canary: remove spec.paused from its manifest, or "
            "set spec.rollout.canary.when: Never",
        )
    return Problem(
        reason=Reason.FIELD_CONFLICT,
        message=f"field manager {', '.join(map(repr, owners))} owns {', '.join(fields)}: "
        f"remove the env item {PROFILE_ENV} from its manifest and give the "
        f'default by envFrom with a ConfigMap that holds {PROFILE_ENV}: ""',
    )

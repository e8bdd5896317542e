"""The later writes of a roll: hold it back, let it go on, put back what was there before.

Each is the same server-side apply as the one that began it, with other values: the complete list of
what we own. What it names no more (spec.paused) is given up by that; an apply that names nothing
gives up all, and the default of the target's own manifest applies again.
"""

from dataclasses import dataclass, replace

from ridgeline.cluster.args_write import args_write
from ridgeline.cluster.marker import CanaryMark
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.target import ProfileWrite
from ridgeline.controller.intent import mark_of
from ridgeline.controller.ports import Targets
from ridgeline.controller.resolve import ResolvedTarget
from ridgeline.controller.rolling import Refusal, TargetMovedError, attempted
from ridgeline.engine.container import Container
from ridgeline.policy.roll import Before, Roll
from ridgeline.terms.rolls import OnDelete


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """What a target is to hold of ours.

    Attributes:
        write: The write; its version is that of the last read. `None`: nothing of ours.
        deployment: The target as it was seen.
        in_args: The container whose argument list carries the config; `None` with an env item.
    """

    write: ProfileWrite | None
    deployment: DeploymentObject
    in_args: Container | None = None


def held_back(target: ResolvedTarget, roll: Roll, serving: str, on_delete: OnDelete) -> Rewrite:
    """Return the write that pauses the target, with what to put back should we be gone."""
    return _with(target, serving, on_delete, _held(target), mark_of(roll.before))


def let_go(target: ResolvedTarget, serving: str, on_delete: OnDelete) -> Rewrite:
    """Return the write that gives `spec.paused` back and keeps all else as it is."""
    if not target.deployment.ours:
        return Rewrite(write=None, deployment=target.deployment)
    return _with(target, serving, on_delete, _held(target), None)


def put_back(target: ResolvedTarget, roll: Roll, serving: str, on_delete: OnDelete) -> Rewrite:
    """Return the write that restores what our fields held before the roll."""
    if roll.before is None:
        return Rewrite(write=None, deployment=target.deployment)
    return _with(target, serving, on_delete, roll.before, None)


async def rewrite(targets: Targets, asked: Rewrite) -> DeploymentObject | Refusal:
    """Write; return the Deployment as it is then, or why it was refused.

    Raises:
        TargetMovedError: The target has changed since it was seen; nothing was written.
        ClusterError: The API server cannot be reached; it is not known whether it was written.
    """
    seen = asked.deployment

    async def once() -> DeploymentObject:
        live = await targets.read(seen.namespace, seen.name)
        if live.uid != seen.uid or live.generation != seen.generation:
            raise TargetMovedError("the target was changed while its roll went on")
        if asked.write is None:
            return await targets.release(live, exact=True)
        write = replace(asked.write, resource_version=live.resource_version)
        if asked.in_args is not None:
            # Of one generation the argument list is one, too.
            write = replace(write, args=args_write(live, asked.in_args, write.config))
        return await targets.apply(write)

    return await attempted(once, "a step of the roll")


def _held(target: ResolvedTarget) -> Before:
    """Return what our fields hold now."""
    return Before(label=target.facts.label, config=target.facts.active_config)


def _with(
    target: ResolvedTarget,
    serving: str,
    on_delete: OnDelete,
    fields: Before,
    mark: CanaryMark | None,
) -> Rewrite:
    deployment = target.deployment
    return Rewrite(
        deployment=deployment,
        in_args=target.container if target.facts.in_args else None,
        write=ProfileWrite(
            namespace=deployment.namespace,
            deployment=deployment.name,
            uid=deployment.uid,
            resource_version=deployment.resource_version,
            container=target.container.name,
            serving=serving,
            profile=fields.label,
            config=fields.config,
            on_delete=on_delete,
            canary=mark,
        ),
    )

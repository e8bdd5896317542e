"""From a serving's targetRef to its Deployment, container and active profile, or to a problem."""

from collections.abc import Iterable
from dataclasses import dataclass

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cluster.objects import DeploymentObject, ServingObject
from ridgeline.engine.args_given import config_in_args
from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.container import Container, InjectionPointError, injection_point
from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    Profile,
    profile_of,
)
from ridgeline.policy.facts import Problem, RolloutFacts, TargetFacts
from ridgeline.terms.modes import InjectionMode
from ridgeline.terms.names import PROFILE_ENV
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTarget:
    """A target that a profile can be given to."""

    deployment: DeploymentObject
    container: Container
    facts: TargetFacts


def resolve_target(
    spec: SpeculativeServingSpec,
    profiles: tuple[Profile, ...],
    deployment: DeploymentObject | None,
    older_claim: str | None,
) -> ResolvedTarget | Problem:
    """Find the container of a serving's target and read its active profile.

    Args:
        spec: The serving's spec.
        profiles: Its profiles.
        deployment: The Deployment of that name, `None` when there is none.
        older_claim: Name of an older serving with the same target, `None` without one.
    """
    name = spec.target_ref.name
    if older_claim is not None:
        return Problem(
            reason=Reason.TARGET_CONFLICT,
            message=f"serving {older_claim} is older and has the same target, Deployment {name}; "
            "only the older one acts: delete one of the two",
        )
    if deployment is None:
        return Problem(
            reason=Reason.TARGET_NOT_FOUND,
            message=f"Deployment {name} does not exist in this namespace; create it, or correct "
            "spec.targetRef.name",
        )
    if deployment.deleting:
        return Problem(reason=Reason.TARGET_DELETING, message=f"Deployment {name} is being deleted")
    container = _container(spec, deployment)
    if isinstance(container, Problem):
        return container
    in_args = injection_of(spec) is InjectionMode.ARGS
    kept = _kept_list(deployment, container, in_args=in_args)
    if kept is not None:
        return kept
    return _with_active_profile(deployment, container, profiles, in_args=in_args)


def _kept_list(
    deployment: DeploymentObject, container: Container, *, in_args: bool
) -> Problem | None:
    """Tell that we own an argument list which the next write would not name, and so delete."""
    held = [each for each in deployment.args_ours if not in_args or each != container.name]
    if not held:
        return None
    return Problem(
        reason=Reason.ARGS_NOT_EDITABLE,
        message=f"the operator still owns the argument list of container {held[0]!r}, which "
        "this serving does not ask for any more, and another write would take the list out: "
        "give it back first with kubectl ridgeline release",
    )


def injection_of(spec: SpeculativeServingSpec) -> InjectionMode:
    """Return how a serving's profiles reach the server."""
    return spec.injection.mode if spec.injection is not None else InjectionMode.ENV


def older_claim(serving: ServingObject, target: str, others: Iterable[ServingObject]) -> str | None:
    """Return the name of an older serving of the same namespace with the same target.

    Age is the creation time, and the uid where two are equally old, so that exactly one wins.
    """
    rivals = [
        each
        for each in others
        if each.uid != serving.uid
        and each.namespace == serving.namespace
        and not each.deleting
        and (each.spec.get("targetRef") or {}).get("name") == target
    ]
    oldest = min(rivals, key=_age, default=None)
    return oldest.name if oldest is not None and _age(oldest) < _age(serving) else None


def _age(serving: ServingObject) -> tuple[float, str]:
    return serving.created_at, serving.uid


def _container(spec: SpeculativeServingSpec, deployment: DeploymentObject) -> Container | Problem:
    wanted = spec.target_ref.container_name
    names = [each.name for each in deployment.containers]
    if wanted is None and len(names) == 1:
        return deployment.containers[0]
    if wanted is None:
        return Problem(
            reason=Reason.CONTAINER_AMBIGUOUS,
            message=f"Deployment {deployment.name} has {len(names)} containers "
            f"({', '.join(names)}); set spec.targetRef.containerName to the one that runs vLLM",
        )
    found = next((each for each in deployment.containers if each.name == wanted), None)
    if found is None:
        return Problem(
            reason=Reason.CONTAINER_NOT_FOUND,
            message=f"Deployment {deployment.name} has no container {wanted!r} (it has "
            f"{', '.join(names)}); correct spec.targetRef.containerName",
        )
    return found


def _with_active_profile(
    deployment: DeploymentObject,
    container: Container,
    profiles: tuple[Profile, ...],
    *,
    in_args: bool,
) -> ResolvedTarget | Problem:
    try:
        text = config_in_args(container) if in_args else injection_point(container).text
        active = profile_of(text, profiles)
    except InjectionPointError as error:
        return Problem(reason=Reason.INJECTION_POINT_MISSING, message=str(error))
    except ArgsError as error:
        return Problem(reason=Reason.ARGS_NOT_EDITABLE, message=str(error))
    except InvalidSpeculativeConfigError as error:
        return Problem(reason=Reason.SPECULATIVE_CONFIG_INVALID, message=str(error))
    facts = TargetFacts(
        uid=deployment.uid,
        generation=deployment.generation,
        last_writer=deployment.last_writer,
        last_writer_at=deployment.last_writer_at,
        desired_replicas=deployment.replicas,
        active_profile=active.name if active else None,
        active_config=text,
        rollout=rollout_of(deployment),
        template=deployment.template,
        label=deployment.template_profile,
        has_item=container.name in deployment.args_ours
        if in_args
        else any(each.name == PROFILE_ENV for each in container.env),
        paused_by_us=deployment.paused_by_us,
        in_args=in_args,
    )
    return ResolvedTarget(deployment=deployment, container=container, facts=facts)


def rollout_of(deployment: DeploymentObject) -> RolloutFacts | None:
    """Tell what is under way in a Deployment: a new template, a scale-up, missing replicas.

    Nothing is under way when the controller has seen the newest spec and every replica asked for
    is of the newest template and available, and no other is left.
    """
    settled = (
        deployment.observed_generation >= deployment.generation
        and deployment.updated_replicas == deployment.replicas
        and deployment.current_replicas == deployment.replicas
        and deployment.available_replicas == deployment.replicas
    )
    if settled and not deployment.paused:
        return None
    # Counts that the controller wrote before it saw the newest spec are those of the old template.
    seen = deployment.observed_generation >= deployment.generation
    return RolloutFacts(
        updated=deployment.updated_replicas if seen else 0,
        available=deployment.available_replicas,
        desired=deployment.replicas,
        old=max(0, deployment.current_replicas - deployment.updated_replicas) if seen else None,
        paused=deployment.paused,
        observed=seen,
        deadline_exceeded=deployment.progress_deadline_exceeded,
    )

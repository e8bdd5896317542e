"""A serving's target among what was given: Deployment, container, and how it takes a profile."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cli.lint_containers import Server
from ridgeline.cli.lint_findings import of_message
from ridgeline.cli.lint_injection import args_findings, item_findings
from ridgeline.cli.lint_manifests import Manifests, Named, PodOf, mapping
from ridgeline.cli.lint_shapes import shape_findings
from ridgeline.cluster.objects import DeploymentObject, trim_deployment
from ridgeline.controller.resolve import ResolvedTarget, injection_of, resolve_target
from ridgeline.engine.findings import Finding
from ridgeline.policy.facts import Problem
from ridgeline.settings.resolve import profiles_of
from ridgeline.terms.modes import InjectionMode

DEPLOYMENT: Final = "Deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a serving among what was given.

    Attributes:
        named: The Deployment.
        deployment: The same trimmed; `None` where it cannot be read.
        server: The container that runs vLLM; `None` where that cannot be told.
        findings: What is wrong with how it takes a profile.
    """

    named: Named
    deployment: DeploymentObject | None
    server: Server | None
    findings: tuple[Finding, ...]


def target_of(
    named: Named, spec: SpeculativeServingSpec, manifests: Manifests, servers: Sequence[Server]
) -> Target | None:
    """Return the target of a serving; `None` when no Deployment of its name was given.

    Args:
        named: The serving.
        spec: Its spec.
        manifests: Everything that was given.
        servers: Every container of it.
    """
    wanted = spec.target_ref.name
    pod = next((each for each in manifests.pods if _is_target(each, wanted, named)), None)
    if pod is None:
        return None
    own = [each for each in servers if each.pod is pod]
    deployment = _trimmed(pod, own)
    if deployment is None and any(shape_findings(pod)):
        return Target(named=pod.owner, deployment=None, server=None, findings=())  # told by itself
    if deployment is None:
        broken = of_message(
            "ManifestUnreadable",
            pod.owner.title,
            "it is none that the API server would take: give it as kubectl apply takes it",
        )
        return Target(named=pod.owner, deployment=None, server=None, findings=(broken,))
    found = resolve_target(spec, profiles_of(spec), deployment, None)
    server = _server(spec, own, found)
    return Target(
        named=pod.owner,
        deployment=deployment,
        server=server,
        findings=tuple(_injection(found, server, deployment, spec)),
    )


def _is_target(pod: PodOf, name: str, serving: Named) -> bool:
    owner = pod.owner
    return owner.kind == DEPLOYMENT and owner.name == name and owner.beside(serving.namespace)


def _trimmed(pod: PodOf, own: Sequence[Server]) -> DeploymentObject | None:
    """Return a Deployment of a file, which no API server has looked at."""
    metadata = {
        **mapping(pod.owner.body.get("metadata")),
        "name": pod.owner.name,
        "namespace": pod.owner.namespace,
        "uid": pod.owner.name,
        "resourceVersion": "1",
    }
    try:
        found = trim_deployment({**pod.owner.body, "metadata": metadata})
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    if not _is_sound(found):
        return None
    return replace(found, containers=tuple(each.written for each in own))


_SHARE: Final = re.compile(r"[0-9]{1,9}%?")


def _is_sound(deployment: DeploymentObject) -> bool:
    """Tell whether the numbers of a Deployment are numbers, which trimming takes on trust."""
    shape = deployment.shape
    replicas: object = deployment.replicas
    return isinstance(replicas, int) and all(
        map(_is_count, (shape.max_surge, shape.max_unavailable))
    )


def _is_count(value: object) -> bool:
    if isinstance(value, str):
        return _SHARE.fullmatch(value) is not None
    return isinstance(value, int)


def _server(
    spec: SpeculativeServingSpec, own: Sequence[Server], found: ResolvedTarget | Problem
) -> Server | None:
    """Return the container that runs vLLM, also where no profile can be given to it."""
    if isinstance(found, ResolvedTarget):
        wanted: str | None = found.container.name
    else:
        wanted = spec.target_ref.container_name
    named = [each for each in own if wanted in (None, each.written.name)]
    return named[0] if len(named) == 1 else None


def _injection(
    found: ResolvedTarget | Problem,
    server: Server | None,
    deployment: DeploymentObject,
    spec: SpeculativeServingSpec,
) -> Iterator[Finding]:
    if isinstance(found, Problem):
        yield of_message(found.reason.value, f"{DEPLOYMENT} {deployment.name}", found.message)
    if injection_of(spec) is InjectionMode.ARGS:
        yield from args_findings(deployment)
    elif server is not None:
        yield from item_findings(server)

"""How a Deployment rolls and what its Pods ask for, trimmed from its spec. Calls nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.cluster.gangs import gang_of
from ridgeline.cluster.protection import protected_by
from ridgeline.cluster.quantities import pod_cost
from ridgeline.policy.placement import PodClaim, PodNeeds, Requirement, Toleration
from ridgeline.policy.quota import PodCost
from ridgeline.policy.roll_neighbours import Gang

Json = Mapping[str, Any]

_HOSTNAME: Final = "kubernetes.io/hostname"
_TEMPLATE_HASH: Final = "pod-template-hash"
_SLEEP: Final = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerTiming:
    """Times that a container's probes and hooks set, in seconds.

    Attributes:
        start_budget: How long a start may take before a probe kills it; `None`: for ever.
        pre_stop: Sleep of its preStop hook.
    """

    start_budget: float | None = None
    pre_stop: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The controller that made a Deployment and keeps it so.

    Attributes:
        group: API group; empty for the core group.
        version: Version of the group.
        kind: Its kind.
        name: Its name; it lies in the Deployment's namespace.
        uid: Its identity.
    """

    group: str
    version: str
    kind: str
    name: str
    uid: str

    @property
    def told(self) -> str:
        """Kind and name, for a person."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetShape:
    """Fields of a Deployment that decide how a roll goes; defaults are Kubernetes' own.

    Attributes:
        recreate: Whether the strategy stops all Pods first.
        max_surge: As in the Deployment.
        max_unavailable: Likewise.
        progress_deadline: `progressDeadlineSeconds`.
        grace: `terminationGracePeriodSeconds`.
        needs: What a Pod asks of a node.
        labels: Labels of the Pod template.
        timing: What probes and hooks set, by container.
        cost: What a Pod takes from quotas.
        gang: Group that a scheduler starts together, `None` without one.
        protected_by: Keys of the template's annotations that ask not to disrupt its Pods.
        owner: Kind and name of the controller that made the Deployment; empty without one.
        parent: That controller, `None` without one.
    """

    recreate: bool = False
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"
    progress_deadline: float = 600.0
    grace: float = 30.0
    needs: PodNeeds = field(default_factory=PodNeeds)
    labels: Mapping[str, str] = field(default_factory=dict)
    timing: Mapping[str, ContainerTiming] = field(default_factory=dict)
    cost: PodCost = field(default_factory=PodCost)
    gang: Gang | None = None
    protected_by: str | None = None
    owner: str = ""
    parent: Parent | None = None


def trim_shape(spec: Json, metadata: Json | None = None) -> TargetShape:
    """Trim a Deployment's spec and metadata; without metadata it has no owner that is known."""
    strategy = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    template = spec["template"]
    pod = template["spec"]
    described, own = template.get("metadata") or {}, metadata or {}
    labels = dict(described.get("labels") or {})
    needs, parent = _needs(pod, labels), _parent(own)
    return TargetShape(
        recreate=strategy.get("type") == "Recreate",
        max_surge=rolling.get("maxSurge", "25%"),
        max_unavailable=rolling.get("maxUnavailable", "25%"),
        progress_deadline=float(spec.get("progressDeadlineSeconds") or 600),
        grace=float(_or(pod.get("terminationGracePeriodSeconds"), 30)),
        needs=needs,
        labels=labels,
        timing={each["name"]: _timing(each) for each in pod["containers"]},
        cost=pod_cost(pod, needs.requests),
        gang=gang_of(template, own),
        protected_by=protected_by(described),
        owner=parent.told if parent is not None else "",
        parent=parent,
    )


def requests_of(pod_spec: Json) -> dict[str, int]:
    """Return the extended resources (names with a `/`) that a Pod asks for.

    Containers add up; init containers run before them, one at a time, so the greater counts.
    """
    together: dict[str, int] = {}
    for container in pod_spec.get("containers") or ():
        for name, count in _extended(container).items():
            together[name] = together.get(name, 0) + count
    for container in pod_spec.get("initContainers") or ():
        for name, count in _extended(container).items():
            together[name] = max(together.get(name, 0), count)
    return together


def extended_resources(quantities: Json) -> dict[str, int]:
    """Return the extended resources of a list of quantities (they are whole numbers)."""
    return {
        name: int(value)
        for name, value in quantities.items()
        if "/" in name and str(value).isdigit()
    }


def requirements_of(expressions: Any) -> tuple[Requirement, ...]:
    """Read match expressions of a selector or an affinity term."""
    return tuple(
        Requirement(
            key=each["key"],
            operator=each["operator"],
            values=tuple(each.get("values") or ()),
        )
        for each in expressions or ()
    )


def _parent(metadata: Json) -> Parent | None:
    owners = (each for each in metadata.get("ownerReferences") or () if each.get("controller"))
    found = next(owners, None)
    if found is None:
        return None
    group, _, version = str(found.get("apiVersion", "")).rpartition("/")
    return Parent(
        group=group,
        version=version,
        kind=found["kind"],
        name=found["name"],
        uid=found.get("uid", ""),
    )


def _needs(pod: Json, labels: Json) -> PodNeeds:
    affinity = pod.get("affinity") or {}
    node_affinity = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return PodNeeds(
        node_selector=dict(pod.get("nodeSelector") or {}),
        affinity_terms=tuple(
            requirements_of(term.get("matchExpressions"))
            for term in node_affinity.get("nodeSelectorTerms") or ()
        ),
        tolerations=tuple(
            Toleration(
                key=each.get("key", ""),
                operator=each.get("operator", "Equal"),
                value=each.get("value", ""),
                effect=each.get("effect", ""),
            )
            for each in pod.get("tolerations") or ()
        ),
        requests=requests_of(pod),
        alone_on_node=_alone_on_node(affinity.get("podAntiAffinity") or {}, labels),
        claims=tuple(
            PodClaim(
                template=each.get("resourceClaimTemplateName") or "",
                shared=each.get("resourceClaimName") or "",
            )
            for each in pod.get("resourceClaims") or ()
        ),
    )


def _alone_on_node(anti_affinity: Json, labels: Json) -> bool:
    for term in anti_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        selector = term.get("labelSelector") or {}
        wanted = selector.get("matchLabels") or {}
        repels_itself = all(labels.get(key) == value for key, value in wanted.items()) and all(
            each.met_by(labels) for each in requirements_of(selector.get("matchExpressions"))
        )
        # A Pod of a new template then comes beside an old one, as the two hashes differ.
        own_template = _TEMPLATE_HASH in (term.get("matchLabelKeys") or ())
        if term.get("topologyKey") == _HOSTNAME and repels_itself and not own_template:
            return True
    return False


def _extended(container: Json) -> dict[str, int]:
    resources = container.get("resources") or {}
    # Extended resources cannot be overcommitted: a limit alone is a request, too.
    return extended_resources(
        {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    )


def _timing(container: Json) -> ContainerTiming:
    probe = container.get("startupProbe") or container.get("livenessProbe")
    budget = None
    if probe:
        period = _or(probe.get("periodSeconds"), 10)
        failures = _or(probe.get("failureThreshold"), 3)
        budget = float(_or(probe.get("initialDelaySeconds"), 0) + period * failures)
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    return ContainerTiming(start_budget=budget, pre_stop=_pre_stop(hook))


def _pre_stop(hook: Json) -> float:
    sleep = (hook.get("sleep") or {}).get("seconds")
    if sleep is not None:
        return float(sleep)
    words = " ".join((hook.get("exec") or {}).get("command") or ())
    found = _SLEEP.search(words)
    return float(found[1]) if found else 0.0


def _or(value: Any, default: int) -> Any:
    return default if value is None else value

"""Objects that make a Deployment: which of them let one env item be written, where, and how.

A parent gets an adapter only where all of this holds, by its schema and its controller's source:

- its env list is a map by name in its CRD, so that server-side apply can own one item of it,
- its controller passes the item, and a label and an annotation of its own, on to the Pod template,
- a changed item changes the Deployment that the controller made before.

What an installed release does is not taken from here: whether the item can be owned alone is seen
in a dry run, and whether it arrives is seen in the Deployment (`cluster.parent_target`).

Read in kserve/kserve: config/crd/full/serving.kserve.io_inferenceservices.yaml (a model's `env` is
keyed by name), pkg/apis/serving/v1beta1/podspec.go (`containers` of a predictor have no list type:
atomic), pkg/controller/v1beta1/inferenceservice/components/predictor.go (labels and annotations,
name of the Deployment), pkg/controller/v1alpha2/llmisvc/workload_single_node.go (`spec.template`,
`spec.labels`, `spec.annotations`). In vllm-project/production-stack: operator/config/crd/bases/
production-stack.vllm.ai_vllmruntimes.yaml, operator/internal/controller/vllmruntime_controller.go.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.shape import Parent
from ridgeline.terms.parents import ParentKind

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentAdapter:
    """How one kind of parent takes an env item.

    Attributes:
        kind: Its kind.
        group: API group.
        versions: Versions of the group whose schema was read.
        plural: Its resource.
        deployment: Name of the Deployment that serves, with `{}` for the parent's name.
        container: Container of that Deployment which gets the item.
        way: Fields that lead to what holds the env list.
        by_name: Whether they lead to a list of containers instead, keyed by name.
        pods: Fields that lead to the labels and annotations that Pods get.
    """

    kind: ParentKind
    group: str
    versions: frozenset[str]
    plural: str
    deployment: str
    container: str
    way: tuple[str, ...]
    by_name: bool
    pods: tuple[str, ...]

    def holder(self, body: Json) -> Json | None:
        """Return what holds the env list in a parent; `None` where the parent has no such thing."""
        found: Any = body
        for step in self.way:
            found = found.get(step) if isinstance(found, Mapping) else None
        if self.by_name:
            items = found if isinstance(found, list) else ()
            return next((each for each in items if each.get("name") == self.container), None)
        return found if isinstance(found, Mapping) else None

    @property
    def place(self) -> str:
        """The env list, as a person would write where it is."""
        one = f'[name="{self.container}"]' if self.by_name else ""
        return f".{'.'.join(self.way)}{one}.env"


ADAPTERS: Final[tuple[ParentAdapter, ...]] = (
    ParentAdapter(
        kind=ParentKind.INFERENCE_SERVICE,
        group="serving.kserve.io",
        versions=frozenset({"v1beta1"}),
        plural="inferenceservices",
        deployment="{}-predictor",
        container="kserve-container",
        way=("spec", "predictor", "model"),
        by_name=False,
        pods=("spec", "predictor"),
    ),
    ParentAdapter(
        kind=ParentKind.LLM_INFERENCE_SERVICE,
        group="serving.kserve.io",
        versions=frozenset({"v1alpha1", "v1alpha2"}),
        plural="llminferenceservices",
        deployment="{}-kserve",
        container="main",
        way=("spec", "template", "containers"),
        by_name=True,
        pods=("spec",),
    ),
)

_NO_ADAPTER: Final[Mapping[tuple[str, str], str]] = {
    ("production-stack.vllm.ai", "VLLMRuntime"): (
        "no adapter: its env list is one value in its CRD, so one item of it cannot be owned, and "
        "its controller does not look at env when it compares"
    ),
    ("serving.knative.dev", "Revision"): "no adapter: a Knative revision never changes",
}

PARENT_GROUPS: Final = frozenset(
    {each.group for each in ADAPTERS} | {group for group, _ in _NO_ADAPTER}
)
"""API groups of the objects from which other controllers make Deployments of vLLM."""


def adapter_of(
    parent: Parent | None, deployment: str, kinds: Collection[ParentKind]
) -> ParentAdapter | None:
    """Return the adapter for a Deployment's parent; `None` where only recommending is left.

    Args:
        parent: The controller among the Deployment's owners.
        deployment: Name of the Deployment: a parent may make others, too (a transformer, prefill).
        kinds: Kinds that are switched on.
    """
    found = _known(parent)
    if found is None or parent is None or found.kind not in kinds:
        return None
    return found if deployment == found.deployment.format(parent.name) else None


def why_not(parent: Parent | None, deployment: str, kinds: Collection[ParentKind]) -> str:
    """Return why a parent is not written, for a person; empty where nothing is known of it."""
    if parent is None or adapter_of(parent, deployment, kinds) is not None:
        return ""
    found = _known(parent)
    if found is None:
        return _NO_ADAPTER.get((parent.group, parent.kind), "")
    serves = found.deployment.format(parent.name)
    if deployment != serves:
        return (
            f"no adapter: of an {found.kind.value} only Deployment {serves} is written through it"
        )
    return (
        f"or let the operator set it there: `parents: [{found.kind.value}]` in its configuration "
        "and its rights"
    )


def _known(parent: Parent | None) -> ParentAdapter | None:
    if parent is None:
        return None
    return next(
        (
            each
            for each in ADAPTERS
            if (each.group, each.kind.value) == (parent.group, parent.kind)
            and parent.version in each.versions
        ),
        None,
    )

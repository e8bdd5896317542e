"""The objects of a lint run by their kinds, and whatever has Pods with containers in it.

Nothing here trusts a document: what has another shape than Kubernetes wants is left out or told,
and never raises.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.cli.lint_files import Document, Place
from ridgeline.engine.spelling_quotes import on_one_line
from ridgeline.terms.names import ACCELERATOR_KIND, GROUP, POLICY_KIND, SERVING_KIND

OWN_KINDS: Final = (SERVING_KIND, POLICY_KIND, ACCELERATOR_KIND)
_CONFIG_MAP: Final = "ConfigMap"
_WORKLOADS: Final = ("apps/", "batch/")
_DEEPEST_POD: Final = 8
"""Levels below which no kind keeps its Pod template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An object with its place.

    Attributes:
        place: Where it stands.
        kind: Its kind.
        name: Its name; empty without one.
        namespace: Its namespace; empty when it says none.
        body: The object.
    """

    place: Place
    kind: str
    name: str
    namespace: str
    body: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Kind and name for a person."""
        name = self.name or "without a name"
        return f"{self.kind} {self.namespace}/{name}" if self.namespace else f"{self.kind} {name}"

    def beside(self, namespace: str) -> bool:
        """Whether it can stand in that namespace: templates often leave it to the command line."""
        return not namespace or not self.namespace or namespace == self.namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOf:
    """A Pod, or the template of Pods, of an object.

    Attributes:
        owner: The object.
        spec: The Pod's spec.
    """

    owner: Named
    spec: Mapping[str, Any]

    @property
    def containers(self) -> tuple[Mapping[str, Any], ...]:
        """Its containers, as written."""
        return tuple(mappings(self.spec.get("containers")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """Everything that was given, by kind; `strange` are those of our group of no kind of ours."""

    pods: tuple[PodOf, ...]
    servings: tuple[Named, ...]
    policies: tuple[Named, ...]
    accelerators: tuple[Named, ...]
    config_maps: tuple[Named, ...]
    strange: tuple[Named, ...]

    def config_map(self, name: str, namespace: str) -> Mapping[str, str] | None:
        """Return the texts of a ConfigMap; `None` when it was not given."""
        for each in self.config_maps:
            if each.name == name and each.beside(namespace):
                data = mapping(each.body.get("data"))
                return {key: value for key, value in data.items() if isinstance(value, str)}
        return None


def manifests_of(documents: Iterable[Document]) -> Manifests:
    """Sort objects by what they are to a lint run."""
    named = [_named(each) for each in documents]
    own = [_without_status(each) for each in named if _is_own(each)]
    others = [each for each in named if not _is_own(each)]
    return Manifests(
        pods=tuple(pod for each in others for pod in _pods(each)),
        servings=tuple(each for each in own if each.kind == SERVING_KIND),
        policies=tuple(each for each in own if each.kind == POLICY_KIND),
        accelerators=tuple(each for each in own if each.kind == ACCELERATOR_KIND),
        config_maps=tuple(each for each in others if each.kind == _CONFIG_MAP),
        strange=tuple(each for each in own if each.kind not in OWN_KINDS),
    )


def _is_own(named: Named) -> bool:
    return text(named.body.get("apiVersion")).startswith(f"{GROUP}/")


def _without_status(named: Named) -> Named:
    """Return an object as the API server takes it: it drops a status, a subresource, unread."""
    return replace(named, body={key: each for key, each in named.body.items() if key != "status"})


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value that should be an object; empty when it is none."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a value that should be a list of them."""
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def text(value: object) -> str:
    """Return a value that should be a text; empty when it is none."""
    return value if isinstance(value, str) else ""


def _named(document: Document) -> Named:
    metadata = mapping(document.body.get("metadata"))
    return Named(
        place=document.place,
        kind=on_one_line(text(document.body.get("kind"))) or "object",
        name=on_one_line(text(metadata.get("name")), limit=253),
        namespace=on_one_line(text(metadata.get("namespace"))),
        body=document.body,
    )


def _pods(owner: Named) -> Iterator[PodOf]:
    """Yield the Pod specs of an object of any kind: what has a list `containers` of objects.

    In Kubernetes' own workloads such a list holds containers, whatever stands in it.
    """
    if owner.kind != _CONFIG_MAP:
        known = text(owner.body.get("apiVersion")).startswith(_WORKLOADS)
        for spec in _specs(owner.body.get("spec"), _DEEPEST_POD, known=known):
            yield PodOf(owner=owner, spec=spec)


def _specs(value: object, levels: int, *, known: bool) -> Iterator[Mapping[str, Any]]:
    if levels == 0:
        return
    if isinstance(value, list):
        for each in value:
            yield from _specs(each, levels - 1, known=known)
    elif isinstance(value, dict):
        listed = value.get("containers")
        if any(mappings(listed)) or (known and isinstance(listed, list) and listed):
            yield value
            return
        for each in value.values():
            yield from _specs(each, levels - 1, known=known)
